// One drill: the newest stored snapshot is read back from where it lies and proven with the keys of this server, as it
// comes and with bounded memory. Whatever is wrong with it is told in words; only who stops it is answered by a throw.

import { hex } from "@holdfast/shared/bytes";
import { describe, Failure } from "@holdfast/shared/failure";
import { showTime } from "@holdfast/shared/text/time";
import type { Clock, Timers } from "@holdfast/shared/world";
import type { OwnKeys } from "../archive/opening.ts";
import type { DeepReport } from "../proof/deep-check.ts";
import { proveOwn } from "../proof/own-proof.ts";
import { StoreError } from "../targets/store-error.ts";
import type { StoredSnapshot, Target } from "../targets/target.ts";
import type { DrilledArchive } from "./drill-state.ts";

export interface DrillOptions {
  readonly openTarget: () => Promise<Target>;
  readonly own: OwnKeys;
  /** As of now: a newer one may come while it runs. */
  readonly last: () => LastWritten;
  /** What was written there; null where that is not known. */
  readonly storedAt: (url: string) => WrittenSnapshot | null;
  /** What is there, whenever that was looked at. */
  readonly listed: (stored: readonly StoredSnapshot[], target: Target) => void;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly signal: AbortSignal;
  readonly progress: (progress: DrillProgress) => void;
}

export interface LastWritten {
  /** Where the last one that was noted lies; empty where none is, or it was put elsewhere. */
  readonly url: string;
  /** Where the last attempt put its own: it may be there, and older ones gone for it, before it is noted. */
  readonly begun: string;
}

export interface WrittenSnapshot {
  readonly size: number;
  readonly sha256: string;
}

export interface DrillProgress {
  readonly url: string;
  readonly size: number;
  /** Bytes that were read so far. */
  readonly bytes: number;
}

export interface DrillOutcome {
  readonly result: "proven" | "failed" | "not-made";
  readonly url: string;
  readonly size: number;
  readonly archive: DrilledArchive | null;
  /** Of both trees over its rows, in hex. */
  readonly trees: DeepReport["trees"] | null;
  readonly problems: readonly string[];
}

/** A newer one may take the place of the one that is read: then that one is looked at. */
const MAX_TRIES = 3;
const MAX_PROBLEM = 1000;

export async function drill(options: DrillOptions): Promise<DrillOutcome> {
  const { signal } = options;
  let url = "";
  let size = 0;
  try {
    const target = await options.openTarget();
    for (let tries = 1; ; tries++) {
      const last = options.last();
      const stored = await target.list(signal);
      options.listed(stored, target);
      if (stored.length === 0) return nothingStored(target, last);
      const written = writtenIn(stored, target, last);
      if (written === undefined && isOfPlace(last.url, target)) {
        const { url: now, begun } = options.last();
        if (now === last.url && begun === last.begun) return missing(stored, target, last);
        if (tries < MAX_TRIES) continue; // a newer one has taken its place
      }
      const newest = written ?? stored.at(-1)!;
      url = target.urlOf(newest.name);
      size = newest.size;
      try {
        return await proven(target, newest, options);
      } catch (error) {
        if (signal.aborted || tries === MAX_TRIES) throw error;
        const stored = await target.list(signal);
        if (stored.some(({ name }) => name === newest.name)) throw error;
      }
    }
  } catch (error) {
    if (signal.aborted) throw error;
    const why = error instanceof StoreError || error instanceof Failure ? error.message : "";
    const problems = [cut(why === "" ? describe(error) : why)];
    return { result: "not-made", url, size, archive: null, trees: null, problems };
  }
}

/** Throws where it could not be read to its end. */
async function proven(
  target: Target,
  { name }: StoredSnapshot,
  options: DrillOptions,
): Promise<DrillOutcome> {
  const { own, signal, storedAt } = options;
  const url = target.urlOf(name);
  const { size, chunks } = await target.read(name, signal);
  const written = storedAt(url);
  const lengths =
    written === null || written.size === size
      ? []
      : [`it has ${size} bytes, and ${written.size} were stored under this name`];
  const source = new StoredBytes(chunks, { url, size, progress: options.progress });
  try {
    const report = await proveOwn(source, own, options);
    const sums =
      written === null || written.sha256 === hex(report.archive.sha256) || lengths.length > 0
        ? []
        : [`it is another one than was stored under this name: the SHA-256 was ${written.sha256}`];
    const problems = [...report.problems, ...lengths, ...sums].map(cut);
    return {
      result: problems.length === 0 ? "proven" : "failed",
      url,
      size,
      archive: archiveOf(report),
      trees: report.trees,
      problems,
    };
  } catch (error) {
    // Whatever the reader fails with is a fault of the archive, be it one that nobody has thought of: only what the
    // store did not give has found out nothing.
    if (signal.aborted || error === source.fault) throw error;
    const why = error instanceof Failure ? error.message : `it cannot be read: ${describe(error)}`;
    const problems = [why, ...lengths].map(cut);
    return { result: "failed", url, size, archive: null, trees: null, problems };
  }
}

/** The one that was written last; a clock that went back would make another one the newest by name. */
function writtenIn(
  stored: readonly StoredSnapshot[],
  target: Target,
  { url, begun }: LastWritten,
): StoredSnapshot | undefined {
  const at = (place: string) => stored.find(({ name }) => target.urlOf(name) === place);
  return at(url) ?? at(begun);
}

/** Whether it would be listed if it was there: a configuration may have been given another place since. */
function isOfPlace(url: string, target: Target): boolean {
  return url !== "" && target.urlOf(url.slice(url.lastIndexOf("/") + 1)) === url;
}

/** Rotation leaves the last one where it is: somebody else, or the store, has lost it. */
function missing(
  stored: readonly StoredSnapshot[],
  target: Target,
  { url }: LastWritten,
): DrillOutcome {
  const newest = target.urlOf(stored.at(-1)!.name);
  const problems = [
    cut(`${url} is gone, and this server has not deleted it; the newest there is ${newest}`),
  ];
  return { result: "failed", url, size: 0, archive: null, trees: null, problems };
}

function nothingStored(target: Target, { url: last }: LastWritten): DrillOutcome {
  const [place = ""] = target.urlOf("x").split(/x$/);
  const url = isOfPlace(last, target) ? last : "";
  const lost = url === "" ? "" : `: ${url} is gone, and this server has not deleted it`;
  const problems = [cut(`there is no snapshot in ${place}${lost}`)];
  return { result: "failed", url, size: 0, archive: null, trees: null, problems };
}

/** The bytes of an archive as the store gives them, and what kept it from giving them. */
class StoredBytes implements AsyncIterable<Uint8Array> {
  readonly #chunks: AsyncIterable<Uint8Array>;
  readonly #about: Omit<DrillProgress, "bytes"> & Pick<DrillOptions, "progress">;
  #fault: unknown;

  constructor(
    chunks: AsyncIterable<Uint8Array>,
    about: Omit<DrillProgress, "bytes"> & Pick<DrillOptions, "progress">,
  ) {
    this.#chunks = chunks;
    this.#about = about;
  }

  get fault(): unknown {
    return this.#fault;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array, void, void> {
    const { url, size, progress } = this.#about;
    let bytes = 0;
    try {
      for await (const chunk of this.#chunks) {
        yield chunk;
        bytes += chunk.length;
        progress({ url, size, bytes });
      }
      if (bytes < size) throw endedEarly(bytes, size);
    } catch (error) {
      this.#fault = error;
      throw error;
    }
  }
}

function endedEarly(bytes: number, size: number): StoreError {
  const message = `the connection ended after ${bytes} of ${size} bytes`;
  return new StoreError({ step: "reading a snapshot", message, passes: true });
}

function archiveOf({ archive, opened, dataKeys }: DeepReport): DrilledArchive {
  const { meta, sha256 } = archive;
  return {
    id: meta.id,
    index: meta.index,
    created: showTime(meta.created),
    sha256: hex(sha256),
    entries: meta.entries,
    opened,
    dataKeys,
  };
}

function cut(problem: string): string {
  return problem.length <= MAX_PROBLEM ? problem : `${problem.slice(0, MAX_PROBLEM - 1)}…`;
}
