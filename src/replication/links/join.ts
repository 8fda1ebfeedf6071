// How a cluster comes to a primary for the first time: with what a token says, over the cluster port, to be taken and to be
// sent the keys of the set. Until it has them nothing is changed on either side but that the token counts as used.

import { equalBytes } from "@holdfast/shared/bytes";
import type { Address, Random } from "@holdfast/shared/world";
import { explain, Failure } from "@holdfast/shared/failure";
import type { View } from "../../barrier/view.ts";
import { primaryRefuses, primaryUnreachable } from "../failures.ts";
import { hpkePublicKey } from "../../crypto/hpke.ts";
import type { Activation } from "../joining/activation.ts";
import { fetchFirstKeys } from "../joining/calls.ts";
import type { KeyBundle } from "../joining/key-bundle.ts";
import { joiningKey, type Membership, storedMembership, triedKey } from "../joining/membership.ts";
import { storedMaterial } from "../joining/primary-rows.ts";
import { formerPlace } from "../joining/whose-id.ts";
import { type DialingWorld, linkAt, linkTo } from "./dialing.ts";
import { storedFormer, type Upstream } from "./upstream.ts";
import { logStand } from "../cascades/log-stand.ts";
import { type FormerPlace, isRevokedThere } from "../../cluster/hello.ts";
import type { ReplicationKind } from "../../cluster/names.ts";
import type { PeerLink, Self } from "../../cluster/peer-link.ts";
import { encodeTimeline } from "../../storage/rows/head.ts";
import type { Store } from "../../storage/store.ts";
import { STORAGE_FORMAT } from "../stream/decision.ts";
import { cursorOf, hasCode } from "../stream/receiving.ts";

export interface JoiningSelf extends DialingWorld {
  readonly kind: ReplicationKind;
  readonly store: Store;
  /** Of the rows of the kind that is joined. */
  readonly view: View;
  readonly random: Random;
  readonly version: string;
  readonly clusterId: () => string;
  readonly apiAddress: () => string;
  readonly clusterAddress: () => string;
  readonly region: () => string;
  readonly configuredRegion: string;
}

export interface Reached {
  readonly bundle: KeyBundle;
  readonly upstream: Upstream;
  /** How many mounts and namespaces of the primary are not sent here. Default: none. */
  readonly withheld?: number;
}

/** Throws, with what went wrong, unless the primary has taken this cluster and sent its keys. */
export async function reachPrimary(
  activation: Activation,
  self: JoiningSelf,
  { isEmpty }: { /** Whether it comes with nothing. */ readonly isEmpty: boolean },
): Promise<Reached> {
  const { address, epoch } = activation;
  const privateKey = await joiningKey(self.view, activation.serial, self.random);
  const upstream: Upstream = { member: activation, keysKey: privateKey };
  const link = linkTo(address, activation, self);
  try {
    const answer = await link.open({
      clusterId: self.clusterId(),
      version: self.version,
      apiAddress: self.apiAddress(),
      clusterAddresses: [self.clusterAddress()].filter((one) => one !== ""),
      epoch: epoch.number,
      ...standingOf(self),
      isEmpty,
      region: isEmpty ? self.configuredRegion : self.region(),
      formers: formersOf(activation, self),
    });
    if (answer.decision?.kind === "refuse") throw primaryRefuses(answer.decision.reason);
    const bundle = await fetchFirstKeys(link, activation, privateKey, epoch.number);
    return { bundle, upstream, withheld: answer.withheld };
  } catch (error) {
    throw joiningFailure(error, link.hasMet);
  } finally {
    await link.close();
  }
}

/** That it is the cluster that this primary knows by another id, or from before it led: by all that it was known by in the set. */
function formersOf(
  { set, kind, serial, certificate }: Membership,
  self: JoiningSelf,
): readonly FormerPlace[] {
  const place = { set, kind, serial, clusterId: self.clusterId() };
  const { view } = self;
  // Also where it has led since; and as whom its own secondaries know it.
  const all = [
    storedMaterial(view, kind)?.authority,
    storedFormer(view, kind),
    storedMembership(view, kind),
  ];
  return all.flatMap((one) => {
    if (one?.set !== set || equalBytes(one.certificate, certificate)) return [];
    return [formerPlace(one, place)];
  });
}

/** What a primary says that was there is told as its word. */
function joiningFailure(error: unknown, hasMet: boolean): unknown {
  const codes = ["replication-primary-refuses", "replication-address-unusable"];
  if (hasCode(error, ...codes)) return error; // it says by itself what the matter is
  return hasMet ? primaryRefuses(reasonOf(error)) : primaryUnreachable(explain(error));
}

const WITHOUT_REASON =
  "it ends the connection without a reason; look whether the token was used, has ended or was revoked, and at its log";

function reasonOf(error: unknown): string {
  if (isRevokedThere(error)) return "the token was revoked; make another one on the primary";
  return hasCode(error, "peer-refused") ? WITHOUT_REASON : explain(error);
}

/** Where a trial has come to an end, or that it went well. */
export type TrialStep = "token" | "api" | "role" | "address" | "connect" | "certificate" | "hello";

export interface Tried {
  /** The last that was taken. */
  readonly step: TrialStep;
  /** Where; empty where nobody was called. */
  readonly address: string;
  /** What is in the way; null where nothing is. */
  readonly cause: string | null;
  /** How many mounts and namespaces of the primary would not be sent here. Default: none. */
  readonly withheld?: number;
}

/** Whether the primary at that address would take this cluster. Neither side keeps anything of it. */
export async function tryPrimary(
  address: string,
  link: () => PeerLink,
  self: JoiningSelf,
  {
    epoch,
    isEmpty,
    member,
    isFirst,
  }: {
    readonly epoch: number;
    readonly isEmpty: boolean;
    readonly member: Membership;
    /** It would come with a token, and not as who it is already. */
    readonly isFirst: boolean;
  },
): Promise<Tried> {
  let opened: PeerLink | null = null;
  try {
    opened = link();
    const answer = await opened.open({
      clusterId: self.clusterId(),
      version: self.version,
      epoch,
      ...standingOf(self),
      isEmpty,
      isTrial: true,
      region: isEmpty ? self.configuredRegion : self.region(),
      formers: formersOf(member, self),
      ...(isFirst
        ? { publicKey: hpkePublicKey(triedKey(self.view, member.serial, self.random)) }
        : {}),
    });
    const { decision } = answer;
    const cause = decision?.kind === "refuse" ? decision.reason : null;
    return { step: "hello", address, cause, withheld: answer.withheld };
  } catch (error) {
    const cause = opened?.hasMet === true ? reasonOf(error) : explain(error);
    return { step: stepOf(error), address, cause };
  } finally {
    await opened?.close();
  }
}

const PORT_FAILED: ReadonlySet<string> = new Set(["peer-refused", "peer-sealed", "peer-other"]);

/** How far it came, by what has gone wrong. */
function stepOf(error: unknown): TrialStep {
  const code = error instanceof Failure ? error.code : "";
  if (code === "replication-address-unusable") return "address";
  if (code === "network-failed") return "connect";
  return PORT_FAILED.has(code) ? "certificate" : "hello";
}

function standingOf({ store, kind }: Pick<JoiningSelf, "store" | "kind">): Partial<Self> {
  const { timeline, limits } = store;
  return {
    ...(kind === "performance" ? logStand(store) : {}),
    timeline: encodeTimeline(timeline!),
    cursor: cursorOf(store),
    storageFormat: STORAGE_FORMAT,
    limits: { operations: limits.operations, bytes: BigInt(limits.bytes) },
  };
}

/** An address as it was named, and one of those that its name stands for. */
export interface Place {
  readonly named: string;
  readonly at: Address;
}

/** The first of these places where the primary that is known already answers, or who has taken its place, as it was named. One that was
 *  superseded is not. */
export async function findPrimary(
  places: readonly Place[],
  upstream: Upstream,
  self: JoiningSelf,
  epoch: number,
  isRevoked: (cluster: string) => boolean = () => false,
): Promise<string> {
  const problems: string[] = [];
  for (const [i, { named, at }] of places.entries()) {
    const link = linkAt(at, upstream.member, self);
    try {
      const { decision, clusterId } = await link.open({
        clusterId: self.clusterId(),
        version: self.version,
        epoch,
        ...standingOf(self),
        isTrial: true,
        region: self.region(),
      });
      if (isRevoked(clusterId)) {
        problems.push(`address ${i + 1}: the primary has revoked this cluster`);
        continue;
      }
      if (decision?.kind !== "refuse") return named;
      problems.push(`address ${i + 1}: ${decision.reason}`);
    } catch (error) {
      problems.push(`address ${i + 1}: ${explain(error)}`);
    } finally {
      await link.close();
    }
  }
  throw primaryUnreachable(problems.join("; "));
}
