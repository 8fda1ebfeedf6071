// The pieces under the client: addresses, paths, exact numbers, the environment, the token file.

import assert from "node:assert/strict";
import { chmodSync, mkdtempSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import fc from "fast-check";
import { CanonicalPath, isSegment } from "@holdfast/shared/text/canonical-path";
import { SystemFs } from "../src/system/fs.ts";
import { Secret } from "@holdfast/shared/secret";
import { ClientEnvironment } from "./node/environment.ts";
import { ApiError } from "./api-error.ts";
import { Client } from "./client.ts";
import { parseExact } from "./exact-json.ts";
import { keyPath, oneSegment, restOfPath, typedPath } from "./request-path.ts";
import { isLocal, parseServerAddress } from "./server-address.ts";
import { isStreamed } from "./transport.ts";
import { ownBytes, textOf } from "./utf8.ts";
import { readTokenFile, tokenFilePath, writeTokenFile } from "./node/token-file.ts";

test("parseServerAddress() reads scheme, host, port and a path in front", () => {
  for (const [text, secure, host, port, base] of [
    ["http://127.0.0.1:8200", false, "127.0.0.1", 8200, ""],
    ["https://h.example", true, "h.example", 443, ""],
    ["https://[::1]:8200/", true, "::1", 8200, ""],
    ["https://proxy.example/hold/fast/", true, "proxy.example", 443, "/hold/fast"],
    ["https://h.example/v1", true, "h.example", 443, ""],
  ] as const) {
    const { display: _display, socketPath, ...address } = parseServerAddress(text);
    assert.deepEqual(address, { secure, host, port, base });
    assert.equal(socketPath, null);
  }
  assert.equal(parseServerAddress("unix:///run/h.sock").socketPath, "/run/h.sock");
  for (const text of [
    "h.example:8200",
    "",
    "ftp://x",
    "http://",
    "http://a?b",
    "unix:x",
    "http://a:b@c",
  ]) {
    assert.throws(() => parseServerAddress(text), /address is not valid/);
  }
  assert.ok(isLocal(parseServerAddress("http://127.0.0.2")));
  assert.ok(!isLocal(parseServerAddress("http://127.example")));
});

test("every segment that the server takes arrives as it was typed", () => {
  const segment = fc.string({ minLength: 1, unit: "grapheme" }).filter((text) => isSegment(text));
  fc.assert(
    fc.property(fc.array(segment, { minLength: 1, maxLength: 5 }), (segments) => {
      fc.pre(segments.every((text) => !/[?#]/.test(text)) && segments[0] !== "v1");
      const path = CanonicalPath.parse(`/${typedPath(segments.join("/"))}`);
      assert.deepEqual(path.segments, segments);
      assert.equal(restOfPath(`/${segments.join("/")}/`), typedPath(segments.join("/")));
      assert.equal(keyPath(`/${segments.join("/")}/`), `${typedPath(segments.join("/"))}/`);
    }),
  );
});

test("the bytes of a body are overwritten when they are sent, and when they could not be", async () => {
  const bodies: Uint8Array[] = [];
  const answers = [true, false];
  const client = new Client({
    transport: {
      address: parseServerAddress("http://127.0.0.1:8200"),
      send: async ({ body }) => {
        assert.ok(body !== null && !isStreamed(body));
        assert.equal(textOf(body), '{"value":"hunter2"}');
        bodies.push(body);
        if (answers.shift() === true) return { status: 204, header: () => "", body: ownBytes("") };
        throw new Error("not reached");
      },
      open: async () => assert.fail("nothing is streamed"),
      close: () => {},
    },
    token: null,
    namespace: "",
    region: "",
  });
  const request = () => client.request("POST", "secret/a", { body: { value: "hunter2" } });
  await request();
  await assert.rejects(request, /not reached/);
  assert.equal(bodies.length, 2);
  for (const body of bodies) assert.ok(body.every((byte) => byte === 0));
});

test("of a refused stream no more is read than a refusal has, and the rest is let go", async () => {
  const [parts, size] = [64, 64 * 1024];
  let [taken, ended] = [0, false];
  async function* chunks() {
    try {
      for (; taken < parts; taken++) yield new Uint8Array(size).fill(0x20);
    } finally {
      ended = true;
    }
  }
  const client = new Client({
    transport: {
      address: parseServerAddress("http://127.0.0.1:8200"),
      send: async () => assert.fail("it is streamed"),
      open: async () => ({
        status: 503,
        header: () => "",
        chunks: chunks(),
        trailer: () => "",
      }),
      close: () => {},
    },
    token: null,
    namespace: "",
    region: "",
  });
  const answer = client.stream({ method: "GET", path: "sys/storage/raft/snapshot" });
  await assert.rejects(answer, (error) => error instanceof ApiError && error.status === 503);
  assert.ok(taken * size <= 512 * 1024, `${taken} parts were read`);
  assert.ok(ended);
});

test("a region goes along on tokens and their policies, and nowhere else", async () => {
  const targets: string[] = [];
  const client = new Client({
    transport: {
      address: parseServerAddress("http://127.0.0.1:8200"),
      send: async ({ target }) => {
        targets.push(target);
        return { status: 204, header: () => "", body: ownBytes("") };
      },
      open: async () => assert.fail("nothing is streamed"),
      close: () => {},
    },
    token: null,
    namespace: "",
    region: "north",
  });
  for (const path of ["acl/token/self", "sys/health", "secret/acl/a", "aclish/a"]) {
    await client.request("GET", path);
  }
  assert.deepEqual(targets, [
    "/v1/acl/token/self?region=north",
    "/v1/sys/health",
    "/v1/secret/acl/a",
    "/v1/aclish/a",
  ]);
});

test("paths are composed, freed of /v1/, and refused where they would mean something else", () => {
  assert.equal(typedPath("/v1/sys/health"), "sys/health");
  assert.equal(typedPath("e\u0301"), "%C3%A9");
  assert.throws(() => typedPath("sys/health?a=1"), /name=value/);
  assert.throws(() => typedPath("/"), /empty/);
  assert.throws(() => oneSegment("a/b"), /slash/);
  assert.equal(oneSegment("a b"), "a%20b");
});

test("parseExact() changes no number", () => {
  fc.assert(
    fc.property(fc.bigInt({ min: -(10n ** 30n), max: 10n ** 30n }), (number) => {
      assert.equal(JSON.stringify(parseExact(`[${number}]`)), `[${number}]`);
    }),
  );
  assert.equal(typeof (parseExact("[1]") as number[])[0], "number");
  for (const text of ["0.1234567890123456789", "1e400", "9007199254740993"]) {
    assert.equal(JSON.stringify(parseExact(text)), text);
  }
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      assert.deepEqual(JSON.stringify(parseExact(JSON.stringify(value))), JSON.stringify(value));
    }),
  );
});

test("the settings of one client are taken, and empty ones are not set", () => {
  const of = (env: Record<string, string>) => new ClientEnvironment(env);
  assert.deepEqual(of({}).address, { value: "http://127.0.0.1:8200", from: "the default" });
  assert.equal(of({}).token, null);
  const all = { HOLDFAST_ADDR: "h", VAULT_ADDR: "v", BAO_ADDR: "b" };
  assert.deepEqual(of(all).address, { value: "h", from: "HOLDFAST_ADDR" });
  assert.equal(of({ ...all, HOLDFAST_ADDR: "" }).address.value, "v");
  for (const client of ["HOLDFAST", "VAULT", "BAO", "NOMAD"]) {
    const env = Object.fromEntries(
      ["ADDR", "NAMESPACE", "CACERT", "CAPATH", "CLIENT_CERT", "CLIENT_KEY", "TLS_SERVER_NAME"]
        .map((name) => [`${client}_${name}`, name.toLowerCase()])
        .concat([
          [`${client}_TOKEN`, " t\n"],
          [`${client}_SKIP_VERIFY`, "T"],
        ]),
    );
    const environment = of(env);
    assert.equal(environment.address.value, "addr");
    assert.deepEqual(
      [environment.token?.from, environment.token?.value.reveal()],
      [`${client}_TOKEN`, "t"],
    );
    assert.deepEqual([environment.namespace?.value, environment.skipVerify], ["namespace", true]);
    assert.equal(environment.text("CAPATH")?.value, "capath");
    assert.equal(environment.text("TLS_SERVER_NAME")?.from, `${client}_TLS_SERVER_NAME`);
  }
  const alone = of({ VAULT_NAMESPACE: "team" });
  assert.equal(alone.namespace?.value, "team", "one setting alone is meant too");
  assert.equal(of({ VAULT_ADDR: "v", HOLDFAST_NAMESPACE: "ours" }).namespace?.value, "ours");
  assert.equal(of({ NOMAD_TOKEN: "t", NOMAD_REGION: "eu" }).text("REGION")?.value, "eu");
  assert.equal(of({ NOMAD_TOKEN: "t", NOMAD_NAMESPACE: "default" }).namespace, null);
  assert.equal(
    of({ VAULT_NAMESPACE: "v", HOLDFAST_NAMESPACE: "" }).namespace,
    null,
    "ours is root",
  );
  assert.throws(() => of({ NOMAD_TOKEN: "t", NOMAD_NAMESPACE: "*" }).namespace, /one namespace/);
});

test("address and token never come from two clients, and what is left out is named", () => {
  const clients = ["HOLDFAST", "VAULT", "BAO", "NOMAD"];
  for (const [i, first] of clients.entries()) {
    for (const second of clients.slice(i + 1)) {
      const environment = new ClientEnvironment({
        [`${first}_ADDR`]: "a",
        [`${second}_TOKEN`]: "t",
      });
      assert.deepEqual([environment.address.value, environment.token], ["a", null]);
      assert.ok(
        environment.unused("TOKEN")?.startsWith(`${second}_TOKEN is not used beside ${first}_ADDR`),
      );
      assert.equal(environment.unused("ADDR"), null);
      const other = new ClientEnvironment({ [`${second}_ADDR`]: "a", [`${first}_TOKEN`]: "t" });
      assert.equal(other.address.from, "the default");
      assert.ok(
        other.unused("ADDR")?.startsWith(`${second}_ADDR is not used beside ${first}_TOKEN`),
      );
    }
  }
  for (const name of ["VAULT_WRAP_TTL", "VAULT_AGENT_ADDR"]) {
    assert.throws(
      () => new ClientEnvironment({ VAULT_ADDR: "a", [name]: "x" }).check(),
      new RegExp(`${name} is set and cannot be honoured`),
    );
    new ClientEnvironment({ HOLDFAST_ADDR: "a", [name]: "x" }).check();
  }
});

test("settings of the environment are strict", () => {
  const of = (env: Record<string, string>) => new ClientEnvironment(env);
  assert.equal(of({}).timeout, 60_000_000_000n);
  assert.equal(of({ HOLDFAST_CLIENT_TIMEOUT: "5" }).timeout, 5_000_000_000n);
  assert.throws(() => of({ HOLDFAST_CLIENT_TIMEOUT: "0" }).timeout, /longer than 0s/);
  assert.throws(
    () => of({ HOLDFAST_CLIENT_TIMEOUT: "abc" }).timeout,
    /^Failure: HOLDFAST_CLIENT_TIMEOUT must be a duration such as 90s or 1h30m$/,
  );
  assert.equal(of({ HOLDFAST_SKIP_VERIFY: "1" }).skipVerify, true);
  assert.throws(() => of({ HOLDFAST_SKIP_VERIFY: "no" }).skipVerify, /true or false/);
});

test("the token file is its owner's alone, and nothing else is read", (t) => {
  const home = mkdtempSync(join(tmpdir(), "holdfast-token-"));
  t.after(() => rmSync(home, { recursive: true, force: true }));
  const fs = new SystemFs();
  const path = tokenFilePath({ HOME: home });
  assert.equal(path, join(home, ".holdfast-token"));
  assert.equal(readTokenFile(fs, path), null);
  writeTokenFile(fs, path, new Secret("a-token"));
  assert.equal(statSync(path).mode & 0o777, 0o600);
  assert.equal(readTokenFile(fs, path)?.reveal(), "a-token");
  for (const mode of [0o640, 0o604, 0o620]) {
    chmodSync(path, mode);
    assert.throws(() => readTokenFile(fs, path), /can be used by other users/);
  }
  rmSync(path);
  writeFileSync(join(home, "real"), "a-token", { mode: 0o600 });
  symlinkSync(join(home, "real"), path);
  assert.throws(() => readTokenFile(fs, path), /links are not followed/);
});
