// Data is exchanged for other data, and the process is killed, the power cut or a call refused at every step of it: what
// is there afterwards is the old data or the new, whole, and never less than what was acknowledged.

import { readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { errorText } from "../../tests/support/error-text.ts";
import { discard, scratch } from "../child.ts";
import { tryAll } from "../disk/trials.ts";
import type { Result } from "../result.ts";
import { type Keys, prepare, SAVED, startNode, values } from "./exchange-node.ts";
import type { ExchangeTarget } from "./exchange-target.ts";

/** The first from a store without generations, the second from one generation to the next. */
const ROUNDS = 2;

export interface ExchangeOptions {
  /** Of power cuts. */
  readonly images: number;
  /** Every n-th call only is the last before a kill, or fails. Default 1: all of them. */
  readonly stride?: number;
  readonly seed: number;
  readonly plant?: "unsynced-pointer";
  readonly say: (line: string) => void;
}

export async function exchange(options: ExchangeOptions): Promise<Result> {
  const { images, stride = 1, seed, plant, say } = options;
  const planted = plant !== undefined;
  const place = scratch("exchange", true);
  try {
    const base = join(place, "base");
    const archive = join(place, "saved.snap");
    const { archive: bytes, ...keys } = await prepare(base);
    writeFileSync(archive, bytes);
    const argument = (directory: string): ExchangeTarget => ({
      directory,
      archive,
      ...keys,
      rounds: ROUNDS,
      plant: planted,
    });
    const program = join(import.meta.dirname, "exchange-target.ts");
    const check = (directory: string, acks: readonly string[]) => verify(keys, directory, acks);
    const trials = { place, base, program, argument, verify: check };
    return await tryAll(trials, { images, stride, seed, planted, say });
  } finally {
    discard(place);
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
