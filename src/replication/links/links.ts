// Everything that speaks with other clusters, in one value: certificates, gRPC and TLS are loaded with it, and only by a
// cluster that has others.

import type { MemberName } from "../../cluster/names.ts";
import type { Credentials } from "../../cluster/tls.ts";
import { forgetPrimary, storedMaterial } from "../joining/primary-rows.ts";
import { enablePrimary, makePrimary } from "../joining/secondaries.ts";
import type { LinkedOptions, ReplicationOptions } from "../options.ts";
import type { Primary } from "../roles/role.ts";
import type { StoredRole } from "../roles/stored-role.ts";
import { Beside, type BesideWorld } from "./beside.ts";
import { exchangeEpochs, tellSuperseded } from "./fencing.ts";
import { Receiving, type ReceivingWorld } from "./receiving.ts";
import { Serving, type ServingPort, type ServingWorld } from "./serving.ts";
import { type Led, Superseded, type SupersededWorld } from "./superseded.ts";
import {
  forgetUpstream,
  forgetFormer,
  formerHeard,
  keepFormer,
  putUpstream,
  storedFormer,
  storedSiblings,
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
  storedSiblings,

  serving: (
    options: LinkedOptions,
    port: ServingPort,
    role: () => Primary,
    heard: Pick<ServingWorld, "superseded" | "fenced" | "adopted" | "lease">,
  ): Serving => new Serving({ ...options, ...heard }, port, role),

  receiving: (
    options: LinkedOptions,
    role: StoredRole,
    own: Pick<ReceivingWorld, "divergent" | "orphans" | "heard" | "renewed">,
    upstream: Upstream,
  ): Receiving => new Receiving({ ...options, role, ...own }, upstream),

  superseded: (
    options: ReplicationOptions,
    port: ServingPort,
    role: Led,
    heard: Pick<SupersededWorld, "fenced">,
  ): Superseded => new Superseded({ ...options, ...heard }, port, role),

  beside: (
    options: ReplicationOptions,
    port: ServingPort,
    member: MemberName & Credentials,
    fenced: BesideWorld["fenced"],
  ): Beside => {
    const siblings = () => storedSiblings(options.view);
    return new Beside({ ...options, siblings, fenced }, port, member);
  },

  exchangeEpochs,
  tellSuperseded,
};

export type Links = typeof links;
