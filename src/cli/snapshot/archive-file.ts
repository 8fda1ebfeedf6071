// Archives in files of the user: read to their end without a server, and shown.

import { hex } from "@holdfast/shared/bytes";
import type { JsonObject } from "@holdfast/shared/json/json";
import { showTime } from "@holdfast/shared/text/time";
import type { WorkFile } from "@holdfast/shared/world";
import { ArchiveParser, type ParsedArchive } from "../../snapshots/archive/archive-parser.ts";
import { rootOf, type StateRecord } from "../../snapshots/archive/state.ts";
import { SystemWorkFiles } from "../../system/work-file.ts";
import type { Context } from "../command.ts";
import { UsageError } from "../line/usage-error.ts";
import type { View } from "../terminal/output.ts";
import { plainTime } from "../terminal/relative-time.ts";
import { showValue } from "../terminal/value.ts";
import { bytesBar, sizeText } from "../terminal/size.ts";

const PIECE = 256 * 1024;

/** The bytes of a file, with progress at a terminal. */
export async function* chunksOf(
  context: Pick<Context, "progress" | "quiet">,
  file: WorkFile,
  what: string,
): AsyncGenerator<Uint8Array, void, void> {
  try {
    for (let at = 0; at < file.size;) {
      const piece = await file.read(at, PIECE);
      if (piece.length === 0) return; // cut while it is read: whoever reads it finds out
      at += piece.length;
      context.progress(`${what} ${bytesBar(at, file.size)}`);
      yield piece;
    }
  } finally {
    context.quiet();
  }
}

/** Runs with an open archive, which is closed afterwards. */
export async function withArchive<T>(
  { files }: Pick<Context, "files">,
  path: string,
  run: (file: WorkFile) => Promise<T>,
): Promise<T> {
  const file = await new SystemWorkFiles().open(files.real(path));
  if (file === null) throw new UsageError(`there is no file ${path}`);
  try {
    return await run(file);
  } finally {
    await file.close();
  }
}

/** What an archive says of itself, and counts of what is in it. */
export interface ArchiveSummary {
  readonly archive: ParsedArchive;
  readonly rows: Readonly<Record<"shared" | "local" | "core", number>>;
}

/** Reads what comes as an archive to its end: its form and every checksum. */
export class SummingParser {
  // Any form of rows: nothing of them is opened here.
  readonly #parser = new ArchiveParser(Number.MAX_SAFE_INTEGER);
  readonly #rows = { shared: 0, local: 0, core: 0 };

  push(chunk: Uint8Array): readonly StateRecord[] {
    const records = this.#parser.push(chunk);
    for (const { key } of records) this.#rows[rootOf(key)]++;
    return records;
  }

  end(): ArchiveSummary {
    return { archive: this.#parser.end(), rows: this.#rows };
  }
}

export function summaryData({ archive, rows }: ArchiveSummary): JsonObject {
  const { meta, bytes, sha256 } = archive;
  return {
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
  };
}

/** For people; of what the server or we found. */
export function summaryView(data: JsonObject, now: bigint): View {
  const { created = "", size } = data;
  return {
    pairs: [
      ["Created", plainTime(created, now)],
      ["Index", data["index"]],
      ["Epoch", data["epoch"]],
      ["Entries", data["entries"]],
      ["Size", sizeText(Number(size))],
      ["SHA-256", data["sha256"]],
      ["Cluster", data["cluster_id"]],
      ["Snapshot ID", data["id"]],
      ["Made by", `Holdfast ${showValue(data["version"])}`],
    ],
  };
}
