// The room of snapshots: archives of everything stored, taken, checked, brought back.

import type { Log } from "@holdfast/shared/log";
import type { Fs, Timers, WorkFiles, Instant } from "@holdfast/shared/world";
import type { View } from "../barrier/view.ts";
import { declares, type RoomPlan } from "../house/room.ts";
import { autoApi } from "./auto/api-auto.ts";
import { AutoSnapshots } from "./auto/auto-snapshots.ts";
import { spooled } from "./auto/spool.ts";
import { SnapshotFigures } from "./figures.ts";
import { loadedApi } from "./loaded/api-loaded.ts";
import { type LoadedOptions, LoadedSnapshots } from "./loaded/loaded-snapshots.ts";
import { ArchiveMaking, type MakingOptions } from "./making.ts";
import { snapshotApi } from "./manual/api-snapshot.ts";
import { restoreApi } from "./restore/api-restore.ts";
import { RestoreSecret } from "./restore/restore-secret.ts";
import { Restores, type RestoresOptions } from "./restore/restores.ts";
import { ManualSnapshots } from "./manual/manual-snapshots.ts";
import type { TargetNeeds } from "./targets/open-target.ts";

export interface SnapshotNeeds
  extends
    MakingOptions,
    Omit<RestoresOptions, "directory" | "secret" | keyof MakingOptions>,
    Pick<LoadedOptions, "scratch" | "mountsOf" | "hadNamespace"> {
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
  /** Of everything below local/ and core/. */
  readonly local: View;
  readonly node: View;
  /** What places outside are reached with. */
  readonly targets: TargetNeeds;
}

export interface SnapshotParts {
  readonly manual: ManualSnapshots;
  readonly making: ArchiveMaking;
  readonly figures: SnapshotFigures;
  readonly restores: Restores;
  readonly auto: AutoSnapshots;
  readonly loaded: LoadedSnapshots;
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
    declares("src/snapshots/auto/api-auto.ts", autoApi, ({ auto }: SnapshotParts) => auto),
    declares(
      "src/snapshots/loaded/api-loaded.ts",
      loadedApi,
      ({ loaded }: SnapshotParts) => loaded,
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
    const auto = new AutoSnapshots({
      configs: needs.local.sub("snapshots/configs/"),
      states: needs.node.sub("snapshots/auto/"),
      targets: needs.targets,
      make: (signal) => spooled({ making, files, directory }, signal),
      measured: (about, run) => figures.measured("automated", about, run),
      clock,
      timers,
      random: needs.random,
      log: needs.log.child("snapshots"),
    });
    const loaded = new LoadedSnapshots({ ...needs, log: needs.log.child("snapshots") });
    return {
      manual,
      making,
      figures,
      restores,
      open: async () => {
        secret.remove();
        auto.open();
        await loaded.open();
      },
      lead: () => loaded.lead(),
      close: async () => {
        auto.close();
        await loaded.close();
      },
      auto,
      loaded,
      interrupt: () => {
        loaded.interrupt();
        return auto.interrupt();
      },
      jobs: [auto.job],
      metrics: { snapshots: () => figures.readings, automatedSnapshots: () => auto.reading },
    };
  },
};
