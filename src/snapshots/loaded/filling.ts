// An archive becomes a store of its own that can be read: its rows as they are, encrypted, beside the data and with
// bounded memory. In one pass: the rows of the keys come first, and what it adds up to is known at the end.

import type { BodyStream } from "@holdfast/shared/endpoint/stream";
import { invariant } from "@holdfast/shared/invariant";
import type { Clock, Random, Timers } from "@holdfast/shared/world";
import type { Barrier } from "../../barrier/barrier.ts";
import { StoredKeys } from "../../barrier/stored-keys.ts";
import { FORMAT } from "../../storage/engines/sqlite-format.ts";
import type { StorageEngine } from "../../storage/engines/engine.ts";
import { Filler } from "../../storage/generations/filler.ts";
import { uuidText } from "@holdfast/shared/text/uuid";
import { ArchiveParser, type ParsedArchive } from "../archive/archive-parser.ts";
import type { ArchiveMeta } from "../archive/meta.ts";
import { type OwnKeys, whyNotOpened, whyNotOurs } from "../archive/opening.ts";
import { checkRoom, GROWTH } from "../disk-room.ts";
import { CoreRows } from "../proof/core-rows.ts";
import { noRoomToLoad, notWhole, otherKeys } from "./failures.ts";

const LOOK_EVERY = 16 * 1024 * 1024;

export interface FillingOptions {
  readonly barrier: Barrier;
  readonly own: OwnKeys;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly random: Random;
  readonly signal: AbortSignal;
}

export interface FilledArchive {
  readonly archive: ParsedArchive;
  /** What opens its entries. They are kept nowhere but in memory. */
  readonly keys: StoredKeys;
}

/** Throws where the archive is not one of this server's keys, or not whole. The engine is of no use then. */
export async function fillFrom(
  stream: BodyStream,
  engine: StorageEngine,
  options: FillingOptions,
): Promise<FilledArchive> {
  const { own, signal, random } = options;
  const parser = new ArchiveParser(FORMAT);
  const core = new CoreRows();
  let keys: StoredKeys | null = null;
  let filler: Filler | null = null;
  const begun = () => {
    keys = keysOf(core, parser.meta, options);
    return new Filler({ engine, ...options }, keys.treeKey);
  };
  let [read, looked] = [0, 0];
  const roomFor = (bytes: number) => checkRoom(engine.freeBytes(), bytes * GROWTH, noRoomToLoad);
  roomFor(stream.length ?? 0);
  try {
    for await (const chunk of stream) {
      signal.throwIfAborted();
      for (const record of parser.push(chunk)) {
        if (record.key.startsWith("core/")) {
          core.add(record);
          continue;
        }
        filler ??= begun();
        await filler.add(record);
      }
      read += chunk.length;
      if (read - looked > LOOK_EVERY) {
        looked = read;
        roomFor(Math.max(0, (stream.length ?? read) - read));
      }
    }
    const archive = parser.end();
    const failure = whyNotOurs(archive, own, "loaded");
    if (failure !== null) throw failure;
    filler ??= begun();
    await filler.flush();
    if (!filler.isCopyOf(archive.headRow)) throw notWhole();
    const { lineage, epoch, index } = archive.head;
    const restored = { lineage: uuidText(lineage), epoch, index: String(index) };
    await filler.finish({
      lineage: random.bytes(16),
      epoch,
      index,
      cluster: archive.meta.clusterId,
      origin: { restored, replaced: null },
    });
    invariant(keys !== null, "they come before what is filled in");
    return { archive, keys };
  } finally {
    filler?.wipe();
  }
}

/** All rows below core/ are there. */
function keysOf(
  core: CoreRows,
  meta: ArchiveMeta | null,
  { barrier, own }: FillingOptions,
): StoredKeys {
  invariant(meta !== null, "what an archive is of comes before its rows");
  const keys = StoredKeys.open(core, own.rootKey);
  if (keys === null) throw whyNotOpened(meta, own, "loaded");
  if (barrier.treeKeyIn(core) === null) throw otherKeys();
  return keys;
}
