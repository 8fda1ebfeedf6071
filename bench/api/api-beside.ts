// The same load on our server and on that of another checkout. Both run at the same time, and the load goes to them in
// turns of half a second: a machine that others use is now fast and now slow, and that meets both alike. How fast a
// process is depends also on where its memory came to lie, which stays as it is: so there are several pairs of them,
// each of which begins with another one.

import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { type Load, load } from "../load/load.ts";
import { clientsOf, type LoadKind } from "../load/load-kind.ts";
import { type ReadyNode, withNode } from "./api-node.ts";

const WARM_UP_MS = 3000;
const BURST_MS = 500;
const BURSTS = 6; // of each of a pair
const QUICK_MS = 30;

export interface BesideOptions {
  readonly directory: string;
  /** Of the other checkout. */
  readonly root: string;
  readonly pairs: number;
  readonly quick: boolean;
}

/** Requests per second, turn by turn. */
export interface BesideRates {
  readonly own: readonly number[];
  readonly other: readonly number[];
}

interface Side {
  readonly url: URL;
  readonly load: Load;
  readonly rates: number[];
}

export async function ratesBeside(kind: LoadKind, options: BesideOptions): Promise<BesideRates> {
  const rates = { own: [] as number[], other: [] as number[] };
  for (let pair = 0; pair < options.pairs; pair++) {
    const isOursFirst = pair % 2 === 0;
    const roots = isOursFirst ? [undefined, options.root] : [options.root, undefined];
    const order = isOursFirst ? [rates.own, rates.other] : [rates.other, rates.own];
    const place = (which: string) => {
      const directory = join(options.directory, `${pair}-${which}`);
      mkdirSync(directory, { recursive: true, mode: 0o700 });
      return directory;
    };
    await withNode(
      place("first"),
      (first) =>
        withNode(
          place("second"),
          async (second) => {
            const sides = [
              await prepared(kind, options, first, order[0]!),
              await prepared(kind, options, second, order[1]!),
            ];
            await inTurns(sides, options.quick);
          },
          "",
          roots[1],
        ),
      "",
      roots[0],
    );
  }
  return rates;
}

async function prepared(
  kind: LoadKind,
  options: BesideOptions,
  { caller }: ReadyNode,
  rates: number[],
): Promise<Side> {
  const work = await kind.prepare(caller, clientsOf(options, kind));
  return { url: new URL(caller.url), load: work, rates };
}

async function inTurns(sides: readonly Side[], quick: boolean): Promise<void> {
  for (const side of sides) await load(side.url, side.load, quick ? QUICK_MS : WARM_UP_MS);
  for (let turn = 0; turn < BURSTS; turn++) {
    for (const side of turn % 2 === 0 ? sides : sides.toReversed()) {
      const { perSecond } = await load(side.url, side.load, quick ? QUICK_MS : BURST_MS);
      side.rates.push(perSecond);
    }
  }
}
