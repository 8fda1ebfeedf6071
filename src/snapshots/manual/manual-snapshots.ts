// Snapshots that somebody asks for: to take one home, and to have one checked. A download is spooled first: a client
// may read as slowly as it likes, and while a view of the store is held SQLite's log only grows. What is checked is
// read as it comes and kept nowhere.

import { createHash, type Hash } from "node:crypto";
import { hex } from "@holdfast/shared/bytes";
import { Reply } from "@holdfast/shared/endpoint/reply";
import { type BodyStream, StreamBody } from "@holdfast/shared/endpoint/stream";
import { showTime } from "@holdfast/shared/text/time";
import type { Clock, Instant, Timers, WorkFile, WorkFiles } from "@holdfast/shared/world";
import type { Barrier } from "../../barrier/barrier.ts";
import { Slices } from "../../storage/commit/slices.ts";
import { FORMAT } from "../../storage/engines/sqlite-format.ts";
import { ArchiveParser, type ParsedArchive } from "../archive/archive-parser.ts";
import type { WrittenArchive } from "../archive/archive-writer.ts";
import { type OwnKeys, whyNotOurs } from "../archive/opening.ts";
import { rootOf } from "../archive/state.ts";
import type { SnapshotFigures } from "../figures.ts";
import type { ArchiveMaking } from "../making.ts";
import type { DeepReport } from "../proof/deep-check.ts";
import { proveOwn } from "../proof/own-proof.ts";
import { archiveMissing, snapshotsBusy } from "./failures.ts";

const MAX_AT_ONCE = 2; // of a kind
const PIECE = 64 * 1024; // read, summed and sent at a time: requests go on in between

export interface ManualOptions {
  readonly making: ArchiveMaking;
  readonly figures: SnapshotFigures;
  readonly barrier: Barrier;
  readonly files: WorkFiles;
  /** Where spools lie, as far as they have a place. */
  readonly directory: string;
  readonly clusterId: () => string;
  /** When the root key was made. */
  readonly keyedAt: () => Instant;
  readonly clock: Clock;
  readonly timers: Timers;
}

/** What is told of an archive that is whole. */
export interface CheckedArchive {
  readonly archive: ParsedArchive;
  readonly rows: Readonly<Record<"shared" | "local" | "core", number>>;
  /** Whether the sums open with today's root key. */
  readonly opens: boolean;
  /** Why not; empty when they do. */
  readonly reason: string;
  /** Where every entry was opened. */
  readonly proof?: Pick<DeepReport, "ok" | "problems" | "opened" | "dataKeys">;
}

export class ManualSnapshots {
  readonly #options: ManualOptions;
  // Each kind has its own places: whoever sends archives slowly keeps nobody from taking one home.
  readonly #underWay = { downloaded: 0, checked: 0 };

  constructor(options: ManualOptions) {
    this.#options = options;
  }

  /** The archive as an answer. It is whole before the first byte is sent. */
  async download(signal: AbortSignal): Promise<Reply<StreamBody>> {
    const { files, directory, making, figures } = this.#options;
    const leave = this.#enter("downloaded");
    let file: WorkFile;
    let written: WrittenArchive & { readonly index: number };
    try {
      file = await files.createUnnamed(directory);
      try {
        written = await figures.measured("manual", {}, async () => {
          const made = await making.write(file, directory, signal);
          return { ...made, index: made.meta.index };
        });
      } catch (error) {
        await file.close();
        throw error;
      }
    } catch (error) {
      leave();
      throw error;
    }
    const sum = createHash("sha256");
    const body = new StreamBody("application/gzip", bytesOf(file, sum), {
      trailers: {
        names: ["X-Snapshot-Sha256", "X-Snapshot-Complete"],
        values: () => ({
          "X-Snapshot-Sha256": sum.digest("hex"),
          "X-Snapshot-Complete": "true",
        }),
      },
    });
    void body.ended.then(async () => {
      leave();
      await file.close();
    });
    return new Reply(body, { headers: headersOf(written) });
  }

  /** Reads an archive to its end; nothing is kept of it, and nothing here changes. */
  async verify(stream: BodyStream | undefined): Promise<CheckedArchive> {
    if (stream === undefined || stream.length === 0) throw archiveMissing();
    const leave = this.#enter("checked");
    try {
      const slices = new Slices(this.#options);
      const parser = new ArchiveParser(FORMAT);
      const rows = { shared: 0, local: 0, core: 0 };
      for await (const chunk of stream) {
        for (const { key } of parser.push(chunk)) rows[rootOf(key)]++;
        await slices.pause();
      }
      return { ...this.#judged(parser.end()), rows };
    } finally {
      leave();
    }
  }

  /** The same, and opens every entry in it with the keys of this server. */
  async prove(stream: BodyStream | undefined, signal: AbortSignal): Promise<CheckedArchive> {
    if (stream === undefined || stream.length === 0) throw archiveMissing();
    const leave = this.#enter("checked");
    try {
      const { clock, timers } = this.#options;
      const report = await proveOwn(stream, this.#own(), { clock, timers, signal });
      const { archive, entries: rows } = report;
      return { archive, rows, opens: true, reason: "", proof: report };
    } finally {
      leave();
    }
  }

  #own(): OwnKeys {
    const { barrier, clusterId, keyedAt } = this.#options;
    return { rootKey: barrier.rootKey, clusterId: clusterId(), keyedAt: keyedAt() };
  }

  #judged(archive: ParsedArchive): Pick<CheckedArchive, "archive" | "opens" | "reason"> {
    const failure = whyNotOurs(archive, this.#own());
    // Who changed it after it was made has made it another one; an older key or another cluster is no damage.
    if (failure !== null && /-(?:changed|not-opened)$/.test(failure.code)) throw failure;
    return { archive, opens: failure === null, reason: failure?.message ?? "" };
  }

  #enter(kind: "downloaded" | "checked"): () => void {
    if (this.#underWay[kind] >= MAX_AT_ONCE) throw snapshotsBusy(MAX_AT_ONCE, kind);
    this.#underWay[kind]++;
    return () => void this.#underWay[kind]--;
  }
}

async function* bytesOf(file: WorkFile, sum: Hash): AsyncGenerator<Uint8Array, void, void> {
  for (let at = 0; at < file.size;) {
    const piece = await file.read(at, PIECE);
    if (piece.length === 0) throw new Error("a spool is shorter than what was written to it");
    sum.update(piece);
    at += piece.length;
    yield piece;
  }
}

function headersOf({ meta, bytes }: WrittenArchive): Record<string, string> {
  const time = showTime(meta.created)
    .replace(/\..*|Z$/, "")
    .replaceAll(/[-:]/g, "");
  return {
    "Content-Disposition": `attachment; filename="holdfast-${time}Z-${meta.index}.snap"`,
    "X-Snapshot-Id": meta.id,
    "X-Snapshot-Index": String(meta.index),
    "X-Snapshot-Size": String(bytes),
  };
}

/** As the endpoint tells it. */
export function checkedView({ archive, rows, opens, reason, proof }: CheckedArchive) {
  const { meta, bytes, sha256 } = archive;
  return {
    ok: opens && proof?.ok !== false,
    errors: opens ? (proof?.problems ?? []) : [reason],
    id: meta.id,
    index: meta.index,
    epoch: meta.epoch,
    cluster_id: meta.clusterId,
    lineage: meta.lineage,
    created: showTime(meta.created),
    version: meta.software,
    format: meta.format,
    size: bytes,
    sha256: hex(sha256),
    entries: meta.entries,
    shared_entries: rows.shared,
    local_entries: rows.local,
    core_entries: rows.core,
    opens,
    reason,
    ...(proof === undefined
      ? {}
      : {
          proven: proof.ok,
          problems: proof.problems,
          opened_entries: proof.opened,
          keyring_terms: proof.dataKeys,
        }),
  };
}
