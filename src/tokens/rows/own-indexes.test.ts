// What CreateIndex and ModifyIndex are where another cluster has written the record: those of the cluster that is
// asked, for lists, waits and comparisons, while the record stays as it came.

import assert from "node:assert/strict";
import test from "node:test";
import {
  CLIENT,
  keysBelow,
  madeTokens,
  type MadeTokens,
  refused,
  restarted,
} from "../../../tests/support/made/made-tokens.ts";
import { closeRoom } from "../../../tests/support/jobs.ts";
import { Secret } from "@holdfast/shared/secret";
import { type Token, tokenCodec } from "../token.ts";
import * as keys from "./token-keys.ts";

const ELSEWHERE = 900n; // an index of the cluster that writes

async function foreign(made: MadeTokens, change: Partial<Token> = {}): Promise<Token> {
  const { random } = made.world;
  const token = await made.tokens.writes.create({ ...CLIENT, global: true });
  await made.tokens.writes.delete("root", token.accessor);
  const secret = new Secret(random.uuid());
  const numbers = { createIndex: ELSEWHERE, modifyIndex: ELSEWHERE + 5n };
  return { ...token, accessor: random.uuid(), secret, ...numbers, ...change };
}

/** As whoever applies does it. */
async function applied(made: MadeTokens, after: Token): Promise<bigint> {
  const shared = made.barrier.view("shared/");
  return shared.write((tx) => {
    const key = keys.recordKey(after);
    const before = tx.get(key, tokenCodec);
    tx.put(key, after, tokenCodec);
    made.tokens.follower.follow(tx, key, before, after);
    return tx.index;
  });
}

const rawOf = ({ barrier }: MadeTokens, token: Token) =>
  barrier.view("shared/").get(keys.recordKey(token), tokenCodec);

function indexesIn({ tokens }: MadeTokens, { accessor }: Token): (bigint | undefined)[][] {
  const one = tokens.byAccessor("root", accessor);
  const find = (list: readonly Token[]) => list.find((token) => token.accessor === accessor);
  const lists = [
    tokens.ranges.byCreation("root", { limit: 100 }),
    tokens.ranges.byAccessor("root", { limit: 100 }),
    tokens.ranges.byAccessor("root", { limit: 100, global: true }),
  ];
  return [one, ...lists.map(find)].map((token) => [token?.createIndex, token?.modifyIndex]);
}

test("a record that another cluster has written has the indexes of this one, however it is found, also after a restart", async () => {
  const made = await madeTokens();
  const token = await foreign(made);
  const first = await applied(made, token);
  assert.deepEqual(indexesIn(made, token), Array(4).fill([first, first]));
  assert.equal(made.tokens.tableIndex("root"), first, "who waits for the list is woken");
  const second = await applied(made, { ...token, name: "b", modifyIndex: ELSEWHERE + 9n });
  assert.deepEqual(indexesIn(made, token), Array(4).fill([first, second]));
  assert.equal(rawOf(made, token)?.modifyIndex, ELSEWHERE + 9n, "the record is as it came");
  const again = await restarted(made);
  assert.deepEqual(indexesIn(again, token), Array(4).fill([first, second]));
  await closeRoom(again.tokens);
});

test("who writes it here from then on compares with its own index, and keeps the CreateIndex of the record for others", async () => {
  const made = await madeTokens();
  const token = await foreign(made);
  const first = await applied(made, token);
  const { writes } = made.tokens;
  const change = { ...CLIENT, name: "b" };
  const cas = ELSEWHERE + 5n;
  await assert.rejects(
    writes.update("root", token.accessor, { ...change, cas }),
    refused(/./, "conflict"),
  );
  const after = await writes.update("root", token.accessor, { ...change, cas: first });
  assert.deepEqual([after.createIndex, after.modifyIndex], [first, made.store.index]);
  assert.deepEqual(indexesIn(made, token), Array(4).fill([first, made.store.index]));
  const raw = rawOf(made, token);
  assert.deepEqual([raw?.createIndex, raw?.modifyIndex], [ELSEWHERE, made.store.index]);
  await writes.delete("root", token.accessor, made.store.index);
  assert.deepEqual(keysBelow(made, "local/ns/root/tokens/indexes/"), []);
  assert.deepEqual(
    keysBelow(made, "local/ns/root/tokens/by-creation/").filter((key) => key.includes("global")),
    [],
  );
  await closeRoom(made.tokens);
});

test("a change that no list shows leaves the numbers, here and in the record", async () => {
  const made = await madeTokens();
  const parent = await made.tokens.writes.create(CLIENT);
  const { namespaceId, accessor, global } = parent;
  const terms = { meta: {}, withoutDefault: false, longest: null, period: null, usesLeft: null };
  const place = { namespaceId, accessor, global };
  const token = await foreign(made, { terms: { ...terms, parent: place } });
  const first = await applied(made, token);
  await made.tokens.deleteAlone(place);
  assert.deepEqual(indexesIn(made, token), Array(4).fill([first, first]));
  const raw = rawOf(made, token);
  assert.equal(raw?.terms?.parent, null);
  assert.deepEqual([raw?.createIndex, raw?.modifyIndex], [ELSEWHERE, ELSEWHERE + 5n]);
  await closeRoom(made.tokens);
});

test("another token with the same accessor begins anew, and a record of this cluster that is changed elsewhere keeps its CreateIndex", async () => {
  const made = await madeTokens();
  const token = await foreign(made);
  await applied(made, token);
  const other = { ...token, createIndex: ELSEWHERE + 20n, modifyIndex: ELSEWHERE + 20n };
  const second = await applied(made, other);
  assert.deepEqual(indexesIn(made, token), Array(4).fill([second, second]));
  const own = await made.tokens.writes.create({ ...CLIENT, global: true });
  const third = await applied(made, { ...own, name: "b", modifyIndex: ELSEWHERE + 30n });
  assert.deepEqual(indexesIn(made, own), Array(4).fill([own.createIndex, third]));
  await closeRoom(made.tokens);
});
