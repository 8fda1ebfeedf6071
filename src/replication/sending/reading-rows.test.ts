// Chunks of rows for one that is not sent all of them.

import assert from "node:assert/strict";
import test from "node:test";
import { equalBytes } from "@holdfast/shared/bytes";
import { Status } from "@holdfast/shared/grpc/status";
import { madeStore } from "../../../tests/support/made/made-store.ts";
import { tamper } from "../../../tests/support/stores/watched-engine.ts";
import { mountScope } from "../../barrier/scope.ts";
import { slotOf } from "../../storage/rows/merkle.ts";
import { readAllowed } from "./reading-rows.ts";

const EU = "00000000-0000-4000-8000-0000000000e0";
const US = "00000000-0000-4000-8000-0000000000f0"; // its keys come after those
const ROWS = 40;
const keyOf = (uuid: string, n: number) => `shared/ns/root/mounts/${uuid}/data/${n}`;
const isOf = (uuid: string) => (scope: Uint8Array) => equalBytes(scope, mountScope(uuid));
const never = { pause: async () => {} };

async function filled() {
  const made = await madeStore();
  await made.store.write((tx) => {
    for (const uuid of [EU, US]) {
      for (let n = 0; n < ROWS; n++) tx.put(keyOf(uuid, n), Buffer.from(`${n}`), mountScope(uuid));
    }
  });
  return made;
}

test("what is withheld while a chunk is read does not leave with it", async () => {
  const { store } = await filled();
  let isDenied = false;
  const lets = (scope: Uint8Array) => !isDenied || !isOf(EU)(scope);
  const pause = async () => {
    isDenied = true;
  };
  await assert.rejects(readAllowed(store, "", lets, { pause }), { status: Status.aborted });
  const { rows, isDone } = await readAllowed(store, "", lets, { pause });
  assert.deepEqual([rows.length, isDone], [ROWS, true]);
  assert.ok(rows.every(({ scope }) => isOf(US)(scope)));
});

test("damage of what is withheld holds nobody up who is not sent it, and that of other rows does", async () => {
  const { store, engine } = await filled();
  const key = keyOf(EU, 3);
  await tamper(engine, { leaves: [{ slot: slotOf("shared", key)!, key, leaf: null }] });
  const { rows } = await readAllowed(store, "", isOf(US), never);
  assert.equal(rows.length, ROWS);
  await assert.rejects(readAllowed(store, "", isOf(EU), never), { code: "storage-entry-missing" });
});
