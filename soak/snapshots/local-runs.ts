// Snapshots that a configuration makes in a directory, and that somebody saves, while the node is written to: whatever
// moment is the last, what has a name of ours is whole, holds what was acknowledged and no half of it, and none is
// gone before the next one was there.

import { existsSync, readdirSync, readFileSync, renameSync } from "node:fs";
import { join } from "node:path";
import { errorText } from "../../tests/support/error-text.ts";
import type { TestServer } from "../../tests/support/servers/test-server.ts";
import { discard, scratch } from "../child.ts";
import { directoryIn, type TrialOptions, tryAll } from "../disk/trials.ts";
import { restore } from "../exchange/exchange-node.ts";
import type { Result } from "../result.ts";
import {
  checkWhole,
  foreignTrouble,
  type Keys,
  leftOvers,
  oursIn,
  placesIn,
  prepare,
  RETAIN,
  runNow,
  SECRETS,
  startNode,
  writesIn,
} from "./snapshots-node.ts";
import type { SnapshotsTarget } from "./snapshots-target.ts";

/** The third one makes way for the first. */
const ROUNDS = 3;

export async function localRuns(options: TrialOptions): Promise<Result> {
  const place = scratch("snapshots", true);
  try {
    const base = join(place, "base");
    const keys = await prepare(directoryIn(place));
    renameSync(directoryIn(place), base);
    const argument = (directory: string): SnapshotsTarget => ({
      directory,
      ...keys,
      rounds: ROUNDS,
      saves: true,
      plant: options.planted,
    });
    const program = join(import.meta.dirname, "snapshots-target.ts");
    const verify = (directory: string, acks: readonly string[]) => look(keys, directory, acks);
    return await tryAll({ place, base, program, argument, verify }, options);
  } finally {
    discard(place);
  }
}

/** How many writes one holds, at least and at most. */
interface Holds {
  readonly from: number;
  readonly to: number;
}

interface Acknowledged {
  readonly written: number;
  readonly stored: ReadonlyMap<string, Holds>;
  readonly saved: ReadonlyMap<string, Holds>;
  /** Of one that nobody was told of. */
  readonly untold: Holds;
}

function read(acks: readonly string[]): Acknowledged {
  let written = SECRETS;
  let since: number | null = null; // the first that may have been made and was not told of
  const made = { stored: new Map<string, Holds>(), saved: new Map<string, Holds>() };
  for (const ack of acks) {
    const [what, name = "", from = "", to = ""] = ack.split(" ");
    if (what === "wrote") written = Number(name);
    else if (what === "making") since ??= Number(name);
    else if (what === "stored" || what === "saved") {
      // One write may have been stored and not acknowledged yet.
      made[what].set(name, { from: Number(from), to: Number(to) + 1 });
      since = null;
    }
  }
  return { written, ...made, untold: { from: since ?? SECRETS, to: written + 1 } };
}

async function look(keys: Keys, directory: string, acks: readonly string[]): Promise<string[]> {
  try {
    const known = read(acks);
    const { stored, saved } = placesIn(directory);
    const wrong = foreignTrouble(directory);
    const ours = oursIn(directory);
    const visible = [
      ...readdirSync(saved)
        .filter((name) => !name.startsWith("."))
        .map((name) => ({ path: join(saved, name), holds: known.saved.get(name) })),
      ...ours.map((name) => ({ path: join(stored, name), holds: known.stored.get(name) })),
    ];
    for (const { path } of visible) {
      try {
        checkWhole(readFileSync(path));
      } catch (error) {
        wrong.push(`${path} is visible and not whole: ${errorText(error)}`);
      }
    }
    const newest = [...known.stored.keys()].at(-1);
    if (newest !== undefined && !ours.includes(newest)) wrong.push(`${newest} is gone`);
    if (ours.length < Math.min(RETAIN, known.stored.size)) wrong.push(`only ${ours.length} remain`);
    for (const name of known.saved.keys()) {
      if (!existsSync(join(saved, name))) wrong.push(`what was saved as ${name} is gone`);
    }
    if (wrong.length > 0) return wrong;
    const node = await startNode(directory);
    try {
      await node.unseal([keys.share]);
      const last = visible.at(-1);
      const archive = last === undefined ? null : readFileSync(last.path);
      wrong.push(...(await goesOn(node, keys, directory, known, ours.length)));
      if (archive === null) return wrong;
      const { from, to } = last?.holds ?? known.untold;
      const state = await restore(node, keys.token, archive);
      const held = await writesIn(node, keys.token);
      if (state !== "done") wrong.push(`${last?.path} does not restore: ${state}`);
      else if (held === null || held < from || held > to)
        wrong.push(`restored are ${held ?? "parts of"} writes, not ${from} to ${to}`);
      return wrong;
    } finally {
      await node.stop();
    }
  } catch (error) {
    return [`does not open: ${errorText(error)}`];
  }
}

/** Everything acknowledged is there, and the next snapshot is made and clears away what was left. */
async function goesOn(
  node: TestServer,
  { token }: Keys,
  directory: string,
  { written }: Acknowledged,
  before: number,
): Promise<string[]> {
  const wrong: string[] = [];
  const found = await writesIn(node, token);
  if (found === null || found < written || found > written + 1)
    wrong.push(`there are ${found ?? "parts of"} writes, and ${written} were acknowledged`);
  if (!(await node.server.store.check()).ok) wrong.push("the check is not clean");
  const answer = await runNow(node, token);
  if (answer.status !== 200) wrong.push(`no further snapshot: ${answer.status} ${answer.text}`);
  const now = oursIn(directory).length;
  if (now !== Math.min(RETAIN, before + 1)) wrong.push(`${before} became ${now} snapshots`);
  const left = leftOvers(directory);
  if (left.length > 0) wrong.push(`left behind: ${left.join(", ")}`);
  return [...wrong, ...foreignTrouble(directory)];
}
