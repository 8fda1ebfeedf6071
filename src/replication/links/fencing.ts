// Tells another cluster of the set who leads, as far as is known here, and hears who does as far as that one knows: the later
// of the two is known to both afterwards.

import type { KeyObject } from "node:crypto";
import type { PeerLink } from "../../cluster/peer-link.ts";
import { sendFence } from "../joining/calls.ts";
import type { Epoch } from "../roles/role.ts";
import { type DialingWorld, type DialledMember, linkTo } from "./dialing.ts";

export interface FencingWorld extends DialingWorld {
  readonly barrier: { readonly rootKey: KeyObject };
  readonly clusterId: () => string;
  readonly version: string;
}

/** At the first of its addresses that answers; null where none does. */
export async function exchangeEpochs(
  addresses: readonly string[],
  member: DialledMember,
  epoch: Epoch,
  world: FencingWorld,
): Promise<Epoch | null> {
  const { barrier, clusterId, version } = world;
  for (const address of addresses) {
    let link: PeerLink | null = null;
    try {
      link = linkTo(address, member, world);
      await link.open({ clusterId: clusterId(), version });
      return await sendFence(link, member, epoch, barrier.rootKey);
    } catch {
      continue; // it is asked again later
    } finally {
      await link?.close();
    }
  }
  return null;
}
