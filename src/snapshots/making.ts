// Makes archives of the store as it is now. Every way to a snapshot goes through here: a download, a schedule. Never
// more than the disk has room for, and a view is held only while it is read. How many are made at a time is up to each
// of those ways.

import type { Clock, Fs, Random, WorkFile } from "@holdfast/shared/world";
import type { Barrier } from "../barrier/barrier.ts";
import { FORMAT } from "../storage/engines/sqlite-format.ts";
import type { Store } from "../storage/store.ts";
import { type WrittenArchive, writeArchive } from "./archive/archive-writer.ts";
import { checkRoom, KEPT_FREE } from "./disk-room.ts";
import { noRoomForSnapshot } from "./manual/failures.ts";

export interface MakingOptions {
  readonly store: Store;
  readonly barrier: Barrier;
  readonly clusterId: () => string;
  readonly clock: Clock;
  readonly random: Random;
  readonly fs: Pick<Fs, "freeBytes">;
  readonly version: string;
}

export class ArchiveMaking {
  readonly #options: MakingOptions;

  constructor(options: MakingOptions) {
    this.#options = options;
  }

  /** Into a new file that lies in `directory`. */
  async write(file: WorkFile, directory: string, signal?: AbortSignal): Promise<WrittenArchive> {
    const { store, barrier, clusterId, clock, random, fs, version } = this.#options;
    const { rootKey } = barrier;
    const roomy = (bytes: number) =>
      checkRoom(fs.freeBytes(directory), bytes, (free) => noRoomForSnapshot(free, KEPT_FREE));
    roomy(0);
    const snapshot = await store.snapshotApart();
    const created = clock.now();
    try {
      return await writeArchive(
        snapshot,
        {
          append: (bytes) => {
            roomy(bytes.length);
            return file.append(bytes);
          },
          overwrite: (at, bytes) => file.overwrite(at, bytes),
        },
        { clusterId: clusterId(), software: version, format: FORMAT, created, rootKey, random },
        signal === undefined ? {} : { signal },
      );
    } finally {
      await snapshot.close();
    }
  }
}
