// What the room keeps below core/evidence/: it stays in this cluster, goes over when the data is exchanged, and
// comes back from no archive, so that no number is ever used twice.

import { isUuid } from "@holdfast/shared/text/uuid";
import { bytesCodec, jsonCodec } from "@holdfast/shared/codec";
import { alloc, concat, EMPTY, fromHex, hex } from "@holdfast/shared/bytes";
import { invariant } from "@holdfast/shared/invariant";
import type { Instant } from "@holdfast/shared/world";
import type { Tx, View, ViewReads } from "../barrier/view.ts";
import type { Envelope } from "../signed/envelope.ts";
import type { Report } from "../signed/report.ts";

export interface KeyRecord {
  readonly fingerprint: string;
  readonly publicKey: string; // PEM
  readonly made: string; // RFC 3339
  /** The envelope of the report that named it. */
  readonly statement: Envelope;
  /** It lay in clear while nobody held anything: for people who know its fingerprint, and for nobody here. */
  readonly unproven?: true;
}

/** The last is the one that signs. */
export interface Ring {
  readonly keys: readonly KeyRecord[];
  /** When the last was made. */
  readonly since: string; // nanoseconds
}

/** How far the reports have come. */
export interface EvidenceHead {
  readonly number: number;
  readonly digest: string;
  /** The oldest that is kept whole. */
  readonly first: number;
  /** Of those that are kept. */
  readonly bytes: number;
}

export interface KeptReport {
  readonly id: string;
  readonly kind: string;
  readonly namespace: { readonly id: string; readonly path: string };
  readonly made: string;
  readonly digest: string;
  readonly at: string; // nanoseconds
  readonly envelope: Envelope;
}

/** One of before, which nobody here vouches for. */
export interface EarlierReport {
  readonly id: string;
  readonly number: number;
  readonly kind: string;
  readonly made: string;
  readonly digest: string;
  readonly envelope: Envelope;
}

/** What a list shows. */
export interface ListedReport {
  readonly id: string;
  readonly kind: string;
  readonly made: string;
  readonly digest: string;
}

const BLOCK = 1000; // digests of dropped reports in one row
const DIGEST = 32; // bytes

const ring = jsonCodec<Ring>();
const head = jsonCodec<EvidenceHead>();
const kept = jsonCodec<KeptReport>();
const listed = jsonCodec<ListedReport>();
const numberOf = jsonCodec<number>();
const earlier = jsonCodec<Pick<EarlierReport, "envelope">>();

export const RING = "ring";
export const HEAD = "head";
/** Private halves. */
export const SECRETS = "secrets/";
const secretKey = (fingerprint: string) => SECRETS + fingerprint;
export const REPORTS = "reports/";
export const EARLIER = "earlier/";
const reportKey = (number: number) => REPORTS + padded(number);
export const earlierKey = (number: number) => EARLIER + padded(number);
const idKey = (id: string) => `ids/${id}`;
const listPrefix = (namespaceId: string) => `lists/${namespaceId}/`;
const blockKey = (number: number) => `dropped/${padded(Math.floor(number / BLOCK))}`;

function padded(number: number): string {
  return String(number).padStart(12, "0");
}

export const NO_KEYS: Ring = { keys: [], since: "0" };

/** Whether it is told here at all, whatever else there is. */
export function hasPosition(view: ViewReads): boolean {
  return [RING, HEAD].some((key) => view.keys(key, { limit: 1 })[0] === key);
}

export function readRing(view: ViewReads): Ring | null {
  return view.get(RING, ring);
}

export function watchRing(view: View, call: () => void): () => void {
  return view.watch(RING, call);
}

export function headIn(bytes: Uint8Array): EvidenceHead {
  return head.decode(bytes);
}

export function readHead(view: ViewReads): EvidenceHead {
  return view.get(HEAD, head) ?? { number: 0, digest: "", first: 1, bytes: 0 };
}

export function readSecret(view: ViewReads, fingerprint: string): Uint8Array | null {
  return view.get(secretKey(fingerprint), bytesCodec);
}

/** Puts the new key in the place of the last one, whose private half goes. `der`: null where its own is lost. */
export function putKey(tx: Tx, record: KeyRecord, since: Instant, der: Uint8Array | null): void {
  const before = readRing(tx)?.keys ?? [];
  const last = before.at(-1);
  if (last !== undefined) tx.delete(secretKey(last.fingerprint));
  if (der !== null) tx.put(secretKey(record.fingerprint), der, bytesCodec);
  tx.put(RING, { keys: [...before, record], since: String(since) }, ring);
}

export function keptReport(
  { id, kind, namespace, made_at: made }: Report,
  { digest, envelope }: Pick<KeptReport, "digest" | "envelope">,
  at: Instant,
): KeptReport {
  return { id, kind, namespace, made, digest, at: String(at), envelope };
}

export function putReport(tx: Tx, number: number, report: KeptReport): void {
  const { id, kind, made, digest, namespace } = report;
  const before = readHead(tx);
  invariant(number === before.number + 1, "numbers of evidence follow one another");
  tx.put(reportKey(number), report, kept);
  tx.put(idKey(id), number, numberOf);
  tx.put(listPrefix(namespace.id) + padded(number), { id, kind, made, digest }, listed);
  const bytes = before.bytes + sizeOf(report);
  tx.put(HEAD, { number, digest, first: before.first, bytes }, head);
}

export function putRing(tx: Tx, { keys, since }: Ring): void {
  tx.put(RING, { keys, since }, ring);
}

export function putHead(tx: Tx, { number, digest, first, bytes }: EvidenceHead): void {
  tx.put(HEAD, { number, digest, first, bytes }, head);
}

/** Those before are known by their number alone. */
export function putBareHead(tx: Tx, number: number, digest: string): void {
  putHead(tx, { number, digest, first: number + 1, bytes: 0 });
}

export function readReport(view: ViewReads, number: number): KeptReport | null {
  return view.get(reportKey(number), kept);
}

/** Where it fits: bytes that are no text become more when they are read as such. */
export function putEarlier(
  tx: Tx,
  { number, envelope }: Pick<EarlierReport, "number" | "envelope">,
  maxBytes: number,
): void {
  if (earlier.encode({ envelope }).length > maxBytes) return;
  tx.put(earlierKey(number), { envelope }, earlier);
}

export function numberOfId(view: ViewReads, id: string): number | null {
  if (!isUuid(id)) return null; // whatever else was sent is no key
  return view.get(idKey(id), numberOf);
}

export function listReports(
  view: ViewReads,
  namespaceId: string,
  page: { readonly after: number; readonly limit: number },
): { readonly number: number; readonly report: ListedReport }[] {
  const prefix = listPrefix(namespaceId);
  const { after, limit } = page;
  return view
    .records(prefix, listed, { after: prefix + padded(after), limit })
    .map(({ key, value }) => ({ number: Number(key.slice(prefix.length)), report: value }));
}

/** Drops the oldest; its digest stays. */
export function dropOldest(tx: Tx): void {
  const before = readHead(tx);
  const { first } = before;
  const report = readReport(tx, first);
  invariant(report !== null, "a report that is kept is there");
  tx.delete(reportKey(first));
  tx.delete(idKey(report.id));
  tx.delete(listPrefix(report.namespace.id) + padded(first));
  const block = tx.get(blockKey(first), bytesCodec) ?? EMPTY;
  const digest = fromHex(report.digest);
  invariant(digest?.length === DIGEST, "a digest has 32 bytes");
  const unknown = alloc(placeInBlock(first) - block.length); // of those that were never here
  tx.put(blockKey(first), concat(block, unknown, digest), bytesCodec);
  const bytes = before.bytes - sizeOf(report);
  tx.put(HEAD, { ...before, first: first + 1, bytes }, head);
}

/** SHA-256 of a report that was dropped. */
export function droppedDigest(view: ViewReads, number: number): string | null {
  const block = view.get(blockKey(number), bytesCodec);
  if (block === null) return null;
  const at = placeInBlock(number);
  const digest = block.subarray(at, at + DIGEST);
  return digest.length < DIGEST || digest.every((byte) => byte === 0) ? null : hex(digest);
}

/** The first block begins with number 1, all others with a multiple of their size. */
function placeInBlock(number: number): number {
  return DIGEST * (number < BLOCK ? number - 1 : number % BLOCK);
}

function sizeOf({ envelope }: KeptReport): number {
  return envelope.payload.length;
}
