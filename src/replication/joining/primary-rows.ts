// What a primary stores of its set: the authority, the certificate of its port, the secondaries that it has made tokens for,
// and the serials that it takes no more. Rows behind the barrier, below core/replication/<kind>/.

import { X509Certificate } from "node:crypto";
import { base64, fromBase64, text, utf8 } from "@holdfast/shared/bytes";
import { type Codec, jsonCodec } from "@holdfast/shared/codec";
import { invariant } from "@holdfast/shared/invariant";
import { MILLISECOND } from "@holdfast/shared/text/duration";
import { parseTime, showTime } from "@holdfast/shared/text/time";
import type { Instant } from "@holdfast/shared/world";
import type { Tx, ViewReads } from "../../barrier/view.ts";
import type { Authority, IssuedPair } from "../../cluster/authority.ts";
import type { ReplicationKind } from "../../cluster/names.ts";
import { serialOf } from "../../cluster/verify.ts";
import { partsCodec } from "../parts-codec.ts";

const AUTHORITY = "authority";
const SERVER = "server";
const SECONDARIES = "secondaries/";
const REVOKED = "revoked/";
const REVOKED_CLUSTERS = "revoked-clusters";
const REVOKED_THERE = "revoked-there";
const UNMARKED = "revoked-unmarked";
const REFUSED = "refused";
const PAGE = 256;
/** Of clusters that were revoked; the oldest of more go. */
const MAX_CLUSTERS = 512;

/** Of which everything else of a primary is made. */
export interface PrimaryMaterial {
  readonly authority: Authority;
  /** For the port. */
  readonly server: IssuedPair;
}

export interface MemberCertificate {
  readonly serial: string;
  readonly expires: Instant;
  /** Not there where an earlier version has issued it, and it has not come since. */
  readonly digest?: string;
}

export interface KnownSecondary {
  readonly id: string;
  /** Those that are taken; the newest is the last. */
  readonly certificates: readonly MemberCertificate[];
  readonly created: Instant;
  /** Until then it must have come for the first time. */
  readonly activateBy: Instant;
  /** When it came for the first time; null until then. */
  readonly used: Instant | null;
  /** Which cluster came; empty until then. */
  readonly clusterId: string;
  /** The key that keys of the set are sealed to, 32 bytes; null until it has registered one. */
  readonly publicKey: Uint8Array | null;
  /** What one of its transactions holds, in bytes; null until it has said so. */
  readonly transactionBytes: number | null;
  /** Of its cluster port, as it has said last; empty until then. */
  readonly addresses: readonly string[];
  /** The name of its region, where it shares data; not there until it has said so. */
  readonly region?: string;
  /** Names of the policies that it may vouch for; null: all. */
  readonly attests: readonly string[] | null;
  /** The epoch of the log of whoever has come by this id last; not there until one has said so. */
  readonly stand?: LogStand;
}

/** Of a log: whoever stands in for the cluster that has written it goes on with a later one. */
export interface LogStand {
  readonly epoch: number;
  /** Its first index. */
  readonly first: string;
}

// --- authority and port ---

export function putMaterial(tx: Tx, { authority, server }: PrimaryMaterial): void {
  const { set, certificate, key } = authority;
  tx.put(AUTHORITY, [utf8(set), certificate, key], partsCodec);
  putServer(tx, server);
}

export function putServer(tx: Tx, { certificate, key }: IssuedPair): void {
  tx.put(SERVER, [certificate, key], partsCodec);
}

/** Null where this cluster is no primary, nor was one and has followed nobody since. Nothing of it stays in the cache of decrypted entries. */
export function storedMaterial(reads: ViewReads, kind: ReplicationKind): PrimaryMaterial | null {
  const [set, certificate, key] = partsOf(reads, AUTHORITY);
  const [serverCertificate, serverKey] = partsOf(reads, SERVER);
  if (set === undefined) return null;
  invariant(
    certificate !== undefined &&
      key !== undefined &&
      serverCertificate !== undefined &&
      serverKey !== undefined,
    "a primary has an authority and a certificate of its port",
  );
  const parsed = new X509Certificate(serverCertificate);
  return {
    authority: { set: text(set), kind, certificate, key },
    server: {
      certificate: serverCertificate,
      key: serverKey,
      serial: serialOf(parsed),
      expires: BigInt(parsed.validToDate.getTime()) * MILLISECOND,
    },
  };
}

function partsOf(reads: ViewReads, name: string): readonly Uint8Array[] {
  const [found] = reads.records(name, partsCodec, { limit: 1 });
  return found?.key === name ? found.value : [];
}

// --- secondaries ---

interface StoredSecondary {
  readonly certificates: readonly {
    readonly serial: string;
    readonly expires: string;
    readonly sha256?: string;
  }[];
  readonly created: string;
  readonly activate_by: string;
  readonly used: string | null;
  readonly cluster_id: string;
  readonly public_key: string | null;
  readonly transaction_bytes?: number;
  readonly addresses?: readonly string[];
  readonly region?: string;
  readonly attest_policies?: readonly string[];
  readonly log_epoch?: number;
  readonly log_first?: string;
}

const stored = jsonCodec<StoredSecondary>();

/** Without its id, which is in the key. */
export const secondaryCodec: Codec<Omit<KnownSecondary, "id">> = {
  encode: ({
    certificates,
    created,
    activateBy,
    used,
    clusterId,
    publicKey,
    transactionBytes: bytes,
    addresses,
    region,
    attests,
    stand,
  }) =>
    stored.encode({
      certificates: certificates.map(({ serial, expires, digest: sha256 }) => ({
        serial,
        expires: showTime(expires),
        ...(sha256 === undefined ? {} : { sha256 }),
      })),
      created: showTime(created),
      activate_by: showTime(activateBy),
      used: used === null ? null : showTime(used),
      cluster_id: clusterId,
      public_key: publicKey === null ? null : base64(publicKey),
      ...(bytes === null ? {} : { transaction_bytes: bytes }),
      ...(addresses.length === 0 ? {} : { addresses }),
      ...(region === undefined ? {} : { region }),
      ...(attests === null ? {} : { attest_policies: attests }),
      ...(stand === undefined ? {} : { log_epoch: stand.epoch, log_first: stand.first }),
    }),
  decode: (bytes) => {
    const row = stored.decode(bytes);
    return {
      certificates: row.certificates.map(({ serial, expires, sha256: digest }) => ({
        serial,
        expires: timeOf(expires),
        ...(digest === undefined ? {} : { digest }),
      })),
      created: timeOf(row.created),
      activateBy: timeOf(row.activate_by),
      used: row.used === null ? null : timeOf(row.used),
      clusterId: row.cluster_id,
      publicKey: row.public_key === null ? null : fromBase64(row.public_key),
      transactionBytes: row.transaction_bytes ?? null,
      addresses: row.addresses ?? [],
      ...(row.region === undefined ? {} : { region: row.region }),
      attests: row.attest_policies ?? null,
      ...(row.log_epoch === undefined || row.log_first === undefined
        ? {}
        : { stand: { epoch: row.log_epoch, first: row.log_first } }),
    };
  },
};

export function putSecondary(tx: Tx, { id, ...rest }: KnownSecondary): void {
  tx.put(SECONDARIES + id, rest, secondaryCodec);
}

export function deleteSecondary(tx: Tx, id: string): void {
  tx.delete(SECONDARIES + id);
}

export function storedSecondary(reads: ViewReads, id: string): KnownSecondary | null {
  const found = reads.get(SECONDARIES + id, secondaryCodec);
  return found === null ? null : { id, ...found };
}

export function storedSecondaries(reads: ViewReads): KnownSecondary[] {
  const found = reads.records(SECONDARIES, secondaryCodec, { limit: PAGE });
  return found.map(({ key, value }) => ({ id: key.slice(SECONDARIES.length), ...value }));
}

/** Under which a cluster has come; empty where it has not. */
export function nameOfCluster(reads: ViewReads, clusterId: string): string {
  return storedSecondaries(reads).find((one) => one.clusterId === clusterId)?.id ?? "";
}

// --- what is revoked ---

interface StoredRevocation {
  readonly id: string;
  readonly expires: string;
}

const revocations = jsonCodec<StoredRevocation>();

export function putRevoked(tx: Tx, id: string, { serial, expires }: MemberCertificate): void {
  tx.put(REVOKED + serial, { id, expires: showTime(expires) }, revocations);
}

/** Certificates that expire are refused anyway: their serials go. */
export function deleteExpired(tx: Tx, now: Instant): void {
  for (const { serial, expires } of storedRevoked(tx)) {
    if (expires < now) tx.delete(REVOKED + serial);
  }
}

export function* storedRevoked(reads: ViewReads): Generator<MemberCertificate> {
  for (let after: string | undefined; ;) {
    const page = { limit: PAGE, ...(after === undefined ? {} : { after }) };
    const found = reads.records(REVOKED, revocations, page);
    for (const { key, value } of found) {
      yield { serial: key.slice(REVOKED.length), expires: timeOf(value.expires) };
    }
    after = found.at(-1)?.key;
    if (found.length < PAGE) return;
  }
}

const clusters = jsonCodec<readonly string[]>();

/** For longer than their certificates last: another one may have believed them before it heard of it. Empty ids are none. `again`:
 *  those that are members again, by the word of whoever has revoked them. */
export function putRevokedClusters(
  tx: Tx,
  ids: readonly string[],
  again: readonly string[] = [],
): void {
  const there = tx.get(REVOKED_THERE, clusters) ?? [];
  if (there.some((id) => again.includes(id))) {
    putRevokedThere(
      tx,
      there.filter((id) => !again.includes(id)),
    );
  }
  const before = tx.get(REVOKED_CLUSTERS, clusters) ?? [];
  const all = [...new Set([...before, ...ids])].filter((id) => id !== "" && !again.includes(id));
  if (all.join() === before.join()) return;
  if (all.length === 0) tx.delete(REVOKED_CLUSTERS);
  else tx.put(REVOKED_CLUSTERS, all.slice(-MAX_CLUSTERS), clusters);
}

/** Those that the primary does not believe, as it has said last: those that have stood in for it among them. */
export function putRevokedThere(tx: Tx, ids: readonly string[]): void {
  if (ids.length === 0) tx.delete(REVOKED_THERE);
  else tx.put(REVOKED_THERE, ids.slice(-MAX_CLUSTERS), clusters);
}

export function storedRevokedThere(reads: ViewReads): readonly string[] {
  return reads.get(REVOKED_THERE, clusters) ?? [];
}

/** Without those that have come again. */
export function storedRevokedClusters(reads: ViewReads): readonly string[] {
  const all = new Set([
    ...(reads.get(REVOKED_CLUSTERS, clusters) ?? []),
    ...storedRevokedThere(reads),
  ]);
  return [...all].filter((cluster) => nameOfCluster(reads, cluster) === "");
}

/** Whether it was revoked here, also where it has come again since. */
export function wasRevoked(reads: ViewReads, cluster: string): boolean {
  const own = reads.get(REVOKED_CLUSTERS, clusters) ?? [];
  return own.includes(cluster) || storedRevokedThere(reads).includes(cluster);
}

/** Whether it was, and has not come again, under whichever id. */
export function isRevoked(reads: ViewReads, cluster: string): boolean {
  return wasRevoked(reads, cluster) && nameOfCluster(reads, cluster) === "";
}

/** Those that are to be revoked clusters in the rows of the other kind as well, which could not be written when they were revoked here. */
export function putUnmarked(tx: Tx, ids: readonly string[]): void {
  if (ids.length === 0) tx.delete(UNMARKED);
  else tx.put(UNMARKED, ids.slice(-MAX_CLUSTERS), clusters);
}

export function storedUnmarked(reads: ViewReads): readonly string[] {
  return reads.get(UNMARKED, clusters) ?? [];
}

interface StoredRefused {
  /** The cluster that leads in the place of this one, as far as is known. */
  readonly by: string;
  readonly serials: readonly string[];
}

const refusals = jsonCodec<StoredRefused>();

/** Whom the one that leads in the place of this cluster has revoked: they are not heard while it does, and stay members. Who says
 *  that it leads is believed on its word. */
export function putRefused(tx: Tx, by: string, serials: readonly string[]): void {
  const all = new Set([...storedRefused(tx, by), ...serials]);
  tx.put(REFUSED, { by, serials: [...all].slice(-MAX_CLUSTERS) }, refusals);
}

export function storedRefused(reads: ViewReads, by: string): readonly string[] {
  const found = reads.get(REFUSED, refusals);
  return found?.by === by ? found.serials : [];
}

/** This cluster follows another, or is alone. */
export function forgetPrimary(tx: Tx): void {
  forgetMembers(tx);
  tx.delete(REVOKED_CLUSTERS);
  tx.delete(REVOKED_THERE);
  tx.delete(UNMARKED);
}

/** It becomes a primary anew: another authority knows none of these. Who was revoked in the set is still believed by nobody. */
export function forgetMembers(tx: Tx): void {
  for (const name of [AUTHORITY, SERVER, REFUSED]) tx.delete(name);
  for (const folder of [SECONDARIES, REVOKED]) {
    for (const key of tx.keys(folder, { limit: 100_000 })) tx.delete(key);
  }
}

function timeOf(written: string): Instant {
  const time = parseTime(written);
  invariant(time !== null, "a time that was written here can be read");
  return time;
}
