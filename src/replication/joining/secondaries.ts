// The secondaries of a primary, from the token that one is made to its end: whose certificate is taken, until when it may
// come for the first time, which cluster it was, and which key the keys of the set are sealed to. Everything is stored
// before anybody is answered.

import { EMPTY, equalBytes } from "@holdfast/shared/bytes";
import { Failure } from "@holdfast/shared/failure";
import { DAY, HOUR, MINUTE, SECOND } from "@holdfast/shared/text/duration";
import type { Clock, Instant, Nanos, Random } from "@holdfast/shared/world";
import type { Tx, View, ViewReads } from "../../barrier/view.ts";
import {
  CERTIFICATE_LIFE,
  type IssuedCertificate,
  type IssuedPair,
  issueMember,
  issueServer,
  makeAuthority,
  renewMember,
} from "../../cluster/authority.ts";
import {
  isClusterId,
  isMemberId,
  type ReplicationKind,
  type SetName,
} from "../../cluster/names.ts";
import type { FormerPlace, Hello } from "../../cluster/hello.ts";
import { digestOf, type Peer } from "../../cluster/verify.ts";
import { isHpkePublicKey } from "../../crypto/hpke.ts";
import { type Epoch, isNext } from "../roles/role.ts";
import { PerMinute } from "../per-minute.ts";
import { leaseLapsed } from "../failures.ts";
import * as failures from "./failures.ts";
import {
  deleteExpired,
  deleteSecondary,
  forgetMembers,
  isRevoked,
  type KnownSecondary,
  type LogStand,
  type MemberCertificate,
  type PrimaryMaterial,
  putMaterial,
  putRefused,
  putRevoked,
  putRevokedClusters,
  putSecondary,
  putServer,
  putUnmarked,
  storedMaterial,
  storedRefused,
  storedRevoked,
  storedSecondaries,
  storedSecondary,
  storedUnmarked,
} from "./primary-rows.ts";
import type { ComingFilters } from "../filters/stored-filters.ts";
import { isItself, type KnownCluster } from "./whose-id.ts";

export const DEFAULT_TTL: Nanos = 30n * MINUTE;
const MIN_TTL: Nanos = SECOND;
const MAX_TTL: Nanos = 24n * HOUR;
/** A token that nobody has used is shown for so long after its end. */
const REMEMBERED: Nanos = DAY;
const MAX_SECONDARIES = 50;
/** Of one member; the oldest of more is taken no more. */
const MAX_CERTIFICATES = 8;
/** Of one member, in a day. */
const RENEWALS_A_DAY = 6;
/** Of one member, in a minute: it does so once in months, and each one is signed and written. */
const RENEWALS = 3;

interface Issuing {
  readonly clock: Pick<Clock, "now">;
  readonly random: Random;
}

export interface SecondariesOptions extends Issuing {
  readonly clock: Pick<Clock, "now" | "elapsed">;
  /** Of core/replication/<kind>/. */
  readonly view: View;
  readonly kind: ReplicationKind;
  /** Where the other kind keeps its rows, whose authority those have that stand in for this cluster: who is revoked here is not believed there.
   *  Default: nowhere. */
  readonly besideView?: View;
  /** A cluster as it is known from before this one led; null where it is not. Default: none is. */
  readonly knownBefore?: (
    reads: ViewReads,
    clusterId: string,
    kind: ReplicationKind,
  ) => KnownCluster | null;
  /** What was said of a cluster before it came. Default: nothing is. */
  readonly coming?: ComingFilters;
  /** How many are admitted, unused ones included. Default: fifty. */
  readonly maxSecondaries?: number;
}

/** What a member says at its hello. */
export interface Said {
  /** Null where it comes for something else than to follow. */
  readonly transactionBytes: number | null;
  /** Of its cluster port. */
  readonly addresses: readonly string[];
  readonly formers: readonly FormerPlace[];
  /** Of those that share data; empty where it says none. */
  readonly region: string;
  /** Of its own log, where that is not the primary's; null where it says nothing of it. */
  readonly stand: LogStand | null;
}

/** Which cluster says to come, and by what it was known. */
type WhoComes = Pick<Hello, "clusterId" | "formers">;

/** A member that may come from now on, and the certificate that is to be handed to it. */
export interface AdmittedMember {
  readonly pair: IssuedPair;
  readonly activateBy: Instant;
  readonly ttl: Nanos;
}

/** For a cluster that becomes the primary of a set: a new authority, which knows no members yet. */
export async function makePrimary(of: SetName, world: Issuing): Promise<PrimaryMaterial> {
  const authority = await makeAuthority(of, world);
  return { authority, server: await issueServer(authority, world) };
}

/** In the transaction in which its role changes; `tx` is of core/replication/<kind>/. */
export function enablePrimary(tx: Tx, material: PrimaryMaterial): void {
  forgetMembers(tx);
  putMaterial(tx, material);
}

/** Whether two thirds of its life are over. */
export function isRenewalDue(expires: Instant, now: Instant): boolean {
  return expires - now <= CERTIFICATE_LIFE / 3n;
}

export class Secondaries {
  readonly #view: View;
  readonly #kind: ReplicationKind;
  readonly #world: Issuing;
  readonly #beside: View | null;
  readonly #knownBefore: NonNullable<SecondariesOptions["knownBefore"]>;
  readonly #coming: ComingFilters | null;
  readonly #max: number;
  readonly #renewals: PerMinute;
  /** As stored; null where that is to be read. Each Echo has them. */
  #revoked: readonly string[] | null = null;
  /** By the id of the member that has said so, since this began. */
  readonly #later = new Map<string, Epoch>();

  constructor(options: SecondariesOptions) {
    const { view, kind, clock, random, knownBefore = () => null } = options;
    const { coming = null, besideView = null, maxSecondaries = MAX_SECONDARIES } = options;
    this.#max = maxSecondaries;
    this.#coming = coming;
    this.#renewals = new PerMinute(clock, RENEWALS);
    this.#view = view;
    this.#kind = kind;
    this.#world = { clock, random };
    this.#knownBefore = knownBefore;
    this.#beside = besideView;
  }

  /** Throws where this cluster is no primary. */
  get material(): PrimaryMaterial {
    const material = storedMaterial(this.#view, this.#kind);
    if (material === null) throw failures.noAuthority();
    return material;
  }

  /** Without those whose token has ended long ago and was never used. */
  known(reads: ViewReads = this.#view): KnownSecondary[] {
    const now = this.#now();
    return storedSecondaries(reads).filter((secondary) => !isForgotten(secondary, now));
  }

  /** With whose token nobody has come: nothing of the set is there. */
  unused(): string[] {
    return idsOf(this.known().filter(({ used }) => used === null));
  }

  /** Whose token has ended before anybody came with it. */
  expired(): string[] {
    const now = this.#now();
    return idsOf(this.known().filter(({ used, activateBy }) => used === null && activateBy < now));
  }

  /** What the port is to refuse, and others are told. Those that end last, which were the last to be issued, are last. */
  revokedSerials(): readonly string[] {
    this.#revoked ??= [...storedRevoked(this.#view)]
      .toSorted((a, b) => Number(a.expires - b.expires))
      .map(({ serial }) => serial);
    return this.#revoked;
  }

  /** Throws where nobody can be made one by that name. */
  assertFree(id: string): void {
    if (!isMemberId(id)) throw failures.idInvalid();
    this.#assertFree(this.#view, id);
  }

  /** A certificate for a new member. It is known before the certificate leaves. */
  /** `attests`: names of the policies that it may vouch for; null: all. */
  async admit(
    id: string,
    ttl: Nanos = DEFAULT_TTL,
    attests: readonly string[] | null = null,
  ): Promise<AdmittedMember> {
    if (!isMemberId(id)) throw failures.idInvalid();
    if (ttl < MIN_TTL || ttl > MAX_TTL) throw failures.ttlOutOfRange();
    const { authority } = this.material;
    this.#assertFree(this.#view, id);
    const pair = await issueMember(authority, id, this.#world);
    const now = this.#now();
    const activateBy = now + ttl;
    await this.#write((tx) => {
      this.#assertFree(tx, id);
      for (const other of storedSecondaries(tx)) {
        if (isForgotten(other, now)) deleteSecondary(tx, other.id);
      }
      const certificates = [certificateOf(pair)];
      const fresh = { used: null, clusterId: "", publicKey: null, transactionBytes: null };
      const row = { id, certificates, created: now, activateBy, addresses: [], attests, ...fresh };
      putSecondary(tx, row);
    });
    return { pair, activateBy, ttl };
  }

  /** Names of the policies that a member may vouch for; null: all. None where it is not known. */
  attests(id: string): readonly string[] | null {
    const known = storedSecondary(this.#view, id);
    return known === null ? [] : known.attests;
  }

  /** Which cluster a member is, as it has said at its hello; empty where it is not known. */
  clusterNamed(id: string): string {
    return storedSecondary(this.#view, id)?.clusterId ?? "";
  }

  /**
   * Forgets the member and takes none of its certificates any more. Gives their serials, none where nobody knows it: their
   * sessions are to be cut now.
   */
  async revoke(id: string): Promise<string[]> {
    if (!isMemberId(id)) throw failures.idInvalid();
    const beside = this.#beside;
    const revoke = (isMarked: boolean) =>
      this.#write((tx) => {
        const known = storedSecondary(tx, id);
        if (known === null) return [];
        for (const certificate of known.certificates) putRevoked(tx, id, certificate);
        putRevokedClusters(tx, [known.clusterId]);
        if (beside !== null && isMarked) putRevokedClusters(tx.on(beside), [known.clusterId]);
        else if (beside !== null)
          putUnmarked(tx, [...new Set([...storedUnmarked(tx), known.clusterId])]);
        deleteSecondary(tx, id);
        deleteExpired(tx, this.#now());
        return known.certificates.map(({ serial }) => serial);
      });
    const serials = await revoke(true).catch((error: unknown) => {
      // A primary that reaches nobody writes these rows alone, and may write again when whom it misses is revoked: what is to be
      // marked then is written with the revocation, for a crash in between.
      if (isLapsed(error)) return revoke(false);
      throw error;
    });
    this.#revoked = null;
    return serials;
  }

  /** Marks in the rows of the other kind who could not be marked there when it was revoked, unless that cannot be written yet. */
  async markRevoked(): Promise<void> {
    const beside = this.#beside;
    if (beside === null || storedUnmarked(this.#view).length === 0) return;
    try {
      await this.#write((tx) => {
        putRevokedClusters(tx.on(beside), storedUnmarked(tx));
        putUnmarked(tx, []);
      });
    } catch (error) {
      if (!isLapsed(error)) throw error;
    }
  }

  /** Whoever leads in the place of this cluster has revoked some: gives all certificates of those, and the ids of who was heard until
   *  now. They stay members here, for when this cluster leads again. */
  async refuse(
    serials: readonly string[],
    by: string,
  ): Promise<{ readonly serials: readonly string[]; readonly ids: readonly string[] }> {
    const all = storedSecondaries(this.#view).map(({ id, certificates }) => ({
      id,
      own: certificates.map(({ serial }) => serial),
    }));
    const meant = all.filter(({ own }) => own.some((serial) => serials.includes(serial)));
    const known = storedRefused(this.#view, by);
    const fresh = meant.filter(({ own }) => own.some((serial) => !known.includes(serial)));
    const refused = meant.flatMap(({ own }) => own);
    if (fresh.length > 0) await this.#write((tx) => putRefused(tx, by, refused));
    return { serials: refused, ids: fresh.map(({ id }) => id) };
  }

  /** Those, as stored. */
  refusedBy(leader: string): readonly string[] {
    return storedRefused(this.#view, leader);
  }

  /** At its hello: whether it may come, the first time or again, and as which cluster. What its transactions hold and where it is are
   *  kept, for as long as it is away. */
  async confirm(peer: Peer, clusterId: string, said: Partial<Said> = {}): Promise<KnownSecondary> {
    const { transactionBytes = null, addresses = [], formers = [], region = "" } = said;
    const { stand = null } = said;
    const known = this.#mayCome(this.#view, peer, clusterId, { formers, region, stand });
    if (transactionBytes !== null) this.#later.delete(peer.id); // it comes to follow
    const bytes = transactionBytes ?? known.transactionBytes;
    const where = addresses.length === 0 ? known.addresses : addresses;
    const named = region === "" ? known.region : region;
    const stands = stand ?? known.stand;
    const { certificates } = known;
    const isDigested = certificates.some((one) => one.serial === peer.serial && one.digest);
    const isSame =
      (isDigested || peer.digest === undefined) &&
      known.clusterId === clusterId &&
      this.#coming?.isDue(this.#view, known, clusterId) !== true &&
      known.transactionBytes === bytes &&
      known.addresses.join() === where.join() &&
      known.region === named &&
      known.stand?.epoch === stands?.epoch &&
      known.stand?.first === stands?.first;
    if (known.used !== null && isSame) return known;
    return await this.#write((tx) => {
      const member = this.#mayCome(tx, peer, clusterId, { formers, region, stand });
      const used = member.used ?? this.#now();
      const next = {
        ...member,
        certificates: withDigest(member.certificates, peer),
        used,
        clusterId,
        transactionBytes: bytes,
        addresses: where,
        ...(named === undefined ? {} : { region: named }),
        ...(stands === undefined ? {} : { stand: stands }),
      };
      this.#coming?.take(tx, member, clusterId);
      putSecondary(tx, next);
      const isNew = member.used === null || member.clusterId !== clusterId;
      if (isNew && this.#beside !== null) {
        putRevokedClusters(tx.on(this.#beside), [], [clusterId]);
        putUnmarked(
          tx,
          storedUnmarked(tx).filter((one) => one !== clusterId),
        );
      }
      return next;
    });
  }

  /** A member has proved that it knows of a later primary than this one. Who was revoked is none. */
  noteLater(peer: Peer, epoch: Epoch): void {
    this.assertKnown(peer);
    if (isRevoked(this.#view, epoch.cluster)) return;
    this.#later.set(peer.id, epoch);
  }

  /** Whether it was, and has not come again. */
  isRevokedCluster(cluster: string): boolean {
    return isRevoked(this.#view, cluster);
  }

  /** Null where it follows this primary, or has said nothing else. */
  laterKnownBy(id: string): Epoch | null {
    return this.#later.get(id) ?? null;
  }

  /** Throws where `confirm` would, and `register` with that key; empty: it would register none. Nothing is kept of it. */
  mayCome(
    peer: Peer,
    clusterId: string,
    {
      formers = [],
      region = "",
      stand = null,
      publicKey = EMPTY,
    }: Partial<Pick<Said, "formers" | "region" | "stand">> & {
      readonly publicKey?: Uint8Array;
    } = {},
  ): void {
    const member = this.#mayCome(this.#view, peer, clusterId, { formers, region, stand });
    if (publicKey.length > 0) assertItsKey(member, publicKey);
  }

  #mayCome(
    reads: View | Tx,
    peer: Peer,
    clusterId: string,
    { formers, region, stand }: Pick<Said, "formers" | "region" | "stand">,
  ): KnownSecondary {
    if (!isClusterId(clusterId)) throw failures.clusterIdInvalid();
    const member = this.#memberOf(reads, peer);
    const { used, activateBy } = member;
    if (used === null && activateBy < this.#now()) throw failures.activationExpired();
    if (used !== null && member.clusterId !== clusterId) assertStandsIn(member, clusterId, stand);
    if (used === null) this.#assertItself(reads, peer, clusterId, formers);
    this.#assertRegionFree(reads, region, { id: member.id, clusterId });
    return member;
  }

  /** Whether another cluster comes by that id by now. */
  isReplaced({ id }: Pick<Peer, "id">, clusterId: string): boolean {
    const now = this.clusterNamed(id);
    return now !== "" && now !== clusterId;
  }

  /** Whether it has the authority of this set, as only who stands in for this cluster has, or for whom this one does: with a certificate that
   *  it has issued to itself. */
  hasAuthority({ set, kind, serial }: Peer, { clusterId, formers }: WhoComes): boolean {
    if (formers.length === 0 || !isClusterId(clusterId)) return false;
    const authority = this.material.authority.certificate;
    const known = { id: "", authority, serials: [], digests: [], hasLed: true };
    return isItself(known, formers, { set, kind, serial, clusterId }, this.#now());
  }

  /** Two clusters of one name could not be told apart by who names a region. One that has come by several ids is one. */
  #assertRegionFree(
    reads: View | Tx,
    region: string,
    { id, clusterId }: Pick<KnownSecondary, "id" | "clusterId">,
  ): void {
    if (region === "") return;
    const isOther = (one: KnownSecondary) => one.id !== id && one.clusterId !== clusterId;
    const other = storedSecondaries(reads).find(
      (one) => one.used !== null && isOther(one) && one.region === region,
    );
    if (other !== undefined) throw failures.regionTaken(other);
  }

  /** It says itself which cluster it is. What was known before counts for one that is not known here. */
  #assertItself(
    reads: View | Tx,
    { set, kind, serial }: Peer,
    clusterId: string,
    formers: readonly FormerPlace[],
  ): void {
    const here = this.#knownHere(reads, clusterId);
    const known = here ?? this.#knownBefore(reads, clusterId, kind);
    const place = { set, kind, serial, clusterId };
    if (known === null || isItself(known, formers, place, this.#now())) return;
    throw here === null ? failures.clusterKnownBefore(known.id) : failures.clusterKnown(here.id);
  }

  #knownHere(reads: View | Tx, clusterId: string): KnownCluster | null {
    const others = storedSecondaries(reads).filter((one) => one.clusterId === clusterId);
    const [other] = others;
    if (other === undefined) return null;
    const serials = others.flatMap(({ certificates }) => certificates.map((one) => one.serial));
    const authority = this.material.authority.certificate;
    return { id: other.id, authority, serials, digests: [], hasLed: false };
  }

  /** Throws unless it is one of them, whatever the port has let through. */
  assertKnown(peer: Peer): void {
    this.#memberOf(this.#view, peer);
  }

  isMember({ id, serial }: Peer): boolean {
    const known = storedSecondary(this.#view, id);
    return known?.certificates.some((one) => one.serial === serial) === true;
  }

  /** The cluster that has come as this member; empty where none has. */
  clusterOf(peer: Peer): string {
    return this.#memberOf(this.#view, peer).clusterId;
  }

  /** The key that the keys of the set are sealed to from now on. A second one is refused: whoever wants it has to be revoked and
   *  come anew. */
  async register(peer: Peer, publicKey: Uint8Array): Promise<void> {
    if (!isHpkePublicKey(publicKey)) throw failures.publicKeyUnusable();
    await this.#write((tx) => {
      const member = this.#memberOf(tx, peer);
      assertItsKey(member, publicKey);
      if (member.publicKey === null) putSecondary(tx, { ...member, publicKey });
    });
  }

  /** Throws where it has registered none. */
  publicKeyOf(peer: Peer): Uint8Array {
    const { publicKey } = this.#memberOf(this.#view, peer);
    if (publicKey === null) throw failures.keyMissing();
    return publicKey;
  }

  /** Another certificate for a member that is connected with one of which two thirds are over. */
  async renew(peer: Peer, publicKey: Uint8Array): Promise<IssuedCertificate> {
    const { certificates } = this.#memberOf(this.#view, peer);
    if (!isRenewalDue(peer.expires, this.#now())) throw failures.renewalEarly();
    const wait = this.#renewableIn(certificates) || this.#renewals.take(peer.id);
    if (wait > 0) throw failures.renewalOften(wait);
    const issued = await renewMember(this.material.authority, peer.id, publicKey, this.#world);
    await this.#write((tx) => {
      const now = this.#now();
      const member = this.#memberOf(tx, peer); // it may have been revoked meanwhile
      const current = member.certificates.filter(({ expires }) => expires >= now);
      const older = current.filter(({ serial }) => serial !== peer.serial);
      const surplus = older.slice(0, Math.max(0, current.length + 1 - MAX_CERTIFICATES));
      const kept = current.filter((certificate) => !surplus.includes(certificate));
      putSecondary(tx, { ...member, certificates: [...kept, certificateOf(issued)] });
    });
    return issued;
  }

  /** In how many seconds; 0: now. */
  #renewableIn(certificates: readonly MemberCertificate[]): number {
    const issued = certificates.map(({ expires }) => expires - CERTIFICATE_LIFE);
    const since = issued.at(-RENEWALS_A_DAY);
    const wait = since === undefined ? 0n : since + DAY - this.#now();
    return wait > 0n ? Number((wait + SECOND - 1n) / SECOND) : 0;
  }

  /** Another certificate for the port, where two thirds of the present one are over; else null. */
  async renewServer(): Promise<IssuedPair | null> {
    const { authority, server } = this.material;
    if (!isRenewalDue(server.expires, this.#now())) return null;
    const issued = await issueServer(authority, this.#world);
    await this.#write((tx) => putServer(tx, issued));
    return issued;
  }

  /** Who is known by this certificate. One of a member that was revoked and is known anew is none of its own. */
  #memberOf(reads: View | Tx, { id, serial }: Peer): KnownSecondary {
    const known = storedSecondary(reads, id);
    const isItsOwn = known?.certificates.some((certificate) => certificate.serial === serial);
    if (known === null || isItsOwn !== true || isForgotten(known, this.#now())) {
      throw failures.notKnown();
    }
    return known;
  }

  #assertFree(reads: View | Tx, id: string): void {
    const now = this.#now();
    const others = storedSecondaries(reads).filter((other) => !isForgotten(other, now));
    if (others.some((other) => other.id === id)) throw failures.idTaken();
    if (others.length >= this.#max) throw failures.tooManySecondaries(this.#max);
  }

  #write<T>(fn: (tx: Tx) => T): Promise<T> {
    return this.#view.write(fn, { essential: true });
  }

  #now(): Instant {
    return this.#world.clock.now();
  }
}

/** Throws where it has registered another one. */
function assertItsKey({ publicKey: known }: KnownSecondary, publicKey: Uint8Array): void {
  if (known !== null && !equalBytes(known, publicKey)) throw failures.otherKey();
}

/** By the epochs of their logs, as those who stand in for one another go by them: the later one is taken. Throws where that is not the one
 *  that comes. */
function assertStandsIn(
  { clusterId, stand }: KnownSecondary,
  comes: string,
  said: LogStand | null,
): void {
  if (said === null) throw failures.otherCluster();
  // An earlier version has not written down what it was.
  const { epoch: number, first } = stand ?? { epoch: 1, first: "0" };
  const known = { number, first, cluster: clusterId };
  const next = { number: said.epoch, first: said.first, cluster: comes };
  if (said.epoch > 1 && isNext(known, next)) return; // in the first epoch nobody stands in for anybody
  throw number > 1 ? failures.placeTaken() : failures.otherCluster();
}

function idsOf(secondaries: readonly KnownSecondary[]): string[] {
  return secondaries.map(({ id }) => id);
}

function isForgotten({ used, activateBy }: KnownSecondary, now: Instant): boolean {
  return used === null && activateBy + REMEMBERED < now;
}

function certificateOf({ serial, expires, certificate }: IssuedCertificate): MemberCertificate {
  return { serial, expires, digest: digestOf(certificate) };
}

/** With the digest of the one that it has come with. */
function withDigest(
  certificates: readonly MemberCertificate[],
  { serial, digest }: Peer,
): readonly MemberCertificate[] {
  return certificates.map((one) =>
    one.serial === serial && digest !== undefined ? { ...one, digest } : one,
  );
}

function isLapsed(error: unknown): boolean {
  return error instanceof Failure && error.code === leaseLapsed().code;
}
