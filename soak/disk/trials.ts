// A process that works on a directory and acknowledges what it did, killed at every step, without power at some, and with
// every call refused once: what is there afterwards is looked at each time.

import { spawn } from "node:child_process";
import { cpSync, existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { discard } from "../child.ts";
import type { Result } from "../result.ts";
import {
  type CrashImage,
  finalTree,
  imageAt,
  images,
  readTree,
  writeImage,
} from "./crash-image.ts";
import type { Tree } from "./lossy-disk.ts";
import { type Fault, readCounts, readFired, shimEnv } from "./shim.ts";
import { ACK_FILE, readTrace, type TraceRecord } from "./trace.ts";
import { FIND_OWN_MODULES } from "../../scripts/quick-start.ts";

const ENOUGH = 5; // complaints
const FAULTS: readonly Omit<Fault, "nth">[] = [
  { kind: "sync", outcome: "EIO" },
  { kind: "write", outcome: "ENOSPC" },
  { kind: "write", outcome: "ENOSPC", sticky: true },
  { kind: "rename", outcome: "EIO" },
  { kind: "open", outcome: "EIO" },
  { kind: "unlink", outcome: "EIO" },
];

export interface Trials {
  /** Everything happens in it. */
  readonly place: string;
  /** What the directory holds before, at rest. */
  readonly base: string;
  /** Works in a directory and ends with status 0, or with another and `stopped: CAUSE`. */
  readonly program: string;
  readonly argument: (directory: string) => object;
  /** What is wrong with a directory after these acknowledgements. */
  readonly verify: (directory: string, acks: readonly string[]) => Promise<readonly string[]>;
}

export interface TrialOptions {
  /** Of power cuts. */
  readonly images: number;
  /** Every n-th call only is the last before a kill, or fails; which, the seed says. 1: all of them. */
  readonly stride: number;
  readonly seed: number;
  /** A bug was planted, which a power cut shows: the first complaint is enough, and nothing else is tried. */
  readonly planted: boolean;
  readonly say: (line: string) => void;
}

/** The directory has this path in all of them: what is in it may name it. */
export function directoryIn(place: string): string {
  return join(place, "node");
}

export async function tryAll(trials: Trials, options: TrialOptions): Promise<Result> {
  const { seed, stride, planted, say } = options;
  const wrong: string[] = [];
  const complain = (at: string, texts: readonly string[]) => {
    for (const text of texts) {
      wrong.push(`${at}: ${text}`);
      say(`${at}: ${text}`);
    }
  };
  const enough = planted ? 1 : ENOUGH;
  const initial = readTree(trials.base);
  const records = await record(trials, initial);
  say(`recorded ${records.length} calls`);

  let kills = 0;
  const killed = planted ? 0 : records.length + 1;
  for (let position = seed % stride; position < killed; position += stride) {
    if (wrong.length >= enough) break;
    if (stride === 1 && !changesDisk(records[position - 1])) continue;
    const image = imageAt(records, { seed, position, choice: "all", draw: 0 }, initial);
    complain(`killed at ${position}`, await verifyImage(trials, image));
    if (++kills % 50 === 0) say(`${kills} kills, ${wrong.length} bad`);
  }
  let cuts = 0;
  for (const image of images(records, { seed, count: options.images, initial })) {
    if (wrong.length >= enough) break;
    complain(`power cut, ${image.description}`, await verifyImage(trials, image));
    if (++cuts % 50 === 0) say(`${cuts} power cuts, ${wrong.length} bad`);
  }
  const faults = planted ? 0 : await refuse(trials, options, wrong);
  const figure = `${kills} kills, ${cuts} power cuts, ${faults} failed calls: ${wrong.length} bad`;
  return wrong.length === 0
    ? { ok: true, figure }
    : { ok: false, figure, detail: wrong.join("\n") };
}

/** A copy of the base, at the path at which everything happens. */
export function copied({ place, base }: Pick<Trials, "place" | "base">): string {
  const directory = directoryIn(place);
  discard(directory);
  cpSync(base, directory, { recursive: true });
  return directory;
}

async function record(trials: Trials, initial: Tree): Promise<TraceRecord[]> {
  const directory = copied(trials);
  const trace = join(trials.place, "trace");
  const end = await run(trials, directory, shimEnv({ directory, trace }));
  if (end.code !== 0) throw new Error(`the recorded run ended with ${end.code}\n${end.errors}`);
  const records = [...readTrace(trace)];
  const [real, traced] = [readTree(directory), finalTree(records, initial)];
  const missed = [...new Set([...real.files.keys(), ...traced.files.keys()])].filter(
    (name) => real.files.get(name)?.equals(traced.files.get(name) ?? Buffer.alloc(0)) !== true,
  );
  if (missed.length > 0) throw new Error(`the trace is not whole: ${missed.join(", ")}`);
  return records;
}

function run(
  { place, program, argument }: Trials,
  directory: string,
  env: Readonly<Record<string, string>>,
): Promise<{ readonly code: number | null; readonly errors: string }> {
  const args = ["--no-warnings", ...FIND_OWN_MODULES, program, JSON.stringify(argument(directory))];
  const child = spawn(process.execPath, args, {
    stdio: ["ignore", "ignore", "pipe"],
    env: { ...process.env, TMPDIR: place, ...env }, // what it leaves there goes with the rest
  });
  let errors = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => (errors += text));
  return new Promise((resolve, reject) => {
    child.on("error", reject);
    child.on("close", (code) => resolve({ code, errors }));
  });
}

function changesDisk(record: TraceRecord | undefined): boolean {
  return record !== undefined && !["open", "close", "failed", "sync"].includes(record.type);
}

async function verifyImage(trials: Trials, image: CrashImage): Promise<readonly string[]> {
  const directory = directoryIn(trials.place);
  discard(directory);
  writeImage(image, directory);
  try {
    return await trials.verify(directory, image.acks);
  } finally {
    discard(directory);
  }
}

/** The n-th call of each kind fails, for every n. Gives how many did. */
async function refuse(trials: Trials, options: TrialOptions, wrong: string[]): Promise<number> {
  const { stride, seed, say } = options;
  const counted = copied(trials);
  const file = join(trials.place, "count");
  await run(trials, counted, shimEnv({ directory: counted, count: file }));
  const counts = readCounts(file);
  let faults = 0;
  for (const fault of FAULTS) {
    const count = counts[fault.kind];
    const first = 1 + (seed % Math.min(stride, Math.max(count, 1)));
    for (let nth = first; nth <= count && wrong.length < ENOUGH; nth += stride) {
      const directory = copied(trials);
      const fired = join(trials.place, "fired");
      discard(fired);
      const end = await run(
        trials,
        directory,
        shimEnv({ directory, fired, fail: { ...fault, nth } }),
      );
      const firing = readFired(fired)[0];
      if (firing === undefined) continue;
      faults++;
      const { kind, outcome, sticky = false } = fault;
      const what = `${kind} ${nth} ${outcome}${sticky ? " from then on" : ""}`;
      const at = `${what}, ${firing.call} of ${firing.path}`;
      if (end.code !== 0 && !/^stopped: ./m.test(end.errors)) wrong.push(`${at}: named no cause`);
      const log = join(directory, ACK_FILE);
      const acks = existsSync(log) ? readFileSync(log, "utf8").split("\n").filter(Boolean) : [];
      wrong.push(...(await trials.verify(directory, acks)).map((text) => `${at}: ${text}`));
      if (faults % 25 === 0) say(`${faults} failed calls, ${wrong.length} bad`);
    }
  }
  return faults;
}
