// The pieces under the client: addresses, paths, exact numbers, the environment, the token file.

import assert from "node:assert/strict";
import { chmodSync, mkdtempSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import fc from "fast-check";
import { CanonicalPath, isSegment } from "../base/canonical-path.ts";
import { SystemFs } from "../base/fs.ts";
import { Secret } from "../base/secret.ts";
import { addressFrom, switchFrom, timeoutFrom, tokenFrom } from "./environment.ts";
import { parseExact } from "./exact-json.ts";
import { oneSegment, restOfPath, typedPath } from "./request-path.ts";
import { isLocal, parseServerAddress } from "./server-address.ts";
import { readTokenFile, tokenFilePath, writeTokenFile } from "./token-file.ts";

test("parseServerAddress() reads scheme, host, port and a path in front", () => {
  for (const [text, secure, host, port, base] of [
    ["http://127.0.0.1:8200", false, "127.0.0.1", 8200, ""],
    ["https://h.example", true, "h.example", 443, ""],
    ["https://[::1]:8200/", true, "::1", 8200, ""],
    ["https://proxy.example/hold/fast/", true, "proxy.example", 443, "/hold/fast"],
    ["https://h.example/v1", true, "h.example", 443, ""],
  ] as const) {
    const { shown: _shown, socketPath, ...address } = parseServerAddress(text);
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
    }),
  );
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

test("own variables go before those of other tools, and empty ones are not set", () => {
  assert.deepEqual(addressFrom({}), { value: "http://127.0.0.1:8200", from: "the default" });
  const all = { HOLDFAST_ADDR: "h", VAULT_ADDR: "v", BAO_ADDR: "b" };
  assert.deepEqual(addressFrom(all), { value: "h", from: "HOLDFAST_ADDR" });
  assert.equal(addressFrom({ ...all, HOLDFAST_ADDR: "" }).value, "v");
  assert.equal(addressFrom({ BAO_ADDR: "b" }).value, "b");
  const names = ["HOLDFAST_TOKEN", "VAULT_TOKEN", "BAO_TOKEN", "NOMAD_TOKEN"];
  for (const [i, name] of names.entries()) {
    const env = Object.fromEntries(names.slice(i).map((one) => [one, ` ${one}\n`]));
    const told = tokenFrom(env);
    assert.deepEqual([told?.from, told?.value.reveal()], [name, name]);
  }
  assert.equal(tokenFrom({}), null);
});

test("settings of the environment are strict", () => {
  assert.equal(timeoutFrom({}), 60_000_000_000n);
  assert.equal(timeoutFrom({ HOLDFAST_CLIENT_TIMEOUT: "5" }), 5_000_000_000n);
  assert.throws(() => timeoutFrom({ HOLDFAST_CLIENT_TIMEOUT: "0" }), /longer than 0s/);
  assert.equal(switchFrom({ HOLDFAST_SKIP_VERIFY: "1" }, "HOLDFAST_SKIP_VERIFY"), true);
  assert.throws(
    () => switchFrom({ HOLDFAST_SKIP_VERIFY: "no" }, "HOLDFAST_SKIP_VERIFY"),
    /true or false/,
  );
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
