// An archive of a small store, in memory: for tests of what reads archives.

import { concat } from "@holdfast/shared/bytes";
import { type ArchiveFile, writeArchive } from "../../../src/snapshots/archive/archive-writer.ts";
import {
  ArchiveParser,
  type ParsedArchive,
} from "../../../src/snapshots/archive/archive-parser.ts";
import type { StateRecord } from "../../../src/snapshots/archive/state.ts";
import { RecordPacker } from "../../../src/storage/rows/packed-records.ts";
import type { SnapshotSource } from "../../../src/storage/snapshot.ts";
import type { Store } from "../../../src/storage/store.ts";
import type { Random } from "@holdfast/shared/world";
import { gunzipSync } from "node:zlib";
import { START } from "../fake-world.ts";
import { archiveOf as packed } from "../snapshots/packed-archive.ts";
import { ROOT_KEY } from "./made-barrier.ts";

export const CLUSTER = "6f1c7b1e-6a53-4a75-9d2f-0d1d6d6b8f11";
export const FORMAT = 2;

export class MemoryArchive implements ArchiveFile {
  bytes: Buffer = Buffer.alloc(0);

  async append(bytes: Uint8Array): Promise<void> {
    this.bytes = concat(this.bytes, bytes);
  }

  async overwrite(at: number, bytes: Uint8Array): Promise<void> {
    this.bytes.set(bytes, at);
  }
}

/** The same bytes each time. */
export const steadyRandom: Random = {
  bytes: (length) => Buffer.alloc(length, 0xa5),
  uuid: () => "11111111-2222-4333-8444-555555555555",
};

const FACTS = {
  clusterId: CLUSTER,
  software: "0.1.0",
  format: FORMAT,
  created: START,
  rootKey: ROOT_KEY,
  random: steadyRandom,
};

export async function archiveOf(store: Store, rootKey = ROOT_KEY): Promise<Buffer> {
  const file = new MemoryArchive();
  const snapshot = store.snapshot();
  try {
    await writeArchive(snapshot, file, { ...FACTS, rootKey });
  } finally {
    snapshot.close();
  }
  return file.bytes;
}

/** As somebody with the root key writes it who has other rows for the same head. */
export async function rewritten(
  archive: Uint8Array,
  change: (records: readonly StateRecord[]) => readonly StateRecord[],
): Promise<Buffer> {
  const { head, headRow, timelineRow, records } = readArchive(archive);
  const file = new MemoryArchive();
  await writeArchive(sourceOf({ head, headRow, timelineRow }, change(records)), file, FACTS);
  return file.bytes;
}

/** What an archive is written from, with these records in the place of a store's. */
export function sourceOf(
  head: Pick<SnapshotSource, "head" | "headRow" | "timelineRow">,
  records: readonly StateRecord[],
): SnapshotSource {
  return {
    ...head,
    async *packed() {
      yield new RecordPacker().pack(records);
    },
    close() {},
  };
}

/** Whole in itself, with the seal of another one: its last member and what ends the archive. */
export function withSealOf(archive: Uint8Array, other: Uint8Array): Buffer {
  const seal = 512 + 512 + 1024;
  const [tar, another] = [gunzipSync(archive), gunzipSync(other)];
  return packed(Buffer.concat([tar.subarray(0, -seal), another.subarray(-seal)]));
}

export interface ReadArchive extends ParsedArchive {
  readonly records: readonly StateRecord[];
}

/** In pieces of so many bytes. */
export function readArchive(bytes: Uint8Array, piece: number = bytes.length): ReadArchive {
  const parser = new ArchiveParser(FORMAT);
  const records: StateRecord[] = [];
  for (let at = 0; at < bytes.length; at += piece) {
    records.push(...parser.push(bytes.subarray(at, at + piece)));
  }
  return { ...parser.end(), records };
}
