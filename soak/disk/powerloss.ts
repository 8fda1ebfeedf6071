// Power cuts: every write and sync of a workload is recorded; from the record, images of what a disk may hold
// after power was lost are rebuilt; the store must open on each, whole, with everything that had been
// acknowledged by then.

import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { discard, scratch, startTarget } from "../child.ts";
import { type CrashImage, images, writeImage } from "./crash-image.ts";
import { countAcks, Ledger } from "../ledger.ts";
import { openStore } from "../opened.ts";
import type { Result } from "../result.ts";
import { shimEnv } from "./shim.ts";
import { readTrace } from "./trace.ts";
import { errorText } from "../../tests/support/error-text.ts";

const CLIENTS = 6;
const LARGEST = 3000;

export interface PowerlossOptions {
  readonly images: number;
  readonly seed: number;
  readonly plant?: "normal-sync";
  readonly say: (line: string) => void;
}

export async function powerloss(options: PowerlossOptions): Promise<Result> {
  const place = scratch("powerloss", true);
  try {
    const directory = join(place, "store");
    const trace = join(place, "trace");
    mkdirSync(directory, { mode: 0o700 });
    await record(directory, trace, options.plant);
    const records = [...readTrace(trace)];
    const acks = records.filter(({ type }) => type === "ack").length;
    const syncs = records.filter(({ type }) => type === "sync").length;
    options.say(`recorded ${records.length} calls, ${syncs} syncs, ${acks} acknowledgements`);
    let count = 0;
    let bad = 0;
    let first = "";
    for (const image of images(records, { seed: options.seed, count: options.images })) {
      const at = join(place, "image");
      writeImage(image, at);
      const wrong = await verify(at, image);
      discard(at);
      count++;
      if (wrong.length > 0) {
        bad++;
        first ||= `${image.description}\n${wrong.slice(0, 5).join("\n")}`;
      }
      if (bad > 0 && options.plant !== undefined) break; // one is enough
      if (count % 250 === 0) options.say(`${count} images, ${bad} bad`);
    }
    const figure = `${count} images of ${acks} acknowledged writes, ${bad} bad`;
    return bad === 0 ? { ok: true, figure } : { ok: false, figure, detail: first };
  } finally {
    discard(place);
  }
}

async function record(directory: string, trace: string, plant?: "normal-sync"): Promise<void> {
  const options = {
    directory,
    clients: CLIENTS,
    writes: 60,
    largest: LARGEST,
    checkpointBytes: 256 * 1024, // several times in so short a run
    ackFile: true,
    ...(plant === undefined ? {} : { plant }),
  };
  const end = await startTarget(options, () => {}, shimEnv({ directory, trace })).ended;
  if (end.code !== 0) throw new Error(`the recorded run ended with ${end.code}\n${end.errors}`);
}

async function verify(directory: string, image: CrashImage): Promise<string[]> {
  const known = countAcks(image.acks);
  try {
    const { store, barrier, close } = await openStore({ directory });
    try {
      const wrong = new Ledger(barrier, LARGEST).verify(known, CLIENTS);
      const report = await store.check();
      if (!report.ok) wrong.push("the check is not clean");
      return wrong;
    } finally {
      await close();
    }
  } catch (error) {
    return [`does not open: ${errorText(error)}`];
  }
}
