// Where a secret is in storage. Its record, with the newest version in it if that is not large, is one
// row; small older versions stay in the record too, so that most writes are one row and most reads one
// look. Larger versions have rows of their own, named by the secret's id instead of its path: a move
// leaves them where they are.
//
//   secrets/<path>        the record          versions/<id>/<n>   a version that is not in the record
//   recycle/<path>        it is in the bin    doomed/<id>         rows of its versions are to be removed

import { bytesCodec, jsonCodec } from "@holdfast/shared/codec";
import type { Instant } from "@holdfast/shared/world";
import type { EngineStorage, EngineTx } from "@holdfast/plugin-sdk/storage";
import * as failures from "./failures.ts";
import type { Document } from "./document.ts";
import { MAX_VERSIONS } from "./mount-settings.ts";
import { currentOf, hasRow, type Numbered, type Secret, type Version } from "./secret.ts";
import { secretCodec } from "./secret-codec.ts";

export const SECRETS = "secrets/";
export const RECYCLE = "recycle/";
const DOOMED = "doomed/";

/** The newest version lies in the record up to this size: beyond it, changing a flag of a version would
 *  cost more than the second look saves. */
const MAX_NEWEST = 16 * 1024;
/** All versions that lie in the record: each write writes them again. */
const MAX_INLINE = 2 * 1024;
/** Rows that go in the transaction that makes them superfluous; more go afterwards, in slices. */
export const MAX_AT_ONCE = 64;

/** A version that is about to be kept. */
export interface Fresh extends Omit<Version, "inline" | "exact"> {
  readonly document: Document;
}

export interface Binned {
  readonly version: number;
  readonly deleted: string; // nanoseconds since 1970
}

/** Rows of versions that are to go: those with lower numbers; null for all. */
interface Doomed {
  readonly below: number | null;
}

const binnedCodec = jsonCodec<Binned>();
const doomedCodec = jsonCodec<Doomed>();

export function secretKey(path: string): string {
  return SECRETS + path;
}

function versionKey(id: string, number: number): string {
  return `versions/${id}/${number}`;
}

/** The newest `kept` versions with one more, each where it belongs. `left`: rows for sweep(). */
export function withFresh(
  tx: EngineTx,
  before: Secret,
  fresh: Fresh,
  kept: number,
): { readonly secret: Secret; readonly left: boolean } {
  const { document, ...facts } = fresh;
  const gone = Math.max(0, before.versions.length + 1 - kept);
  const oldest = before.versions.length === 0 ? 1 : before.oldest + gone;
  const left = removeVersions(tx, before, { below: gone === 0 ? 0 : oldest });
  const made: Version = { ...facts, exact: document.exact, inline: document.bytes };
  const versions = [...before.versions.slice(gone), made];
  return { secret: settled(tx, { ...before, oldest, versions }), left };
}

/** With every document that is too large, or one too many, in a row of its own. */
export function settled(tx: EngineTx, secret: Secret): Secret {
  const { id, oldest, versions } = secret;
  let room = MAX_INLINE;
  const placed = versions.toReversed().map((version, back): Version => {
    const { inline } = version;
    if (inline === null) return version;
    room -= inline.length;
    if (back === 0 ? inline.length <= MAX_NEWEST : room >= 0) return version;
    tx.put(versionKey(id, oldest + versions.length - 1 - back), inline, bytesCodec);
    return { ...version, inline: null };
  });
  return { ...secret, versions: placed.toReversed() };
}

export function putSecret(tx: EngineTx, path: string, secret: Secret): void {
  tx.put(secretKey(path), secret, secretCodec);
}

export function putBinned(tx: EngineTx, path: string, secret: Secret, deleted: Instant): void {
  const row = { version: currentOf(secret), deleted: deleted.toString() };
  tx.put(RECYCLE + path, row, binnedCodec);
}

export function takeOutOfBin(tx: EngineTx, path: string): void {
  tx.delete(RECYCLE + path);
}

export function binned(storage: EngineStorage, path: string): Promise<Binned | null> {
  return storage.get(RECYCLE + path, binnedCodec);
}

/** Rows of the bin after a path, in order. */
export async function binnedAfter(storage: EngineStorage, after: string, limit: number) {
  const page = after === "" ? { limit } : { limit, after: RECYCLE + after };
  const rows = await storage.records(RECYCLE, binnedCodec, page);
  return rows.map(({ key, value }) => ({ path: key.slice(RECYCLE.length), ...value }));
}

/** The document of a version; null where its row is gone, which outside a transaction may happen
 *  between two looks. */
export async function fetchDocument(
  storage: EngineStorage,
  { id, number, version }: Numbered & { readonly id: string },
): Promise<Document | null> {
  const { inline, exact } = version;
  if (inline !== null) return { bytes: inline, exact };
  const bytes = await storage.get(versionKey(id, number), bytesCodec);
  return bytes === null ? null : { bytes, exact };
}

export function documentIn(tx: EngineTx, { id }: Secret, { number, version }: Numbered): Document {
  const bytes = version.inline ?? tx.get(versionKey(id, number), bytesCodec);
  if (bytes === null) throw failures.vanished();
  return { bytes, exact: version.exact };
}

/** Removes the rows of single versions, few enough for one transaction. */
export function removeRows(tx: EngineTx, { id }: Secret, numbers: readonly number[]): void {
  for (const number of numbers) tx.delete(versionKey(id, number));
}

/** Removes a secret with everything there is of it. Says whether rows are left for sweep(). */
export function removeSecret(tx: EngineTx, path: string, secret: Secret): boolean {
  tx.delete(secretKey(path));
  if (secret.recycled) takeOutOfBin(tx, path);
  return removeVersions(tx, secret, { below: null });
}

/** Removes rows of versions, or, where they are too many, notes that they are to be removed. */
function removeVersions(tx: EngineTx, secret: Secret, { below }: Doomed): boolean {
  const { id, oldest, versions } = secret;
  const rows = versions.flatMap((version, at) => {
    const number = oldest + at;
    return hasRow(version) && (below === null || number < below) ? [number] : [];
  });
  const few = rows.length <= MAX_AT_ONCE;
  if (few) removeRows(tx, secret, rows);
  else tx.put(DOOMED + id, { below }, doomedCodec);
  return !few;
}

/** Removes rows that were noted, of at most so many secrets. */
export async function sweep(
  storage: EngineStorage,
  signal: AbortSignal | null,
  max = 256,
): Promise<void> {
  for (const { key, value } of await storage.records(DOOMED, doomedCodec, { limit: max })) {
    const folder = `versions/${key.slice(DOOMED.length)}/`;
    for (let left = true; left;) {
      if (signal?.aborted === true) return;
      left = await storage.write((tx) => {
        // Looked at anew: since then the whole secret may have gone.
        const { below } = tx.get(key, doomedCodec) ?? value;
        const rows = tx
          .keys(folder, { limit: 4 * MAX_VERSIONS }) // those that stay lie among them
          .filter((row) => below === null || Number(row.slice(folder.length)) < below);
        for (const row of rows.slice(0, MAX_AT_ONCE)) tx.delete(row);
        if (rows.length <= MAX_AT_ONCE) tx.delete(key);
        return rows.length > MAX_AT_ONCE;
      });
    }
  }
}
