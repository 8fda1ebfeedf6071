// What a secondary answers a primary that has lost something, and which questions it does not answer.

import assert from "node:assert/strict";
import test from "node:test";
import { concat, EMPTY } from "@holdfast/shared/bytes";
import { Failure } from "@holdfast/shared/failure";
import { madeStore } from "../../../tests/support/made/made-store.ts";
import { slotOf } from "../../storage/rows/merkle.ts";
import { u32 } from "../../storage/rows/row-bytes.ts";
import { answer } from "./answering.ts";
import { type Heal, type Healed, MAX_HEALED_SLOTS } from "../stream/messages.ts";
import type { ReplicationKind } from "../../cluster/names.ts";
import type { Connection } from "../stream/receiving.ts";

const KEY = "shared/a";
const SLOT = slotOf("shared", KEY)!;
const PLACES = 2 * 65_536; // of both trees

async function stage(kind: ReplicationKind = "dr") {
  const { store } = await madeStore();
  await store.write((tx) => tx.put(KEY, Buffer.from("1")));
  const said: Healed[] = [];
  const link = { call: async (_method: unknown, part: Healed) => void said.push(part) };
  const connection = { link, epoch: 1, signal: new AbortController().signal };
  const ask = (question: Partial<Heal>) => {
    const heal = { id: 7n, keys: [], slots: EMPTY, ...question };
    return answer(heal, { store, isWhole: true, kind }, connection as unknown as Connection);
  };
  return { said, ask };
}

test("the keys of as many places as one question may name, the last of all among them, and the rows of keys", async () => {
  const { said, ask } = await stage();
  const places = [SLOT, PLACES - 1, ...Array.from({ length: MAX_HEALED_SLOTS - 2 }, () => 0)];
  await ask({ slots: concat(...places.map((place) => u32(place))) });
  await ask({ keys: [KEY] });
  assert.deepEqual(
    said.map(({ keys, rows, isDone }) => [keys, rows.map(({ key }) => key), isDone]),
    [
      [[KEY], [], false],
      [[], [], true],
      [[], [KEY], false],
      [[], [], true],
    ],
  );
});

for (const [what, question] of Object.entries<Partial<Heal>>({
  "a place that is none": { slots: u32(PLACES) },
  "the last that four bytes can name": { slots: concat(u32(SLOT), u32(0xffff_ffff)) },
  "a place that is cut": { slots: u32(SLOT).subarray(1) },
  "more places than it may name": {
    slots: concat(...Array.from({ length: MAX_HEALED_SLOTS + 1 }, () => u32(SLOT))),
  },
  "a key of a node's own": { keys: ["core/own"] },
  "what is no key": { keys: ["shared//a"] },
})) {
  test(`a question for ${what} is not answered, and ends the session`, async () => {
    const { said, ask } = await stage();
    await assert.rejects(ask(question), (error) => error instanceof Failure);
    assert.deepEqual(said, []);
  });
}

test("who has shared rows alone answers for those, and for no others", async () => {
  const { said, ask } = await stage("performance");
  await ask({ slots: u32(SLOT) });
  await ask({ keys: [KEY] });
  assert.deepEqual(
    said.map(({ keys, rows, isDone }) => [keys, rows.map(({ key }) => key), isDone]),
    [
      [[KEY], [], false],
      [[], [], true],
      [[], [KEY], false],
      [[], [], true],
    ],
  );
  for (const question of [{ keys: ["local/a"] }, { slots: u32(slotOf("local", "local/a")!) }]) {
    await assert.rejects(ask(question), (error) => error instanceof Failure);
  }
});
