// What a secondary keeps of its primary, taken together; and, once it has taken that one's place, of the primary of before,
// which is to hear of it.

import type { KeyObject } from "node:crypto";
import { equalBytes, text, utf8 } from "@holdfast/shared/bytes";
import { jsonCodec } from "@holdfast/shared/codec";
import { invariant } from "@holdfast/shared/invariant";
import { parseTime, showTime } from "@holdfast/shared/text/time";
import type { Instant } from "@holdfast/shared/world";
import type { Tx, View, ViewReads } from "../../barrier/view.ts";
import type { MemberName, ReplicationKind } from "../../cluster/names.ts";
import type { Credentials } from "../../cluster/tls.ts";
import {
  forgetMembership,
  type Membership,
  membershipOf,
  putMemberKey,
  putMembership,
  storedMemberKey,
  storedMembership,
} from "../joining/membership.ts";
import { putRevokedClusters, storedMaterial, wasRevoked } from "../joining/primary-rows.ts";
import type { KnownCluster } from "../joining/whose-id.ts";
import { partsCodec } from "../parts-codec.ts";
import { MAX_REVOKED, type Sibling, SIBLINGS as MAX_INFORMED } from "../stream/messages.ts";

const FORMER = "former";
const FORMER_HEARD = "former-heard";
const heardCodec = jsonCodec<true>();
const FORMER_CLUSTER = "former-cluster";
const clusterCodec = jsonCodec<string>();
/** It was revoked here. */
const FORMER_DISOWNED = "former-disowned";
const disownedCodec = jsonCodec<true>();

/** When its place was taken, and who of the others has heard of it. */
const FORMER_INFORMED = "former-informed";
const informedCodec = jsonCodec<StoredInformed>();

interface StoredInformed {
  /** Not there where an earlier version has written it. */
  readonly since?: string;
  /** The serials of each, joined. */
  readonly members: readonly string[];
}

/** The other secondaries of the primary that is followed, or was before its place was taken. */
const SIBLINGS = "siblings";
const siblingsCodec = jsonCodec<readonly Stored[]>();
type Stored = Pick<Sibling, "addresses" | "serials"> & Partial<Sibling>;

/** Serials of those that the primary has revoked: another secondary may not have heard of it. */
const SIBLINGS_REVOKED = "siblings-revoked";

/** Serials that the primary of before has issued, and this one has revoked in its place. */
const FORMER_REVOKED = "former-revoked";
const revokedCodec = jsonCodec<readonly string[]>();

export interface Upstream {
  readonly member: Membership;
  /** The private half of the key that it has registered with the primary. */
  readonly keysKey: KeyObject;
}

export function putUpstream(tx: Tx, { member, keysKey }: Upstream): void {
  putMembership(tx, member);
  putMemberKey(tx, keysKey);
  deleteSiblings(tx);
}

export function forgetUpstream(tx: Tx): void {
  forgetMembership(tx);
  forgetFormer(tx);
}

/** Null where there is no primary. */
export function storedUpstream(reads: ViewReads, kind: ReplicationKind): Upstream | null {
  const member = storedMembership(reads, kind);
  const keysKey = storedMemberKey(reads);
  return member === null || keysKey === null ? null : { member, keysKey };
}

/** A primary whose place this cluster has taken, and where it was. */
export interface Former extends MemberName, Credentials {
  readonly addresses: readonly string[];
  /** Whether it knows who leads. It is still asked: another one may have been promoted as well, and told it. */
  readonly isHeard: boolean;
  /** Empty where nobody knows it. */
  readonly cluster: string;
  /** It was revoked: what its authority has signed proves nothing any more. Others are still told who leads. */
  readonly isDisowned: boolean;
}

/** In the transaction in which this cluster takes the place of its primary. */
export function keepFormer(
  tx: Tx,
  { addresses, cluster }: Pick<Former, "addresses" | "cluster">,
  {
    kind,
    isHeard,
    now,
  }: {
    readonly kind: ReplicationKind;
    /** It has gone by itself: nobody waits for its answer. */
    readonly isHeard: boolean;
    readonly now: Instant;
  },
): void {
  const member = storedMembership(tx, kind);
  if (member === null) return; // it was demoted, and has followed nobody since: who was there before it still is
  forgetMembership(tx);
  deleteFormer(tx);
  const { set, id, authority, certificate, key } = member;
  const where = addresses.map((address) => utf8(address));
  tx.put(FORMER, [utf8(set), utf8(id), authority, certificate, key, ...where], partsCodec);
  if (cluster !== "") tx.put(FORMER_CLUSTER, cluster, clusterCodec);
  tx.put(FORMER_INFORMED, { since: showTime(now), members: [] }, informedCodec);
  if (isHeard) formerHeard(tx);
}

/** In the transaction in which this cluster takes the place of one that it stood in for: `member` is of the authority of both. */
export function keepStoodIn(
  tx: Tx,
  { set, id, authority, certificate, key }: MemberName & Credentials,
  { addresses, cluster, isHeard }: Pick<Former, "addresses" | "cluster" | "isHeard">,
  now: Instant,
): void {
  deleteFormer(tx);
  const where = addresses.map((address) => utf8(address));
  tx.put(FORMER, [utf8(set), utf8(id), authority, certificate, key, ...where], partsCodec);
  tx.put(FORMER_CLUSTER, cluster, clusterCodec);
  tx.put(FORMER_INFORMED, { since: showTime(now), members: [] }, informedCodec);
  if (isHeard) formerHeard(tx);
}

/** Whether it had the authority that this cluster has. */
export function isStoodIn({ authority }: Former, reads: ViewReads, kind: ReplicationKind): boolean {
  const own = storedMaterial(reads, kind)?.authority.certificate;
  return own !== undefined && equalBytes(own, authority);
}

/** Who of the others has heard that this cluster leads, each by its serials; and since when it does, where that was written down. */
export function storedInformed(reads: ViewReads): {
  readonly since: Instant | null;
  readonly members: readonly string[];
} {
  const { since, members = [] } = reads.get(FORMER_INFORMED, informedCodec) ?? {};
  return { since: since === undefined ? null : parseTime(since), members };
}

export function putInformed(tx: Tx, members: readonly string[]): void {
  const before = tx.get(FORMER_INFORMED, informedCodec) ?? { members: [] };
  tx.put(FORMER_INFORMED, { ...before, members: members.slice(-MAX_INFORMED) }, informedCodec);
}

export function storedFormer(reads: ViewReads, kind: ReplicationKind): Former | null {
  const [found] = reads.records(FORMER, partsCodec, { limit: 1 });
  if (found?.key !== FORMER) return null;
  const [set, id, authority, certificate, key, ...where] = found.value;
  invariant(
    set !== undefined &&
      id !== undefined &&
      authority !== undefined &&
      certificate !== undefined &&
      key !== undefined,
    "what is kept of a primary has five parts and its addresses",
  );
  const addresses = where.map((address) => text(address));
  const isHeard = reads.get(FORMER_HEARD, heardCodec) !== null;
  const member = { set: text(set), kind, id: text(id), authority, certificate, key };
  const cluster = reads.get(FORMER_CLUSTER, clusterCodec) ?? ""; // earlier versions did not keep it
  const isDisowned = reads.get(FORMER_DISOWNED, disownedCodec) !== null;
  return { ...member, addresses, isHeard, cluster, isDisowned };
}

/** By what the others of the set know this cluster, which follow or have followed the same primary; null where nobody does. */
export function storedBeside(reads: ViewReads, kind: ReplicationKind): Membership | null {
  const member = storedMembership(reads, kind);
  if (member !== null) return member;
  const former = storedFormer(reads, kind);
  return former === null || former.isDisowned ? null : membershipOf(former);
}

/** As this cluster knows it from before it led; null where it does not, or has revoked it since. Who has a certificate of a primary
 *  that was revoked proves nothing by it: that one could have issued it. */
export function knownBefore(
  reads: ViewReads,
  clusterId: string,
  kind: ReplicationKind,
): KnownCluster | null {
  const former = storedFormer(reads, kind);
  if (former === null) return null;
  const { authority, cluster, isDisowned } = former;
  const siblings = storedSiblings(reads).filter((one) => one.cluster === clusterId);
  const hasLed = cluster === clusterId && !isDisowned;
  if (!hasLed && siblings.length === 0) return null;
  return {
    id: siblings.find(({ id }) => id !== "")?.id ?? "",
    authority: isDisowned ? null : authority,
    serials: siblings.flatMap(({ serials }) => serials),
    digests: siblings.flatMap(({ serials, digests }) =>
      digests.length === serials.length ? digests : serials.map(() => ""),
    ),
    hasLed,
  };
}

/** Where there is one still. */
export function formerHeard(tx: Tx): void {
  if (tx.get(FORMER, partsCodec) !== null) tx.put(FORMER_HEARD, true, heardCodec);
}

/** This cluster leads no longer in its place. */
export function forgetFormer(tx: Tx): void {
  deleteFormer(tx);
  deleteSiblings(tx);
}

function deleteSiblings(tx: Tx): void {
  tx.delete(SIBLINGS);
  tx.delete(SIBLINGS_REVOKED);
}

function deleteFormer(tx: Tx): void {
  const about = [FORMER_HEARD, FORMER_CLUSTER, FORMER_DISOWNED, FORMER_REVOKED, FORMER_INFORMED];
  for (const row of [FORMER, ...about]) tx.delete(row);
}

/** Where it is meant. Whether it was. */
export function disownFormer(
  tx: Tx,
  isMeant: (former: Sibling) => boolean,
  kind: ReplicationKind,
): boolean {
  const former = storedFormer(tx, kind);
  const { cluster = "" } = former ?? {};
  if (cluster === "" || !isMeant({ id: "", cluster, addresses: [], serials: [], digests: [] }))
    return false;
  tx.put(FORMER_DISOWNED, true, disownedCodec);
  return true;
}

export function storedSiblings(reads: ViewReads): readonly Sibling[] {
  const stored = reads.get(SIBLINGS, siblingsCodec) ?? [];
  return stored.map((one) => ({ id: "", cluster: "", digests: [], ...one })); // earlier versions did not know them
}

/** Those are taken for members no more, and whoever has led says so to the others. Whether there were any. */
export function revokeSiblings(tx: Tx, isMeant: (sibling: Sibling) => boolean): boolean {
  const all = storedSiblings(tx);
  const meant = all.filter(isMeant);
  if (meant.length === 0) return false;
  const serials = [...storedFormerRevoked(tx), ...meant.flatMap((one) => one.serials)];
  putSiblings(
    tx,
    all.filter((one) => !meant.includes(one)),
  );
  tx.put(FORMER_REVOKED, serials.slice(-MAX_REVOKED), revokedCodec);
  putRevokedClusters(
    tx,
    meant.map(({ cluster }) => cluster),
  );
  return true;
}

export function storedFormerRevoked(reads: ViewReads): readonly string[] {
  return reads.get(FORMER_REVOKED, revokedCodec) ?? [];
}

interface Revoking {
  /** Of the primary of before, where that one was revoked too. Default: it was not. */
  readonly cluster?: string;
  /** Whether those may cost a row that nobody has named here. Default: they may. */
  readonly mayKeep?: () => boolean;
}

/** Whoever leads has revoked these. Others that have not heard of it may take one of their clusters for the primary. */
export async function withoutSerials(
  view: View,
  serials: readonly string[],
  { cluster: disowned = "", mayKeep = () => true }: Revoking = {},
): Promise<void> {
  const isOne = (sibling: Sibling) => sibling.serials.some((serial) => serials.includes(serial));
  const isNews =
    unnamedIn(view, serials).length > 0 || (disowned !== "" && !wasRevoked(view, disowned));
  if (!storedSiblings(view).some(isOne) && (!isNews || !mayKeep())) return;
  const write = (tx: Tx) => {
    const all = storedSiblings(tx);
    const unnamed = unnamedIn(tx, serials);
    const named = all.flatMap((one) => one.serials).filter((serial) => serials.includes(serial));
    putRevokedClusters(tx, [...all.filter(isOne).map(({ cluster }) => cluster), disowned]);
    putSiblings(
      tx,
      all.filter((one) => !isOne(one)),
    );
    putSiblingsRevoked(tx, [...new Set([...storedSiblingsRevoked(tx), ...unnamed, ...named])]);
  };
  await view.write(write, { essential: true });
}

/** Also one that nobody has named here yet is kept: who has not heard of it names it later. None of them in the place of another. */
function unnamedIn(reads: ViewReads, serials: readonly string[]): readonly string[] {
  const kept = storedSiblingsRevoked(reads);
  const known = new Set([...kept, ...storedSiblings(reads).flatMap((one) => one.serials)]);
  const unnamed = serials.filter((serial) => !known.has(serial));
  return unnamed.slice(0, MAX_REVOKED - kept.length);
}

export function putSiblings(tx: Tx, siblings: readonly Sibling[]): void {
  if (siblings.length === 0) tx.delete(SIBLINGS);
  else tx.put(SIBLINGS, siblings, siblingsCodec);
}

export function putSiblingsRevoked(tx: Tx, serials: readonly string[]): void {
  if (serials.length === 0) tx.delete(SIBLINGS_REVOKED);
  else tx.put(SIBLINGS_REVOKED, serials.slice(-MAX_REVOKED), revokedCodec);
}

export function storedSiblingsRevoked(reads: ViewReads): readonly string[] {
  return reads.get(SIBLINGS_REVOKED, revokedCodec) ?? [];
}

/** Serials of the primary that is followed or was before: revoked by it, or by who leads in its place. */
export function storedAllRevoked(reads: ViewReads): readonly string[] {
  return [...storedSiblingsRevoked(reads), ...storedFormerRevoked(reads)];
}
