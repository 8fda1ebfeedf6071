// Tells another cluster of the set who leads, as far as is known here, and hears who does as far as that one knows: the later
// of the two is known to both afterwards.

import type { KeyObject } from "node:crypto";
import type { Log } from "@holdfast/shared/log";
import type { PeerLink } from "../../cluster/peer-link.ts";
import { sendFence } from "../joining/calls.ts";
import type { Epoch } from "../roles/role.ts";
import { type DialingWorld, type DialledMember, linkTo } from "./dialing.ts";

export interface FencingWorld extends DialingWorld {
  readonly barrier: { readonly rootKey: KeyObject };
  readonly clusterId: () => string;
  readonly version: string;
}

/** At the first of its addresses that answers; null where none does, or where nobody waits for it any more. */
export async function exchangeEpochs(
  addresses: readonly string[],
  member: DialledMember,
  epoch: Epoch,
  world: FencingWorld,
  signal?: AbortSignal,
): Promise<Epoch | null> {
  const { barrier, clusterId, version } = world;
  for (const address of addresses) {
    if (signal?.aborted === true) return null;
    let link: PeerLink | null = null;
    const stop = () => void link?.close();
    signal?.addEventListener("abort", stop, { once: true });
    try {
      link = linkTo(address, member, world);
      await link.open({ clusterId: clusterId(), version }, signal);
      const by = { rootKey: barrier.rootKey, from: clusterId() };
      return await sendFence(link, member, epoch, by);
    } catch {
      continue; // it is asked again later
    } finally {
      signal?.removeEventListener("abort", stop);
      await link?.close();
    }
  }
  return null;
}

/** A secondary has heard that another cluster than its primary leads. */
export function tellSuperseded(log: Log, { number: epoch, cluster }: Epoch): void {
  log.warn("another cluster leads the set: nothing more is taken from this primary", {
    event: "replication.superseded",
    epoch,
    cluster,
    remedy: "follow that one: update-primary with a token of it",
  });
}
