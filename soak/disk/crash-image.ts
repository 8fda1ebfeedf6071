// Crash images: what a traced directory may look like after power was lost at some moment, together
// with what had been acknowledged by then and so must still be there. Chooses the moments and puts
// images on a real disk; what a disk may lose is lossy-disk.ts.

import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { Prng } from "../../sim/prng.ts";
import { CHOICES, LossyDisk, type Choice, type Tree } from "./lossy-disk.ts";
import { ACK_FILE, type TraceRecord } from "./trace.ts";

/** Everything that determines an image of a given trace. */
export interface CrashPoint {
  readonly seed: number;
  /** How many records of the trace had happened. */
  readonly position: number;
  readonly choice: Choice;
  /** Tells apart several random images of one position. */
  readonly draw: number;
}

export interface CrashImage extends Tree {
  /** Texts acknowledged before the crash, in order: they must have survived. */
  readonly acks: readonly string[];
  readonly point: CrashPoint;
  /** The point as text: `parsePoint` and `imageAt` make the same image from it again. */
  readonly description: string;
}

export interface ImageOptions {
  readonly seed: number;
  readonly count: number;
  /** What was durably there before the trace began. Default: an empty directory. */
  readonly initial?: Tree;
}

type Trace = readonly TraceRecord[];

/** Exactly `count` images, in order of position. The trace is replayed once. */
export function* images(trace: Trace, options: ImageOptions): Generator<CrashImage> {
  const disk = new LossyDisk(options.initial);
  const acks: string[] = [];
  let position = 0;
  for (const point of plan(trace, options)) {
    position = advance(disk, acks, trace, position, point.position);
    yield makeImage(disk, acks, point);
  }
}

export function imageAt(trace: Trace, point: CrashPoint, initial?: Tree): CrashImage {
  const disk = new LossyDisk(initial);
  const acks: string[] = [];
  advance(disk, acks, trace, 0, point.position);
  return makeImage(disk, acks, point);
}

/** What the directory holds at the end when nothing is lost: to compare with the real one. */
export function finalTree(trace: Trace, initial?: Tree): Tree {
  return imageAt(trace, { seed: 0, position: trace.length, choice: "all", draw: 0 }, initial);
}

export function parsePoint(description: string): CrashPoint {
  const match = /^seed=(\S+) position=(\d+) choice=([a-z]+) draw=(\d+)$/.exec(description);
  const choice = CHOICES.find((known) => known === match?.[3]);
  if (match === null || choice === undefined) {
    throw new Error(`not a crash point: ${description}; seed=1 position=2 choice=torn draw=3 is`);
  }
  return { seed: Number(match[1]), position: Number(match[2]), choice, draw: Number(match[4]) };
}

/** The image as a directory of mode 0700 with files of mode 0600, as the server makes them. */
export function writeImage(image: Tree, directory: string): void {
  const make = (path: string): void => void mkdirSync(path, { recursive: true, mode: 0o700 });
  make(directory);
  for (const path of image.directories) make(join(directory, path));
  for (const [path, contents] of image.files) {
    make(dirname(join(directory, path)));
    writeFileSync(join(directory, path), contents, { mode: 0o600 });
  }
}

/** A directory as it is now: for `initial`, or to compare with `finalTree`. */
export function readTree(directory: string): Tree {
  const files = new Map<string, Buffer>();
  const directories: string[] = [];
  for (const entry of readdirSync(directory, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name);
    const name = relative(directory, path);
    if (entry.isDirectory()) directories.push(name);
    else if (entry.isFile() && name !== ACK_FILE && !name.endsWith("-shm")) {
      files.set(name, readFileSync(path));
    }
  }
  return { files, directories };
}

function advance(disk: LossyDisk, acks: string[], trace: Trace, from: number, to: number): number {
  if (to > trace.length) throw new RangeError(`the trace has ${trace.length} records, not ${to}`);
  for (const record of trace.slice(from, to)) {
    disk.apply(record);
    if (record.type === "ack") acks.push(record.text);
  }
  return to;
}

function makeImage(disk: LossyDisk, acks: readonly string[], point: CrashPoint): CrashImage {
  const { seed, position, choice, draw } = point;
  const prng = new Prng(seed).fork(`${position} ${choice} ${draw}`);
  const description = `seed=${seed} position=${position} choice=${choice} draw=${draw}`;
  return { ...disk.afterCrash(choice, prng), acks: [...acks], point, description };
}

/**
 * Three of four points lie at the marks: just before and after each sync and just after each
 * acknowledgement, where mistakes of order show. Each mark is visited with one choice before any has
 * a second; when all five are used up, the random choices are drawn again. The fourth is anywhere
 * that something is at risk.
 */
function plan(trace: Trace, { seed, count, initial }: ImageOptions): CrashPoint[] {
  const prng = new Prng(seed).fork("plan");
  const disk = new LossyDisk(initial);
  const marks: { position: number; choices: readonly Choice[] }[] = [];
  const risky: number[] = [];
  for (let position = 0; position <= trace.length; position++) {
    const [before, after] = [trace[position - 1], trace[position]];
    if (disk.atRisk) risky.push(position);
    if (before?.type === "ack" || before?.type === "sync" || after?.type === "sync" || !after) {
      // With nothing at risk every choice gives the same image.
      marks.push({ position, choices: disk.atRisk ? prng.shuffle(CHOICES) : ["none"] });
    }
    if (after) disk.apply(after);
  }

  const visits = CHOICES.flatMap((_, round) =>
    prng.shuffle(marks).flatMap(({ position, choices }) => {
      const choice = choices[round];
      return choice === undefined ? [] : [{ position, choice }];
    }),
  );
  const random: readonly Choice[] = ["prefix", "subset", "torn"];
  const anywhere = risky.length > 0 ? risky : [trace.length];
  const points: CrashPoint[] = [];
  for (let draw = 0, next = 0; draw < count; draw++) {
    const visit = draw % 4 === 3 ? undefined : visits[next++];
    const drawn = { position: prng.pick(anywhere), choice: prng.pick(random) };
    points.push({ seed, ...(visit ?? drawn), draw });
  }
  return points.toSorted((a, b) => a.position - b.position || a.draw - b.draw);
}
