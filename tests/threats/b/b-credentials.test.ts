// Threats B: what is presented as a token. Through HTTP, against a whole server.

import assert from "node:assert/strict";
import { Agent } from "node:http";
import test from "node:test";
import { Failure } from "@holdfast/shared/failure";
import { MemoryDisk } from "../../../src/storage/engines/memory.ts";
import { errorsOf } from "../../support/http-client.ts";
import { MovableClock } from "../../support/servers/sealed-node.ts";
import { startServer } from "../../support/servers/test-server.ts";
import { auditLines, EVERYTHING, rule, scene, visible } from "../scene.ts";

const HOUR = 3_600_000_000_000n;
const KEY_STATUS = "/v1/sys/key-status";

test("T-B01: what stands for a hidden secret, or for none, lets nobody in", async (t) => {
  const stage = await scene(t);
  const call = (token: string) => stage.server.call("GET", KEY_STATUS, { token });
  const unknown = visible(await call("11111111-2222-4333-8444-555555555555"));
  for (const token of [
    "<hidden>",
    "redacted",
    "[secret]",
    "null",
    "undefined",
    "[object Object]",
    "00000000-0000-0000-0000-000000000000",
    "root",
    "*",
    "{}",
    `hmac-sha256:${"0".repeat(64)}`,
    stage.root.slice(0, -1),
    `${stage.root}0`,
    ` ${stage.root}x`,
  ]) {
    assert.deepEqual(visible(await call(token)), unknown, token);
  }
  const none = await call("");
  assert.equal(none.status, 403);
  assert.deepEqual(errorsOf(none), ["missing client token"]);
  assert.equal((await call(stage.root)).status, 200);
});

test("T-B10: root and management are not to be had by another spelling", async (t) => {
  const stage = await scene(t);
  const { tokens } = stage.server.server;
  const spellings = [
    "root",
    "Root",
    "ROOT",
    " root",
    "root ",
    "ｒｏｏｔ",
    "root\u200b",
    "root/",
    "ro\u0000ot",
    "root\n",
  ];
  for (const name of spellings) {
    const policies = [name];
    await assert.rejects(
      tokens.writes.create({ type: "client", namespaceId: "root", global: true, policies }),
      (error) => error instanceof Failure && error.kind === "invalid",
      JSON.stringify(name),
    );
    await assert.rejects(
      stage.writePolicy(name, rule("*", [...EVERYTHING, "sudo"])),
      (error) => error instanceof Failure && error.kind === "invalid",
      JSON.stringify(name),
    );
  }
  for (const type of ["Management", "MANAGEMENT", " management", "management ", "root", ""]) {
    await assert.rejects(tokens.writes.create({ type, namespaceId: "root", global: true }), type);
  }
  // A client that calls its policy "management" has what that policy says, which is nothing.
  const token = await stage.client(["management"]);
  assert.equal((await stage.server.call("GET", KEY_STATUS, { token })).status, 403);
});

test("T-B15: a token is refused by the clock alone, before anybody has noted its end", async (t) => {
  const clock = new MovableClock();
  const stage = await scene(t, { world: { clock } });
  const { tokens } = stage.server.server;
  const spec = { type: "management", namespaceId: "root", expires: clock.now() + HOUR } as const;
  const made = await tokens.writes.create(spec);
  const token = made.secret.reveal();
  const status = async () => (await stage.server.call("GET", KEY_STATUS, { token })).status;
  assert.equal(await status(), 200);
  clock.ahead += HOUR;
  assert.equal(await status(), 403, "known by sight");
  assert.equal(tokens.rows.hasEnded(made), false, "nothing but the clock says so");
});

test("T-B15: a token that ran out while the node was sealed, stopped or crashed is refused at its first use", async (t) => {
  const disk = new MemoryDisk();
  const clock = new MovableClock();
  let server = await startServer({ disk, world: { clock } });
  t.after(() => server.stop());
  const { shares } = await server.open();
  const make = async () => {
    const expires = clock.now() + HOUR;
    const { tokens } = server.server;
    const spec = { type: "management", namespaceId: "root", global: true, expires } as const;
    return (await tokens.writes.create(spec)).secret.reveal();
  };
  const status = async (token: string) => (await server.call("GET", KEY_STATUS, { token })).status;
  const away: Readonly<Record<string, () => Promise<void>>> = {
    sealed: async () => {
      await server.server.keeper.seal();
      clock.ahead += 2n * HOUR;
    },
    stopped: async () => {
      await server.stop();
      clock.ahead += 2n * HOUR;
      server = await startServer({ disk, world: { clock } });
    },
    crashed: async () => {
      await server.crash();
      clock.ahead += 2n * HOUR;
      server = await startServer({ disk, world: { clock } });
    },
  };
  for (const [how, go] of Object.entries(away)) {
    const token = await make();
    assert.equal(await status(token), 200, how);
    await go();
    await server.unseal(shares);
    assert.equal(await status(token), 403, how);
  }
});

test("T-B22: unknown, deleted and expired secrets get one and the same answer", async (t) => {
  const clock = new MovableClock();
  const stage = await scene(t, { world: { clock } });
  const { tokens } = stage.server.server;
  const make = (expires: bigint | null) =>
    tokens.writes.create({ type: "management", namespaceId: "root", global: true, expires });
  const deleted = await make(null);
  const expired = await make(clock.now() + HOUR);
  for (const { secret } of [deleted, expired]) {
    const good = await stage.server.call("GET", KEY_STATUS, { token: secret.reveal() });
    assert.equal(good.status, 200, "each was good once");
  }
  await tokens.writes.delete("root", deleted.accessor);
  clock.ahead += 2n * HOUR;
  for (const [verb, path] of [
    ["GET", KEY_STATUS],
    ["POST", "/v1/sys/seal"],
    ["GET", "/v1/sys/nothing"],
    ["LIST", "/v1/sys/namespaces"],
  ] as const) {
    const answers = await Promise.all(
      ["11111111-2222-4333-8444-555555555555", deleted, expired].map(async (one) => {
        const token = typeof one === "string" ? one : one.secret.reveal();
        const answer = await stage.server.call(verb, path, { token });
        assert.equal(answer.status, 403, path);
        return visible(answer);
      }),
    );
    assert.deepEqual(answers[1], answers[0], path);
    assert.deepEqual(answers[2], answers[0], path);
  }
});

test("T-B24: a credential comes once, in bounds, and says one thing", async (t) => {
  const stage = await scene(t);
  const { root } = stage;
  const file = await stage.audit();
  const before = auditLines(file).length;
  const status = async (...headers: readonly string[]) =>
    (await stage.target("GET", KEY_STATUS, ...headers)).status;
  assert.equal(await status(`X-Service-Token: ${"t".repeat(8192)}`), 403);
  assert.equal(await status(`X-Service-Token: ${"t".repeat(8193)}`), 431);
  assert.equal(await status(`Authorization: Bearer ${"t".repeat(8193)}`), 431);
  assert.equal(await status(`X-Service-Token: ${root}`, "Authorization: Bearer other"), 400);
  assert.equal(await status("X-Vault-Token: other", `X-Service-Token: ${root}`), 400);
  assert.equal(await status(`X-Service-Token: ${root}`, `X-Service-Token: ${root}`), 400);
  assert.equal(await status("x-service-token: other", `X-Service-Token: ${root}`), 400);
  assert.equal(await status(`X-Service-Token: other, ${root}`), 403);
  assert.equal(await status(`X-Service-Token: ${root}\u00e9`), 403);
  const looked = auditLines(file).slice(before);
  assert.equal(looked.length, 9 * 2, "each is on record, with its refusal");
  assert.equal(await status(`X-Service-Token: ${root}`, `Authorization: Bearer ${root}`), 200);
});

test("T-B25: made-up tokens leave nothing behind, and push nobody out", async (t) => {
  const stage = await scene(t);
  const { tokens } = stage.server.server;
  const agent = new Agent({ keepAlive: true, maxSockets: 8 });
  t.after(() => agent.destroy());
  const call = (token: string) => stage.server.call("GET", KEY_STATUS, { token, agent });
  assert.equal((await call(stage.root)).status, 200);
  const before = tokens.cached;
  for (let i = 0; i < 100; i++) {
    const round = Array.from({ length: 20 }, (_, at) => call(`made-up-${i}-${at}`));
    for (const { status } of await Promise.all(round)) assert.equal(status, 403);
  }
  assert.equal(tokens.cached, before);
  assert.equal((await call(stage.root)).status, 200);
});
