// One-time tokens: one for each token, good for one exchange, within ten minutes.

import assert from "node:assert/strict";
import test from "node:test";
import { START } from "../../tests/support/fake-world.ts";
import {
  CLIENT,
  keysBelow,
  type MadeTokens,
  madeTokens,
  MINUTE,
  refused,
  restarted,
  secretOf,
  TEAM,
  turns,
} from "../../tests/support/made/made-tokens.ts";
import type { NewToken } from "./token-rules.ts";

const denied = refused("Permission denied", "denied");

async function owned(made: MadeTokens, spec: NewToken = CLIENT) {
  const token = await made.tokens.writes.create(spec);
  const caller = made.tokens.find(secretOf(token));
  assert.ok(caller);
  return { token, caller };
}

const rowsOf = (made: MadeTokens) => keysBelow(made, "local/tokens/one-time/");

for (const global of [false, true]) {
  test(`it is exchanged once for the token it was made for (global: ${global})`, async () => {
    const made = await madeTokens();
    const { tokens, store } = made;
    const { token, caller } = await owned(made, { ...CLIENT, global });
    const table = tokens.tableIndex("root");
    const oneTime = await tokens.oneTime.upsert(caller);
    assert.equal(oneTime.accessor, token.accessor);
    assert.equal(oneTime.expires, START + 10n * MINUTE);
    assert.equal(oneTime.index, store.index);
    const secret = secretOf(oneTime);
    assert.ok(!rowsOf(made).join().includes(secret));
    const { token: exchanged, index } = await tokens.oneTime.exchange(secret.toUpperCase(), "root");
    assert.equal(secretOf(exchanged), secretOf(token));
    assert.equal(index, store.index);
    assert.deepEqual(rowsOf(made), []);
    await assert.rejects(tokens.oneTime.exchange(secret, "root"), denied);
    assert.equal(tokens.tableIndex("root"), table); // nobody who lists is woken
  });
}

test("what is no UUID is no one-time secret", async () => {
  const { tokens } = await madeTokens();
  const text = "missing or invalid OneTimeSecretID";
  for (const secret of ["", "x", " 11111111-2222-4333-8444-555555555555"]) {
    await assert.rejects(tokens.oneTime.exchange(secret, "root"), refused(text));
  }
  const unknown = tokens.oneTime.exchange("11111111-2222-4333-8444-555555555555", "root");
  await assert.rejects(unknown, denied);
});

test("a second one takes the place of the first", async () => {
  const made = await madeTokens();
  const { caller } = await owned(made);
  const first = await made.tokens.oneTime.upsert(caller);
  const second = await made.tokens.oneTime.upsert(caller);
  assert.equal(rowsOf(made).length, 3);
  await assert.rejects(made.tokens.oneTime.exchange(secretOf(first), "root"), denied);
  assert.ok(await made.tokens.oneTime.exchange(secretOf(second), "root"));
});

test("T-B17: of 64 exchanges at once one succeeds, a hundred times over", async () => {
  const made = await madeTokens();
  const { tokens } = made;
  const { caller } = await owned(made);
  for (let round = 0; round < 100; round += 1) {
    const secret = secretOf(await tokens.oneTime.upsert(caller));
    const attempts = Array.from({ length: 64 }, () => tokens.oneTime.exchange(secret, "root"));
    const results = await Promise.allSettled(attempts);
    assert.equal(results.filter(({ status }) => status === "fulfilled").length, 1);
  }
  assert.deepEqual(rowsOf(made), []);
});

test("the exchange of an old one leaves a newer one alone, whoever comes first", async () => {
  const made = await madeTokens();
  const { tokens } = made;
  const { caller } = await owned(made);
  const old = secretOf(await tokens.oneTime.upsert(caller));
  const [exchanged, renewed] = await Promise.allSettled([
    tokens.oneTime.exchange(old, "root"),
    tokens.oneTime.upsert(caller),
  ]);
  assert.equal(exchanged.status, "fulfilled");
  assert.ok(renewed.status === "fulfilled");
  assert.ok(await tokens.oneTime.exchange(secretOf(renewed.value), "root"));
});

test("it is good for ten minutes and not a nanosecond more", async () => {
  const made = await madeTokens();
  const { tokens, world } = made;
  const { caller } = await owned(made);
  const secret = secretOf(await tokens.oneTime.upsert(caller));
  world.clock.pass(10n * MINUTE + 1n);
  await assert.rejects(tokens.oneTime.exchange(secret, "root"), denied);
  assert.equal(rowsOf(made).length, 3); // a failed exchange removes nothing
  world.clock.jump(START + 10n * MINUTE);
  assert.ok(await tokens.oneTime.exchange(secret, "root"));
});

test("with its token it is gone, in the same write", async () => {
  const made = await madeTokens();
  const { tokens, engine } = made;
  const { caller } = await owned(made);
  const secret = secretOf(await tokens.oneTime.upsert(caller));
  engine.batches.length = 0;
  await tokens.writes.delete("root", caller.accessor);
  assert.equal(engine.batches.length, 1);
  assert.deepEqual(rowsOf(made), []);
  await assert.rejects(tokens.oneTime.exchange(secret, "root"), denied);
});

test("a token that has expired gets none, and its one-time token gets nobody in", async () => {
  const made = await madeTokens();
  const { tokens, world } = made;
  const { caller } = await owned(made, { ...CLIENT, ttl: MINUTE });
  const secret = secretOf(await tokens.oneTime.upsert(caller));
  world.clock.pass(MINUTE + 1n);
  await assert.rejects(tokens.oneTime.upsert(caller), denied);
  await assert.rejects(tokens.oneTime.exchange(secret, "root"), denied);
  world.clock.jump(START);
  await assert.rejects(tokens.oneTime.exchange(secret, "root"), denied); // it was spent
});

test("a token that was deleted since its owner was let in gets none", async () => {
  const made = await madeTokens();
  const { caller } = await owned(made);
  await made.tokens.writes.delete("root", caller.accessor);
  await assert.rejects(made.tokens.oneTime.upsert(caller), denied);
  assert.deepEqual(rowsOf(made), []);
});

test("T-B13: it is exchanged in its own namespace only, and an attempt elsewhere does not spend it", async () => {
  const made = await madeTokens();
  const { tokens, spaces } = made;
  const { caller } = await owned(made, { ...CLIENT, namespaceId: TEAM.id });
  const secret = secretOf(await tokens.oneTime.upsert(caller));
  await assert.rejects(tokens.oneTime.exchange(secret, "root"), denied);
  spaces.delete(TEAM.id);
  await assert.rejects(tokens.oneTime.upsert(caller), denied);
  spaces.set(TEAM.id, TEAM);
  assert.ok(await tokens.oneTime.exchange(secret, TEAM.id));
});

test("a crash after an exchange was told leaves it spent, one before it was durable leaves it whole", async () => {
  const made = await madeTokens();
  const { caller } = await owned(made);
  const { caller: other } = await owned(made);
  const spent = secretOf(await made.tokens.oneTime.upsert(caller));
  const whole = secretOf(await made.tokens.oneTime.upsert(other));
  await made.tokens.oneTime.exchange(spent, "root");
  made.engine.hold();
  let notified = false;
  void made.tokens.oneTime
    .exchange(whole, "root")
    .then(() => (notified = true))
    .catch(() => {});
  await turns();
  assert.equal(notified, false); // nobody is told before it is durable
  const { tokens } = await restarted(made);
  await assert.rejects(tokens.oneTime.exchange(spent, "root"), denied);
  assert.ok(await tokens.oneTime.exchange(whole, "root"));
});

test("T-B22: a one-time secret lets nobody in, and the secret of a token is no one-time secret", async () => {
  const made = await madeTokens();
  const { token, caller } = await owned(made);
  const secret = secretOf(await made.tokens.oneTime.upsert(caller));
  assert.equal(made.tokens.find(secret), null);
  await assert.rejects(made.tokens.oneTime.exchange(secretOf(token), "root"), denied);
});
