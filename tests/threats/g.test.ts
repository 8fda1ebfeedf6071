// Threats G: audit. Through HTTP, against a whole server.

import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { type AddressInfo, createServer, type Socket } from "node:net";
import test from "node:test";
import { at } from "../support/http-client.ts";
import { keepsNobodyWaiting } from "../support/processor-time.ts";
import { auditLines, EVERYTHING, lastIndex, rule, scene, type Scene } from "./scene.ts";

const MARKER = "marker-77ab01";

test("T-G01: the query of a path that is refused is in no record, log or answer", async (t) => {
  const stage = await scene(t);
  const file = await stage.audit();
  await stage.must("POST", "/v1/sys/loggers", { body: { level: "debug" } });
  const before = auditLines(file).length;
  const targets = [
    `/v1/sys/../x?token=${MARKER}`,
    `/v1/sys//x?${MARKER}`,
    `/v1/sys/%2e/x?a=b?${MARKER}`,
    `/v1/sys/%00?password=${MARKER}#${MARKER}`,
    `/v1/sys/key-status?a=%zz&token=${MARKER}`,
    `/v1/sys/key-status?a=1&a=2&token=${MARKER}`,
    `/v1/sys/x?token=${MARKER}${"x".repeat(8200)}`,
  ];
  for (const target of targets) {
    const { status, body } = await stage.target("GET", target, `X-Service-Token: ${stage.root}`);
    assert.equal(status, 400, target);
    assert.ok(!body.includes(MARKER), body);
  }
  const bad = "X-Service-Namespace: a//b";
  const { status } = await stage.target("GET", `/v1/sys/x?token=${MARKER}`, bad);
  assert.equal(status, 400);
  const lines = auditLines(file).slice(before);
  assert.equal(lines.length, 2 * (targets.length + 1), "each has its two records");
  assert.ok(lines.some(({ request }) => request.raw_path === "/sys/../x"));
  assert.ok(!readFileSync(file, "utf8").includes(MARKER));
  assert.ok(!stage.server.lines.join("").includes(MARKER));
});

test("T-G04: what cannot be recorded does not run", async (t) => {
  const stage = await scene(t);
  const open = new Set<Socket>();
  const sink = createServer((socket) => void open.add(socket.on("error", () => {}).resume()));
  await new Promise<void>((resolve) => sink.listen(0, "127.0.0.1", resolve));
  const { port } = sink.address() as AddressInfo;
  const options = { address: `127.0.0.1:${port}`, socket_type: "tcp", write_timeout: "1s" };
  await stage.must("POST", "/v1/sys/audit/only", { body: { type: "socket", options } });
  for (const socket of open) socket.destroy();
  await new Promise((resolve) => sink.close(resolve));
  const { root: token, server } = stage;
  // What is written first to a connection that the peer has left may still be taken by the system.
  let tries = 0;
  const write = () => server.call("POST", `/v1/sys/namespaces/try-${tries++}`, { token });
  while ((await write()).status !== 500) assert.ok(tries < 50);
  const before = await lastIndex(stage);
  for (let i = 0; i < 5; i++) assert.equal((await write()).status, 500);
  assert.equal(await lastIndex(stage), before, "nothing was written");
  assert.equal(server.server.namespaces.named(`try-${tries - 1}`), null);
});

test("T-G05: a body at the limits is recorded without holding up anybody", async (t) => {
  const stage = await scene(t);
  await stage.audit();
  const lists = (count: number, of: number) =>
    Array.from({ length: count }, () => Array.from({ length: of }, (_, i) => `s${i}`));
  const bodies: Readonly<Record<string, object>> = {
    "fifty thousand texts": { a: lists(10, 4_990) },
    "a thousand names in each of many objects": {
      a: Array.from({ length: 24 }, () =>
        Object.fromEntries(Array.from({ length: 1000 }, (_, i) => [`key-${i}`, `v${i}`])),
      ),
    },
    "one long text": { a: "x".repeat(1_048_000) },
  };
  for (const [what, body] of Object.entries(bodies)) {
    const text = JSON.stringify(body);
    const ask = async () => {
      const answer = await stage.server.call("POST", "/v1/sys/namespaces/n", {
        token: stage.root,
        body: text,
      });
      assert.equal(answer.status, 200, answer.text);
    };
    await ask();
    await keepsNobodyWaiting(what, ask);
  }
});

test("T-G07: whatever is named, a record is one line, and neither trail nor log carries a control", async (t) => {
  const stage = await scene(t);
  const file = await stage.audit();
  for (const name of ["x-seen", "user-agent"]) {
    const body = { hmac: false };
    await stage.must("POST", `/v1/sys/config/auditing/request-headers/${name}`, { body });
  }
  const evil =
    '\r\n{"type":"response","forged":true}\n\u001b[31m\u009b2J\u2028\u2029\u202e\u0000"\\';
  const before = auditLines(file).length;
  let sent = 0;
  const call = async (verb: string, path: string, body?: unknown) => {
    sent++;
    return stage.server.call(verb, path, { token: stage.root, body });
  };
  await call("POST", "/v1/sys/namespaces/n", { custom_metadata: { [evil]: evil }, [evil]: 1 });
  await call("POST", "/v1/sys/namespaces/n", { ["k".repeat(256)]: "x".repeat(1_000_000) });
  await call("POST", "/v1/sys/audit/other", {
    type: evil,
    description: evil,
    options: { [evil]: evil },
  });
  await call("GET", `/v1/sys/namespaces/${encodeURIComponent("a\u2028b")}`);
  await call("GET", `/v1/sys/namespaces/${encodeURIComponent("\u001b[31m")}`);
  await call("GET", `/v1/sys/config/auditing/request-headers/${encodeURIComponent("a b")}`);
  await call("POST", `/v1/sys/config/reload/${encodeURIComponent("é{}")}`);
  const token = `X-Service-Token: ${stage.root}`;
  // Bytes beyond ASCII, a C1 control among them: in a header they are text, in a target no request.
  const head = (target: string, ...more: readonly string[]) =>
    [`GET ${target} HTTP/1.1`, "Host: localhost", token, ...more, "", ""].join("\r\n");
  const odd = head("/v1/sys/key-status", "X-Seen: a\u009b31m\u0085b", "User-Agent: \u009b2J");
  assert.equal((await stage.raw(odd)).status, 200);
  sent++;
  assert.equal((await stage.raw(head("/v1/sys/key-status\u009b31m"))).status, 400);
  const lines = auditLines(file).slice(before);
  assert.equal(lines.length, 2 * sent, "a pair for each, and no more");
  assert.ok(lines.every((line) => !("forged" in line)));
  const seen = lines.find(({ request }) => request.headers?.["x-seen"] !== undefined);
  assert.ok(seen !== undefined, "the header was recorded");
  const controls = /[\p{Cc}\p{Zl}\p{Zp}\u202e]/u;
  assert.doesNotMatch(readFileSync(file, "utf8").replaceAll("\n", ""), controls);
  for (const line of stage.server.lines) {
    assert.equal(line.indexOf("\n"), line.length - 1, "one line each");
    assert.doesNotMatch(line.slice(0, -1), controls);
  }
});

test("T-G08: hashing needs sudo, and nobody hashes a dictionary", async (t) => {
  const stage = await scene(t);
  await stage.audit();
  const path = "/v1/sys/audit-hash/file";
  const hash = (token: string) =>
    stage.server.call("POST", path, { token, body: { input: "guess" } });
  const weak = await stage.clientWith(rule("sys/audit-hash/*", EVERYTHING));
  assert.equal((await hash(weak)).status, 403);
  const strong = await stage.clientWith(rule("sys/audit-hash/*", ["update", "sudo"]));
  const began = performance.now();
  const answers = await Promise.all(Array.from({ length: 40 }, () => hash(strong)));
  const max = 10 + Math.ceil((performance.now() - began) / 100); // ten more in each second
  const passed = answers.filter(({ status }) => status === 200).length;
  const refused = answers.filter(({ status }) => status === 429);
  assert.ok(passed >= 10 && passed <= max, `${passed} of ${max}`);
  assert.equal(passed + refused.length, 40);
  for (const { headers } of refused) assert.equal(headers["retry-after"], "1");
});

async function verdict(stage: Scene): Promise<readonly unknown[]> {
  const answer = await stage.must("POST", "/v1/sys/audit-verify/file");
  return [at(answer, "data", "valid"), at(answer, "data", "problem", "line")];
}

test("T-G09: a record that was cut out, swapped or edited is found, at its line", async (t) => {
  const stage = await scene(t);
  const file = await stage.audit();
  for (let i = 0; i < 5; i++) await stage.must("GET", "/v1/sys/key-status");
  assert.deepEqual(await verdict(stage), [true, undefined]);
  const whole = readFileSync(file, "utf8").split("\n");
  const changes: Readonly<Record<string, (lines: string[]) => string[]>> = {
    edited: (lines) => lines.map((line, i) => (i === 4 ? line.replace("read", "list") : line)),
    cut: (lines) => lines.filter((_, i) => i !== 4),
    swapped: (lines) => lines.with(4, lines[5] ?? "").with(5, lines[4] ?? ""),
  };
  for (const [what, change] of Object.entries(changes)) {
    const changed = change([...whole]);
    assert.notDeepEqual(changed, whole);
    writeFileSync(file, changed.join("\n"));
    const [valid, line] = await verdict(stage);
    assert.equal(valid, false, what);
    assert.ok(line === 5 || line === 6, `${what}: line ${String(line)}`);
    // What was asked for meanwhile is behind it; put the trail back as it was.
    const later = readFileSync(file, "utf8")
      .split("\n")
      .slice(changed.length - 1);
    whole.splice(-1, 1, ...later);
    writeFileSync(file, whole.join("\n"));
  }
  assert.deepEqual(await verdict(stage), [true, undefined]);
});
