// The room of snapshots: archives of everything stored, taken, checked, brought back.

import type { Log } from "@holdfast/shared/log";
import type { Timers, WorkFiles, Instant } from "@holdfast/shared/world";
import { declares, type RoomPlan } from "../house/room.ts";
import { SnapshotFigures } from "./figures.ts";
import { ArchiveMaking, type MakingOptions } from "./making.ts";
import { snapshotApi } from "./manual/api-snapshot.ts";
import { ManualSnapshots } from "./manual/manual-snapshots.ts";

export interface SnapshotNeeds extends MakingOptions {
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
}

export const snapshotsRoom: RoomPlan<SnapshotNeeds, SnapshotParts> = {
  name: "snapshots",
  declares: [
    declares(
      "src/snapshots/manual/api-snapshot.ts",
      snapshotApi,
      ({ manual }: SnapshotParts) => manual,
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
    return { manual, making, figures, metrics: { snapshots: () => figures.readings } };
  },
};
