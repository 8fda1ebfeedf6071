// The small parts of the configuration room: addresses, guesses, and what a reload cannot take over.

import assert from "node:assert/strict";
import test from "node:test";
import { memoryFiles } from "../../tests/support/memory-files.ts";
import { baseUrl, isLoopback, isNetwork, parseHostPort, showHostPort } from "./address.ts";
import type { Config } from "./config.ts";
import { needRestart } from "./differences.ts";
import { loadConfig } from "./load.ts";
import { nearest } from "../base/nearest.ts";

test("host and port are read in every form, and printed as they were", () => {
  for (const text of ["127.0.0.1:8200", "[::1]:0", "h.example.com:65535", "localhost:1"]) {
    const read = parseHostPort(text);
    assert.ok(read !== null, text);
    assert.equal(showHostPort(read), text);
  }
  const bad = [
    "8200",
    ":8200",
    "::1:8200",
    "[::1]",
    "h:65536",
    "h:-1",
    "h/x:1",
    "u@h:1",
    "1.2.3:4",
    "a..b:1",
    "[1.2.3.4]:1",
    "h: 1",
    "-a:1",
  ];
  for (const text of bad) assert.equal(parseHostPort(text), null, text);
});

test("loopback is 127.0.0.0/8, ::1 in every spelling, and localhost", () => {
  for (const host of ["127.0.0.1", "127.9.9.9", "::1", "0:0:0:0:0:0:0:1", "LocalHost"]) {
    assert.ok(isLoopback(host), host);
  }
  for (const host of ["0.0.0.0", "::", "10.0.0.1", "localhost.example.com", "127.0.0.1.evil.com"]) {
    assert.ok(!isLoopback(host), host);
  }
});

test("networks and base URLs", () => {
  for (const text of ["10.0.0.0/8", "::/0", "1.2.3.4"]) assert.ok(isNetwork(text), text);
  for (const text of ["10.0.0.0/33", "::/129", "10.0.0/8", "x", "1.2.3.4/", "1.2.3.4/8/8"]) {
    assert.ok(!isNetwork(text), text);
  }
  assert.equal(baseUrl("https://h:8200/"), "https://h:8200");
  assert.equal(baseUrl("http://[::1]"), "http://[::1]");
  for (const text of [
    "h:8200",
    "ftp://h",
    "https://u:p@h",
    "https://h/v1",
    "https://h?x",
    "https://",
  ]) {
    assert.equal(baseUrl(text), null, text);
  }
});

test("a guess is the closest known word, and none when nothing is close", () => {
  const known = ["log_level", "log_format", "listener", "region"];
  assert.equal(nearest("log_levle", known), "log_level");
  assert.equal(nearest("LOG_LEVEL", known), "log_level");
  assert.equal(nearest("listner", known), "listener");
  assert.equal(nearest("telemetry", known), null);
  assert.equal(nearest("x".repeat(1000), known), null);
});

async function configOf(text: string): Promise<Config> {
  const files = memoryFiles({ "/c.hcl": text });
  const loaded = await loadConfig({
    paths: ["/c.hcl"],
    env: {},
    files,
    directory: "/",
    hostname: "h",
  });
  return loaded.config;
}

test("what a reload cannot take over is named, and nothing else", async () => {
  const listener = (inner: string) =>
    `listener "tcp" { tls_cert_file = "a" tls_key_file = "b" ${inner} }`;
  const before = await configOf(`${listener("")} log_level = "info" acl { bootstrap = "open" }`);
  assert.deepEqual(needRestart(before, before), []);
  const soft = await configOf(
    `listener "tcp" { tls_cert_file = "new" tls_key_file = "b" custom_response_headers { "200" = { "X-A" = "b" } } }
     plugin "auth" "a" { image = "a" sha256 = "${"ab".repeat(32)}" }
     log_level = "warn" shutdown_timeout = 5 audit "file" "x" { options { file_path = "stdout" } }`,
  );
  assert.deepEqual(needRestart(before, soft), []);
  const hard = await configOf(
    `${listener("http2 = true telemetry { metrics_only = true }")} acl { bootstrap = "closed" } region = "x" seal "static" { key_file = "k" }`,
  );
  assert.deepEqual(needRestart(before, hard), [
    "region",
    "listener.http2",
    "listener.telemetry.metrics_only",
    "seal",
    "acl.bootstrap",
  ]);
  const more = await configOf(`${listener("")} ${listener('address = "127.0.0.1:1"')}`);
  assert.deepEqual(needRestart(before, more), ["listener"]);
});
