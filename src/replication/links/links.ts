// Everything that speaks with other clusters, in one value: certificates, gRPC and TLS are loaded with it, and only by a
// cluster that has others.

import type { ClusterPort } from "../../cluster/port.ts";
import { forgetPrimary } from "../joining/primary-rows.ts";
import { enablePrimary, makePrimary } from "../joining/secondaries.ts";
import type { ReplicationOptions } from "../replication.ts";
import type { Epoch, Primary } from "../roles/role.ts";
import type { StoredRole } from "../roles/stored-role.ts";
import type { Divergent } from "./divergent.ts";
import { sendFence } from "./fence-call.ts";
import { Receiving } from "./receiving.ts";
import { Serving } from "./serving.ts";
import {
  forgetFormer,
  forgetUpstream,
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
  storedUpstream,
  putUpstream,
  forgetFormer,
  forgetUpstream,
  keepFormer,
  storedFormer,

  serving: (
    options: ReplicationOptions,
    port: ClusterPort,
    role: () => Primary,
    heard: { readonly superseded: (epoch: number) => void; readonly fence: (epoch: Epoch) => void },
  ): Serving => new Serving({ ...options, ...heard }, port, role),

  receiving: (
    options: ReplicationOptions,
    role: StoredRole,
    divergent: Divergent,
    upstream: Upstream,
  ): Receiving => new Receiving({ ...options, role, divergent }, upstream),

  /** Tells the primary of before who leads now. True when it has taken it. */
  fence: (
    options: ReplicationOptions,
    former: Upstream,
    addresses: readonly string[],
    epoch: Epoch,
  ) => sendFence(options, former, addresses, epoch),
};

export type Links = typeof links;
