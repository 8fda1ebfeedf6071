// Single reads out of 100,000 entries at random: below the barrier, through it, and from its cache.

import { bytesCodec } from "@holdfast/shared/codec";
import { filledStore, sizes, someKeys } from "./stores/filled-store.ts";
import { callsPerSecond, roundMillis, rounds, shuffledForever } from "./measure.ts";
import { withStore, type OpenedStore } from "./stores/opened-store.ts";
import type { Context, Row } from "./row.ts";

const UNCACHED = { cacheBytes: 0 };
/** Few enough that the cache of decrypted entries holds them all. */
const CACHED_KEYS = 10_000;

type Get = (opened: OpenedStore) => (key: string) => unknown;

const fromStore: Get = ({ store }) => {
  return (key) => store.get(`shared/${key}`);
};

const fromView: Get = ({ barrier }) => {
  const view = barrier.view("shared/");
  return (key) => view.get(key, bytesCodec);
};

async function measure(context: Context, get: Get, cached: boolean): Promise<number[]> {
  const { middle } = sizes(context);
  const directory = await filledStore(context, middle);
  return await withStore(directory, cached ? {} : UNCACHED, (opened) => {
    const call = get(opened);
    const keys = someKeys(middle, cached ? CACHED_KEYS : middle);
    for (const key of keys) {
      if (call(key) === null) throw new Error("a key of the filled store is not there");
    }
    const next = shuffledForever(keys);
    return rounds(context, () => callsPerSecond(roundMillis(context), () => call(next())));
  });
}

function row(detail: string, what: string, get: Get, cached: boolean): Row {
  const run = async (context: Context) => ({ samples: await measure(context, get, cached) });
  return { name: `gets/${detail}`, what, unit: "/s", run };
}

export const getRows: readonly Row[] = [
  {
    ...row("store", "get of 200 B, 100,000 entries, sealed bytes", fromStore, false),
    budget: { atLeast: 60_000 },
  },
  row("view", "the same through the barrier, decrypted each time", fromView, false),
  row("view-cached", "the same from the cache of decrypted entries", fromView, true),
];
