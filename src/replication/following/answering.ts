// What a secondary answers its primary that has lost something: the records of some keys, or the keys of some slots, in the
// order of the log. One that is between two states has nothing to tell, and one that has shared rows alone nothing of others.

import { SECOND } from "@holdfast/shared/text/duration";
import type { Nanos } from "@holdfast/shared/world";
import type { ReplicationKind } from "../../cluster/names.ts";
import { isSlot, isSlotOf } from "../../storage/rows/merkle.ts";
import type { Store } from "../../storage/store.ts";
import { protocolBroken } from "../stream/failures.ts";
import { type Heal, type Healed, healed, MAX_HEALED_SLOTS } from "../stream/messages.ts";
import { readLeaves, readWhole } from "../sending/reading-rows.ts";
import { mayLeave, type SentPart, sentTo } from "../sending/sent-part.ts";
import type { Connection } from "../stream/receiving.ts";

const WITHIN: Nanos = 10n * SECOND;

export interface Answering {
  readonly store: Store;
  /** The rows here are those of one index. */
  readonly isWhole: boolean;
  /** Which of them came from the primary. */
  readonly kind: ReplicationKind;
}

export async function answer(
  { id, keys, slots }: Heal,
  { store, isWhole, kind }: Answering,
  { link, epoch, signal }: Connection,
): Promise<void> {
  const sent = sentTo(kind);
  const named = slotsIn(slots, sent);
  if (!keys.every((key) => mayLeave(sent, key))) {
    throw protocolBroken("a question for keys that never leave a cluster");
  }
  const say = (part: Partial<Healed>) =>
    link.call(
      healed,
      { epoch, id, rows: [], keys: [], isDone: false, ...part },
      { signal, timeout: WITHIN },
    );
  if (isWhole) {
    for (const { leaves } of readLeaves(store, named)) {
      if (leaves.length > 0) await say({ keys: leaves.map(({ key }) => key) });
    }
    for (const rows of readWhole(store, keys)) if (rows.length > 0) await say({ rows });
  }
  await say({ isDone: true });
}

function slotsIn(bytes: Uint8Array, { trees }: SentPart): number[] {
  const view = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const count = bytes.length / 4;
  const isRight = Number.isInteger(count) && count <= MAX_HEALED_SLOTS;
  const slots = isRight ? Array.from({ length: count }, (_, i) => view.readUInt32BE(i * 4)) : [];
  const isSent = (slot: number) => isSlot(slot) && trees.some((name) => isSlotOf(name, slot));
  if (!isRight || !slots.every(isSent)) throw protocolBroken("a question for what is no place");
  return slots;
}
