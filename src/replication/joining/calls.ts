// Calls between members of a set about keys, certificates and who leads: the first keys of a member, later ones, another
// certificate, the fence that a later primary puts before an earlier one, and what that one has left outside.

import { type KeyObject, X509Certificate } from "node:crypto";
import { EMPTY } from "@holdfast/shared/bytes";
import { SECOND } from "@holdfast/shared/text/duration";
import type { Clock, Nanos, Random } from "@holdfast/shared/world";
import type { Barrier } from "../../barrier/barrier.ts";
import { makeMemberKey } from "../../cluster/authority.ts";
import type { PeerLink } from "../../cluster/peer-link.ts";
import { isClusterId, isSerial, type SetName } from "../../cluster/names.ts";
import { type Peer, verifyMember } from "../../cluster/verify.ts";
import { hpkePublicKey } from "../../crypto/hpke.ts";
import { bytes, flag, list, message, part, text, uint32 } from "@holdfast/shared/grpc/message";
import { method, type Served, serveUnary } from "@holdfast/shared/grpc/method";
import type { Store } from "../../storage/store.ts";
import { type Candidacy, candidacyOf, type Candidates } from "../roles/candidates.ts";
import { type Epoch, isNext } from "../roles/role.ts";
import { MAX_REVOKED, type Sibling, sibling, SIBLINGS } from "../stream/messages.ts";
import { readable } from "../links/siblings.ts";
import { type Adoption, BATCH_ROWS, type BroughtRow } from "../links/orphans.ts";
import { openRows, sealRows } from "./brought-rows.ts";
import { certificateUnusable, fenceUnproved, orphansUnreadable } from "./failures.ts";
import { bundleOf, type KeyBundle, MAX_BUNDLE, openBundle, sealBundle } from "./key-bundle.ts";
import type { Membership } from "./membership.ts";
import { fenceProof, provesEpoch, type ProvenEpoch, provesFence } from "./proofs.ts";
import type { Secondaries } from "./secondaries.ts";

const SERVICE = "/holdfast.cluster.v1.Replication";
const KIB = 1024;
const HANDING: Nanos = 60n * SECOND;
const KEYS = { maxRequest: KIB, maxResponse: MAX_BUNDLE + KIB, atOnce: 1 };
const sealedKeys = message({ sealed: bytes(1) });

export const bootstrap = method(
  "unary",
  `${SERVICE}/Bootstrap`,
  message({ epoch: uint32(1), publicKey: bytes(2) }),
  sealedKeys,
  KEYS,
);

export const getKeys = method(
  "unary",
  `${SERVICE}/GetKeys`,
  message({ epoch: uint32(1) }),
  sealedKeys,
  KEYS,
);

export const renewCertificate = method(
  "unary",
  `${SERVICE}/RenewCertificate`,
  message({ epoch: uint32(1), publicKey: bytes(2) }),
  message({ certificate: bytes(1) }),
  { maxRequest: 4 * KIB, maxResponse: 8 * KIB, atOnce: 1 },
);

const FENCE_ANSWER: Nanos = 5n * SECOND;

export const fence = method(
  "unary",
  `${SERVICE}/Fence`,
  // `from`: who says so. A cluster speaks for itself: what it has heard of another is no proof.
  message({
    epoch: uint32(1),
    cluster: text(2),
    first: text(3),
    proof: bytes(4),
    from: text(5),
    candidacy: text(6), // of `from`; empty where it says nothing of it
    revoked: list(text(7), MAX_REVOKED), // by `from`, where it leads: serials of the primary of before
    disowned: text(8), // by `from`, where it leads: the cluster of that primary; empty where it is not
    epochProof: bytes(9), // signed by the authority that the epoch was begun with; empty where `from` has none
  }),
  // Whether it is taken, and who leads as far as the other side knows.
  message({
    accepted: flag(1),
    epoch: uint32(2),
    cluster: text(3),
    first: text(4),
    proof: bytes(5),
    leads: flag(6), // the other side itself
    // To whoever speaks of its candidacy: who stands besides, and whom the other side knows.
    candidates: list(text(7), SIBLINGS),
    siblings: list(part(8, sibling), SIBLINGS),
    isRevoked: flag(9), // by who answers: the cluster that was said to lead
    epochProof: bytes(10), // of the epoch that is answered, as above
  }),
  { maxRequest: 32 * KIB, maxResponse: 128 * KIB, atOnce: 1 },
);

/** What is said besides who leads. */
export interface FenceWords {
  readonly candidacy?: Candidacy;
  /** Serials of the primary of before. */
  readonly revoked?: readonly string[];
  /** The cluster of that primary, where it was revoked itself. */
  readonly disowned?: string;
  /** That the epoch was begun with an authority, signed by it: whoever trusts that one needs no other word. Default: there is none. */
  readonly epochProof?: Uint8Array;
}

export interface FenceAnswer {
  readonly leading: Epoch;
  /** Whether the authority that is trusted here has signed for it. */
  readonly isProved: boolean;
  /** Whether whoever answers is the one that leads. */
  readonly leads: boolean;
  /** Whether it has revoked the one that it was told of. */
  readonly isRevoked: boolean;
  readonly candidates: readonly string[];
  readonly siblings: readonly Sibling[];
}

const sealedRow = message({ key: text(1), sealed: bytes(2) });

/** What only that member has made outside. Whatever is there already stays as it is. */
export const adoptOrphans = method(
  "unary",
  `${SERVICE}/AdoptOrphans`,
  message({ epoch: uint32(1), rows: list(part(2, sealedRow), BATCH_ROWS) }),
  message({ adopted: uint32(1), known: uint32(2), left: uint32(3) }),
  { maxRequest: 4 * KIB * KIB, maxResponse: KIB, atOnce: 1 },
);

// --- at the primary ---

export interface JoiningPorts {
  readonly secondaries: Secondaries;
  readonly barrier: Barrier;
  readonly store: Store;
  readonly random: Random;
  /** Throws where the caller speaks of another epoch than that of the set. */
  readonly checkEpoch: (epoch: number) => void;
  /** Somebody who has the keys of the set says to lead in this epoch, or only who does (`isOwn` false). `proof`: what the authority that is
   *  trusted here has signed of it; null: nothing. Gives the one that leads as far as is known here. */
  readonly fenced: (
    epoch: Epoch,
    isOwn: boolean,
    by: Peer,
    proof: Uint8Array | null,
  ) => Promise<Epoch>;
  /** What is signed of an epoch, for others. Default: nothing is. */
  readonly signedEpoch?: (epoch: Epoch) => Uint8Array;
  /** Whether this cluster leads the set now. */
  readonly leads: () => boolean;
  /** Who is heard of who leads. Default: members. */
  readonly heard?: Pick<Secondaries, "assertKnown" | "clusterOf">;
  /** Takes over rows that stand for something outside, where they are not there yet. */
  readonly adopt: (rows: readonly BroughtRow[], from: string) => Promise<Adoption>;
}

export function joiningCalls(of: SetName, ports: JoiningPorts): readonly Served<Peer>[] {
  const { secondaries, barrier, random, checkEpoch } = ports;
  const keysFor = (peer: Peer) => ({
    sealed: sealBundle(bundleOf(ports), secondaries.publicKeyOf(peer), peer, random),
  });
  return [
    serveUnary(bootstrap, async ({ epoch, publicKey }, { peer }) => {
      checkEpoch(epoch);
      await secondaries.register(peer, publicKey);
      return keysFor(peer);
    }),
    serveUnary(getKeys, async ({ epoch }, { peer }) => {
      checkEpoch(epoch);
      return keysFor(peer);
    }),
    serveUnary(renewCertificate, async ({ epoch, publicKey }, { peer }) => {
      checkEpoch(epoch);
      const { certificate } = await secondaries.renew(peer, publicKey);
      return { certificate };
    }),
    fenceCall(of, {
      ...ports,
      secondaries: ports.heard ?? secondaries,
      authority: () => secondaries.material.authority.certificate,
      later: (peer, epoch) => {
        if (secondaries.isMember(peer)) secondaries.noteLater(peer, epoch);
      },
      isRevoked: (cluster) => secondaries.isRevokedCluster(cluster),
    }),
    serveUnary(adoptOrphans, async ({ epoch, rows }, { peer }) => {
      checkEpoch(epoch);
      secondaries.assertKnown(peer);
      const opened = openRows(rows, of.set, barrier.rootKey);
      if (opened === null) throw orphansUnreadable();
      return await ports.adopt(opened, peer.id);
    }),
  ];
}

/** What a member knows of the others, where it follows or has followed. */
export interface FencePorts extends Pick<JoiningPorts, "fenced" | "leads" | "signedEpoch"> {
  /** The certificate of the authority that is trusted here. Default: what is signed proves nothing. */
  readonly authority?: () => Uint8Array;
  readonly secondaries: Pick<Secondaries, "assertKnown" | "clusterOf">;
  readonly barrier: Pick<Barrier, "rootKey">;
  /** Who is about to be promoted. Default: nobody says so here. */
  readonly candidates?: Pick<Candidates, "hear">;
  /** Whoever leads, which is that cluster, has revoked these serials, and the cluster of the primary of before (`disowned`) where that
   *  is not empty. Default: it is not kept. */
  readonly revoke?: (serials: readonly string[], by: string, disowned: string) => Promise<void>;
  /** A member knows of a later primary than is believed here. Default: it is not kept. */
  readonly later?: (peer: Peer, epoch: Epoch) => void;
  /** Whether that cluster was revoked here. Default: nobody was. */
  readonly isRevoked?: (cluster: string) => boolean;
  /** Default: it names none. */
  readonly siblings?: () => readonly Sibling[];
}

/** Also of a primary that was superseded before. */
export function fenceCall({ set, kind }: SetName, ports: FencePorts): Served<Peer> {
  const { secondaries, barrier, fenced, leads, candidates, siblings } = ports;
  return serveUnary(fence, async ({ proof, from, candidacy, revoked, ...said }, { peer }) => {
    const { disowned, epochProof: signed, ...sent } = said;
    secondaries.assertKnown(peer);
    const epoch = provenEpoch(sent, proof, { set, kind }, barrier.rootKey);
    // All members have the keys: who speaks for another one proves no more than who has heard of it.
    const isSelf = from !== "" && from === secondaries.clusterOf(peer);
    const isOwn = isSelf && from === epoch.cluster;
    const isSigned = isProved(signed, ports.authority?.() ?? EMPTY, { set, kind, epoch });
    const leading = await fenced(epoch, isOwn || isSigned, peer, isSigned ? signed : null);
    const accepted = isSame(leading, epoch);
    if (isNext(leading, epoch)) ports.later?.(peer, epoch);
    const serials = revoked.filter(isSerial);
    const former = isClusterId(disowned) && disowned !== from ? disowned : "";
    const isSaid = serials.length > 0 || former !== "";
    if (accepted && isOwn && isSaid) await ports.revoke?.(serials, from, former);
    const spoken = isSelf && isClusterId(from) ? candidacyOf(candidacy) : null;
    return {
      accepted,
      epoch: leading.number,
      cluster: leading.cluster,
      first: leading.first,
      proof: fenceProof(barrier.rootKey, { set, kind, epoch: leading }),
      leads: leads(),
      candidates: spoken === null ? [] : (candidates?.hear(from, spoken) ?? []),
      siblings: spoken === null ? [] : (siblings?.() ?? []),
      isRevoked: ports.isRevoked?.(epoch.cluster) ?? false,
      epochProof: ports.signedEpoch?.(leading) ?? EMPTY,
    };
  });
}

/** Whether the authority has signed for it. */
function isProved(signed: Uint8Array, authority: Uint8Array, proven: ProvenEpoch): boolean {
  if (signed.length === 0 || authority.length === 0) return false;
  return provesEpoch(signed, new X509Certificate(authority), proven);
}

/** Throws unless whoever says it has the keys of the set. */
function provenEpoch(
  { epoch: number, cluster, first }: { epoch: number; cluster: string; first: string },
  proof: Uint8Array,
  of: SetName,
  rootKey: KeyObject,
): Epoch {
  const epoch = { number, cluster, first };
  if (!/^\d{1,20}$/.test(first) || !isClusterId(cluster)) throw fenceUnproved();
  if (!provesFence(proof, rootKey, { ...of, epoch })) throw fenceUnproved();
  return epoch;
}

function isSame(one: Epoch, other: Epoch): boolean {
  return one.number === other.number && one.cluster === other.cluster && one.first === other.first;
}

// --- at a member ---

/** The first keys: `privateKey` is stored before. Whoever calls it again, after a crash, does so with the same. */
export async function fetchFirstKeys(
  link: PeerLink,
  member: Membership,
  privateKey: KeyObject,
  epoch: number,
): Promise<KeyBundle> {
  const publicKey = hpkePublicKey(privateKey);
  const { sealed } = await link.call(bootstrap, { epoch, publicKey });
  return openBundle(sealed, privateKey, member);
}

export async function fetchKeys(
  link: PeerLink,
  member: Membership,
  privateKey: KeyObject,
  epoch: number,
): Promise<KeyBundle> {
  const { sealed } = await link.call(getKeys, { epoch });
  return openBundle(sealed, privateKey, member);
}

/** Another certificate, for a key that does not leave. What is stored stays right until this one is stored. */
export async function fetchCertificate(
  link: PeerLink,
  member: Membership,
  epoch: number,
  clock: Pick<Clock, "now">,
): Promise<Membership> {
  const { key, publicKey } = await makeMemberKey();
  const { certificate: der } = await link.call(renewCertificate, { epoch, publicKey });
  const certificate = readCertificate(der);
  const authority = new X509Certificate(member.authority);
  const peer = verifyMember(certificate, authority, member, clock.now());
  if ("mismatch" in peer || peer.id !== member.id) throw certificateUnusable();
  const spki = certificate.publicKey.export({ format: "der", type: "spki" });
  const isOurs = spki.equals(publicKey);
  if (!isOurs || peer.expires <= member.expires) throw certificateUnusable();
  return {
    ...member,
    certificate: certificate.raw,
    key,
    serial: peer.serial,
    expires: peer.expires,
  };
}

function readCertificate(der: Uint8Array): X509Certificate {
  try {
    return new X509Certificate(der);
  } catch {
    throw certificateUnusable();
  }
}

/** Tells another member of the set who leads by now. Gives who does as far as that one knows. `from`: this cluster. */
export async function sendFence(
  link: PeerLink,
  { set, kind, authority = EMPTY }: SetName & Partial<Pick<Membership, "authority">>,
  epoch: Epoch,
  by: FenceWords & { readonly rootKey: KeyObject; readonly from: string },
): Promise<FenceAnswer> {
  const { rootKey, from, candidacy = "", revoked = [], disowned = "", epochProof = EMPTY } = by;
  const { number, cluster, first } = epoch;
  const proof = fenceProof(rootKey, { set, kind, epoch });
  const said = { proof, from, candidacy, revoked, disowned, epochProof };
  const sent = { epoch: number, cluster, first, ...said };
  // Who answers a greeting and nothing else holds up no change of the role.
  const answer = await link.call(fence, sent, { timeout: FENCE_ANSWER });
  const leading = provenEpoch(answer, answer.proof, { set, kind }, rootKey);
  const { leads, candidates, siblings, isRevoked } = answer;
  return {
    leading,
    isProved: isProved(answer.epochProof, authority, { set, kind, epoch: leading }),
    leads,
    isRevoked,
    // They are called, and people read them: what is neither an id nor an address is another's text.
    candidates: candidates.filter(isClusterId),
    siblings: siblings.map(readable),
  };
}

/** Hands over rows that stand for something outside. They are the primary's when this resolves. */
export async function sendOrphans(
  link: PeerLink,
  { set }: SetName,
  rows: readonly BroughtRow[],
  by: { readonly epoch: number; readonly rootKey: KeyObject; readonly random: Random },
): Promise<Adoption> {
  const sealed = sealRows(rows, set, by);
  return await link.call(adoptOrphans, { epoch: by.epoch, rows: sealed }, { timeout: HANDING });
}
