// What a cluster does with the keys of the set that it joins: a new, empty store begins with them, and later ones take the
// places of those before. Its own seal keeps them, whatever the primary's is.

import type { KeyObject } from "node:crypto";
import type { Log } from "@holdfast/shared/log";
import type { Clock, Random, Timers } from "@holdfast/shared/world";
import { Barrier, type Ceremony } from "../../barrier/barrier.ts";
import type { Tx, View } from "../../barrier/view.ts";
import { readConfig } from "../../seal/config.ts";
import { assertReplaceable, custodyUnder, putCustody } from "../../seal/custody.ts";
import { type Cluster, putCluster } from "../../seal/status.ts";
import type { StorageEngine } from "../../storage/engines/engine.ts";
import { Store } from "../../storage/store.ts";
import type { StoreTx } from "../../storage/transaction.ts";
import type { KeyBundle } from "./key-bundle.ts";

interface JoiningWorld {
  readonly clock: Clock;
  readonly timers: Timers;
  readonly random: Random;
  readonly log: Log;
}

export interface JoinedNode {
  /** Its own name and id: they stay what they are. */
  readonly cluster: Cluster;
  /** Key of the auto seal that is configured here; null: operators unseal with shares. */
  readonly sealKey: KeyObject | null;
}

/** Writes more into the first transaction: `tx` is of core/, and `view` gives what `tx.on` takes for another place. */
export type JoinedRows = (tx: Tx, raw: StoreTx, view: (prefix: string) => View) => void;

/**
 * Makes the store on an engine that is empty, with whatever `fn` writes, in one transaction, and closes it. It has a log
 * of its own with nothing in it, until it takes over that of the primary. Gives the root key that opens it. `carry`
 * writes what goes along from the data of before.
 */
export async function makeJoinedStore(
  engine: StorageEngine,
  { keys, quorum }: KeyBundle,
  { cluster, sealKey }: JoinedNode,
  world: JoiningWorld,
  fn: JoinedRows,
  carry: (to: Barrier) => Promise<void> = async () => {},
): Promise<KeyObject> {
  const { random } = world;
  const { rootKey } = keys.keyring;
  const store = new Store({ engine, ...world });
  const barrier = new Barrier({ store, ...world, cacheBytes: 0 });
  try {
    const identity = { lineage: random.bytes(16), cluster: cluster.id };
    await barrier.createWith(keys, identity, (tx, raw) => {
      putCustody(tx, raw, random, custodyUnder(quorum, rootKey, sealKey));
      putCluster(tx, cluster);
      fn(tx, raw, (prefix) => barrier.view(prefix));
    });
    await carry(barrier);
    return rootKey;
  } finally {
    await barrier.seal();
    await store.close();
  }
}

/**
 * Takes over what the primary has rotated or rekeyed, on a store that is unsealed, also while it follows. False when
 * there was nothing new. Keys that are older than those here are refused, and those that others have replaced: unless a token
 * of the primary says that what was done here alone is given up.
 */
export async function takeKeys(
  { keys, quorum }: KeyBundle,
  here: { readonly store: Store; readonly barrier: Barrier; readonly random: Random },
  sealKey: KeyObject | null,
  options: { readonly mayGiveUp?: boolean } = {},
): Promise<boolean> {
  const { store, barrier, random } = here;
  const config = readConfig(store);
  const ownSeal = config.type === "shamir" ? null : sealKey;
  assertReplaceable(here, config, ownSeal);
  const replaced: Ceremony<void> = (tx, raw) => {
    putCustody(tx, raw, random, custodyUnder(quorum, keys.keyring.rootKey, ownSeal));
  };
  return await barrier.takeOver(keys, replaced, options);
}
