import assert from "node:assert/strict";
import test from "node:test";
import fc from "fast-check";
import { often } from "../../tests/support/often.ts";
import {
  chooseProtocol,
  ENGINE_COOKIE,
  environmentFor,
  type Handshake,
  isOfProtocol,
  readHandshake,
  writeHandshake,
} from "./handshake.ts";

const DER = Buffer.alloc(300, 7);
const LINE = `1|5|unix|/tmp/plugin1|grpc|${DER.toString("base64").replace(/=+$/, "")}`;

test("the line is read as it was written", () => {
  const read = readHandshake(`${LINE}\n`, [5]);
  const expected: Handshake = {
    protocol: 5,
    network: "unix",
    address: "/tmp/plugin1",
    certificate: DER,
    multiplexes: null,
  };
  assert.deepEqual(read, expected);
  assert.equal(writeHandshake(read), LINE);
  assert.equal(readHandshake(`${LINE}|true`, [5]).multiplexes, true);
  assert.equal(writeHandshake({ ...read, multiplexes: false }), `${LINE}|false`);
  // Without a certificate, or with one that is as short as none.
  assert.equal(readHandshake("1|5|tcp|127.0.0.1:1|grpc|", [5, 6]).certificate, null);
  assert.equal(
    readHandshake(`1|6|tcp|127.0.0.1:1|grpc|${"A".repeat(50)}`, [5, 6]).certificate,
    null,
  );
  fc.assert(
    fc.property(fc.uint8Array({ minLength: 60, maxLength: 600 }), (der) => {
      const certificate = Buffer.from(der);
      const line = writeHandshake({ ...expected, certificate });
      assert.doesNotMatch(line, /=/);
      assert.deepEqual(readHandshake(line, [5]).certificate, certificate);
    }),
    { numRuns: often(100) },
  );
});

test("every other line is refused, in the words that operators know", () => {
  const refused = (line: string, why: RegExp, protocols = [5]) =>
    assert.throws(() => readHandshake(line, protocols), { name: "Error", message: why });
  refused("", /^Unrecognized remote plugin message: $/);
  refused("hello", /^Unrecognized remote plugin message: hello$/);
  refused("1|5|unix", /^Unrecognized remote plugin message: 1\|5\|unix$/);
  refused("a\u001B[31mb", /^Unrecognized remote plugin message: a\?\[31mb$/);
  refused("x".repeat(100_000), /^Unrecognized remote plugin message: x{200}…$/);
  refused(
    LINE.replace("1|", "2|"),
    /^incompatible core API version with plugin\. Plugin version: 2, Core version: 1$/,
  );
  refused(LINE.replace("|5|", "|x|"), /^Error parsing protocol version: x$/);
  refused(
    LINE.replace("|5|", "|4|"),
    /^incompatible API version with plugin\. Plugin version: 4, Client versions: \[5 6\]$/,
    [5, 6],
  );
  refused(LINE.replace("unix", "udp"), /^unknown address type: udp; accepted are unix and tcp$/);
  refused(LINE.replace("/tmp/plugin1", ""), /says no address/);
  refused("1|5|unix|/tmp/p", /^Unsupported plugin protocol "netrpc"\. Supported: \[grpc\]$/);
  refused(LINE.replace("grpc", "netrpc"), /^Unsupported plugin protocol "netrpc"/);
  refused(`${LINE}!`, /not in base64/);
});

test("bytes of any kind are a handshake or refused with a text of ours", () => {
  const lines = fc.oneof(
    fc.string({ maxLength: 300 }),
    fc
      .array(fc.oneof(fc.constantFrom("1", "5", "unix", "grpc", ""), fc.string()), { maxLength: 9 })
      .map((parts) => parts.join("|")),
  );
  fc.assert(
    fc.property(lines, (line) => {
      try {
        assert.equal(readHandshake(line, [5]).protocol, 5);
      } catch (error) {
        assert.equal((error as Error).constructor.name, "HandshakeError", String(error));
        assert.doesNotMatch((error as Error).message, /[\p{C}]/u);
      }
    }),
    { numRuns: often(1000) },
  );
});

test("the highest version that both speak, or the lowest of the plugin's, which the host refuses", () => {
  assert.equal(chooseProtocol("5", [5]), 5);
  assert.equal(chooseProtocol("5,6", [5, 6]), 6);
  assert.equal(chooseProtocol("5", [5, 6]), 5);
  assert.equal(chooseProtocol("4", [5, 6]), 5);
  assert.equal(chooseProtocol(undefined, [5, 6]), 5);
  assert.equal(chooseProtocol("nonsense,,6", [5, 6]), 6);
});

test("the environment of a start has all that the protocol wants, and nobody else may set that", () => {
  const start = {
    cookie: ENGINE_COOKIE,
    protocols: [5, 6],
    certificate: "-----BEGIN\nX",
    socketDirectory: "/run/p",
  };
  const environment = environmentFor(start);
  assert.deepEqual(environment, {
    VAULT_BACKEND_PLUGIN: "6669da05-b1c8-4f49-97d9-c8e5bed98e20",
    PLUGIN_PROTOCOL_VERSIONS: "5,6",
    PLUGIN_MIN_PORT: "10000",
    PLUGIN_MAX_PORT: "25000",
    PLUGIN_CLIENT_CERT: "-----BEGIN\nX",
    PLUGIN_UNIX_SOCKET_DIR: "/run/p",
    TMPDIR: "/run/p",
    VAULT_VERSION: "1.18.0",
    BAO_VERSION: "1.18.0",
    VAULT_PLUGIN_AUTOMTLS_ENABLED: "true",
    BAO_PLUGIN_AUTOMTLS_ENABLED: "true",
    VAULT_PLUGIN_METADATA_MODE: "false",
    BAO_PLUGIN_METADATA_MODE: "false",
  });
  const other = environmentFor({ ...start, socketGroup: 7, metadataMode: true });
  assert.equal(other["PLUGIN_UNIX_SOCKET_GROUP"], "7");
  assert.equal(other["BAO_PLUGIN_METADATA_MODE"], "true");
  for (const name of Object.keys(environment)) {
    if (name !== "TMPDIR") assert.ok(isOfProtocol(name), name);
  }
  assert.ok(isOfProtocol("VAULT_UNWRAP_TOKEN") && isOfProtocol("VAULT_PLUGIN_MLOCK_ENABLED"));
  assert.ok(!isOfProtocol("AWS_REGION") && !isOfProtocol("VAULT_ADDR"));
});
