// What a copy or move is about to write, judged as if the caller read it at the source and wrote it at the
// target: every version by the rules on parameters and the programs that such requests would meet. The
// transaction that follows writes nothing else. A version's document never changes, so that what was read for it need not be read again.

import { type Pace, Stretches } from "@holdfast/shared/sliced";
import type { Clock, Instant } from "@holdfast/shared/world";
import type { JsonObject } from "@holdfast/shared/json/json";
import type { EngineRequest } from "@holdfast/shared/endpoint/request";
import type { EngineStorage } from "@holdfast/plugin-sdk/storage";
import { dataOf } from "../document.ts";
import * as failures from "../failures.ts";
import type { Openings, Relocation } from "./relocation.ts";
import * as rows from "../rows.ts";
import { currentOf, isDeleted, isLive, newestOf, type Secret } from "../secret.ts";
import { secretCodec } from "../secret-codec.ts";
import { everyFolder, folderRights, may, mightEver } from "../secret-path.ts";

/** Documents of one copy: they are written in one go, in which nobody else has a turn, at 10 to 20 ms
 *  for a MiB. */
export const MAX_COPIED = 2 * 1024 * 1024;

export interface World {
  readonly storage: EngineStorage;
  readonly clock: Clock;
  readonly pace: Pace;
  readonly newId: () => string;
  /** Bytes of documents that go along with one secret. */
  readonly maxBytes: number;
}

interface JudgedVersion {
  /** As what it was judged. */
  readonly deleted: boolean;
  /** Null where it stays in its place, or behind. */
  readonly document: Uint8Array | null;
}

export class JudgedSource {
  readonly #id: string;
  readonly #versions = new Map<number, JudgedVersion>();

  constructor(id: string) {
    this.#id = id;
  }

  add(number: number, judged: JudgedVersion): void {
    this.#versions.set(number, judged);
  }

  /** Whether there is nothing at the source that was not judged, or as something else than it is now. */
  covers(source: Secret, now: Instant): boolean {
    return (
      source.id === this.#id &&
      source.versions.every(
        (one, at) =>
          one.destroyed || this.#versions.get(source.oldest + at)?.deleted === isDeleted(one, now),
      )
    );
  }

  /** Null for a version that does not go along. */
  documentOf(number: number): Uint8Array | null {
    return this.#versions.get(number)?.document ?? null;
  }
}

/** Null where there is nothing at the source, "changed" where it changed meanwhile. Refuses as reads at the source
 *  and a write at the target would; also where nothing is there, so that the two are not told apart. */
export async function judgeSource(
  { storage, clock, pace, maxBytes }: World,
  context: EngineRequest,
  move: Relocation,
  openings: Openings,
): Promise<JudgedSource | "changed" | null> {
  const source = await storage.get(rows.secretKey(move.from), secretCodec);
  const current = source === null ? 0 : currentOf(source);
  const now = clock.now();
  await checkNotes(context, move, openings, { source, now });
  await checkNewest(context, move, openings, current);
  const judged = new JudgedSource(source?.id ?? "");
  const stretches = new Stretches(pace);
  let bytes = 0;
  for (const [at, version] of (source?.versions ?? []).entries()) {
    if (source === null || version.destroyed) continue;
    if (context.signal.aborted) throw failures.callerGone();
    if (stretches.over) await stretches.next();
    const number = source.oldest + at;
    const deleted = isDeleted(version, now);
    if (deleted && openings.undeletes && !(await mayUndelete(context, move, number))) {
      // A move would leave it behind, destroy or open it: so it does nothing.
      if (move.kind === "move") throw failures.denied();
      judged.add(number, { deleted, document: null });
      continue;
    }
    if (number !== current) await checkRead(context, move, openings, number);
    const document = await rows.fetchDocument(storage, { id: source.id, number, version });
    if (document === null) return "changed";
    judged.add(number, { deleted, document: move.kind === "copy" ? document.bytes : null });
    bytes += document.bytes.length;
    if (bytes > maxBytes) throw failures.copyTooLarge(maxBytes);
    const data = dataOf(document);
    if (stretches.over) await stretches.next(); // reading a large one takes a stretch of its own
    await checkWrite(context, move, data);
  }
  if (bytes === 0) await checkWrite(context, move, {}); // no document has less than two bytes
  return source === null ? null : judged;
}

function mayUndelete(
  context: EngineRequest,
  { from }: Relocation,
  number: number,
): Promise<boolean> {
  return may(context, "update", "undelete", from, { versions: [number] });
}

interface Seen {
  readonly source: Secret | null;
  readonly now: Instant;
}

/** What answers show beside data: notes, and of the newest version its number and when it was deleted. */
async function checkNotes(
  context: EngineRequest,
  { from, to }: Relocation,
  openings: Openings,
  seen: Seen,
): Promise<void> {
  const { source } = seen;
  // Where there is no version yet, it is the first write that shows them.
  const notes =
    openings.notes || (isBare(source) && (await mightEver(context, "create", "data", to)));
  const bin = openings.bin && (openings.deletes || source?.recycled === true);
  if (!notes && !bin) return;
  if (await readsShow(context, from, source)) return;
  if (notes && !(await writesShow(context, from, seen))) throw failures.denied();
  if (!bin || (await everyFolder(from, folderRights(context)))) return;
  // Only reads and the bin tell when it was deleted.
  if (source?.recycled === true || !(await writesShow(context, from, seen)))
    throw failures.denied();
}

async function readsShow(
  context: EngineRequest,
  path: string,
  source: Secret | null,
): Promise<boolean> {
  if (await may(context, "read", "metadata", path)) return true;
  if (isBare(source)) return false; // there is nothing else to read
  const current = source === null ? 0 : currentOf(source);
  for (const way of ["data", "subkeys"] as const) {
    if (await mayReadNewest(context, way, path, current)) return true;
  }
  return false;
}

/** It has notes and settings, and no version. */
function isBare(source: Secret | null): boolean {
  return source !== null && source.versions.length === 0;
}

/** A write answers with the notes that there are. */
async function writesShow(
  context: EngineRequest,
  path: string,
  { source, now }: Seen,
): Promise<boolean> {
  const body = { data: {} };
  if (isBare(source)) return may(context, "create", "data", path, body);
  if (await may(context, "update", "data", path, body)) return true;
  const patches = source === null || isLive(newestOf(source), now);
  return patches && may(context, "patch", "data", path, body);
}

/** The newest version is shown by two requests: one that names it and one that names none. */
async function mayReadNewest(
  context: EngineRequest,
  way: "data" | "subkeys",
  path: string,
  current: number,
): Promise<boolean> {
  return (
    (await may(context, "read", way, path)) ||
    (current > 0 && (await may(context, "read", way, path, { version: current })))
  );
}

async function checkNewest(
  context: EngineRequest,
  { from }: Relocation,
  { reads }: Openings,
  current: number,
): Promise<void> {
  for (const way of reads) {
    if (!(await mayReadNewest(context, way, from, current))) throw failures.denied();
  }
}

async function checkRead(
  context: EngineRequest,
  { from }: Relocation,
  { reads }: Openings,
  version: number,
): Promise<void> {
  for (const way of reads) {
    if (!(await may(context, "read", way, from, { version }))) throw failures.denied();
  }
}

async function checkWrite(
  context: EngineRequest,
  { to, cas }: Relocation,
  data: JsonObject,
): Promise<void> {
  const capability = cas !== undefined && cas > 0 ? "update" : "create";
  const body = cas === undefined ? { data } : { data, options: { cas } };
  if (!(await may(context, capability, "data", to, body))) throw failures.denied();
}
