// An archive of a small store, in memory: for tests of what reads archives.

import { concat } from "@holdfast/shared/bytes";
import { type ArchiveFile, writeArchive } from "../../../src/snapshots/archive/archive-writer.ts";
import {
  ArchiveParser,
  type ParsedArchive,
} from "../../../src/snapshots/archive/archive-parser.ts";
import type { StateRecord } from "../../../src/snapshots/archive/state.ts";
import type { Store } from "../../../src/storage/store.ts";
import type { Random } from "@holdfast/shared/world";
import { START } from "../fake-world.ts";
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

export async function archiveOf(store: Store, rootKey = ROOT_KEY): Promise<Buffer> {
  const file = new MemoryArchive();
  const snapshot = store.snapshot();
  try {
    await writeArchive(snapshot, file, {
      clusterId: CLUSTER,
      software: "0.1.0",
      format: FORMAT,
      created: START,
      rootKey,
      random: steadyRandom,
    });
  } finally {
    snapshot.close();
  }
  return file.bytes;
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
