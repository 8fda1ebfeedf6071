// What is over is removed some time later, or at once when that is asked for.

import assert from "node:assert/strict";
import test from "node:test";
import { bytesCodec } from "@holdfast/shared/codec";
import { START } from "../../../tests/support/fake-world.ts";
import { until } from "../../../tests/support/until.ts";
import {
  CLIENT,
  HOUR,
  keysBelow,
  type MadeTokens,
  madeTokens,
  MINUTE,
  secretOf,
  TEAM,
  turns,
} from "../../../tests/support/made/made-tokens.ts";
import { closeRoom, openRoom } from "../../../tests/support/jobs.ts";

const recordsOf = (made: MadeTokens) => [
  ...keysBelow(made, "local/ns/root/tokens/by-accessor/"),
  ...keysBelow(made, "shared/ns/root/tokens/by-accessor/"),
];

test("an expired token is readable until an hour after its expiry, and gone at the run after that", async () => {
  const made = await madeTokens();
  const { tokens, world, ended } = made;
  const kept = await tokens.writes.create(CLIENT);
  const local = await tokens.writes.create({ ...CLIENT, ttl: MINUTE });
  const global = await tokens.writes.create({ ...CLIENT, ttl: MINUTE, global: true });
  await world.timers.advance(HOUR);
  await turns();
  assert.ok(tokens.byAccessor("root", local.accessor));
  assert.equal(ended.length, 2);
  const index = tokens.tableIndex("root");
  await world.timers.advance(6n * MINUTE);
  await turns();
  assert.equal(tokens.byAccessor("root", local.accessor), null);
  assert.equal(tokens.byAccessor("root", global.accessor), null);
  assert.ok(tokens.find(secretOf(kept)));
  assert.ok(tokens.tableIndex("root") > index);
  assert.equal(ended.length, 2); // each once
  assert.deepEqual(keysBelow(made, "local/tokens/ended/"), []);
  assert.equal(keysBelow(made, "shared/").length, 1);
});

test("the threshold counts from the expiry, as configured", async () => {
  const { tokens, world } = await madeTokens({ gcThreshold: 2n * MINUTE });
  const token = await tokens.writes.create({ ...CLIENT, ttl: HOUR });
  world.clock.pass(HOUR + 2n * MINUTE - 1n);
  assert.equal((await tokens.collection.run()).tokens, 0);
  world.clock.pass(1n);
  assert.deepEqual(await tokens.collection.run(), { tokens: 1, oneTimeTokens: 0 });
  assert.equal(tokens.byAccessor("root", token.accessor), null);
});

test("a forced run takes what has expired, ended or not, and nothing else", async () => {
  const made = await madeTokens();
  const { tokens, world, ended } = made;
  const first = await tokens.writes.create({ ...CLIENT, ttl: MINUTE });
  await world.timers.advance(MINUTE + 31n * 1_000_000_000n);
  await turns();
  assert.equal(ended.length, 1);
  const second = await tokens.writes.create({ ...CLIENT, ttl: MINUTE, namespaceId: TEAM.id });
  const last = await tokens.writes.create({ ...CLIENT, ttl: MINUTE + 1n });
  world.clock.pass(MINUTE + 1n);
  assert.equal((await tokens.collection.run({ force: true })).tokens, 2);
  assert.equal(tokens.byAccessor("root", first.accessor), null);
  assert.equal(tokens.byAccessor(TEAM.id, second.accessor), null);
  assert.ok(tokens.find(secretOf(last))); // valid up to and including this instant
  assert.deepEqual(ended, [`root/${first.accessor}`, `t1/${second.accessor}`]);
});

test("a thousand expired tokens go in small steps, others get their turn between them", async () => {
  const made = await madeTokens();
  const { tokens, world, engine } = made;
  await Promise.all(
    Array.from({ length: 1000 }, (_, i) =>
      tokens.writes.create({ ...CLIENT, ttl: MINUTE, global: i % 2 === 0 }),
    ),
  );
  const index = tokens.tableIndex("root");
  world.clock.pass(MINUTE + 1n);
  engine.batches.length = 0;
  const before = world.timers.turns;
  assert.equal((await tokens.collection.run({ force: true })).tokens, 1000);
  assert.ok(world.timers.turns - before >= 1000 / 64);
  for (const { data } of engine.batches) assert.ok(data.length <= 64 * 10 + 1);
  assert.deepEqual(recordsOf(made), []);
  assert.ok(tokens.tableIndex("root") > index);
  assert.deepEqual(keysBelow(made, "local/"), ["ns/root/tokens/table"]);
});

test("what is ended while a forced run goes on is taken by it too", async () => {
  const { tokens, world, ended } = await madeTokens();
  const count = 1000;
  await Promise.all(
    Array.from({ length: count }, () => tokens.writes.create({ ...CLIENT, ttl: MINUTE })),
  );
  world.clock.pass(MINUTE + 1n);
  const run = tokens.collection.run({ force: true });
  await until(() => ended.length > 0);
  await world.timers.advance(MINUTE); // expired ones are ended every half minute
  assert.equal((await run).tokens, count);
  assert.equal(ended.length, count); // each once
});

test("one-time tokens that nobody exchanged go ten minutes later", async () => {
  const made = await madeTokens();
  const { tokens, world } = made;
  const caller = tokens.find(secretOf(await tokens.writes.create(CLIENT)));
  assert.ok(caller);
  await tokens.oneTime.upsert(caller);
  await world.timers.advance(10n * MINUTE);
  await turns();
  assert.equal(keysBelow(made, "local/tokens/one-time/").length, 3);
  await world.timers.advance(10n * MINUTE);
  await turns();
  assert.deepEqual(keysBelow(made, "local/tokens/one-time/"), []);
});

test("a token with a one-time token takes it along", async () => {
  const made = await madeTokens();
  const { tokens, world } = made;
  const caller = tokens.find(secretOf(await tokens.writes.create({ ...CLIENT, ttl: MINUTE })));
  assert.ok(caller);
  await tokens.oneTime.upsert(caller);
  world.clock.pass(MINUTE + 1n);
  assert.deepEqual(await tokens.collection.run({ force: true }), { tokens: 1, oneTimeTokens: 0 });
  assert.deepEqual(keysBelow(made, "local/tokens/one-time/"), []);
});

test("a renewal that comes before the collection is respected", async () => {
  const { tokens, world } = await madeTokens();
  const token = await tokens.writes.create({ ...CLIENT, ttl: MINUTE, renewable: true });
  world.clock.pass(MINUTE);
  const renewing = tokens.writes.renew("root", token.accessor, MINUTE); // accepted, not yet durable
  world.clock.pass(1n);
  assert.equal((await tokens.collection.run({ force: true })).tokens, 0);
  await renewing;
  assert.ok(tokens.find(secretOf(token)));
});

test("a record that cannot be read does not hold up the others", async () => {
  const made = await madeTokens();
  const { tokens, world, barrier } = made;
  const [bad, gone] = [
    await tokens.writes.create({ ...CLIENT, ttl: MINUTE }),
    await tokens.writes.create({ ...CLIENT, ttl: MINUTE }),
  ];
  await tokens.writes.create({ ...CLIENT, ttl: 2n * MINUTE });
  const view = barrier.view("local/ns/root/tokens/by-accessor/");
  await view.write((tx) => {
    tx.put(bad.accessor, Buffer.from("nonsense"), bytesCodec);
    tx.delete(gone.accessor);
  });
  world.clock.pass(2n * MINUTE + 1n);
  assert.equal((await tokens.collection.run({ force: true })).tokens, 3);
  assert.deepEqual(recordsOf(made), []);
  assert.deepEqual(keysBelow(made, "local/tokens/by-expiry/"), []);
  assert.equal(world.lines.filter((line) => line.includes("could not be read")).length, 2);
  for (const { accessor } of [bad, gone]) assert.ok(made.ended.includes(`root/${accessor}`));
});

test("an ended token whose clock was set back waits, unless it is forced", async () => {
  const { tokens, world } = await madeTokens();
  await tokens.writes.create({ ...CLIENT, ttl: MINUTE });
  await world.timers.advance(2n * MINUTE);
  await turns();
  world.clock.jump(START);
  assert.equal((await tokens.collection.run()).tokens, 0);
  assert.equal((await tokens.collection.run({ force: true })).tokens, 1);
});

test("where another cluster writes shared rows, global tokens hold nobody up and stay until they are theirs to remove", async () => {
  const made = await madeTokens();
  const { tokens, world, store } = made;
  const alarms = () => world.lines.filter((line) => line.includes("shared-write-refused"));
  const hundred = Array.from({ length: 100 }, (_, i) => i);
  // Some that are seen to end, and some that nobody has seen: in both the global ones come first.
  for (const seen of [true, false]) {
    await Promise.all(
      hundred.map(() => tokens.writes.create({ ...CLIENT, ttl: MINUTE, global: true })),
    );
    await tokens.writes.create({ ...CLIENT, ttl: MINUTE + 1n });
    await tokens.writes.create({ ...CLIENT, ttl: MINUTE + 2n });
    if (seen) await world.timers.advance(2n * MINUTE);
    else world.clock.pass(2n * MINUTE);
    await turns();
  }
  store.leaveShared(true);
  assert.equal((await tokens.collection.run({ force: true })).tokens, 4);
  assert.deepEqual(keysBelow(made, "local/ns/root/tokens/by-accessor/"), []);
  assert.equal((await tokens.collection.run({ force: true })).tokens, 0);
  assert.equal(recordsOf(made).length, 200);
  assert.deepEqual(alarms(), []);
  store.leaveShared(false);
  assert.equal((await tokens.collection.run({ force: true })).tokens, 200);
});

test("closed, it stops in the middle and arms nothing; what was removed stays so", async () => {
  const made = await madeTokens();
  const { tokens, world } = made;
  await closeRoom(tokens);
  const others = world.timers.armed;
  openRoom(tokens);
  await Promise.all(
    Array.from({ length: 300 }, () => tokens.writes.create({ ...CLIENT, ttl: MINUTE })),
  );
  world.clock.pass(MINUTE + 1n);
  const running = tokens.collection.run({ force: true });
  await until(() => recordsOf(made).length !== 300);
  await closeRoom(tokens);
  const { tokens: collected } = await running;
  assert.ok(collected > 0 && collected < 300);
  assert.equal(recordsOf(made).length, 300 - collected);
  assert.equal(world.timers.armed, others);
});
