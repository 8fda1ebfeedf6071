// Tells another cluster of the set who leads, as far as is known here, and hears who does as far as that one knows: the later
// of the two is known to both afterwards.

import type { KeyObject } from "node:crypto";
import { EMPTY } from "@holdfast/shared/bytes";
import type { Log } from "@holdfast/shared/log";
import type { FormerPlace } from "../../cluster/hello.ts";
import type { PeerLink } from "../../cluster/peer-link.ts";
import { Status, StatusError } from "@holdfast/shared/grpc/status";
import { type FenceAnswer, type FenceWords, sendFence } from "../joining/calls.ts";
import type { Epoch } from "../roles/role.ts";
import { unlessSilent } from "../silence.ts";
import { type DialingWorld, type DialledMember, linkTo } from "./dialing.ts";

export interface FencingWorld extends DialingWorld {
  readonly barrier: { readonly rootKey: KeyObject };
  readonly clusterId: () => string;
  readonly version: string;
  /** What is signed of an epoch, for others. Default: nothing is. */
  readonly signedEpoch?: (epoch: Epoch) => Uint8Array;
}

export interface Saying extends FenceWords {
  /** Of whoever is known by something else than its certificate. */
  readonly formers?: readonly FormerPlace[];
  /** Nobody waits for it any more. */
  readonly signal?: AbortSignal;
  /** Whether an address where nobody is there is given up soon. Default: after as long as a link waits. */
  readonly isHurried?: boolean;
  /** It was called in vain there. Default: nobody wants to know. */
  readonly failed?: (address: string, error: unknown) => void;
}

/** Whether whoever was called is there, and takes no word of this cluster: it was revoked there, or is not known. */
export function isDenial(error: unknown): boolean {
  return error instanceof StatusError && error.status === Status.permissionDenied;
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
  { signal, formers = [], isHurried = false, failed, ...words }: Saying = {},
): Promise<Answered | null> {
  const { barrier, clusterId, version } = world;
  for (const address of addresses) {
    if (signal?.aborted === true) return null;
    let link: PeerLink | null = null;
    const stop = () => void link?.close();
    signal?.addEventListener("abort", stop, { once: true });
    const dead = new AbortController();
    const giveUp = () => dead.abort();
    const timer = isHurried ? unlessSilent(world.timers, () => link, giveUp) : null;
    try {
      link = linkTo(address, member, world);
      const self = { clusterId: clusterId(), version, formers };
      const over = signal === undefined ? dead.signal : AbortSignal.any([signal, dead.signal]);
      const { clusterId: cluster } = await link.open(self, over);
      const epochProof = world.signedEpoch?.(epoch) ?? EMPTY;
      const by = { rootKey: barrier.rootKey, from: clusterId(), epochProof, ...words };
      return { cluster, ...(await sendFence(link, member, epoch, by)) };
    } catch (error) {
      failed?.(address, error); // it is asked again later
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

/** Nobody leads in an epoch that was heard of: who has claimed it was revoked by the primary. */
export function tellUnclaimed(log: Log, { number: epoch, cluster }: Epoch, followed: Epoch): void {
  log.warn("a cluster has said to lead that the primary has revoked: that one is followed again", {
    event: "replication.epoch-given-up",
    epoch,
    cluster,
    followed_epoch: followed.number,
    followed_cluster: followed.cluster,
  });
}

/** The primary that was followed says to lead, and that the one which took its place was revoked; and that one has revoked it. */
export function tellDisowned(
  log: Log,
  leader: { readonly epoch: number; readonly cluster: string },
  former: Epoch,
): void {
  log.warn("a primary that was revoked by the one in its place says to lead: it is not followed", {
    event: "replication.former-not-believed",
    ...leader,
    former: former.cluster,
    former_epoch: former.number,
    remedy:
      "follow the one that is to lead: update-primary with a token of it, and with force where that is the earlier one",
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
