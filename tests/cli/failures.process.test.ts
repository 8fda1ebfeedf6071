// Each way in which a request can fail: one line that says what, one that says what to do, the exit code,
// and never a secret.

import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import http from "node:http";
import net, { type AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { SystemClock } from "../../src/system/clock.ts";
import { DAY } from "@holdfast/shared/text/duration";
import { makeDevCertificate } from "../../src/daemon/dev/dev-certificate.ts";
import { FakeServer, ROOT_TOKEN } from "./fakes/fake-server.ts";
import { run, type Ran, type RunOptions } from "./harness.ts";

const home = mkdtempSync(join(tmpdir(), "holdfast-cli-"));
let server: FakeServer;
before(async () => {
  server = (await FakeServer.start()).opened();
});
after(async () => {
  await server.stop();
  rmSync(home, { recursive: true, force: true });
});

function cli(address: string, args: readonly string[], options: RunOptions = {}): Promise<Ran> {
  const env = { HOLDFAST_ADDR: address, HOLDFAST_TOKEN: ROOT_TOKEN, HOME: home };
  return run(args, { ...options, env: { ...env, ...options.env } });
}

async function listening(listener: net.Server): Promise<string> {
  await new Promise<void>((resolve) => listener.listen(0, "127.0.0.1", resolve));
  return `127.0.0.1:${(listener.address() as AddressInfo).port}`;
}

const refusals: readonly [status: number, errors: string[], code: number, next: RegExp][] = [
  [503, ["service is sealed"], 1, /the server is sealed: run `holdfast operator unseal`/],
  [
    503,
    ["service is not initialized"],
    1,
    /run `holdfast operator init` .* its disk is not mounted/,
  ],
  [503, ["request timed out"], 1, /try again/],
  [403, ["permission denied"], 4, /the token from HOLDFAST_TOKEN may not do this.*kv\/a/],
  [
    403,
    ["permission denied", "invalid token"],
    4,
    /unknown or expired: set HOLDFAST_TOKEN .*, or unset it and run/,
  ],
  [403, ["missing client token"], 4, /run `holdfast login`, or set HOLDFAST_TOKEN/],
  [403, ["restricted endpoint"], 4, /leave out the namespace/],
  [404, [], 3, /check the path.*`holdfast list kv` shows/],
  [404, ["unsupported path"], 3, /path-help MOUNT/],
  [405, ["unsupported operation"], 1, /path-help kv\/a/],
  [408, ["the body comes too slowly"], 1, /look at the network/],
  [421, ["misdirected"], 1, /allowed_hosts/],
  [500, ["no audit device succeeded in logging the request"], 1, /`df -h`.*server's log/],
  [500, ["internal error"], 1, /look for request 11111111-2222-4333-8444-555555555555/],
];
for (const [status, errors, code, next] of refusals) {
  test(`status ${status} ${errors.join(", ")}: exit code ${code} and its own next step`, async () => {
    server.instead.set("GET kv/a", { status, body: { errors } });
    const ran = await cli(server.address, ["read", "kv/a"]);
    assert.equal(ran.code, code);
    assert.equal(ran.stdout, "");
    const [what = "", advice = "", ...more] = ran.stderr.trimEnd().split("\n");
    assert.match(what, new RegExp(`^Error: GET kv/a: .+ \\(status ${status}\\)$`));
    for (const text of errors) assert.ok(what.includes(text));
    assert.match(advice, next);
    assert.deepEqual(more, []);
  });
}

test("a path that cannot be sent is refused with what to do", async () => {
  const { code, stderr } = await cli(server.address, ["read", "kv/../a"]);
  assert.equal(code, 2);
  assert.match(stderr, /^Error: no part of a path may be .*\nNext: check the path: names between/);
});

test("a listener for monitoring alone is told as the server says it, with the way to another", async () => {
  const errors = ["this listener answers sys/metrics and sys/health only"];
  const refusal = { status: 404, body: { errors }, headers: { "X-Service-Error": "metrics_only" } };
  for (const [path, ...args] of [
    ["sys/seal-status", "status"],
    ["sys/internal/ui/mounts/secret/app", "kv", "get", "secret/app"],
  ] as const) {
    server.instead.set(`GET ${path}`, refusal);
    const { code, stderr } = await cli(server.address, args);
    server.instead.delete(`GET ${path}`);
    assert.equal(code, 1, "nothing was looked for");
    assert.match(
      stderr,
      /: this listener answers sys\/metrics and sys\/health only \(status 404\)/,
    );
    assert.match(stderr, /Next: use the address or port of another listener of this server/);
  }
});

test("an empty list is told as one, and has no error", async () => {
  server.instead.set("LIST kv/a", { status: 404, body: { errors: [] } });
  const empty = await cli(server.address, ["list", "kv/a/"]);
  assert.deepEqual([empty.code, empty.stdout], [3, ""]);
  assert.equal(empty.stderr, "Nothing is listed at kv/a.\n");
  const json = await cli(server.address, ["list", "-format", "json", "kv/a"]);
  assert.deepEqual([json.code, JSON.parse(json.stdout)], [3, []]);
  server.instead.delete("LIST kv/a");
});

test("what is not there is told with a place that can be listed, or with help on the path", async () => {
  for (const [path, next] of [
    ["kv/a/b", /`holdfast list kv\/a` shows what is there/],
    ["secret/data/a", /`holdfast list secret\/metadata` shows/],
    ["kv", /`holdfast secrets list` shows/],
    ["clouda/roles/a", /`holdfast list clouda\/roles` shows/],
    ["clouda/static-creds/ci", /Next: `holdfast list clouda\/static-roles` shows the roles/],
    ["team/cloud/static-creds/ci", /`holdfast list team\/cloud\/static-roles` shows/],
    ["sys/quotas/rate-limit/a", /`holdfast list sys\/quotas\/rate-limit` shows/],
    ["auth/approle/role/a", /`holdfast list auth\/approle\/role` shows/],
    ["auth/approle/role/a/secret-id", /`holdfast list auth\/approle\/role` shows/],
    ["auth/team/people/users/a/password", /`holdfast list auth\/team\/people\/users` shows/],
    ["sys/evidence/99", /`holdfast evidence list` shows what was signed/],
    ["sys/quotas/config", /`holdfast path-help sys\/quotas\/config` shows/],
    ["auth/token/roles/a", /`holdfast path-help auth\/token\/roles\/a` shows/],
  ] as const) {
    server.instead.set(`GET ${path}`, { status: 404, body: { errors: [] } });
    const { code, stderr } = await cli(server.address, ["read", path]);
    server.instead.delete(`GET ${path}`);
    assert.equal(code, 3);
    assert.match(stderr, next);
  }
});

test("what is denied in a namespace is told by the path of a policy above it, and in which order", async () => {
  const refusal = { status: 403, body: { errors: ["permission denied"] } };
  const denied = async (key: string, ...args: string[]) => {
    server.instead.set(key, refusal);
    const { code, stderr } = await cli(server.address, args);
    server.instead.delete(key);
    assert.equal(code, 4, stderr);
    return stderr;
  };
  const inside = ["-namespace", "team/"];
  const mount = await denied(
    "POST sys/mounts/secret",
    "secrets",
    "enable",
    ...inside,
    "-path",
    "secret",
    "kv",
  );
  assert.match(
    mount,
    /a policy of the root namespace that is team\/sys\/mounts\/secret, .* make the namespace, write the policy, log in/,
  );
  const why = await denied(
    "POST sys/inspect/request",
    "policy",
    "why",
    ...inside,
    "self",
    "read",
    "a",
  );
  assert.match(why, /a policy of the root namespace that is team\/sys\/inspect\/request, and "\*"/);
  const move = await denied("POST sys/remount", "secrets", "move", "secret", "team/secret2");
  assert.match(
    move,
    /^Error: POST sys\/remount: permission denied \(status 403\)\nNext: .*on sys\/remount, and on team\/sys\/remount too, if team is/,
  );
  const beside = await denied("POST sys/remount", "secrets", "move", "secret", "other");
  assert.match(beside, /a policy must allow it on sys\/remount$/m);
});

test("an engine without its configuration is told how it gets one", async () => {
  for (const [key, text, ...args] of [
    ["POST team/b/roles/r", "engine is not configured", "write", "team/b/roles/r", "a=b"],
    [
      "POST team/b/rotate-root",
      "there is no stored configuration to rotate",
      "write",
      "-force",
      "team/b/rotate-root",
    ],
  ] as const) {
    server.instead.set(key, { status: 400, body: { errors: [text] } });
    const { code, stderr } = await cli(server.address, args);
    server.instead.delete(key);
    assert.equal(code, 1);
    assert.match(stderr, /^Next: `holdfast write team\/b\/config …` configures it; /m);
  }
});

test("a folder that is moved as if it were a secret is told with -recursive", async () => {
  const mount = { path: "secret/", type: "kv", options: { version: "2" } };
  for (const verb of ["move", "copy"]) {
    for (const path of ["secret/a", "secret/b"]) {
      const body = { request_id: "r", data: mount };
      server.instead.set(`GET sys/internal/ui/mounts/${path}`, { status: 200, body });
    }
    server.instead.set(`POST secret/${verb}`, { status: 404, body: { errors: [] } });
    const { code, stderr } = await cli(server.address, ["kv", verb, "secret/a", "secret/b"]);
    assert.equal(code, 3, stderr);
    assert.match(stderr, /^Next: a folder goes with -recursive; `holdfast kv list secret` shows/m);
    server.instead.clear();
  }
});

test("where the address has a path of its own, what is not found there is told with it", async () => {
  server.instead.set("GET sys/seal-status", {
    status: 404,
    body: { errors: ["unsupported path"] },
  });
  const plain = await cli(server.address, ["status"]);
  assert.doesNotMatch(plain.stderr, /behind host and port/);
  server.instead.delete("GET sys/seal-status");
  const listener = http.createServer((_, response) => {
    response.writeHead(404, { "Content-Type": "application/json" });
    response.end('{"errors":["unsupported path"]}');
  });
  const at = await listening(listener);
  try {
    for (const args of [["status"], ["kv", "get", "secret/a"], ["read", "sys/mounts"]]) {
      const { stderr } = await cli(`http://${at}/ui/`, args);
      assert.match(
        stderr,
        /^Next: HOLDFAST_ADDR has the path \/ui behind host and port: leave it out/m,
      );
    }
    const { stdout } = await cli(`http://${at}/ui/`, ["doctor"]);
    assert.match(stdout, /^server +wrong .* HOLDFAST_ADDR has the path \/ui behind host and port/m);
  } finally {
    listener.close();
  }
});

test("a path of no mount is told with the list of mounts of its kind", async () => {
  for (const [path, group] of [
    ["auth/userpas/users/a", "auth"],
    ["secrt/a", "secrets"],
  ] as const) {
    server.instead.set(`GET ${path}`, { status: 404, body: { errors: ["unsupported path"] } });
    const { stderr } = await cli(server.address, ["read", path]);
    server.instead.delete(`GET ${path}`);
    assert.ok(stderr.includes(`\`holdfast ${group} list\` shows the mounts`), stderr);
  }
});

test("a refusal for a rate says when to come back", async () => {
  const refusal = { status: 429, body: { errors: ["quota"] }, headers: { "Retry-After": "7" } };
  server.instead.set("GET kv/a", refusal);
  assert.match((await cli(server.address, ["read", "kv/a"])).stderr, /try again in 7 s/);
});

test("a redirect is told and not followed: the token stays here", async () => {
  const headers = { Location: "http://elsewhere.example/v1/kv/a" };
  server.instead.set("GET kv/a", { status: 307, headers });
  const { code, stderr } = await cli(server.address, ["read", "kv/a"]);
  assert.equal(code, 1);
  assert.match(stderr, /elsewhere\.example/);
});

test("nobody listening, an unknown host and a wrong address are told apart", async () => {
  const closed = net.createServer();
  const where = await listening(closed);
  await new Promise((resolve) => closed.close(resolve));
  const refused = await cli(`http://${where}`, ["status"]);
  assert.equal(refused.code, 1);
  assert.match(refused.stderr, /nothing is listening at http:[^]*holdfast server -dev/);
  const unknown = await cli("http://no-such-host.invalid", ["status"]);
  assert.match(unknown.stderr, /host of http:\/\/no-such-host\.invalid is not known/);
  const wrong = await cli("http://user:hunter2@127.0.0.1", ["status"]);
  assert.equal(wrong.code, 2);
  assert.ok(!wrong.all.includes("hunter2"));
  const socket = await cli(`unix://${home}/none.sock`, ["status"]);
  assert.match(socket.stderr, /no socket at/);
});

test("a connection that ends early, or says something else than HTTP, is told", async () => {
  const rude = net.createServer((socket) => socket.once("data", () => socket.destroy()));
  const odd = net.createServer((socket) =>
    socket.once("data", () => socket.end("\x15\x03\x01\0\x02\x02\x16")),
  );
  const broken = await cli(`http://${await listening(rude)}`, ["status"]);
  assert.match(broken.stderr, /ended before the answer was complete/);
  const tls = await cli(`http://${await listening(odd)}`, ["status"]);
  assert.match(tls.stderr, /use https:\/\//);
  rude.close();
  odd.close();
});

test("plain HTTP to a server that speaks TLS: https is what to use", async () => {
  const now = new SystemClock().now();
  const made = await makeDevCertificate([{ type: "ip", value: "127.0.0.1" }], now);
  const secure = await FakeServer.start({ cert: made.certificate, key: made.key });
  const plain = secure.address.replace("https:", "http:");
  const hungUp = await cli(plain, ["status"]);
  await secure.stop();
  const advice = /was addressed without TLS[^]*Next: use https:\/\//;
  assert.equal(hungUp.code, 1);
  assert.match(hungUp.stderr, advice);
  const texts = [
    '{"errors":["this port speaks HTTPS, and the request came in plain HTTP; use an address …"]}',
    "Client sent an HTTP request to an HTTPS server.\n",
    "<center>The plain HTTP request was sent to HTTPS port</center>",
  ];
  for (const text of texts) {
    server.instead.set("GET sys/seal-status", { status: 400, text });
    const { code, stderr } = await cli(server.address, ["status"]);
    server.instead.delete("GET sys/seal-status");
    assert.equal(code, 1);
    assert.match(stderr, advice);
  }
});

test("headers that are too long are not taken for another protocol", async () => {
  const headers = { "X-Service-Warning": "unknown ".repeat(4000) };
  server.instead.set("GET kv/a", { status: 200, body: {}, headers });
  const { stderr } = await cli(server.address, ["read", "kv/a"]);
  server.instead.delete("GET kv/a");
  assert.match(stderr, /larger than this client takes \(HPE_HEADER_OVERFLOW\)/);
});

test("settings of another client come whole, or not at all and with a word", async () => {
  const token = { VAULT_ADDR: server.address, VAULT_TOKEN: ROOT_TOKEN, HOME: home };
  const put = ["write", "kv/a", "x=1"];
  server.instead.set("POST kv/a", { status: 204 });
  const ask = async (env: Record<string, string>) => {
    server.seen.length = 0;
    const ran = await run(put, { env });
    return { ...ran, namespace: server.seen[0]?.headers["x-service-namespace"] };
  };
  for (const name of ["VAULT_NAMESPACE", "HOLDFAST_NAMESPACE"]) {
    const { code, namespace } = await ask({ ...token, [name]: "team1" });
    assert.deepEqual([code, namespace], [0, "team1"]);
  }
  const wrapped = await ask({ ...token, VAULT_WRAP_TTL: "5m" });
  assert.equal(wrapped.code, 2);
  assert.match(wrapped.stderr, /VAULT_WRAP_TTL is set and cannot be honoured.*-wrap-ttl/);
  assert.equal(server.seen.length, 0);
  const mixed = await ask({ HOLDFAST_ADDR: server.address, VAULT_TOKEN: "canary", HOME: home });
  assert.match(mixed.stderr, /Warning: VAULT_TOKEN is not used beside HOLDFAST_ADDR/);
  assert.equal(server.seen[0]?.headers["x-service-token"], undefined);
  assert.ok(!mixed.all.includes("canary"));
  for (const [name, value, words] of [
    ["VAULT_CACERT", join(home, "none.pem"), /cannot read .*none\.pem/],
    ["VAULT_CAPATH", join(home, "none"), /cannot read .*none: there is no such file/],
    ["VAULT_SKIP_VERIFY", "maybe", /VAULT_SKIP_VERIFY must be true or false/],
    ["VAULT_CLIENT_CERT", "x", /a client certificate and its key are given together/],
    ["VAULT_FORMAT", "pretty", /VAULT_FORMAT must be table, json, yaml/],
  ] as const) {
    const { code, stderr } = await ask({ ...token, [name]: value });
    assert.equal(code, 2, name);
    assert.match(stderr, words);
  }
});

test("authorities come from a file or a directory, and one without a certificate is refused", async () => {
  const now = new SystemClock().now();
  const made = await makeDevCertificate([{ type: "ip", value: "127.0.0.1" }], now);
  const secure = (await FakeServer.start({ cert: made.certificate, key: made.key })).opened();
  const directory = mkdtempSync(join(home, "authorities-"));
  writeFileSync(join(directory, "a.pem"), made.authority);
  const empty = join(home, "empty.pem");
  const key = join(home, "key.pem");
  const spoilt = join(home, "spoilt.pem");
  writeFileSync(empty, "");
  writeFileSync(key, made.key);
  writeFileSync(spoilt, "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n");
  const ask = (...args: string[]) => cli(secure.address, [...args, "status"]);
  assert.equal((await ask("-ca-path", directory)).code, 0);
  assert.equal((await ask("-ca-cert", join(directory, "a.pem"))).code, 0);
  for (const file of [empty, key]) {
    const { code, stderr } = await ask("-ca-cert", file);
    assert.equal(code, 2);
    assert.match(stderr, /holds no certificate\nNext: name a PEM file/);
  }
  assert.match((await ask("-ca-cert", spoilt)).stderr, /certificate 1 in .* cannot be read/);
  await secure.stop();
});

test("a server that never answers is left after the time given", async () => {
  const silent = http.createServer(() => {});
  const address = `http://${await listening(silent)}`;
  const { code, stderr } = await cli(address, ["-timeout", "50ms", "status"]);
  silent.closeAllConnections();
  silent.close();
  assert.equal(code, 1);
  assert.match(stderr, /no answer from .* in time \(waited 50ms\)/);
});

test("an answer over a Unix socket is read like any other", async () => {
  const path = join(home, "s.sock");
  const local = http.createServer((_, response) => {
    response.setHeader("Content-Type", "application/json");
    response.end('{"request_id":"r","data":{"ok":true}}');
  });
  await new Promise<void>((resolve) => local.listen(path, resolve));
  const { stdout } = await cli(`unix://${path}`, ["read", "-field", "ok", "kv/a"]);
  local.close();
  assert.equal(stdout, "true");
});

test("TLS: trust, expiry and names are checked, and each has its next step", async () => {
  const clock = new SystemClock();
  const hosts = [{ type: "ip", value: "127.0.0.1" }] as const;
  const good = await makeDevCertificate(hosts, clock.now());
  const old = await makeDevCertificate(hosts, clock.now() - 60n * DAY);
  const other = await makeDevCertificate([{ type: "dns", value: "other.example" }], clock.now());
  const ca = (name: string, pem: string) => {
    const path = join(home, `${name}.pem`);
    writeFileSync(path, pem);
    return `-ca-cert=${path}`;
  };
  const start = async ({ certificate: cert, key }: typeof good) =>
    (await FakeServer.start({ cert, key })).opened();
  const [trusted, expired, misnamed] = await Promise.all([start(good), start(old), start(other)]);
  try {
    const untrusted = await cli(trusted.address, ["status"]);
    assert.equal(untrusted.code, 1);
    assert.match(untrusted.stderr, /not trusted here[^]*-ca-cert FILE/);
    assert.equal(trusted.seen.length, 0, "nothing is sent to whom we do not trust");

    const withCa = ca("good", good.authority);
    assert.equal((await cli(trusted.address, ["status", withCa])).code, 0);
    const listed = await cli(trusted.address, ["list", withCa, "sys/namespaces"]);
    assert.equal(listed.code, 3);
    assert.equal(trusted.seen.at(-1)?.method, "LIST", "LIST travels over TLS as well");

    const skipped = await cli(trusted.address, ["status"], {
      env: { HOLDFAST_SKIP_VERIFY: "true" },
    });
    assert.equal(skipped.code, 0);
    assert.match(skipped.stderr, /Warning: the server's certificate is not checked/);

    const late = await cli(expired.address, ["status", ca("old", old.authority)]);
    assert.match(late.stderr, /not valid at this time[^]*renew/);
    const name = ca("other", other.authority);
    const wrongName = await cli(misnamed.address, ["status", name]);
    assert.match(wrongName.stderr, /for another name[^]*-tls-server-name/);
    const named = await cli(misnamed.address, [
      "status",
      name,
      "-tls-server-name",
      "other.example",
    ]);
    assert.equal(named.code, 0);

    const plain = await cli(server.address.replace("http:", "https:"), ["status"]);
    assert.match(plain.stderr, /does not speak it[^]*http:\/\//);

    assert.match((await cli(trusted.address, ["doctor"])).stdout, /^tls +wrong .*-ca-cert/m);
    const doctor = await cli(trusted.address, ["doctor", withCa]);
    assert.match(doctor.stdout, /^tls +watch .*valid for 29 days +renew/m);
    assert.match((await cli(expired.address, ["doctor"])).stdout, /^tls +wrong .*expired/m);
  } finally {
    await Promise.all([trusted.stop(), expired.stop(), misnamed.stop()]);
  }
});

test("T-E05: what fails on our side is told without the value that it failed on", async () => {
  const secret = "hunter2-canary";
  const cases: readonly [readonly string[], RunOptions][] = [
    [["write", "kv/a", "-"], { stdin: `{"password": "${secret}"` }],
    [["write", "kv/a", "-"], { stdin: `"${secret}"` }],
    [["write", "kv/a", secret], {}],
    [["write", "kv/a", "a=-", "b=-"], { stdin: secret }],
    [["operator", "unseal", "share-a", secret], {}],
    [["operator", "unseal", `-${secret}`], {}],
    [["login", `-token=${secret}`], {}],
    [["login", `--tokn=${secret}`], {}],
    [["login", secret], {}],
    [["login", "-"], { stdin: `${secret} ${secret}` }],
    [["operator", "generate-root", "-decode", secret, "-otp", "-"], { stdin: secret }],
    [["operator", "init", "-key-shares", secret], {}],
    [["status", "-format", secret], {}],
    [[secret], {}],
    [["read", "kv/a"], { env: { HOLDFAST_TOKEN: `${secret}\nX-Header: 1` } }],
    [["read", "kv/a"], { env: { HOLDFAST_SKIP_VERIFY: secret } }],
  ];
  for (const [args, options] of cases) {
    const { code, all } = await cli(server.address, args, options);
    assert.notEqual(code, 0, args.join(" "));
    assert.ok(!all.includes("canary"), all);
  }
});

test("T-E05: an answer that is no JSON is told without a word of it", async () => {
  const headers = { "Content-Type": "application/json" };
  server.instead.set("GET kv/a", { status: 200, text: '{"password":"hunter2-canary"', headers });
  const { code, all } = await cli(server.address, ["read", "-debug", "kv/a"]);
  assert.equal(code, 1);
  assert.match(all, /not valid JSON/);
  assert.ok(!all.includes("canary"));
});

test("T-E05: an unforeseen error shows its kind and, with -debug, where; never its text", async () => {
  const files = {
    read: () => {
      throw new TypeError("hunter2-canary");
    },
    text: () => {
      throw new TypeError("hunter2-canary");
    },
    lines: () => [],
    names: () => [],
    real: (path: string) => path,
    isFile: () => true,
    replace: () => {},
  };
  const args = ["write", "-debug", "kv/a", "a=@file"];
  const { code, all } = await cli(server.address, args, { world: { files } });
  assert.equal(code, 1);
  assert.match(all, /failed unexpectedly \(TypeError\)[^]*at /);
  assert.ok(!all.includes("canary"));
});

test("T-O04: -debug tells each request without token, body, query or namespace", async () => {
  server.instead.delete("GET kv/a");
  server.instead.set("POST kv/a", { status: 204 });
  const args = ["write", "-debug", "kv/a", "password=hunter2-canary"];
  const { stderr, all } = await cli(server.address, args);
  assert.match(stderr, /^POST kv\/a: 204 in .*, request 11111111-/m);
  assert.ok(!all.includes("canary"));
  assert.ok(!all.includes(ROOT_TOKEN));
  const read = await cli(server.address, ["read", "-debug", "kv/b", "key=hunter2-canary"]);
  assert.ok(!read.all.includes("canary"));
});

test("waiting is shown on a terminal after a second, and taken away again", async () => {
  const { promise, resolve } = Promise.withResolvers<{ status: number }>();
  server.instead.set("POST sys/rotate", () => promise);
  const calls: (() => void)[] = [];
  const timers = {
    after: (delay: bigint, call: () => void) => {
      // The patience of the display, and its frames; the time-out of the request is not played.
      if (delay <= 1_000_000_000n) calls.push(call);
      return { cancel: () => {} };
    },
    turn: () => Promise.resolve(),
  };
  const running = cli(server.address, ["operator", "rotate"], { typed: [], world: { timers } });
  while (server.seen.at(-1)?.path !== "sys/rotate") await new Promise(setImmediate);
  for (let frame = 0; frame < 3; frame++) calls.shift()?.();
  resolve({ status: 204 });
  const { stderr, stdout } = await running;
  assert.match(stderr, /waiting for the server, 0 s/);
  assert.ok(stderr.endsWith("\r\u001b[K"), "the line is empty again");
  assert.match(stdout, /Success/);
});

test("a file that is missing is told by the name of its setting; a token is no file", async () => {
  const secure = server.address.replace("http:", "https:");
  for (const [args, env, from] of [
    [[], { HOLDFAST_CACERT: "/nope" }, "HOLDFAST_CACERT"],
    [["-ca-cert", "/nope"], {}, "-ca-cert"],
  ] as const) {
    const { code, stderr } = await cli(secure, ["status", ...args], { env });
    assert.equal(code, 2);
    assert.ok(
      stderr.includes(`Error: ${from}: cannot read /nope: there is no such file\nNext: `),
      stderr,
    );
  }
  const token = await cli(server.address, ["unwrap", "nosuch"]);
  assert.equal(token.code, 2);
  assert.match(token.stderr, /no such file\nNext: a token is no argument: run `holdfast unwrap`/);
});

test("credentials of a role that is not there are not found, and the roles are named", async () => {
  for (const [path, roles] of [
    ["clouda/creds/nosuch", "clouda/roles"],
    ["team/clouda/static-creds/nosuch", "team/clouda/static-roles"],
  ] as const) {
    const headers = { "X-Service-Error": "creds_role_unknown" };
    server.instead.set(`GET ${path}`, { status: 400, headers, body: { errors: ["unknown role"] } });
    const { code, stderr } = await cli(server.address, ["read", path]);
    server.instead.delete(`GET ${path}`);
    assert.equal(code, 3);
    assert.ok(stderr.includes(`Next: \`holdfast list ${roles}\` shows the roles`), stderr);
  }
});

test("a command that other servers have is answered with what there is", async () => {
  const { code, stderr } = await cli(server.address, ["acl", "role", "list"]);
  assert.equal(code, 2);
  assert.match(stderr, /there are no roles of tokens.*\nNext: give policies to the token/);
});

test("a refused program is tried out with its kind", async () => {
  const errors = ["failed to parse policy: line 1"];
  server.instead.set("POST sys/policies/rgp/p", { status: 400, body: { errors } });
  const args = ["write", "-force", "sys/policies/rgp/p"];
  assert.match((await cli(server.address, args)).stderr, /`holdfast policy test -type rgp FILE`/);
  server.instead.delete("POST sys/policies/rgp/p");
});
