import assert from "node:assert/strict";
import test from "node:test";
import { Failure } from "@holdfast/shared/failure";
import { optionTexts, readOptions } from "./options.ts";

const SECOND = 1_000_000_000n;
const strict = { allowPrefix: false };
const read = (type: string, options: Record<string, string>) => readOptions(type, options, strict);

test("the defaults", () => {
  const file = read("file", { file_path: "/var/log/audit.log" });
  assert.deepEqual(file, {
    format: { hmacAccessor: true, elideLists: false, prefix: "" },
    raw: false,
    timeout: 10n * SECOND,
    target: {
      type: "file",
      path: "/var/log/audit.log",
      mode: 0o600,
      rotation: { bytes: null, interval: null, keep: null },
    },
  });
  const socket = read("socket", { address: "[::1]:514" });
  assert.equal(socket.timeout, 2n * SECOND);
  assert.deepEqual(socket.target, {
    type: "socket",
    target: { kind: "tcp", to: { host: "::1", port: 514 } },
  });
  assert.deepEqual(read("syslog", {}).target, {
    type: "syslog",
    target: { facility: "AUTH", tag: "holdfast", address: null },
  });
});

test("every option is read", () => {
  const { target } = read("file", {
    file_path: "/a/b",
    mode: "0640",
    rotate_bytes: "1048576",
    rotate_interval: "24h",
    rotate_keep: "7",
  });
  assert.deepEqual(target, {
    type: "file",
    path: "/a/b",
    mode: 0o640,
    rotation: { bytes: 1_048_576, interval: 86_400n * SECOND, keep: 7 },
  });
  const unix = { address: "/run/log", socket_type: "unix", write_timeout: "500ms" };
  const { timeout, target: way } = read("socket", unix);
  assert.equal(timeout, SECOND / 2n);
  assert.deepEqual(way, { type: "socket", target: { kind: "unix", path: "/run/log" } });
  const syslog = read("syslog", { facility: "local7", tag: "vault", address: "log.example:514" });
  assert.deepEqual(syslog.target, {
    type: "syslog",
    target: { facility: "LOCAL7", tag: "vault", address: { host: "log.example", port: 514 } },
  });
  const flags = {
    hmac_accessor: "false",
    log_raw: "true",
    elide_list_responses: "1",
    format: "json",
  };
  const { raw, format } = read("file", { file_path: "stdout", ...flags });
  assert.deepEqual([raw, format.hmacAccessor, format.elideLists], [true, false, true]);
});

test("what is unknown or out of range is refused by name, and values are not repeated", () => {
  const secret = "S3CRET";
  const cases: [type: string, options: Record<string, string>, about: RegExp][] = [
    ["http", {}, /^type must be one of file, socket, syslog/],
    ["file", { file_path: "/a", colour: secret }, /unknown option colour; accepted are/],
    ["file", { file_path: "/a", address: secret }, /unknown option address/],
    ["file", { file_path: "/a", log_raw: secret }, /^log_raw must be true or false/],
    ["file", { file_path: "/a", format: "jsonx" }, /^format must be json/],
    ["file", { file_path: "/a", rotate_bytes: "10" }, /^rotate_bytes .* at least 4096/],
    ["file", { file_path: "/a", rotate_interval: "1s" }, /^rotate_interval/],
    ["file", { file_path: "/a", rotate_keep: "3" }, /^rotate_keep needs/],
    ["file", { file_path: "stdout", rotate_bytes: "9999" }, /stdout with rotation/],
    ["socket", {}, /^address must be host:port/],
    ["socket", { address: "host" }, /^address/],
    ["socket", { address: "host:99999" }, /^address/],
    ["socket", { address: "relative", socket_type: "unix" }, /^address must be the absolute path/],
    ["socket", { address: "a:1", socket_type: secret }, /^socket_type must be one of/],
    ["socket", { address: "a:1", write_timeout: "10m" }, /^write_timeout/],
    ["syslog", { facility: secret }, /^facility must be one of USER/],
    ["syslog", { tag: `${secret} x` }, /^tag/],
  ];
  for (const [type, options, about] of cases) {
    assert.throws(
      () => read(type, options),
      (error) => {
        assert.ok(error instanceof Failure && error.kind === "invalid");
        assert.match(error.message, about);
        assert.ok(!error.message.includes(secret));
        return true;
      },
    );
  }
});

test("T-G03: paths that do not name one file are refused", () => {
  for (const path of ["", "/", "//", "a.log", "/a/", "/a//b", "/a/../b", "/a/./b", "/a\0b", "."]) {
    assert.throws(() => read("file", { file_path: path }), /^Failure: file_path must be/, path);
  }
  assert.throws(() => read("file", {}), /^Failure: file_path must be/);
});

test("T-G02: a mode with an execute bit, or writable by others, is refused", () => {
  for (const mode of ["0700", "0610", "0601", "755", "0622", "0666", "4600", "0400", "x", ""]) {
    assert.throws(() => read("file", { file_path: "/a", mode }), /^Failure: mode must be/, mode);
  }
});

test("T-G02: a prefix is refused unless the server allows it, and can never open a record", () => {
  const options = { file_path: "/a", prefix: "#!/bin/sh " };
  assert.throws(() => read("file", options), /only where the server's configuration allows it/);
  const open = { allowPrefix: true };
  assert.equal(readOptions("file", { ...options, prefix: "@cee: " }, open).format.prefix, "@cee: ");
  for (const prefix of ["{", "a\nb", "\u001b[1m", "x".repeat(65), "é"]) {
    assert.throws(
      () => readOptions("file", { ...options, prefix }, open),
      /^Failure: prefix must be/,
    );
  }
});

test("options are texts, numbers and booleans alike; anything deeper is refused", () => {
  assert.deepEqual(optionTexts({ a: "x", b: 5, c: true }), { a: "x", b: "5", c: "true" });
  assert.deepEqual(optionTexts(undefined), {});
  assert.throws(() => optionTexts({ a: {} }), /^Failure: a must be/);
  assert.throws(() => optionTexts([]), /^Failure: options must be/);
});
