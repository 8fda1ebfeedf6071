// Everything that speaks with other clusters, in one value: certificates, gRPC and TLS are loaded with it, and only by a
// cluster that has others.

import { X509Certificate } from "node:crypto";
import type { ViewReads } from "../../barrier/view.ts";
import type { FormerPlace } from "../../cluster/hello.ts";
import type { MemberName } from "../../cluster/names.ts";
import type { Credentials } from "../../cluster/tls.ts";
import { serialOf } from "../../cluster/verify.ts";
import {
  forgetPrimary,
  isRevoked,
  nameOfCluster,
  storedMaterial,
  wasRevoked,
} from "../joining/primary-rows.ts";
import { enablePrimary, makePrimary, Secondaries } from "../joining/secondaries.ts";
import { formerPlace } from "../joining/whose-id.ts";
import type { LinkedOptions, ReplicationOptions } from "../options.ts";
import { PerMinute } from "../per-minute.ts";
import type { Primary } from "../roles/role.ts";
import type { StoredRole } from "../roles/stored-role.ts";
import { Beside, type BesideWorld } from "./beside.ts";
import { callOthers, within } from "./asking.ts";
import { leaderAtStart } from "./coming-up.ts";
import { othersOf, ownSecondaries } from "./others.ts";
import { leavingWith, standingIn } from "../cascades/standing-in.ts";
import { signedEpoch } from "../cascades/signed-epoch.ts";
import { exchange, isDenial, tellRefuted, tellSuperseded } from "./fencing.ts";
import { Receiving, type ReceivingWorld } from "./receiving.ts";
import { Serving, type ServingPort, type ServingWorld } from "./serving.ts";
import { type Led, Superseded, type SupersededWorld } from "./superseded.ts";
import {
  disownFormer,
  forgetUpstream,
  forgetFormer,
  formerHeard,
  isStoodIn,
  keepFormer,
  putInformed,
  putUpstream,
  revokeSiblings,
  storedAllRevoked,
  storedBeside,
  storedFormer,
  storedFormerRevoked,
  storedSiblings,
  storedInformed,
  storedUpstream,
  type Upstream,
  withoutSerials,
} from "./upstream.ts";

/** How often in a minute one that leads may have a row written for members that nobody has named. */
const KEPT = 6;

export const links = {
  makePrimary,
  enablePrimary,
  forgetPrimary,
  storedMaterial,
  storedUpstream,
  putUpstream,
  forgetUpstream,
  disownFormer,
  forgetFormer,
  formerHeard,
  keepFormer,
  storedBeside,
  storedFormer,
  storedFormerRevoked,
  storedSiblings,
  storedInformed,
  putInformed,
  revokeSiblings,
  isRevoked,
  isStoodIn,
  ownSecondaries,
  standingIn,
  leavingWith,
  signedEpoch,
  wasRevoked,

  /** Under which a cluster is known here: as a secondary, or as another one beside this. Empty where it is not. */
  nameOf: (reads: ViewReads, cluster: string): string =>
    nameOfCluster(reads, cluster) ||
    (storedSiblings(reads).find((one) => one.cluster === cluster)?.id ?? ""),

  /** Where it was, as the primary of before has told; empty where that is not known. */
  addressOf: (reads: ViewReads, cluster: string): string =>
    storedSiblings(reads).find((one) => one.cluster === cluster)?.addresses[0] ?? "",

  /** Those that this cluster has admitted, also where it serves nobody any more. */
  known: (options: ReplicationOptions): readonly string[] =>
    new Secondaries(options).known().map(({ id }) => id),

  serving: (
    options: LinkedOptions,
    port: ServingPort,
    role: () => Primary,
    heard: Pick<
      ServingWorld,
      "superseded" | "fenced" | "leads" | "revokeFormer" | "adopted" | "lease"
    >,
  ): Serving => new Serving({ ...options, ...heard }, port, role),

  receiving: (
    options: LinkedOptions,
    role: StoredRole,
    own: Pick<ReceivingWorld, "divergent" | "orphans" | "heard" | "renewed" | "revoked">,
    upstream: Upstream,
  ): Receiving => new Receiving({ ...options, role, ...own }, upstream),

  superseded: (
    options: ReplicationOptions,
    port: ServingPort,
    role: Led,
    heard: Pick<SupersededWorld, "fenced" | "candidates">,
  ): Superseded => new Superseded({ ...options, ...heard }, port, role),

  beside: (
    options: ReplicationOptions,
    port: ServingPort,
    member: MemberName & Credentials,
    heard: Pick<BesideWorld, "fenced" | "leads" | "candidates">,
  ): Beside => {
    const siblings = () => storedSiblings(options.view);
    const kept = new PerMinute(options.clock, KEPT);
    const revoke = (serials: readonly string[], by: string, disowned: string) => {
      const cluster = disowned === options.clusterId() ? "" : disowned;
      return withoutSerials(options.view, serials, { cluster, mayKeep: () => kept.take(by) === 0 });
    };
    const revoked = () => storedAllRevoked(options.view);
    return new Beside({ ...options, ...heard, siblings, revoke, revoked }, port, member);
  },

  /** What shows that this cluster has the authority of its set, to those that it comes to as that member. */
  authorityShown: (
    { view, kind, clusterId }: ReplicationOptions,
    { set, certificate }: MemberName & Credentials,
  ): readonly FormerPlace[] => {
    const authority = storedMaterial(view, kind)?.authority;
    if (authority?.set !== set) return [];
    const serial = serialOf(new X509Certificate(certificate));
    return [formerPlace(authority, { set, kind, serial, clusterId: clusterId() })];
  },

  exchange,
  isDenial,
  othersOf,
  callOthers,
  leaderAtStart,
  within,
  tellRefuted,
  tellSuperseded,
};

export type Links = typeof links;
