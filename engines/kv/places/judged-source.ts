// What a copy or move is about to write, judged as if the caller wrote it there: every version by the rules
// on parameters and the programs that a request with it would meet. The transaction that follows writes
// nothing else. A version's document never changes, so that what was read for it need not be read again.

import { invariant } from "@holdfast/shared/invariant";
import { type Pace, Stretches } from "@holdfast/shared/sliced";
import type { Clock, Instant } from "@holdfast/shared/world";
import type { JsonObject } from "@holdfast/shared/json/json";
import type { RequestContext } from "@holdfast/shared/endpoint/request";
import type { EngineStorage } from "@holdfast/plugin-sdk/storage";
import { dataOf } from "../document.ts";
import * as failures from "../failures.ts";
import type { Allowance, Relocation } from "./relocation.ts";
import * as rows from "../rows.ts";
import { isLive, type Secret, type Version } from "../secret.ts";
import { secretCodec } from "../secret-codec.ts";
import { may } from "../secret-path.ts";

/** Documents of one copy: they are written in one go, in which nobody else has a turn, at 10 to 20 ms
 *  for a MiB. */
export const MAX_COPIED = 2 * 1024 * 1024;

export interface World {
  readonly storage: EngineStorage;
  readonly clock: Clock;
  readonly pace: Pace;
  readonly newId: () => string;
  /** Bytes of documents that go along with one secret. */
  readonly mostBytes: number;
}

export class JudgedSource {
  readonly #id: string;
  /** By the number of the version; null where it stays in its place. */
  readonly #documents = new Map<number, Uint8Array | null>();

  constructor(id: string) {
    this.#id = id;
  }

  add(number: number, document: Uint8Array | null): void {
    this.#documents.set(number, document);
  }

  /** Whether nothing of the source goes along that was not judged. */
  covers(source: Secret, goes: (version: Version) => boolean): boolean {
    return (
      source.id === this.#id &&
      source.versions.every((one, at) => !goes(one) || this.#documents.has(source.oldest + at))
    );
  }

  documentOf(number: number): Uint8Array {
    const found = this.#documents.get(number) ?? null;
    invariant(found !== null, "what is copied was read before");
    return found;
  }
}

/** Whether a version is written at the target with its data. */
export function goesAlong({ kind }: Relocation, allowed: Allowance, now: Instant) {
  return (version: Version): boolean =>
    !version.destroyed && (kind === "move" || allowed.deleted || isLive(version, now));
}

/** Null where there is nothing at the source, "changed" where it changed meanwhile. Refuses as a write at the
 *  target would; also where nothing is there to be written, so that the two are not told apart. */
export async function judgeSource(
  { storage, clock, pace, mostBytes }: World,
  asked: RequestContext,
  move: Relocation,
  allowed: Allowance,
): Promise<JudgedSource | "changed" | null> {
  const source = await storage.get(rows.secretKey(move.from), secretCodec);
  const goes = goesAlong(move, allowed, clock.now());
  const judged = new JudgedSource(source?.id ?? "");
  const stretches = new Stretches(pace);
  let bytes = 0;
  for (const [at, version] of (source?.versions ?? []).entries()) {
    if (source === null || !goes(version)) continue;
    if (asked.signal.aborted) throw failures.callerGone();
    const number = source.oldest + at;
    const document = await rows.fetchDocument(storage, { id: source.id, number, version });
    if (document === null) return "changed";
    judged.add(number, move.kind === "copy" ? document.bytes : null);
    bytes += document.bytes.length;
    if (bytes > mostBytes) throw failures.copyTooLarge(mostBytes);
    await checkWrite(asked, move, dataOf(document));
    if (stretches.over) await stretches.next();
  }
  if (bytes === 0) await checkWrite(asked, move, {}); // no document has less than two bytes
  return source === null ? null : judged;
}

async function checkWrite(
  asked: RequestContext,
  { to, cas }: Relocation,
  data: JsonObject,
): Promise<void> {
  const capability = cas !== undefined && cas > 0 ? "update" : "create";
  const body = cas === undefined ? { data } : { data, options: { cas } };
  if (!(await may(asked, capability, "data", to, body))) throw failures.denied();
}
