// What a secondary answers its primary that has lost something: the records of some keys, or the keys of some slots, in the
// order of the log. One that is between two states has nothing to tell.

import { SECOND } from "@holdfast/shared/text/duration";
import type { Nanos } from "@holdfast/shared/world";
import { classOf, isLegalKey } from "../../storage/key.ts";
import { isSlot } from "../../storage/rows/merkle.ts";
import { protocolBroken } from "../stream/failures.ts";
import { type Heal, type Healed, healed, MAX_HEALED_SLOTS } from "../stream/messages.ts";
import { readLeaves, readWhole } from "../sending/reading-rows.ts";
import type { Connection, ReceiverParts } from "../stream/receiving.ts";

const WITHIN: Nanos = 10n * SECOND;

export async function answer(
  { id, keys, slots }: Heal,
  { store, ports }: ReceiverParts,
  { link, epoch, signal }: Connection,
): Promise<void> {
  const named = slotsIn(slots);
  if (!keys.every((key) => isLegalKey(key) && classOf(key) !== "ignored")) {
    throw protocolBroken("a question for keys that never leave a cluster");
  }
  const say = (part: Partial<Healed>) =>
    link.call(
      healed,
      { epoch, id, rows: [], keys: [], isDone: false, ...part },
      { signal, timeout: WITHIN },
    );
  if (store.adopting === null && ports.marks.read() === null) {
    for (const { leaves } of readLeaves(store, named)) {
      if (leaves.length > 0) await say({ keys: leaves.map(({ key }) => key) });
    }
    for (const rows of readWhole(store, keys)) if (rows.length > 0) await say({ rows });
  }
  await say({ isDone: true });
}

function slotsIn(bytes: Uint8Array): number[] {
  const view = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const count = bytes.length / 4;
  const isRight = Number.isInteger(count) && count <= MAX_HEALED_SLOTS;
  const slots = isRight ? Array.from({ length: count }, (_, i) => view.readUInt32BE(i * 4)) : [];
  if (!isRight || !slots.every(isSlot)) throw protocolBroken("a question for what is no place");
  return slots;
}
