// Tells another cluster of the set who leads, as far as is known here, and hears who does as far as that one knows: the later
// of the two is known to both afterwards.

import type { KeyObject } from "node:crypto";
import type { Log } from "@holdfast/shared/log";
import type { Nanos } from "@holdfast/shared/world";
import type { FormerPlace } from "../../cluster/hello.ts";
import type { PeerLink } from "../../cluster/peer-link.ts";
import { type FenceAnswer, type FenceWords, sendFence } from "../joining/calls.ts";
import type { Epoch } from "../roles/role.ts";
import { type DialingWorld, type DialledMember, linkTo } from "./dialing.ts";

export interface FencingWorld extends DialingWorld {
  readonly barrier: { readonly rootKey: KeyObject };
  readonly clusterId: () => string;
  readonly version: string;
}

export interface Saying extends FenceWords {
  /** Of whoever is known by something else than its certificate. */
  readonly formers?: readonly FormerPlace[];
  /** Nobody waits for it any more. */
  readonly signal?: AbortSignal;
  /** At each address, for a connection to stand. Default: as long as a link waits. */
  readonly metWithin?: Nanos;
}

/** What the other side has said. */
export interface Answered extends FenceAnswer {
  readonly cluster: string;
}

/** At the first of its addresses that answers; null where none does, or where nobody waits for it any more. */
export async function exchange(
  addresses: readonly string[],
  member: DialledMember,
  epoch: Epoch,
  world: FencingWorld,
  { signal, formers = [], metWithin, ...words }: Saying = {},
): Promise<Answered | null> {
  const { barrier, clusterId, version } = world;
  for (const address of addresses) {
    if (signal?.aborted === true) return null;
    let link: PeerLink | null = null;
    const stop = () => void link?.close();
    signal?.addEventListener("abort", stop, { once: true });
    const dead = new AbortController();
    const timer =
      metWithin === undefined
        ? null
        : world.timers.after(metWithin, () => link?.hasMet !== true && dead.abort());
    try {
      link = linkTo(address, member, world);
      const self = { clusterId: clusterId(), version, formers };
      const over = signal === undefined ? dead.signal : AbortSignal.any([signal, dead.signal]);
      const { clusterId: cluster } = await link.open(self, over);
      const by = { rootKey: barrier.rootKey, from: clusterId(), ...words };
      return { cluster, ...(await sendFence(link, member, epoch, by)) };
    } catch {
      continue; // it is asked again later
    } finally {
      timer?.cancel();
      signal?.removeEventListener("abort", stop);
      await link?.close();
    }
  }
  return null;
}

/** A secondary has heard that another cluster than its primary leads. */
export function tellSuperseded(log: Log, { number: epoch, cluster }: Epoch, name: string): void {
  log.warn("another cluster leads the set: nothing more is taken from this primary", {
    event: "replication.superseded",
    epoch,
    cluster,
    ...(name === "" ? {} : { name }),
    remedy: "follow that one: update-primary with a token of it",
  });
}

/** An operator says that nobody leads in an epoch that was heard of: whoever looks for the reason later finds it. */
export function tellRefuted(log: Log, { number: epoch, cluster }: Epoch, followed: Epoch): void {
  log.warn("a later epoch of the set is given up by an operator: an earlier primary is followed", {
    event: "replication.epoch-given-up",
    epoch,
    cluster,
    followed_epoch: followed.number,
    followed_cluster: followed.cluster,
  });
}
