// Threats F: barrier, unsealing, ceremonies. Through HTTP, against a whole server; what is done to the
// disk is done behind its back.

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import { IncomingMessage } from "node:http";
import { Socket } from "node:net";
import { join } from "node:path";
import test from "node:test";
import { combine, split } from "shamir-secret-sharing";
import { openEntry, secretKey } from "../../src/crypto/aead.ts";
import { MemoryDisk } from "../../src/storage/engines/memory.ts";
import { type Answer, at } from "../support/http-client.ts";
import { FlakyRandom } from "../support/fake-world.ts";
import { makeOperator, PassingClock } from "../support/servers/sealed-node.ts";
import { request } from "../support/http-front.ts";
import { until } from "../support/until.ts";
import { startServer } from "../support/servers/test-server.ts";
import { type After, auditLines, lastIndex, rule, Scene, scene } from "./scene.ts";

const SOURCE = join(import.meta.dirname, "..", "..", "src");
const ATTEMPT = "/v1/sys/generate-root/attempt";
const UPDATE = "/v1/sys/generate-root/update";

test("T-F02: whoever may not start a ceremony cannot spoil one either", async (t) => {
  const server = await startServer({ listener: { keyCeremonies: "token" } });
  t.after(() => server.stop());
  const { token, shares } = await server.open(3, 2);
  const started = await server.call("POST", ATTEMPT, { token });
  const nonce = String(at(started, "nonce"));
  const give = (key: string | undefined) =>
    server.call("POST", UPDATE, { token, body: { key, nonce } });
  assert.equal(at(await give(shares[0]), "progress"), 1);
  for (let i = 0; i < 100; i++) {
    const body = { key: shares[2], nonce };
    const attempts = [
      server.call("POST", ATTEMPT),
      server.call("DELETE", ATTEMPT),
      server.call("DELETE", `${ATTEMPT}?nonce=${nonce}`),
      server.call("POST", UPDATE, { body }),
      server.call("GET", ATTEMPT),
    ];
    for (const { status } of await Promise.all(attempts)) assert.equal(status, 403);
  }
  const done = await give(shares[1]);
  assert.equal(at(done, "complete"), true, done.text);
});

/** A server whose ceremonies need a token, a holder's start, and a token that may look and no more. */
async function tokenMode(t: After) {
  const server = await startServer({ listener: { keyCeremonies: "token" } });
  t.after(() => server.stop());
  const { token, shares } = await server.open(3, 2);
  const stage = new Scene(server, token, shares);
  return { server, token, shares, stage, anybody: await stage.client(["default"]) };
}

test("T-F01: what a token may see of an attempt does not let it end the attempt", async (t) => {
  const { server, token, shares, stage, anybody } = await tokenMode(t);
  const log = await stage.audit();
  for (const [path, update] of [
    [ATTEMPT, UPDATE],
    ["/v1/sys/rekey/init", "/v1/sys/rekey/update"],
  ] as const) {
    const started = await server.call("POST", path, { token });
    const nonce = String(at(started, "nonce"));
    const cancel = String(at(started, "cancel_nonce"));
    assert.match(cancel, /^[0-9a-f-]{36}$/);
    const options = { token, body: { key: shares[0], nonce } };
    assert.equal(at(await server.call("POST", update, options), "cancel_nonce"), undefined);
    const seen = await server.call("GET", path, { token: anybody });
    assert.equal(at(seen, "nonce"), nonce);
    assert.ok(!seen.text.includes(cancel), "only the one who started it knows");

    const remove = (body: object, as = anybody) => server.call("DELETE", path, { token: as, body });
    assert.equal((await remove({})).status, 403);
    assert.equal((await remove({ nonce })).status, 403);
    assert.equal((await remove({ cancel_nonce: nonce })).status, 400);
    assert.equal((await remove({ nonce: "other" }, token)).status, 400);
    const query = await server.call("DELETE", `${path}?nonce=${nonce}`, { token: anybody });
    assert.equal(query.status, 403);
    assert.equal(at(await server.call("GET", path, { token }), "progress"), 1);
    assert.equal((await remove({ cancel_nonce: cancel })).status, 204, "whoever has it may");
    const denied = auditLines(log).filter(({ error }) => error?.includes("cancel_nonce"));
    assert.ok(denied.length > 0, "who tried is on record");
    assert.ok(!readFileSync(log, "utf8").includes(cancel), "and what would be right is not");
  }
});

test("T-F02: where a ceremony needs a token, starting one needs the right to write there", async (t) => {
  const { server, stage, anybody } = await tokenMode(t);
  for (const path of ["sys/generate-root/attempt", "sys/rekey/init"]) {
    const start = (token: string) => server.call("POST", `/v1/${path}`, { token });
    assert.equal((await start(anybody)).status, 403, path);
    assert.equal((await start(await stage.clientWith(rule(path, ["read"])))).status, 403, path);
    assert.equal(at(await server.call("GET", `/v1/${path}`, { token: anybody }), "started"), false);
    assert.equal((await start(await stage.clientWith(rule(path, ["update"])))).status, 200, path);
  }
});

test("T-F02: a proxy on the server's machine does not open ceremonies to whoever it serves", async (t) => {
  const stage = await scene(t);
  const { server } = stage;
  for (const path of [ATTEMPT, "/v1/sys/rekey/init"]) {
    for (const [name, value] of [
      ["X-Forwarded-For", "203.0.113.9"],
      ["X-Forwarded-For", "127.0.0.1"],
      ["Forwarded", "for=203.0.113.9"],
      ["X-Real-IP", "127.0.0.1"],
      ["Via", "1.1 proxy"],
      ["X-Forwarded-Host", "a.example"],
      ["X-Forwarded-Proto", "https"],
      ["X-Forwarded-Anything", "x"],
      ["X-Client-IP", "203.0.113.9"],
      ["CF-Connecting-IP", "203.0.113.9"],
    ] as const) {
      for (const verb of ["GET", "POST"]) {
        const answer = await server.call(verb, path, { headers: { [name]: value } });
        assert.equal(answer.status, 403, `${verb} ${path} with ${name}`);
      }
    }
    assert.equal((await server.call("POST", path)).status, 200, "from this machine itself");
  }
});

test("T-F02: a proxy that is believed and says that its client is local opens nothing either", async (t) => {
  const forwarded = { forwardedForFrom: ["127.0.0.1"] };
  const stage = await scene(t, { listener: forwarded });
  const headers = { "X-Forwarded-For": "127.0.0.1" };
  assert.equal((await stage.server.call("POST", ATTEMPT, { headers })).status, 403);
});

test("T-F02: an attempt that nobody feeds gives its place back after ten minutes", async (t) => {
  const clock = new PassingClock();
  const { server } = await scene(t, { world: { clock } });
  for (const path of [ATTEMPT, "/v1/sys/rekey/init"]) {
    assert.equal((await server.call("POST", path)).status, 200);
    assert.equal((await server.call("POST", path)).status, 400);
    clock.ahead += 601n * 1_000_000_000n;
    assert.equal(at(await server.call("GET", path), "started"), false);
    assert.equal((await server.call("POST", path)).status, 200);
  }
});

test("T-F01: one share that fits nothing does not hold the place of a ceremony for good", async (t) => {
  const clock = new PassingClock();
  const { server } = await scene(t, { world: { clock } });
  const minutes = (count: bigint) => (clock.ahead += count * 60n * 1_000_000_000n);
  for (const [path, update] of [
    [ATTEMPT, UPDATE],
    ["/v1/sys/rekey/init", "/v1/sys/rekey/update"],
  ] as const) {
    const body = { secret_shares: 3, secret_threshold: 2 };
    const started = await server.call("POST", path, path === ATTEMPT ? {} : { body });
    const nonce = at(started, "nonce");
    const give = async () => {
      const key = Buffer.from(randomUUID().replaceAll("-", "").repeat(2) + "01", "hex");
      await server.call("POST", update, { body: { key: key.toString("hex"), nonce } });
      return at(await server.call("GET", path), "started");
    };
    assert.equal(await give(), true);
    minutes(59n);
    assert.equal(at(await server.call("GET", path), "started"), true, "holders have to be found");
    minutes(2n);
    assert.equal(at(await server.call("GET", path), "started"), false);
    assert.equal((await server.call("POST", path)).status, 200);
  }
});

test("T-F01: a verification that nobody goes on with ends its rekey", async (t) => {
  const clock = new PassingClock();
  const { server, shares } = await scene(t, { world: { clock } });
  const init = "/v1/sys/rekey/init";
  const body = { secret_shares: 3, secret_threshold: 2, require_verification: true };
  const nonce = at(await server.call("POST", init, { body }), "nonce");
  let last: Answer | null = null;
  for (const key of shares) {
    last = await server.call("POST", "/v1/sys/rekey/update", { body: { key, nonce } });
    if (at(last, "complete") === true) break;
  }
  assert.ok(last !== null);
  assert.equal(at(last, "verification_required"), true);
  assert.equal((await server.call("POST", init)).status, 400);
  clock.ahead += 3590n * 1_000_000_000n;
  assert.equal((await server.call("GET", "/v1/sys/rekey/verify")).status, 200);
  clock.ahead += 11n * 1_000_000_000n;
  assert.equal((await server.call("GET", "/v1/sys/rekey/verify")).status, 400);
  assert.equal((await server.call("POST", init)).status, 200);
});

test("T-F04: the server's shares are those of another implementation, and it takes that one's", async (t) => {
  const disk = new MemoryDisk();
  const server = await startServer({ disk });
  t.after(() => server.stop());
  const { shares } = await server.init(5, 3);
  const bytes = shares.map((share) => Uint8Array.from(Buffer.from(share, "hex")));
  const opens = async (some: readonly Uint8Array[]) => {
    const key = secretKey(Buffer.from(await combine([...some])));
    const row = disk.rows.get("core/root-key");
    assert.ok(row !== null);
    return openEntry(key, "core/root-key", row) !== null;
  };
  assert.equal(await opens(bytes.slice(2)), true);
  assert.equal(await opens(bytes.slice(0, 2)), false, "fewer tell nothing");
  // Split anew elsewhere: other shares of the same key.
  const again = await split(await combine(bytes.slice(1, 4)), 4, 3);
  for (const share of again.slice(1)) {
    await server.call("POST", "/v1/sys/unseal", {
      body: { key: Buffer.from(share).toString("hex") },
    });
  }
  assert.equal(at(await server.call("GET", "/v1/sys/seal-status"), "sealed"), false);
});

test("T-F04: nothing in the arithmetic of shares is indexed by a secret, or decided by one", () => {
  const source = readFileSync(join(SOURCE, "crypto", "shamir.ts"), "utf8").replace(
    /\/\/.*|\/\*[^]*?\*\//g,
    "",
  );
  // Positions and counts. A byte of a secret, a coefficient or a share in brackets would be a table.
  const positions = /^(?:i|j|at|other|secret\.length|length - 1|i \* degree \+ power|0|)$/;
  const indexes = Array.from(source.matchAll(/[\w)\]]\[([^\]]*)\]/g), ([, index = ""]) => index);
  assert.ok(indexes.length > 10);
  for (const index of indexes) assert.match(index, positions, "what is this an index of?");
  for (const name of ["multiply", "invert"]) {
    const [, body = ""] = new RegExp(`function ${name}\\([^]*?\\{([^]*?)\\n\\}`).exec(source) ?? [];
    assert.ok(body.length > 50, name);
    assert.doesNotMatch(
      body,
      /\bif\b|\?|&&|\|\||\bwhile\b|\[|%/,
      `${name} decides by what it is given`,
    );
  }
});

test("T-F05: junk among the shares undoes nothing, tells nothing, and nobody resets from afar", async (t) => {
  const server = await startServer();
  t.after(() => server.stop());
  const { shares } = await server.init(5, 3);
  const give = (key: unknown) => server.call("POST", "/v1/sys/unseal", { body: { key } });
  const texts = new Set<string>();
  for (const [key, progress] of [
    [shares[0], 1],
    [shares[0], 1], // the same again is no second one
    [shares[1], 2],
    [shares[0], 2],
    [shares[1], 2],
  ] as const) {
    const answer = await give(key);
    assert.deepEqual([answer.status, at(answer, "progress")], [200, progress]);
  }
  for (const junk of [`${"ab".repeat(32)}01`, "cd".repeat(32), `${"00".repeat(32)}00`]) {
    const refused = await give(junk);
    assert.equal(refused.status, 400);
    texts.add(JSON.stringify(at(refused, "errors")));
  }
  assert.equal(texts.size, 1, "no hint which share is wrong, or why");
  const reset = { body: { reset: true }, headers: { "X-Forwarded-For": "203.0.113.9" } };
  assert.equal((await server.call("POST", "/v1/sys/unseal", reset)).status, 403);
  const opened = await give(shares[4]);
  assert.deepEqual([opened.status, at(opened, "sealed")], [200, false]);
});

test("T-F03: an attempt keeps its key, its password and its nonce; shares for another do not count", async (t) => {
  const server = await startServer();
  t.after(() => server.stop());
  const { shares } = await server.open(3, 2);
  const [holder, attacker] = [await makeOperator(), await makeOperator()];
  const base64 = (key: string) => Buffer.from(key).toString("base64");
  const start = (key: string) => server.call("POST", ATTEMPT, { body: { pgp_key: base64(key) } });
  const give = (key: string | undefined, nonce: unknown) =>
    server.call("POST", UPDATE, { body: { key, nonce } });
  const started = await start(holder.publicKey);
  const [nonce, cancel] = [at(started, "nonce"), at(started, "cancel_nonce")];
  assert.equal(at(await give(shares[0], nonce), "progress"), 1);

  // Nobody changes a running attempt.
  assert.equal((await start(attacker.publicKey)).status, 400);
  assert.equal((await server.call("POST", ATTEMPT, { body: {} })).status, 400);
  const running = await server.call("GET", ATTEMPT);
  assert.equal(at(running, "pgp_fingerprint"), holder.fingerprint, "holders see whose key it is");
  assert.equal(at(running, "progress"), 1);

  // Cancelled and started again under the attacker's key: the second share was meant for the first.
  await server.call("DELETE", ATTEMPT, { body: { cancel_nonce: cancel } });
  const next = await start(attacker.publicKey);
  assert.notEqual(at(next, "nonce"), nonce);
  assert.equal((await give(shares[1], nonce)).status, 400);
  assert.equal((await give(shares[1], "")).status, 400);
  assert.equal((await give(shares[1], undefined)).status, 400);
  assert.equal(at(await server.call("GET", ATTEMPT), "progress"), 0);
});

test("T-F05: what a share came in is overwritten once it was taken: segments, body, and pieces of it", async (t) => {
  const server = await startServer();
  t.after(() => server.stop());
  const { shares } = await server.init(3, 3);
  const [first = "", second = ""] = shares;
  const emitted = t.mock.method(Socket.prototype, "emit");
  const pushed = t.mock.method(IncomingMessage.prototype, "push");
  const buffers = (some: readonly unknown[]) => some.filter((one) => Buffer.isBuffer(one));
  const segments = () => buffers(emitted.mock.calls.flatMap(({ arguments: all }) => all));
  const pieces = () => buffers(pushed.mock.calls.flatMap(({ arguments: all }) => all));
  const holding = (text: string) =>
    [...segments(), ...pieces()].filter((buffer) => buffer.includes(text)).length;

  const answer = await server.call("POST", "/v1/sys/unseal", { body: { key: first } });
  assert.equal(at(answer, "progress"), 1);
  assert.ok(segments().length > 0 && pieces().length > 0);
  assert.equal(holding(first), 0, "a share in one piece");

  const stage = new Scene(server, "", shares);
  const client = await stage.connect();
  const body = JSON.stringify({ key: second });
  const head = request("POST", "/v1/sys/unseal", `Content-Length: ${body.length}`);
  client.socket.write(head + body.slice(0, 30));
  await until(() => pieces().some((piece) => piece.includes(second.slice(0, 20))));
  const answered = client.ask(body.slice(30));
  assert.equal((await answered).status, 200);
  client.destroy();
  assert.equal(holding(second.slice(0, 20)) + holding(second.slice(-20)), 0, "a share in two");
});

test("T-F06: no answer, log line or record repeats a share, whatever is wrong with it or around it", async (t) => {
  const server = await startServer();
  t.after(() => server.stop());
  const { shares, token } = await server.init(3, 2);
  const [a = "", b = ""] = shares;
  const marks = shares.flatMap((share) => [share, Buffer.from(share, "hex").toString("base64")]);
  const texts: string[] = [];
  const send = async (path: string, body: unknown, method = "POST") => {
    const answer = await server.call(method, `/v1/sys/${path}`, { token, body });
    texts.push(answer.text);
    return answer;
  };
  const malformed = (key: string) => [
    { key: `${key}0` },
    { key: `"${key}"` },
    { key: [key] },
    { key, seal: key },
    { key, migrate: true },
    { key, reset: key },
    `{"key":"${key}"`,
    `${key}`,
  ];
  for (const body of malformed(a)) await send("unseal", body);
  await send(`unseal?key=${a}`, {});
  await send("unseal", { key: a });
  await send("unseal", { key: b });
  const stage = new Scene(server, token, shares);
  const log = await stage.audit();
  const { nonce } = (await send("generate-root/attempt", {})).json as { nonce: string };
  for (const body of malformed(a)) await send("generate-root/update", body);
  for (const key of [a, a, "ab".repeat(33)]) await send("generate-root/update", { key, nonce });
  await send("generate-root/update", { key: b, nonce: a });
  await send("generate-root/attempt", { cancel_nonce: a }, "DELETE");
  await send("rekey/init", { secret_shares: a });
  const records = readFileSync(log, "utf8");
  assert.ok(records.includes("generate-root"));
  for (const text of [...texts, ...server.lines, records]) {
    for (const mark of marks) assert.ok(!text.includes(mark), text.slice(0, 300));
  }
});

test("T-F07: when the random source fails nothing is sealed and nothing is stored", async (t) => {
  // Names of requests still come: a server that cannot name one ends at once.
  class NoKeyMaterial extends FlakyRandom {
    override uuid(): string {
      return randomUUID();
    }
  }
  const random = new NoKeyMaterial();
  const stage = await scene(t, { world: { random } });
  await stage.namespaces("kept");
  const before = await lastIndex(stage);
  random.failing = true;
  const write = { token: stage.root, body: { custom_metadata: { a: "b" } } };
  const failed = await Promise.all(
    ["lost", "kept"].map((name) => stage.server.call("POST", `/v1/sys/namespaces/${name}`, write)),
  );
  random.failing = false;
  assert.deepEqual(
    failed.map(({ status }) => status),
    [500, 500],
  );
  assert.equal(await lastIndex(stage), before);
  assert.equal(stage.server.server.namespaces.named("lost"), null);
});

test("T-F08: a caller's nonce is nothing to the barrier", async (t) => {
  const disk = new MemoryDisk();
  const stage = await scene(t, { disk });
  const fields = { nonce: "A".repeat(16), iv: "A".repeat(16), context: "x" };
  const seen = new Set<string>();
  for (let i = 0; i < 50; i++) {
    const body = { custom_metadata: { same: "value" }, ...fields };
    const made = await stage.must("POST", "/v1/sys/namespaces/n", { body });
    assert.match(String(at(made, "warnings", 0)), /nonce, iv, context/);
    const row = entryOf(disk, "shared/namespaces/");
    seen.add(Buffer.from(row.value.subarray(5, 17)).toString("hex"));
  }
  assert.equal(seen.size, 50, "every write has a nonce of its own");
});

/** The last data row below a prefix. */
function entryOf(disk: MemoryDisk, prefix: string): { key: string; value: Uint8Array } {
  const range = { from: prefix, to: `${prefix.slice(0, -1)}0`, limit: 10_000 };
  const row = disk.rows.rows(range).findLast(({ key }) => !key.includes("/ids/"));
  assert.ok(row !== undefined, prefix);
  return row;
}

test("T-F09 T-F10: an entry that was moved, altered or taken away is never served, and it is told which", async (t) => {
  const disk = new MemoryDisk();
  // Without the cache of decrypted entries, so that every read is one of the disk.
  const server = await startServer({ disk, config: (config) => ({ ...config, cacheBytes: 0 }) });
  t.after(() => server.stop());
  const { token, shares } = await server.open();
  const stage = new Scene(server, token, shares);
  const path = "/v1/sys/quotas/rate-limit/a";
  await stage.must("POST", path, { body: { path: "sys/", rate: 4321 } });
  await stage.must("POST", "/v1/sys/quotas/rate-limit/b", { body: { path: "acl/", rate: 1234 } });
  const [key, other] = ["a", "b"].map((name) => `shared/quotas/rate-limit/${name}`);
  assert.ok(key !== undefined && other !== undefined);
  const [now, foreign] = [disk.rows.get(key), disk.rows.get(other)];
  assert.ok(now !== null && foreign !== null);
  // Past the engine, which would tell the server that somebody else writes.
  const none = { leaves: [], sums: [], log: [], cutLogAbove: null, trimLogBelow: null, meta: [] };
  const expect = { name: "nothing is here", value: null };
  const put = (value: Uint8Array | null) =>
    disk.rows.apply({ ...none, data: [{ key, value }], expect });
  const answers = new Set<string>();
  for (const [what, value] of [
    ["another entry's bytes", foreign],
    ["a flipped bit", Uint8Array.from(now, (byte, i) => (i === now.length - 1 ? byte ^ 1 : byte))],
    ["another term", Uint8Array.from(now, (byte, i) => (i === 3 ? byte + 1 : byte))],
    ["cut short", now.subarray(0, now.length - 1)],
    ["empty", new Uint8Array(0)],
    ["taken away", null],
  ] as const) {
    put(value);
    const served = await server.call("GET", path, { token });
    assert.equal(served.status, 500, `${what}: ${served.text}`);
    const { errors, request_id: id } = served.json as { errors: string[]; request_id: string };
    assert.equal(served.headers["x-service-request-id"], id);
    answers.add(JSON.stringify(errors).replaceAll(id, "ID"));
    assert.equal((await server.call("GET", "/v1/sys/key-status", { token })).status, 200, what);
  }
  // Which entry is told by a digest; no path, no key, no stack.
  for (const text of answers)
    assert.match(text, /^\["stored entry [0-9a-f]{16} is damaged: [a-z ]+"\]$/);
  assert.ok(server.lines.some((line) => line.includes("[ERROR]")));
  put(now);
  assert.equal(at(await server.call("GET", path, { token }), "data", "rate"), 4321);
});

test("T-F12: nothing is served between the barrier and what must be loaded behind it", async (t) => {
  const disk = new MemoryDisk();
  const first = await startServer({ disk });
  t.after(() => first.stop());
  const { token, shares } = await first.open();
  const stage = new Scene(first, token, shares);
  await stage.namespaces("team");
  const client = await stage.clientWith(rule("sys/namespaces/team", ["deny"]));
  const quota = { path: "sys/namespaces/limited", rate: 1, interval: "1h" };
  await stage.must("POST", "/v1/sys/quotas/rate-limit/one", { body: quota });
  const log = await stage.audit();
  await first.server.keeper.seal();
  const { audit, namespaces, tokens } = first.server;
  for (const room of [namespaces, tokens, audit] as readonly { open(): Promise<void> | void }[]) {
    const { promise: gate, resolve: release } = Promise.withResolvers<void>();
    const { promise: reached, resolve: arrive } = Promise.withResolvers<void>();
    const open = room.open.bind(room);
    room.open = async () => {
      arrive();
      await gate;
      await open();
    };
    const unsealing = first.call("POST", "/v1/sys/unseal", { body: { key: shares[0] } });
    await reached; // the barrier is open, the room is not
    const early: Answer[] = [];
    for (let i = 0; i < 20; i++) {
      early.push(
        await first.call("GET", "/v1/sys/namespaces/team", { token }),
        await first.call("GET", "/v1/sys/namespaces/team", { token: client }),
        await first.call("POST", "/v1/sys/namespaces/early", { token }),
        await first.call("LIST", "/v1/sys/namespaces", { namespace: "team", token }),
        await first.call("GET", ATTEMPT),
      );
    }
    for (const { status, text } of early) assert.equal(status, 503, text);
    const sealStatus = await first.call("GET", "/v1/sys/seal-status");
    assert.equal(at(sealStatus, "sealed"), true);
    release();
    assert.equal((await unsealing).status, 200);
    room.open = open;
    // The very first request is judged, counted and recorded.
    const before = auditLines(log).length;
    assert.equal(
      (await first.call("GET", "/v1/sys/namespaces/team", { token: client })).status,
      403,
    );
    assert.equal(auditLines(log).length, before + 2);
    const limited = () => first.call("GET", "/v1/sys/namespaces/limited", { token });
    assert.deepEqual([(await limited()).status, (await limited()).status], [404, 429]);
    await first.server.keeper.seal();
  }
  await first.unseal(shares);
  assert.equal(namespaces.named("early"), null);
});
