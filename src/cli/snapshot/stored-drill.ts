// The drill of an automated configuration, made by the server: asked for, followed to its end, and shown.

import { ApiError } from "@holdfast/client/api-error";
import * as snapshots from "@holdfast/client/api/snapshots";
import { MINUTE, SECOND } from "@holdfast/shared/text/duration";
import type { Nanos } from "@holdfast/shared/world";
import type { Context } from "../command.ts";
import { UsageError } from "../line/usage-error.ts";
import { pause } from "../pause.ts";
import { plainTime, shortTime } from "../terminal/relative-time.ts";
import { bytesBar, sizeText } from "../terminal/size.ts";

/** How long the server waits before it says that it goes on. */
const HELD: Nanos = MINUTE;
const PACE: Nanos = SECOND;

export type EndedDrill = snapshots.ReadSnapshotDrillsAnswer["drills"][number];

/** 0 where it was proven, 1 where not. */
export async function storedDrill(context: Context, name: string): Promise<number> {
  const { client, out, clock } = context;
  const { data } = await snapshots
    .drillSnapshot(client, { name }, { held: HELD })
    .catch((error: unknown) => {
      if (!(error instanceof ApiError) || error.status !== 404) throw error;
      throw new UsageError(`no file and no configuration of automated snapshots is called ${name}`);
    });
  const last =
    data.state === "running"
      ? await context.untilInterrupted((signal) => followed(context, name, signal))
      : data.last;
  if (last === null) {
    out.hint("The drill has not ended yet.");
    return 1;
  }
  const { snapshot, size, report, url, problems } = last;
  const now = clock.now();
  await out.show(last, {
    pairs: [
      ["Snapshot", url],
      ["Size", sizeText(size)],
      ...(snapshot === null
        ? []
        : ([
            ["Created", plainTime(snapshot.created, now)],
            ["Index", snapshot.index],
            ["Entries", snapshot.entries],
            ["Opened", snapshot.opened_entries],
            ["SHA-256", snapshot.sha256],
          ] as const)),
      ["Signed report", report ?? ""],
    ],
  });
  for (const problem of problems) out.error(problem, null);
  if (last.result !== "proven") return 1;
  out.done("Success! The stored snapshot was read back, and every entry opens: it restores.");
  return 0;
}

async function followed(
  context: Context,
  name: string,
  signal: AbortSignal,
): Promise<EndedDrill | null> {
  try {
    for (;;) {
      const { state, running, drills } = (
        await snapshots.readSnapshotDrills(context.client, { name })
      ).data;
      if (state !== "running") return drills[0] ?? null;
      if (running !== null) {
        context.progress(`reading back ${bytesBar(running.bytes, running.size)}`);
      }
      await pause(context.timers, PACE, signal);
    }
  } finally {
    context.quiet();
  }
}

/** The last drills of one configuration. The exit code is that of the newest. */
export async function listDrills(context: Context, name: string): Promise<number> {
  const { client, out, clock } = context;
  const { drills, next_drill: next } = (await snapshots.readSnapshotDrills(client, { name })).data;
  const now = clock.now();
  const [newest] = drills;
  if (newest === undefined) out.hint("There was no drill yet.");
  if (newest === undefined && out.forPeople) return 3;
  const rows = drills.map((drill) => [
    shortTime(drill.start, now),
    drill.result,
    drill.snapshot === null ? "" : shortTime(drill.snapshot.created, now),
    drill.problems.length === 0 ? drill.url : drill.problems.join("; "),
  ]);
  const columns = ["Start", "Result", "Of", "Where, or what is wrong"];
  await out.show(drills, { columns, rows, whole: ["Result"] });
  if (next !== null) out.hint(`Next: ${plainTime(next, now)}`);
  if (newest === undefined) return 3;
  return newest.result === "proven" ? 0 : 1;
}
