// Everything that speaks with other clusters, in one value: certificates, gRPC and TLS are loaded with it, and only by a
// cluster that has others.

import type { PeerLink } from "../../cluster/peer-link.ts";
import { forgetPrimary, storedMaterial } from "../joining/primary-rows.ts";
import { enablePrimary, makePrimary } from "../joining/secondaries.ts";
import type { LinkedOptions, ReplicationOptions } from "../options.ts";
import type { Epoch, Primary } from "../roles/role.ts";
import type { StoredRole } from "../roles/stored-role.ts";
import { sendFence } from "../joining/calls.ts";
import { linkTo } from "./dialing.ts";
import { Receiving, type ReceivingWorld } from "./receiving.ts";
import { Serving, type ServingPort, type ServingWorld } from "./serving.ts";
import { Superseded, type SupersededWorld } from "./superseded.ts";
import {
  type Former,
  forgetUpstream,
  forgetFormer,
  formerHeard,
  keepFormer,
  putUpstream,
  storedFormer,
  storedUpstream,
  type Upstream,
} from "./upstream.ts";

export const links = {
  makePrimary,
  enablePrimary,
  forgetPrimary,
  storedMaterial,
  storedUpstream,
  putUpstream,
  forgetUpstream,
  forgetFormer,
  formerHeard,
  keepFormer,
  storedFormer,

  serving: (
    options: LinkedOptions,
    port: ServingPort,
    role: () => Primary,
    heard: Pick<ServingWorld, "superseded" | "fenced" | "adopted" | "lease">,
  ): Serving => new Serving({ ...options, ...heard }, port, role),

  receiving: (
    options: LinkedOptions,
    role: StoredRole,
    own: Pick<ReceivingWorld, "divergent" | "orphans" | "heard">,
    upstream: Upstream,
  ): Receiving => new Receiving({ ...options, role, ...own }, upstream),

  superseded: (
    options: ReplicationOptions,
    port: ServingPort,
    role: Primary,
    heard: Pick<SupersededWorld, "fenced">,
  ): Superseded => new Superseded({ ...options, ...heard }, port, role),

  /** Tells the primary of before who leads now. Gives who does as far as that one knows; null where it is not reached. */
  fence: async (
    options: ReplicationOptions,
    former: Former,
    epoch: Epoch,
  ): Promise<Epoch | null> => {
    const { barrier, clusterId, version } = options;
    for (const address of former.addresses) {
      let link: PeerLink | null = null;
      try {
        link = linkTo(address, former, options);
        await link.open({ clusterId: clusterId(), version });
        return await sendFence(link, former, epoch, barrier.rootKey);
      } catch {
        continue; // it is asked again later
      } finally {
        await link?.close();
      }
    }
    return null;
  },
};

export type Links = typeof links;
