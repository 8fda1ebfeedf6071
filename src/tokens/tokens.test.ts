// Finding the owner of a secret, and making and ending tokens: what is stored, what is let in, and
// what no longer is.

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import test from "node:test";
import { bytesCodec, jsonCodec } from "@holdfast/shared/codec";
import { Secret } from "@holdfast/shared/secret";
import { ROOT_NAMESPACE } from "@holdfast/shared/endpoint/request";
import { nextTurn } from "../../tests/support/fake-world.ts";
import { crashed, unsealed } from "../../tests/support/made/made-barrier.ts";
import {
  CLIENT,
  keysBelow,
  madeTokens,
  MINUTE,
  refused,
  restarted,
  SECOND,
  secretOf,
  TEAM,
  tokensOver,
} from "../../tests/support/made/made-tokens.ts";
import { contentHash, type Token, tokenCodec } from "./token.ts";
import { closeRoom, openRoom } from "../../tests/support/jobs.ts";

test("a created token is found by its secret at once, and by its accessor", async () => {
  const { tokens, world, store } = await madeTokens();
  const token = await tokens.writes.create({
    ...CLIENT,
    name: "ci",
    policies: ["b", "A", "b"],
    global: true,
  });
  const found = tokens.find(secretOf(token));
  assert.deepEqual(found, {
    accessor: token.accessor,
    type: "client",
    name: "ci",
    policies: ["b", "a"],
    namespace: ROOT_NAMESPACE,
    global: true,
    created: world.clock.now(),
    expires: null,
    origin: { namespaceId: "root", mount: null, login: "", name: "ci", metadata: {} },
  });
  assert.equal(tokens.find(secretOf(token)), found); // the same one, for those who remember callers
  const stored = tokens.byAccessor("root", token.accessor.toUpperCase());
  assert.deepEqual(stored && secretOf(stored), secretOf(token));
  assert.equal(stored?.createIndex, store.index);
  assert.equal(stored?.modifyIndex, store.index);
  assert.equal(tokens.tableIndex("root"), store.index);
});

test("another salt that comes with rows of a primary is the one from then on, as after a start", async () => {
  const made = await madeTokens();
  const before = await made.tokens.writes.create(CLIENT);
  const salt = Buffer.alloc(32, 9);
  await made.barrier.view("shared/tokens/").write((tx) => tx.put("salt", salt, bytesCodec));
  assert.equal(made.tokens.find(secretOf(before)), null);
  const token = await made.tokens.writes.create(CLIENT);
  const hash = createHash("sha256").update(salt).update(secretOf(token)).digest("hex");
  assert.equal(keysBelow(made, "local/").filter((key) => key.includes(hash)).length, 1);
  const { tokens } = await restarted(made);
  assert.equal(tokens.find(secretOf(token))?.accessor, token.accessor);
});

test("UUIDs compare without case, and any other text is itself", async () => {
  const { tokens } = await madeTokens();
  const token = await tokens.writes.create(CLIENT);
  assert.equal(tokens.find(secretOf(token).toUpperCase())?.accessor, token.accessor);
  assert.equal(tokens.find(` ${secretOf(token)}`), null);
  assert.equal(tokens.find(secretOf(token).replaceAll("-", "")), null);
});

test("storage keys hold the salted hash and never the secret, and the class follows Global", async () => {
  const made = await madeTokens();
  const local = await made.tokens.writes.create(CLIENT);
  const global = await made.tokens.writes.create({ ...CLIENT, global: true });
  const salt = made.barrier.view("shared/tokens/").get("salt", bytesCodec);
  assert.equal(salt?.length, 32);
  const hash = (token: Token) =>
    createHash("sha256")
      .update(salt ?? "")
      .update(secretOf(token))
      .digest("hex");
  assert.deepEqual(keysBelow(made, "shared/tokens/by-hash/"), [hash(global)]);
  assert.deepEqual(keysBelow(made, "local/tokens/by-hash/"), [hash(local)]);
  assert.deepEqual(keysBelow(made, "shared/ns/root/tokens/by-accessor/"), [global.accessor]);
  assert.deepEqual(keysBelow(made, "local/ns/root/tokens/by-accessor/"), [local.accessor]);
  const order = keysBelow(made, "local/ns/root/tokens/by-creation/");
  assert.deepEqual(
    order.map((key) => key.split("/")[1]),
    [local.accessor, global.accessor],
  );
  const all = [...keysBelow(made, "shared/"), ...keysBelow(made, "local/")].join("\n");
  for (const token of [local, global]) assert.ok(!all.includes(secretOf(token)));
});

test("a deleted token is nobody's from the answer on, and nothing of it is left", async () => {
  const made = await madeTokens();
  const { tokens, ended } = made;
  const expires = made.world.clock.now() + MINUTE;
  for (const global of [true, false]) {
    const token = await tokens.writes.create({ ...CLIENT, global, expires });
    assert.ok(tokens.find(secretOf(token)));
    const deleted = await tokens.writes.delete("root", token.accessor);
    assert.equal(deleted.token.accessor, token.accessor);
    assert.equal(deleted.index, made.store.index);
    assert.equal(tokens.find(secretOf(token)), null);
    assert.equal(tokens.byAccessor("root", token.accessor), null);
    assert.equal(ended.pop(), `root/${token.accessor}`);
    await assert.rejects(
      tokens.writes.delete("root", token.accessor),
      refused(`Cannot delete nonexistent tokens: ${token.accessor}`),
    );
    assert.equal(tokens.tableIndex("root"), made.store.index);
  }
  assert.deepEqual(keysBelow(made, "shared/"), ["tokens/salt"]);
  assert.deepEqual(keysBelow(made, "local/"), ["ns/root/tokens/table"]);
  assert.deepEqual(ended, []);
});

test("T-B13: an accessor of one namespace is none in another", async () => {
  const { tokens } = await madeTokens();
  const token = await tokens.writes.create({ ...CLIENT, namespaceId: TEAM.id });
  assert.equal(tokens.byAccessor("root", token.accessor), null);
  await assert.rejects(tokens.writes.delete("root", token.accessor), refused(/nonexistent/));
  assert.equal(tokens.find(secretOf(token))?.namespace, TEAM);
});

test("accessors that are none lead nowhere", async () => {
  const { tokens } = await madeTokens();
  for (const accessor of ["", "..", "a/b", "../../salt", "x".repeat(36)]) {
    assert.equal(tokens.byAccessor("root", accessor), null);
    const text = `Cannot delete nonexistent tokens: ${accessor}`;
    await assert.rejects(tokens.writes.delete("root", accessor), refused(text));
  }
});

test("a token is valid up to its expiry, and a nanosecond later no more", async () => {
  const { tokens, world } = await madeTokens();
  const token = await tokens.writes.create({
    ...CLIENT,
    ttl: MINUTE,
  });
  world.clock.pass(MINUTE);
  assert.ok(tokens.find(secretOf(token)));
  world.clock.pass(1n);
  assert.equal(tokens.find(secretOf(token)), null);
  assert.ok(tokens.byAccessor("root", token.accessor)); // the record stays until it is collected
});

test("T-B15: a token that expired while the server was down is refused at its first use", async () => {
  const before = await madeTokens();
  const token = await before.tokens.writes.create({
    ...CLIENT,
    expires: before.world.clock.now() + MINUTE,
  });
  const { tokens, barrier, world } = tokensOver(await crashed(before));
  world.clock.pass(MINUTE + 1n);
  assert.equal(unsealed(barrier), true);
  openRoom(tokens);
  assert.equal(tokens.find(secretOf(token)), null);
});

test("T-B15: an ended token stays ended when the clock is set back, after a restart too", async () => {
  const made = await madeTokens();
  const { tokens, world, ended } = made;
  const start = world.clock.now();
  const token = await tokens.writes.create({ ...CLIENT, expires: start + MINUTE });
  assert.ok(tokens.find(secretOf(token)));
  await world.timers.advance(MINUTE + 31n * SECOND);
  await made.store.settled();
  await nextTurn();
  assert.deepEqual(ended, [`root/${token.accessor}`]);
  world.clock.jump(start);
  assert.equal(tokens.find(secretOf(token)), null);
  const again = tokensOver(await crashed(made));
  again.world.clock.jump(start);
  unsealed(again.barrier);
  openRoom(again.tokens);
  assert.equal(again.tokens.find(secretOf(token)), null);
  assert.ok(again.tokens.byAccessor("root", token.accessor));
});

test("what hangs on expired tokens goes within a minute, once for each, many at a time", async () => {
  const made = await madeTokens();
  const { tokens, world, ended } = made;
  const spec = { ...CLIENT, expires: world.clock.now() + MINUTE };
  const expiring = await Promise.all(Array.from({ length: 40 }, () => tokens.writes.create(spec)));
  const [deleted] = expiring;
  assert.ok(deleted);
  await tokens.writes.delete("root", deleted.accessor);
  await tokens.writes.create(CLIENT);
  await world.timers.advance(MINUTE);
  assert.equal(ended.length, 1);
  await world.timers.advance(MINUTE);
  for (let i = 0; i < 10; i += 1) await nextTurn();
  const want = expiring.map(({ accessor }) => `root/${accessor}`).toSorted();
  assert.deepEqual(ended.toSorted(), want);
  const [, second] = expiring;
  assert.ok(second);
  await tokens.writes.delete("root", second.accessor); // its end was told already
  assert.equal(ended.length, 40);
  assert.deepEqual(keysBelow(made, "local/tokens/by-expiry/"), []);
  assert.equal(keysBelow(made, "local/tokens/ended/").length, 38);
});

test("a token that is deleted while its expiry is being seen ends once, and nothing of it is left", async () => {
  const made = await madeTokens();
  const { tokens, world, ended } = made;
  await world.timers.advance(1n);
  const token = await tokens.writes.create({ ...CLIENT, ttl: MINUTE });
  world.clock.pass(MINUTE + SECOND);
  const deleting = tokens.writes.delete("root", token.accessor); // accepted, not yet durable
  await world.timers.advance(31n * SECOND);
  await deleting;
  await nextTurn();
  assert.deepEqual(ended, [`root/${token.accessor}`]);
  assert.deepEqual(keysBelow(made, "local/"), ["ns/root/tokens/table"]);
});

test("everything is there after a crash: tokens, salt and times to the nanosecond", async () => {
  const before = await madeTokens();
  const expires = before.world.clock.now() + 123_456_789n + MINUTE;
  const token = await before.tokens.writes.create({
    ...CLIENT,
    global: true,
    name: "x",
    expires,
  });
  const { tokens, barrier } = tokensOver(await crashed(before));
  assert.equal(unsealed(barrier), true);
  openRoom(tokens);
  assert.equal(tokens.find(secretOf(token))?.expires, expires);
  const stored = tokens.byAccessor("root", token.accessor);
  assert.ok(stored);
  assert.deepEqual({ ...stored, secret: secretOf(stored) }, { ...token, secret: secretOf(token) });
});

test("closed, the room finds nobody and holds nothing; opened again it does", async () => {
  const { tokens } = await madeTokens();
  const token = await tokens.writes.create(CLIENT);
  tokens.find(secretOf(token));
  await closeRoom(tokens);
  assert.equal(tokens.cached, 0);
  assert.throws(() => tokens.find(secretOf(token)), /service is sealed/);
  openRoom(tokens);
  assert.ok(tokens.find(secretOf(token)));
});

test("a change of the record by whomever counts for the next request", async () => {
  const { tokens, barrier } = await madeTokens();
  const token = await tokens.writes.create({ ...CLIENT, global: true });
  assert.deepEqual(tokens.find(secretOf(token))?.policies, ["readonly"]);
  const view = barrier.view("shared/ns/root/tokens/by-accessor/");
  await view.write((tx) => tx.put(token.accessor, { ...token, policies: ["other"] }, tokenCodec));
  assert.deepEqual(tokens.find(secretOf(token))?.policies, ["other"]);
});

test("a token whose namespace is gone is nobody's, and one whose namespace was told anew has that", async () => {
  const { tokens, spaces } = await madeTokens();
  const token = await tokens.writes.create({ ...CLIENT, namespaceId: TEAM.id });
  assert.equal(tokens.find(secretOf(token))?.namespace, TEAM);
  const renewed = { ...TEAM, created: 4n };
  spaces.set(TEAM.id, renewed);
  assert.equal(tokens.find(secretOf(token))?.namespace, renewed);
  spaces.delete(TEAM.id);
  assert.equal(tokens.find(secretOf(token)), null);
});

test("wiping a namespace takes its tokens, a few in a transaction, and no other's", async () => {
  const made = await madeTokens();
  const { tokens, ended, engine } = made;
  const other = await tokens.writes.create(CLIENT);
  const gone = [];
  for (let i = 0; i < 50; i += 1) {
    gone.push(await tokens.writes.create({ ...CLIENT, namespaceId: TEAM.id, global: i % 2 === 0 }));
  }
  for (const token of gone) assert.ok(tokens.find(secretOf(token)));
  engine.batches.length = 0;
  await tokens.writes.wipeNamespace(TEAM.id);
  assert.ok(engine.batches.length >= 4);
  for (const token of gone) assert.equal(tokens.find(secretOf(token)), null);
  assert.equal(ended.length, 50);
  assert.ok(tokens.find(secretOf(other)));
  assert.deepEqual(keysBelow(made, "local/ns/t1/"), ["tokens/table"]);
  assert.equal(keysBelow(made, "shared/tokens/by-hash/").length, 0);
});

test("T-B01: what stands for a hidden secret lets nobody in, even from a record that holds it", async () => {
  const made = await madeTokens();
  const { tokens, barrier, lines } = { ...made, lines: made.world.lines };
  const salt = barrier.view("shared/tokens/").get("salt", bytesCodec) ?? new Uint8Array();
  const real = await tokens.writes.create({ ...CLIENT, type: "management", policies: [] });
  const bad = [
    "<hidden>",
    "redacted",
    "",
    "null",
    "undefined",
    "00000000-0000-0000-0000-000000000000",
    "[secret]",
    "<Redacted>",
  ];
  for (const [i, text] of bad.entries()) {
    assert.equal(tokens.find(text), null, text);
    const accessor = `0000000${i}-0000-4000-8000-000000000000`;
    const hash = createHash("sha256").update(salt).update(text).digest("hex");
    const planted: Token = { ...real, accessor, secret: new Secret(text) };
    await barrier.view("local/").write((tx) => {
      tx.put(`ns/root/tokens/by-accessor/${accessor}`, planted, tokenCodec);
      const place = { namespaceId: "root", accessor, global: false };
      tx.put(`tokens/by-hash/${hash}`, place, jsonCodec<typeof place>());
    });
    assert.equal(tokens.find(text), null, text);
  }
  assert.ok(lines.some((line) => line.includes("a stored token is refused")));
  assert.equal(tokens.cached, 0);
});

test("T-B03: a record that is half understood lets nobody in", async () => {
  const { tokens, barrier } = await madeTokens();
  const token = await tokens.writes.create(CLIENT);
  const view = barrier.view("local/ns/root/tokens/by-accessor/");
  const stored: object = JSON.parse(Buffer.from(tokenCodec.encode(token)).toString());
  const changes: readonly object[] = [
    { type: "Management" },
    { type: "root" },
    { type: undefined },
    { policies: null },
    { policies: ["a", 1] },
    { created: "soon" },
    { expires: 5 },
    { global: "false" },
    { renewable: "yes" },
  ];
  for (const change of changes) {
    await view.write((tx) => tx.put(token.accessor, { ...stored, ...change }, jsonCodec()));
    assert.equal(tokens.find(secretOf(token)), null, JSON.stringify(change));
  }
  await view.write((tx) => tx.put(token.accessor, { ...stored, policies: [] }, jsonCodec()));
  assert.deepEqual(tokens.find(secretOf(token))?.type, "client"); // and has no policies
  await view.write((tx) => tx.put(token.accessor, Buffer.from("nonsense"), bytesCodec));
  assert.equal(tokens.find(secretOf(token)), null);
  await tokens.writes.wipeNamespace("root"); // and does not stand in the way
  assert.equal(tokens.byAccessor("root", token.accessor), null);
});

test("T-B21: a hash that leads to a record with another secret lets nobody in", async () => {
  const { tokens, barrier } = await madeTokens();
  const [one, two] = [await tokens.writes.create(CLIENT), await tokens.writes.create(CLIENT)];
  const view = barrier.view("local/ns/root/tokens/by-accessor/");
  await view.write((tx) => tx.put(one.accessor, { ...two, accessor: one.accessor }, tokenCodec));
  assert.equal(tokens.find(secretOf(one)), null);
  assert.equal(tokens.find(secretOf(two))?.accessor, two.accessor);
});

test("T-B22: unknown, deleted and expired secrets are told apart by nothing", async () => {
  const { tokens, world } = await madeTokens();
  const expired = await tokens.writes.create({ ...CLIENT, ttl: MINUTE });
  const deleted = await tokens.writes.create(CLIENT);
  await tokens.writes.delete("root", deleted.accessor);
  world.clock.pass(MINUTE + 1n);
  const answers = [secretOf(expired), secretOf(deleted), world.random.uuid(), "x"].map((secret) =>
    tokens.find(secret),
  );
  assert.deepEqual(answers, [null, null, null, null]);
});

test("T-B25: made-up secrets leave nothing in memory, and real ones no more than the bound", async () => {
  const { tokens, world } = await madeTokens({ maxCached: 8 });
  const hot = await tokens.writes.create(CLIENT);
  const found = tokens.find(secretOf(hot));
  for (let i = 0; i < 20_000; i += 1) assert.equal(tokens.find(world.random.uuid()), null);
  assert.equal(tokens.cached, 1);
  for (let i = 0; i < 20; i += 1) {
    tokens.find(secretOf(await tokens.writes.create(CLIENT)));
    assert.equal(tokens.find(secretOf(hot)), found);
  }
  assert.equal(tokens.cached, 8);
});

test("the hash covers every part by itself", async () => {
  const { tokens } = await madeTokens();
  const token = await tokens.writes.create(CLIENT);
  assert.match(contentHash(token), /^[A-Za-z0-9+/]{43}=$/);
  const changed = [
    token,
    { ...token, name: "n" },
    { ...token, type: "management" as const },
    { ...token, policies: ["ab", "c"] },
    { ...token, policies: ["a", "bc"] },
    { ...token, policies: ["abc"] },
    { ...token, global: true },
    { ...token, expires: 5n },
  ];
  assert.equal(new Set(changed.map(contentHash)).size, changed.length);
  const upkeep = { secret: new Secret("x"), created: 9n, createIndex: 9n, modifyIndex: 9n };
  assert.equal(contentHash({ ...token, ...upkeep }), contentHash(token));
});

test("a token that is printed shows no secret", async () => {
  const { tokens } = await madeTokens();
  const token = await tokens.writes.create(CLIENT);
  const text = `${JSON.stringify({ ...token, created: 0, createIndex: 0, modifyIndex: 0 })}${String(token.secret)}`;
  assert.ok(!text.includes(secretOf(token)));
});

test("T-B13: nobody is let in by a token of a namespace that is going away, seen before or not", async () => {
  const { tokens, spaces } = await madeTokens();
  const seen = await tokens.writes.create({ ...CLIENT, namespaceId: TEAM.id });
  const unseen = await tokens.writes.create({ ...CLIENT, namespaceId: TEAM.id });
  assert.equal(tokens.find(secretOf(seen))?.namespace, TEAM);
  spaces.delete(TEAM.id); // its deletion has begun; the tokens go later
  for (const token of [seen, unseen]) assert.equal(tokens.find(secretOf(token)), null);
  const renamed = { ...TEAM, path: "crew" };
  spaces.set(TEAM.id, renamed);
  assert.equal(tokens.find(secretOf(seen))?.namespace, renamed, "as it is called now");
});
