// Updates, uploads, renewals and deletions. Numbers are those of the
// conformance cases.

import assert from "node:assert/strict";
import test from "node:test";
import { Failure } from "@holdfast/shared/failure";
import { START } from "../../tests/support/fake-world.ts";
import {
  CLIENT,
  HOUR,
  keysBelow,
  madeTokens,
  MANAGEMENT,
  MINUTE,
  problemsText,
  refused,
  restarted,
  SECOND,
  secretOf,
  TEAM,
} from "../../tests/support/made/made-tokens.ts";
import { contentHash } from "./token.ts";

const CHANGE = { type: "client", name: "n2", policies: ["p2"] } as const;
const ACCESSOR = "aaaaaaaa-bbbb-4ccc-8ddd-eeeeeeeeeeee";
const SECRET = "11111111-2222-4333-8444-555555555555";
const UPLOAD = { type: "client", policies: ["p"], secret: SECRET } as const;

// --- updates ---

for (const global of [false, true]) {
  test(`an update replaces name, type and policies and nothing else (global: ${global})`, async () => {
    const { tokens, world, store } = await madeTokens();
    const before = await tokens.writes.create({ ...CLIENT, name: "n1", global });
    assert.ok(tokens.find(secretOf(before)));
    world.clock.pass(SECOND);
    const after = await tokens.writes.update("root", before.accessor.toUpperCase(), CHANGE);
    assert.equal(after.modifyIndex, store.index);
    assert.equal(tokens.tableIndex("root"), store.index);
    const { createIndex, created, accessor } = before;
    assert.deepEqual(
      { ...after, secret: secretOf(after) },
      {
        ...before,
        createIndex,
        created,
        accessor,
        name: "n2",
        policies: ["p2"],
        secret: secretOf(before),
        modifyIndex: store.index,
      },
    );
    assert.notEqual(contentHash(after), contentHash(before));
    assert.deepEqual(tokens.find(secretOf(before))?.policies, ["p2"]);
  });
}

test("a missing name becomes empty, and an update of nothing still moves the index", async () => {
  const { tokens, store } = await madeTokens();
  const { accessor } = await tokens.writes.create({ ...CLIENT, name: "n1" });
  const once = await tokens.writes.update("root", accessor, {
    type: "client",
    policies: ["readonly"],
  });
  assert.equal(once.name, "");
  const twice = await tokens.writes.update("root", accessor, {
    type: "client",
    policies: ["readonly"],
  });
  assert.ok(twice.modifyIndex > once.modifyIndex);
  assert.equal(twice.modifyIndex, store.index);
});

test("what is no token cannot be found, whatever it looks like", async () => {
  const { tokens } = await madeTokens();
  const other = await tokens.writes.create({ ...CLIENT, namespaceId: TEAM.id });
  for (const accessor of [ACCESSOR, "not-a-uuid", "", "../x", other.accessor]) {
    const made = tokens.writes.update("root", accessor, CHANGE);
    await assert.rejects(made, refused(`cannot find token ${accessor}`));
  }
});

test("global mode is kept where it is left out, and never toggled", async () => {
  const { tokens } = await madeTokens();
  const [local, global] = [
    await tokens.writes.create(CLIENT),
    await tokens.writes.create({ ...CLIENT, global: true }),
  ];
  const text = problemsText("cannot toggle global mode");
  await assert.rejects(
    tokens.writes.update("root", local.accessor, { ...CHANGE, global: true }),
    refused(text),
  );
  await assert.rejects(
    tokens.writes.update("root", global.accessor, { ...CHANGE, global: false }),
    refused(text),
  );
  assert.equal((await tokens.writes.update("root", global.accessor, CHANGE)).global, true);
  const same = await tokens.writes.update("root", local.accessor, { ...CHANGE, global: false });
  assert.equal(same.global, false);
});

test("40–44: the expiry may be repeated or left out, never changed", async () => {
  const { tokens } = await madeTokens();
  const byTtl = await tokens.writes.create({ ...CLIENT, ttl: HOUR });
  const byTime = await tokens.writes.create({ ...CLIENT, expires: START + HOUR });
  const never = await tokens.writes.create(CLIENT);
  for (const { accessor, expires, ttl } of [byTtl, byTime, never]) {
    for (const repeated of [{}, { expires, ttl }, { expires: null, ttl: null }]) {
      const after = await tokens.writes.update("root", accessor, { ...CHANGE, ...repeated });
      assert.equal(after.expires, expires);
      assert.equal(after.ttl, ttl);
    }
    await assert.rejects(
      tokens.writes.update("root", accessor, { ...CHANGE, expires: START + 2n * HOUR }),
      refused(problemsText("cannot update expiration time")),
    );
    await assert.rejects(
      tokens.writes.update("root", accessor, { ...CHANGE, ttl: 2n * HOUR }),
      refused(problemsText("cannot update expiration TTL")),
    );
  }
  const all = { type: "x", global: true, ttl: MINUTE, expires: 5n };
  await assert.rejects(
    tokens.writes.update("root", never.accessor, all),
    refused(
      problemsText(
        "token type must be client or management",
        "cannot toggle global mode",
        "cannot update expiration TTL",
        "cannot update expiration time",
      ),
    ),
  );
});

test("a client becomes management and back, and may at once what that means", async () => {
  const made = await madeTokens();
  const { tokens } = made;
  const token = await tokens.writes.create(CLIENT);
  assert.equal(tokens.find(secretOf(token))?.type, "client");
  const management = await tokens.writes.update("root", token.accessor, { type: "management" });
  assert.deepEqual(management.policies, []);
  assert.equal(tokens.find(secretOf(token))?.type, "management");
  assert.equal(keysBelow(made, "local/ns/root/tokens/management/").length, 1);
  await tokens.writes.update("root", token.accessor, CHANGE);
  assert.equal(tokens.find(secretOf(token))?.type, "client");
  assert.equal(keysBelow(made, "local/ns/root/tokens/management/").length, 0);
});

test("an expired token is not updated, by the clock or once it was ended", async () => {
  const { tokens, world } = await madeTokens();
  const token = await tokens.writes.create({ ...CLIENT, ttl: MINUTE });
  world.clock.pass(MINUTE);
  assert.ok(await tokens.writes.update("root", token.accessor, CHANGE)); // its last instant
  world.clock.pass(1n);
  const over = refused(problemsText("token has expired"));
  await assert.rejects(tokens.writes.update("root", token.accessor, CHANGE), over);
  await world.timers.advance(MINUTE);
  world.clock.jump(START);
  await assert.rejects(tokens.writes.update("root", token.accessor, CHANGE), over);
  assert.equal((await tokens.writes.delete("root", token.accessor)).token.accessor, token.accessor);
});

test("cas lets one of two through, and tells the other where the token is now", async () => {
  const { tokens } = await madeTokens();
  const token = await tokens.writes.create(CLIENT);
  const cas = token.modifyIndex;
  const change = (name: string) =>
    tokens.writes.update("root", token.accessor, { ...CHANGE, name, cas });
  const [first, second] = await Promise.allSettled([change("a"), change("b")]);
  assert.equal(first.status, "fulfilled");
  assert.ok(second.status === "rejected" && second.reason instanceof Failure);
  assert.equal(second.reason.kind, "conflict");
  const now = tokens.byAccessor("root", token.accessor);
  assert.equal(now?.name, "a");
  assert.equal(second.reason.message, `token was modified (index ${now.modifyIndex})`);
});

test("of an update and a deletion at once one finds what the other left", async () => {
  const { tokens } = await madeTokens();
  const token = await tokens.writes.create(CLIENT);
  const [deleted, updated] = await Promise.allSettled([
    tokens.writes.delete("root", token.accessor),
    tokens.writes.update("root", token.accessor, CHANGE),
  ]);
  assert.equal(deleted.status, "fulfilled");
  assert.equal(updated.status, "rejected");
  assert.equal(tokens.byAccessor("root", token.accessor), null);
  assert.equal(tokens.find(secretOf(token)), null);
});

test("an update that was not durable yet never happened, one that was is there", async () => {
  const before = await madeTokens();
  const token = await before.tokens.writes.create({ ...CLIENT, ttl: HOUR });
  await before.tokens.writes.update("root", token.accessor, { ...CHANGE, name: "durable" });
  before.engine.hold();
  void before.tokens.writes
    .update("root", token.accessor, { ...CHANGE, name: "lost" })
    .catch(() => {});
  const { tokens } = await restarted(before);
  const stored = tokens.byAccessor("root", token.accessor);
  assert.equal(stored?.name, "durable");
  assert.equal(stored.expires, token.expires);
});

// --- uploads ---

test("an upload makes a client token with the identifiers given", async () => {
  const { tokens, store } = await madeTokens();
  const token = await tokens.writes.update("root", ACCESSOR.toUpperCase(), {
    ...UPLOAD,
    secret: SECRET.toUpperCase(),
    name: "up",
  });
  assert.equal(token.accessor, ACCESSOR);
  assert.equal(secretOf(token), SECRET);
  assert.equal(token.createIndex, store.index);
  assert.equal(token.created, START);
  assert.equal(tokens.find(SECRET)?.accessor, ACCESSOR);
  const again = await tokens.writes.update("root", ACCESSOR, { ...UPLOAD, name: "again" });
  assert.equal(again.createIndex, token.createIndex); // it is there now: an update
  assert.equal(again.name, "again");
});

test("nothing but a client with two UUIDs is uploaded", async () => {
  const { tokens } = await madeTokens();
  const wrong: readonly object[] = [
    { type: "management", policies: [] },
    { secret: undefined },
    { secret: "" },
    { secret: "abc" },
    { secret: "00000000-0000-0000-0000-000000000000" },
    { cas: 1n },
  ];
  for (const change of wrong) {
    const made = tokens.writes.update("root", ACCESSOR, { ...UPLOAD, ...change });
    await assert.rejects(made, refused(`cannot find token ${ACCESSOR}`));
  }
  const named = tokens.writes.update("root", "my-token", UPLOAD);
  await assert.rejects(named, refused("cannot find token my-token"));
});

test("a secret that somebody has is not uploaded, in whatever class, namespace or case", async () => {
  const { tokens } = await madeTokens();
  const owners = [
    await tokens.writes.create(CLIENT),
    await tokens.writes.create({ ...CLIENT, global: true }),
    await tokens.writes.create({ ...CLIENT, namespaceId: TEAM.id }),
  ];
  for (const owner of owners) {
    const secret = secretOf(owner).toUpperCase();
    const made = tokens.writes.update("root", ACCESSOR, { ...UPLOAD, secret });
    await assert.rejects(made, refused("secret already in use"));
    assert.equal(tokens.find(secret)?.accessor, owner.accessor);
  }
});

test("of many uploads of one accessor at once one makes it, and the others change it", async () => {
  const made = await madeTokens();
  const upload = (name: string) => made.tokens.writes.update("root", ACCESSOR, { ...UPLOAD, name });
  const all = await Promise.all(["a", "b", "c"].map(upload));
  assert.equal(new Set(all.map(({ createIndex }) => createIndex)).size, 1);
  assert.equal(keysBelow(made, "local/ns/root/tokens/by-creation/").length, 1);
});

test("an upload may be from the past, its TTL counts from then, and it must not be over", async () => {
  const { tokens } = await madeTokens();
  const created = START - HOUR;
  const past = await tokens.writes.update("root", ACCESSOR, { ...UPLOAD, created, ttl: 2n * HOUR });
  assert.equal(past.created, created);
  assert.equal(past.expires, START + HOUR);
  await tokens.writes.delete("root", ACCESSOR);
  const future = await tokens.writes.update("root", ACCESSOR, { ...UPLOAD, created: START + HOUR });
  assert.equal(future.created, START);
  await tokens.writes.delete("root", ACCESSOR);
  const over = tokens.writes.update("root", ACCESSOR, { ...UPLOAD, created, ttl: 30n * MINUTE });
  await assert.rejects(over, refused(problemsText("token has expired")));
  const long = tokens.writes.update("root", ACCESSOR, { ...UPLOAD, created, ttl: 25n * HOUR });
  await assert.rejects(long, refused(/cannot be more than 24h0m0s in the future \(was 25h0m0s\)/));
});

test("T-B13: one accessor in two namespaces is two tokens, down to their last row", async () => {
  const made = await madeTokens();
  const { tokens } = made;
  const other = SECRET.replaceAll("1", "9");
  await tokens.writes.update("root", ACCESSOR, { ...UPLOAD, ttl: HOUR });
  await tokens.writes.update(TEAM.id, ACCESSOR, { ...UPLOAD, secret: other, ttl: HOUR });
  assert.equal(keysBelow(made, "local/tokens/by-expiry/").length, 2);
  await tokens.writes.delete("root", ACCESSOR);
  assert.equal(tokens.find(SECRET), null);
  assert.equal(tokens.find(other)?.namespace, TEAM);
  assert.equal(keysBelow(made, "local/tokens/by-expiry/").length, 1);
});

// --- renewals ---

test("a renewal moves the expiry, never past the maximum counted from the creation", async () => {
  const made = await madeTokens();
  const { tokens, world } = made;
  const token = await tokens.writes.create({ ...CLIENT, ttl: HOUR, renewable: true });
  world.clock.pass(30n * MINUTE);
  const renewed = await tokens.writes.renew("root", token.accessor, HOUR);
  assert.equal(renewed.expires, START + 90n * MINUTE);
  assert.ok(renewed.modifyIndex > token.modifyIndex);
  assert.equal(tokens.find(secretOf(token))?.expires, renewed.expires);
  assert.equal(keysBelow(made, "local/tokens/by-expiry/").length, 1);
  const longest = await tokens.writes.renew("root", token.accessor, 100n * HOUR);
  assert.equal(longest.expires, START + 24n * HOUR);
  world.clock.pass(24n * HOUR);
  const late = tokens.writes.renew("root", token.accessor, HOUR);
  await assert.rejects(late, refused(problemsText("token has expired")));
});

test("what was not made to be renewed is not", async () => {
  const { tokens } = await madeTokens();
  const token = await tokens.writes.create({ ...CLIENT, ttl: HOUR });
  await assert.rejects(tokens.writes.renew("root", token.accessor, HOUR), refused(/renewable/));
  await assert.rejects(tokens.writes.renew("root", ACCESSOR, HOUR), refused(/cannot find token/));
});

// --- deletions ---

test("the deletion of the last management token that has not expired says so", async () => {
  const { tokens, world } = await madeTokens();
  const [one, two] = [
    await tokens.writes.create(MANAGEMENT),
    await tokens.writes.create(MANAGEMENT),
  ];
  const short = await tokens.writes.create({ ...MANAGEMENT, ttl: MINUTE, global: true });
  const child = await tokens.writes.create({ ...MANAGEMENT, namespaceId: TEAM.id });
  const client = await tokens.writes.create(CLIENT);
  const last = async (id: string, { accessor }: { readonly accessor: string }) =>
    (await tokens.writes.delete(id, accessor)).lastManagement;
  assert.equal(await last("root", one), false);
  world.clock.pass(MINUTE + 1n);
  assert.equal(await last("root", two), true); // the third one has expired
  assert.equal(await last("root", short), true);
  assert.equal(await last("root", client), false);
  assert.equal(await last(TEAM.id, child), false); // the root namespace manages it
});

test("a token and its rows go together, or not at all", async () => {
  const before = await madeTokens();
  const gone = await before.tokens.writes.create({ ...MANAGEMENT, global: true, ttl: HOUR });
  const kept = await before.tokens.writes.create({ ...MANAGEMENT, ttl: HOUR });
  await before.tokens.writes.delete("root", gone.accessor);
  before.engine.hold();
  void before.tokens.writes.delete("root", kept.accessor).catch(() => {});
  const after = await restarted(before);
  assert.equal(after.tokens.find(secretOf(gone)), null);
  assert.ok(after.tokens.find(secretOf(kept)));
  assert.deepEqual(keysBelow(after, "shared/"), ["tokens/salt"]);
  assert.equal(keysBelow(after, "local/").length, 6);
});
