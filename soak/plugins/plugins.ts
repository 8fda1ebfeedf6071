// What runs plugins, under everything that files, processes and machines do to it, for as long as one likes: nothing else than
// what is registered runs, nothing runs twice, nothing is left, and who floods or hangs holds nobody else up.

import { readFileSync } from "node:fs";
import { type Result, resultOf } from "../result.ts";
import { floods } from "./floods.ts";
import { kills } from "./kills.ts";
import { mounts } from "./mounts.ts";
import { crashes, leftovers, starts } from "./processes.ts";
import { swaps } from "./swaps.ts";

export interface PluginsOptions {
  /** Rounds of each; swaps are a hundred times as many. */
  readonly n: number;
  readonly only: string | undefined;
  readonly plant: boolean;
  readonly say: (line: string) => void;
}

export interface Scene {
  readonly n: number;
  /** With the bug that this one is to catch. */
  readonly plant: boolean;
  /** Figures that nothing is judged by. */
  readonly say: (line: string) => void;
}

/** What was wrong; empty where nothing was. */
type Part = (scene: Scene) => Promise<readonly string[]>;

const PARTS: Readonly<Record<string, Part>> = {
  swaps: ({ n, ...scene }) => swaps({ ...scene, n: n * 100 }),
  starts,
  mounts,
  crashes,
  kills,
  leftovers,
  floods,
};

export async function plugins({ n, only, plant, say }: PluginsOptions): Promise<Result> {
  const wanted = Object.keys(PARTS).filter(
    (name) => only === undefined || only.split(",").includes(name),
  );
  if (wanted.length === 0)
    return resultOf("no such part", [`parts are ${Object.keys(PARTS).join(", ")}`]);
  const wrong: string[] = [];
  const missed: string[] = [];
  for (const name of wanted) {
    const began = performance.now();
    const found = (await PARTS[name]?.({ n, plant, say })) ?? [];
    say(
      `${name}: ${found.length === 0 ? "nothing wrong" : found[0]} (${((performance.now() - began) / 1000).toFixed(1)} s)`,
    );
    wrong.push(...found.map((one) => `${name}: ${one}`));
    if (found.length === 0) missed.push(name);
  }
  // With its bug each part has to find it.
  if (plant && missed.length > 0) return { ok: true, figure: `not caught by ${missed.join(", ")}` };
  return resultOf(`${wanted.length} parts, ${n} rounds, ${memory()} MB at the end`, wrong);
}

function memory(): number {
  const [, pages = "0"] = readFileSync("/proc/self/statm", "utf8").split(" ");
  return Math.round((Number(pages) * 4096) / 2 ** 20);
}
