// Data is exchanged for other data, and the process is killed, the power cut or a call refused at every step of it: what
// is there afterwards is the old data or the new, whole, and never less than what was acknowledged.

import { spawn } from "node:child_process";
import { cpSync, existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { errorText } from "../../tests/support/error-text.ts";
import { discard, scratch } from "../child.ts";
import {
  type CrashImage,
  finalTree,
  imageAt,
  images,
  readTree,
  writeImage,
} from "../disk/crash-image.ts";
import type { Tree } from "../disk/lossy-disk.ts";
import { type Fault, type FaultKind, readCounts, readFired, shimEnv } from "../disk/shim.ts";
import { ACK_FILE, readTrace, type TraceRecord } from "../disk/trace.ts";
import type { Result } from "../result.ts";
import { type Keys, prepare, SAVED, startNode, values } from "./exchange-node.ts";
import type { ExchangeTarget } from "./exchange-target.ts";

/** The first from a store without generations, the second from one generation to the next. */
const ROUNDS = 2;
const ENOUGH = 5; // complaints
const FAULTS: readonly (readonly [FaultKind, Fault["outcome"]])[] = [
  ["sync", "EIO"],
  ["write", "ENOSPC"],
  ["rename", "EIO"],
  ["open", "EIO"],
  ["unlink", "EIO"],
];

export interface ExchangeOptions {
  /** Of power cuts. */
  readonly images: number;
  /** Every n-th call only is the last before a kill, or fails. Default 1: all of them. */
  readonly stride?: number;
  readonly seed: number;
  readonly plant?: "unsynced-pointer";
  readonly say: (line: string) => void;
}

interface Stage extends Keys {
  readonly place: string;
  /** A store that was closed, and its snapshot. */
  readonly base: string;
  readonly archive: string;
}

export async function exchange(options: ExchangeOptions): Promise<Result> {
  const { seed, stride = 1, say, plant } = options;
  const place = scratch("exchange", true);
  const wrong: string[] = [];
  const complain = (place: string, texts: readonly string[]) => {
    for (const text of texts) {
      wrong.push(`${place}: ${text}`);
      say(`${place}: ${text}`);
    }
  };
  const enough = plant === undefined ? ENOUGH : 1;
  try {
    const stage = await prepared(place);
    const initial = readTree(stage.base);
    const records = await record(stage, initial, plant !== undefined);
    say(`recorded ${records.length} calls`);

    let kills = 0;
    for (let position = 0; position <= records.length; position += stride) {
      if (wrong.length >= enough) break;
      if (stride === 1 && !changesDisk(records[position - 1])) continue;
      const image = imageAt(records, { seed, position, choice: "all", draw: 0 }, initial);
      complain(`killed at ${position}`, await verifyImage(stage, image));
      if (++kills % 50 === 0) say(`${kills} kills, ${wrong.length} bad`);
    }
    let cuts = 0;
    for (const image of images(records, { seed, count: options.images, initial })) {
      if (wrong.length >= enough) break;
      complain(`power cut, ${image.description}`, await verifyImage(stage, image));
      if (++cuts % 50 === 0) say(`${cuts} power cuts, ${wrong.length} bad`);
    }
    const faults = plant === undefined ? await refuse(stage, options, wrong) : 0;
    const figure = `${kills} kills, ${cuts} power cuts, ${faults} failed calls: ${wrong.length} bad`;
    return wrong.length === 0
      ? { ok: true, figure }
      : { ok: false, figure, detail: wrong.join("\n") };
  } finally {
    discard(place);
  }
}

async function prepared(place: string): Promise<Stage> {
  const base = join(place, "base");
  const archive = join(place, "saved.snap");
  const { archive: bytes, ...keys } = await prepare(base);
  writeFileSync(archive, bytes);
  return { place, base, archive, ...keys };
}

/** A copy of the base, at the path at which everything happens. */
function copied({ place, base }: Stage): string {
  const directory = join(place, "store");
  discard(directory);
  cpSync(base, directory, { recursive: true });
  return directory;
}

async function record(stage: Stage, initial: Tree, plant: boolean): Promise<TraceRecord[]> {
  const directory = copied(stage);
  const trace = join(stage.place, "trace");
  const end = await run(stage, directory, shimEnv({ directory, trace }), plant);
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
  { archive, share, token }: Stage,
  directory: string,
  env: Readonly<Record<string, string>>,
  plant: boolean,
): Promise<{ readonly code: number | null; readonly errors: string }> {
  const program = join(import.meta.dirname, "exchange-target.ts");
  const target: ExchangeTarget = { directory, archive, share, token, rounds: ROUNDS, plant };
  const child = spawn(process.execPath, ["--no-warnings", program, JSON.stringify(target)], {
    stdio: ["ignore", "ignore", "pipe"],
    env: { ...process.env, ...env },
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

async function verifyImage(stage: Stage, image: CrashImage): Promise<string[]> {
  const directory = join(stage.place, "image");
  writeImage(image, directory);
  try {
    return await verify(stage, directory, image.acks);
  } finally {
    discard(directory);
  }
}

/** What is wrong with a directory after these acknowledgements. */
async function verify(
  { share, token }: Keys,
  directory: string,
  acks: readonly string[],
): Promise<string[]> {
  try {
    const node = await startNode(directory);
    try {
      await node.unseal([share]);
      const wrong: string[] = [];
      const found = await values(node, token);
      if (!isPossible(found, acks))
        wrong.push(`${found.join(", ")} after ${acks.at(-1) ?? "nothing"}`);
      if (!(await node.server.store.check()).ok) wrong.push("the check is not clean");
      const names = readdirSync(directory).filter((name) => /^[0-9]+$|^store\.db$/.test(name));
      if (names.length !== 1) wrong.push(`generations are left: ${names.join(", ")}`);
      await node.call("POST", "/v1/kv/s0", { token, body: { value: "goes on" } });
      const [first] = await values(node, token);
      if (first !== "goes on") wrong.push("it does not go on");
      return wrong;
    } finally {
      await node.stop();
    }
  } catch (error) {
    return [`does not open: ${errorText(error)}`];
  }
}

/**
 * Rounds write one secret after the other over what the snapshot brought back. So some of the first are of a round and
 * the rest are as saved; and after a whole round was acknowledged they are all of it, until they are all as saved.
 */
function isPossible(found: readonly string[], acks: readonly string[]): boolean {
  const [what = "done", number = "0"] = (acks.at(-1) ?? "").split(/ (?=\d+$)/);
  const round = Number(number);
  const all = (value: string) => found.every((one) => one === value);
  if (what === "written") return all(`round ${round}`) || all(SAVED);
  const before = what.startsWith("failed") ? `round ${round}` : SAVED;
  const split = found.findIndex((value) => value !== `round ${round + 1}`);
  const rest = split < 0 ? [] : found.slice(split);
  return rest.every((value) => value === before) || all(SAVED);
}

/** The n-th call of each kind fails, for every n. Gives how many did. */
async function refuse(stage: Stage, options: ExchangeOptions, wrong: string[]): Promise<number> {
  const { stride = 1, say } = options;
  const counted = copied(stage);
  const count = join(stage.place, "count");
  await run(stage, counted, shimEnv({ directory: counted, count }), false);
  const counts = readCounts(count);
  let faults = 0;
  for (const [kind, outcome] of FAULTS) {
    for (let nth = 1; nth <= counts[kind] && wrong.length < ENOUGH; nth += stride) {
      const directory = copied(stage);
      const fired = join(stage.place, "fired");
      discard(fired);
      const env = shimEnv({ directory, fired, fail: { kind, nth, outcome } });
      const end = await run(stage, directory, env, false);
      const firing = readFired(fired)[0];
      if (firing === undefined) continue;
      faults++;
      const at = `${kind} ${nth} ${outcome}, ${firing.call} of ${firing.path}`;
      if (end.code !== 0 && !/^stopped: ./m.test(end.errors)) wrong.push(`${at}: named no cause`);
      const log = join(directory, ACK_FILE);
      const acks = existsSync(log) ? readFileSync(log, "utf8").split("\n").filter(Boolean) : [];
      wrong.push(...(await verify(stage, directory, acks)).map((text) => `${at}: ${text}`));
      if (faults % 25 === 0) say(`${faults} failed calls, ${wrong.length} bad`);
    }
  }
  return faults;
}
