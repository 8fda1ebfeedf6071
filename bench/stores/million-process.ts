// Opens and unseals a filled store, as a start of the server does, then reads at random.

import { performance } from "node:perf_hooks";
import { bytesCodec } from "@holdfast/shared/codec";
import { RECORDS, recordName } from "./filled-store.ts";
import { withStore } from "./opened-store.ts";
import { answer } from "../processes.ts";

const MIB = 2 ** 20;

export interface MillionInput {
  readonly directory: string;
  readonly entries: number;
  readonly gets: number;
  /** With the barrier's cache of decrypted entries at its default size, or with none. */
  readonly cached: boolean;
}

export interface MillionFigures {
  /** Since the process began, the runtime's own start included. */
  readonly readyMillis: number;
  readonly openMillis: number;
  readonly rssOpen: number; // MiB
  readonly rssAfterGets: number; // MiB
}

await answer(({ directory, entries, gets, cached }: MillionInput) =>
  withStore(
    directory,
    cached ? {} : { cacheBytes: 0 },
    ({ barrier, openMillis }): MillionFigures => {
      const readyMillis = performance.now();
      const rssOpen = process.memoryUsage.rss() / MIB;
      const view = barrier.view("shared/");
      for (let i = 0; i < gets; i++) {
        const n = (Math.imul(i, 0x9e37_79b1) >>> 0) % entries; // no array of keys: it would count
        if (view.get(RECORDS + recordName(n), bytesCodec) === null) {
          throw new Error("a key of the filled store is not there");
        }
      }
      const rssAfterGets = process.memoryUsage.rss() / MIB;
      return { readyMillis, openMillis, rssOpen, rssAfterGets };
    },
  ),
);
