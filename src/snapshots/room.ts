// The room of snapshots: archives of everything stored, taken, checked, brought back.

import type { Log } from "@holdfast/shared/log";
import type { Fs, Timers, WorkFiles, Instant } from "@holdfast/shared/world";
import { declares, type RoomPlan } from "../house/room.ts";
import { SnapshotFigures } from "./figures.ts";
import { ArchiveMaking, type MakingOptions } from "./making.ts";
import { snapshotApi } from "./manual/api-snapshot.ts";
import { restoreApi } from "./restore/api-restore.ts";
import { RestoreSecret } from "./restore/restore-secret.ts";
import { Restores, type RestoresOptions } from "./restore/restores.ts";
import { ManualSnapshots } from "./manual/manual-snapshots.ts";

export interface SnapshotNeeds
  extends MakingOptions, Omit<RestoresOptions, "directory" | "secret" | keyof MakingOptions> {
  readonly fs: Fs;
  /** Where the secret lies that lets in who restores into a server that is not initialised. */
  readonly restoreSecret: string;
  readonly timers: Timers;
  readonly log: Log;
  readonly files: WorkFiles;
  /** Where archives lie while they are made for a download. */
  readonly spoolDirectory: string;
  /** When the root key was made. */
  readonly keyedAt: () => Instant;
}

export interface SnapshotParts {
  readonly manual: ManualSnapshots;
  readonly making: ArchiveMaking;
  readonly figures: SnapshotFigures;
  readonly restores: Restores;
}

export const snapshotsRoom: RoomPlan<SnapshotNeeds, SnapshotParts> = {
  name: "snapshots",
  declares: [
    declares(
      "src/snapshots/manual/api-snapshot.ts",
      snapshotApi,
      ({ manual }: SnapshotParts) => manual,
    ),
    declares(
      "src/snapshots/restore/api-restore.ts",
      restoreApi,
      ({ restores }: SnapshotParts) => restores,
    ),
  ],
  build: (needs) => {
    const { barrier, clock, timers, files, clusterId, keyedAt, spoolDirectory: directory } = needs;
    const figures = new SnapshotFigures(clock, needs.log.child("snapshots"));
    const making = new ArchiveMaking(needs);
    const manual = new ManualSnapshots({
      making,
      figures,
      barrier,
      files,
      directory,
      clusterId,
      keyedAt,
      clock,
      timers,
    });
    const secret = new RestoreSecret({ ...needs, path: needs.restoreSecret });
    const restores = new Restores({ ...needs, directory, secret });
    return {
      manual,
      making,
      figures,
      restores,
      open: () => secret.remove(),
      metrics: { snapshots: () => figures.readings },
    };
  },
};
