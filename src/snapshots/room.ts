// The room of snapshots: archives of everything stored, taken, checked, brought back.

import type { Log } from "@holdfast/shared/log";
import type { Fs, Timers, WorkFiles, Instant } from "@holdfast/shared/world";
import type { Tx, View } from "../barrier/view.ts";
import { declares, type RoomPlan } from "../house/room.ts";
import { autoApi } from "./auto/api-auto.ts";
import { AttemptBook } from "./auto/attempt-book.ts";
import { AutoSnapshots } from "./auto/auto-snapshots.ts";
import { Configurations } from "./auto/configurations.ts";
import { spooled } from "./auto/spool.ts";
import { drillsApi } from "./drills/api-drills.ts";
import type { DrillReport } from "./drills/drill-report.ts";
import { Drills } from "./drills/drills.ts";
import { SnapshotFigures } from "./figures.ts";
import { loadedApi } from "./loaded/api-loaded.ts";
import { type LoadedOptions, LoadedSnapshots } from "./loaded/loaded-snapshots.ts";
import { ArchiveMaking, type MakingOptions } from "./making.ts";
import { snapshotApi } from "./manual/api-snapshot.ts";
import { LeftOutside } from "./restore/left-outside.ts";
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
  /** Signs for a drill, and gives the id of the report. */
  readonly signDrill: (tx: Tx, report: DrillReport) => string;
}

export interface SnapshotParts {
  readonly manual: ManualSnapshots;
  readonly making: ArchiveMaking;
  readonly figures: SnapshotFigures;
  readonly restores: Restores;
  readonly left: LeftOutside;
  readonly auto: AutoSnapshots;
  readonly loaded: LoadedSnapshots;
  readonly drills: Drills;
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
      "src/snapshots/drills/api-drills.ts",
      drillsApi,
      ({ drills }: SnapshotParts) => drills,
    ),
    declares(
      "src/snapshots/loaded/api-loaded.ts",
      loadedApi,
      ({ loaded }: SnapshotParts) => loaded,
    ),
  ],
  build: (needs) => {
    const { barrier, clock, timers, files, clusterId, keyedAt, spoolDirectory: directory } = needs;
    const log = needs.log.child("snapshots");
    const figures = new SnapshotFigures(clock, log);
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
    const own = needs.node.sub("snapshots/");
    const left = new LeftOutside(own);
    const restores = new Restores({ ...needs, directory, secret });
    const configurations = new Configurations({
      view: needs.local.sub("snapshots/configs/"),
      targets: needs.targets,
      clock,
      log,
    });
    const states = own.sub("auto/");
    const book = new AttemptBook(states, configurations, timers);
    const drills = new Drills({
      configurations,
      attempts: book,
      states,
      own: () => ({ rootKey: barrier.rootKey, clusterId: clusterId(), keyedAt: keyedAt() }),
      sign: needs.signDrill,
      clock,
      timers,
      random: needs.random,
      log,
    });
    const auto = new AutoSnapshots({
      configurations,
      book,
      drills,
      make: (signal) => spooled({ making, files, directory }, signal),
      measured: (about, run) => figures.measured("automated", about, run),
      clock,
      timers,
      random: needs.random,
      log,
    });
    const loaded = new LoadedSnapshots({ ...needs, log });
    return {
      manual,
      making,
      figures,
      restores,
      left,
      whileFollowing: "opens", // what is configured waits for the day on which this cluster takes over
      created: () => restores.initialising(),

      open: async () => {
        secret.remove();
        auto.open();
        drills.open();
        left.load();
        await loaded.open();
      },
      lead: () => {
        left.load(); // again: what was carried here was taken in meanwhile
        restores.tellLeft(left.asOf(clock.now()));
        loaded.lead();
      },
      close: async () => {
        auto.close();
        drills.close();
        await loaded.close();
      },
      auto,
      drills,
      loaded,
      interrupt: () => {
        loaded.interrupt();
        auto.interrupt();
        drills.interrupt();
      },
      jobs: [auto.job, drills.job],
      metrics: {
        snapshots: () => figures.readings,
        automatedSnapshots: () => auto.reading,
        drills: () => drills.reading,
      },
    };
  },
};
