// Leaves of the first form do not cover the scope of their record. They are made again when the node leads
// for the first time, in steps that may be cut off anywhere: each leaf says by itself which form it has,
// and the mark comes last. What fits neither form is left for a check to find.

import { EMPTY, equalBytes } from "@holdfast/shared/bytes";
import type { Log } from "@holdfast/shared/log";
import type { Clock, Timers } from "@holdfast/shared/world";
import { classOf } from "../key.ts";
import { LEAF_FORM, LEAF_FORM_ROW } from "../rows/head.ts";
import { CORE_SCOPE } from "../rows/log-entry.ts";
import { sha256, slotOf } from "../rows/merkle.ts";
import { u8 } from "../rows/row-bytes.ts";
import { Slices } from "../commit/slices.ts";
import type { Mending, Store } from "../store.ts";
import { type Mend, mendLeaves } from "./reindex.ts";

export interface RaisingWorld {
  readonly clock: Clock;
  readonly timers: Timers;
  /** What a key says of where its record belongs: in the first form most records were the core's. */
  scopeOfKey(key: string): Uint8Array;
}

/** The store is unlocked and led from here. Does nothing to one whose leaves have today's form. */
export async function raiseLeaves(store: Store, world: RaisingWorld, log: Log): Promise<void> {
  if (store.leafForm >= LEAF_FORM) return;
  log.info("the hash trees are brought into a newer form; this is done once");
  await mendLeaves(store, new Slices(world), (mending, key, value) => {
    return raised(mending, key, value, world.scopeOfKey(key));
  });
  const meta = new Map([[LEAF_FORM_ROW, u8(LEAF_FORM)]]);
  await store.mend(() => ({ leaves: [], sums: new Map(), meta }));
}

function raised(mending: Mending, key: string, value: Uint8Array, said: Uint8Array): Mend[] {
  const slot = slotOf(classOf(key), key)!;
  const before = mending.leaf(slot, key);
  if (before === null) return [];
  const digest = sha256(value);
  const ofFirstForm = equalBytes(before.hash, mending.tip.leafHash(key, EMPTY, digest));
  if (!ofFirstForm) return [];
  const scope = equalBytes(before.scope, CORE_SCOPE) ? said : before.scope;
  return [{ slot, key, before, leaf: { hash: mending.tip.leafHash(key, scope, digest), scope } }];
}
