// Rows that follow from records: after whatever happened to tokens, what lies there is what the records say.

import assert from "node:assert/strict";
import test from "node:test";
import fc from "fast-check";
import {
  CLIENT,
  keysBelow,
  madeTokens,
  type MadeTokens,
  MANAGEMENT,
  MINUTE,
  restarted,
} from "../../../tests/support/made/made-tokens.ts";
import { derivedKeys } from "./derived-rows.ts";
import { type Token, tokenCodec } from "../token.ts";
import * as keys from "./token-keys.ts";
import type { TokenTerms } from "../token-terms.ts";
import { closeRoom } from "../../../tests/support/jobs.ts";
import { until } from "../../../tests/support/until.ts";

const TERMS: TokenTerms = {
  parent: null,
  meta: {},
  withoutDefault: false,
  longest: null,
  period: null,
  usesLeft: null,
};

const choice = fc.record({
  act: fc.constantFrom("make", "make", "make", "change", "tree", "alone", "pass", "restart"),
  which: fc.nat(20),
  parent: fc.boolean(),
  global: fc.boolean(),
  management: fc.boolean(),
  minutes: fc.option(fc.integer({ min: 1, max: 30 }), { nil: null }),
});

const FOLDERS =
  /^(ns\/[^/]+\/tokens\/(by-creation|management)\/|tokens\/(by-expiry|unending|children|by-login)\/)/;

function records({ barrier }: MadeTokens): Token[] {
  return ["shared/", "local/"].flatMap((place) => {
    const view = barrier.view(place);
    const found = view
      .keys("ns/", { limit: 10_000 })
      .filter((key) => key.includes("/by-accessor/"));
    return found.flatMap((key) => view.get(key, tokenCodec) ?? []);
  });
}

/** Those that were ended have their mark in the place of the one for their time. */
function wanted(made: MadeTokens): string[] {
  const ended = new Set(
    made.barrier
      .view("local/")
      .keys(keys.ENDED, { limit: 10_000 })
      .map((key) => key.slice(keys.ENDED.length)),
  );
  return records(made)
    .flatMap(derivedKeys)
    .filter((key) => !ended.has(key.slice(keys.EXPIRIES.length)) || !key.startsWith(keys.EXPIRIES))
    .toSorted();
}

test("after whatever happened, the rows are those that follow from the records", async () => {
  const property = fc.asyncProperty(fc.array(choice, { maxLength: 25 }), async (choices) => {
    let made = await madeTokens();
    for (const { act, which, parent, global, management, minutes } of choices) {
      const all = records(made);
      const one = all[which % Math.max(1, all.length)];
      const { tokens, world } = made;
      const ttl = minutes === null ? null : BigInt(minutes) * MINUTE;
      if (act === "make") {
        const terms =
          one !== undefined && parent ? { terms: { ...TERMS, parent: placeOf(one) } } : {};
        const kind = management ? MANAGEMENT : CLIENT;
        await tokens.writes.create({ ...kind, ...terms, global, ttl }).catch(() => {}); // its parent may be over
      } else if (act === "change" && one !== undefined) {
        await tokens.writes.renew(one.namespaceId, one.accessor, ttl).catch(() => {});
      } else if (act === "tree" && one !== undefined) {
        await tokens.deleteTree(one.namespaceId, one.accessor);
      } else if (act === "alone" && one !== undefined) {
        await tokens.deleteAlone(placeOf(one));
      } else if (act === "pass") await world.timers.advance(BigInt(which) * MINUTE);
      else if (act === "restart") made = await restarted(made);
    }
    const found = keysBelow(made, "local/").filter((key) => FOLDERS.test(key));
    assert.deepEqual(found.toSorted(), wanted(made));
    await closeRoom(made.tokens);
  });
  await fc.assert(property, { numRuns: 60, seed: 87 });
});

// --- what only a cluster sees that is sent the records ---

/** What the room would do if it were sent the change. */
function follow(made: MadeTokens, before: Token | null, after: Token | null): Promise<void> {
  const token = before ?? after;
  assert.ok(token !== null);
  const shared = made.barrier.view("shared/");
  return shared.write((tx) =>
    made.tokens.follower.follow(tx, keys.recordKey(token), before, after),
  );
}

const derivedIn = (made: MadeTokens) =>
  keysBelow(made, "local/").filter((key) => FOLDERS.test(key) || key.startsWith(keys.ENDED));

test("another token in the place of one: that one has ended, and only rows of the other are left", async () => {
  const made = await madeTokens();
  const token = await made.tokens.writes.create({ ...MANAGEMENT, global: true, ttl: MINUTE });
  const caller = made.tokens.find(token.secret.reveal());
  assert.ok(caller !== null);
  await made.tokens.oneTime.upsert(caller);
  const { accessor } = token;
  const other: Token = { ...token, type: "client", createIndex: 77n, modifyIndex: 77n };
  await follow(made, token, other);
  assert.deepEqual(made.ended, [`root/${accessor}`]);
  assert.deepEqual(keysBelow(made, "local/tokens/one-time/"), []);
  const here = { ...other, createIndex: made.store.index }; // it came with the index of its writer
  assert.deepEqual(derivedIn(made), derivedKeys(here).toSorted());
  await closeRoom(made.tokens);
});

test("one whose time was prolonged elsewhere lives on where the clock has ended it", async () => {
  const made = await madeTokens();
  const token = await made.tokens.writes.create({ ...CLIENT, global: true, ttl: MINUTE });
  await made.world.timers.advance(2n * MINUTE);
  await until(() => made.ended.length === 1);
  assert.equal(made.tokens.rows.hasEnded(token), true);
  const after = { ...token, expires: (token.expires ?? 0n) + 60n * MINUTE, modifyIndex: 9n };
  await follow(made, token, after);
  assert.equal(made.tokens.rows.hasEnded(after), false);
  assert.deepEqual(derivedIn(made), derivedKeys(after).toSorted());
  await follow(made, after, null); // and ends again
  assert.equal(made.ended.length, 2);
  assert.deepEqual(derivedIn(made), []);
  await closeRoom(made.tokens);
});

test("a record that cannot be read counts for nothing: what hangs on it goes", async () => {
  const made = await madeTokens();
  const token = await made.tokens.writes.create({ ...CLIENT, global: true });
  const { follower } = made.tokens;
  assert.equal(follower.decode(Buffer.from("{}")), null);
  assert.deepEqual(follower.decode(tokenCodec.encode(token)), token);
  const key = keys.recordKey(token);
  const table = made.tokens.tableIndex("root");
  await made.barrier.view("shared/").write((tx) => follower.follow(tx, key, null, null));
  assert.deepEqual(made.ended, [`root/${token.accessor}`]);
  assert.ok(made.tokens.tableIndex("root") > table);
  await closeRoom(made.tokens);
});

function placeOf({ namespaceId, accessor, global }: Token) {
  return { namespaceId, accessor, global };
}
