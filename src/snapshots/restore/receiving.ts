// An archive on its way in: spooled to a file without a name, and verified while it comes. Nothing here changes for it.

import { invariant } from "@holdfast/shared/invariant";
import type { BodyStream } from "@holdfast/shared/endpoint/stream";
import type { Clock, Fs, Timers, WorkFile, WorkFiles } from "@holdfast/shared/world";
import { KEYRING_PATH, TREE_KEY_PATH } from "../../barrier/key-rows.ts";
import { Slices } from "../../storage/commit/slices.ts";
import { FORMAT } from "../../storage/engines/sqlite-format.ts";
import { ArchiveParser, type ParsedArchive } from "../archive/archive-parser.ts";
import type { StateRecord } from "../archive/state.ts";
import { archiveMissing } from "../manual/failures.ts";
import { checkRoom, GROWTH } from "../disk-room.ts";
import { noRoomToRestore, spoolChanged } from "./failures.ts";

const LOOK_EVERY = 16 * 1024 * 1024;
const PIECE = 64 * 1024; // its rows are parsed in one go

export interface ReceivingOptions {
  readonly files: WorkFiles;
  readonly fs: Pick<Fs, "freeBytes">;
  /** Where spools lie, as far as they have a place. */
  readonly directory: string;
  readonly clock: Clock;
  readonly timers: Timers;
}

/** Verified in itself; whose keys it is sealed with is another question. */
export interface ReceivedArchive extends AsyncDisposable {
  readonly archive: ParsedArchive;
  /** Rows that hold keys, as they would be stored. */
  readonly keys: { get(key: string): Uint8Array | null };
  /** Every record once more, in the order of their keys. */
  records(progress: (bytes: number) => void): AsyncGenerator<readonly StateRecord[]>;
}

export async function receiveArchive(
  stream: BodyStream | undefined,
  options: ReceivingOptions,
  progress: (bytes: number) => void,
): Promise<ReceivedArchive> {
  if (stream === undefined || stream.length === 0) throw archiveMissing();
  const { files, directory } = options;
  const spool = await files.createUnnamed(directory);
  try {
    const keys = new Map<string, Uint8Array>();
    const slices = new Slices(options);
    const parser = new ArchiveParser(FORMAT);
    const roomFor = (bytes: number) =>
      checkRoom(options.fs.freeBytes(options.directory), bytes * (1 + GROWTH), noRoomToRestore);
    roomFor(stream.length ?? 0);
    let looked = 0;
    for await (const chunk of stream) {
      for (const { key, value } of parser.push(chunk)) {
        if (key === KEYRING_PATH || key === TREE_KEY_PATH) keys.set(key, value);
      }
      await spool.append(chunk);
      progress(spool.size);
      if (spool.size - looked > LOOK_EVERY) {
        looked = spool.size;
        roomFor(Math.max(0, (stream.length ?? looked) - looked));
      }
      await slices.pause();
    }
    const archive = parser.end();
    return {
      archive,
      keys: { get: (key) => keys.get(key) ?? null },
      records: (heard) => recordsOf(spool, archive, heard),
      [Symbol.asyncDispose]: () => spool.close(),
    };
  } catch (error) {
    await spool.close();
    throw error;
  }
}

async function* recordsOf(
  spool: WorkFile,
  { sha256 }: ParsedArchive,
  progress: (bytes: number) => void,
): AsyncGenerator<readonly StateRecord[]> {
  const parser = new ArchiveParser(FORMAT);
  for (let at = 0; at < spool.size;) {
    const piece = await spool.read(at, PIECE);
    invariant(piece.length > 0, "a spool is shorter than what was written to it");
    at += piece.length;
    yield parser.push(piece);
    progress(at);
  }
  if (!parser.end().sha256.equals(sha256)) throw spoolChanged();
}
