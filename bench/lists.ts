// Pages of listings. What a page costs must follow from the page, not from the store: the same 100
// names out of 100,000 and out of 1,000,000.

import { bytesCodec } from "@holdfast/shared/codec";
import type { View } from "../src/barrier/view.ts";
import { filledStore, folderCount, folderName, FOLDERS } from "./stores/filled-store.ts";
import { RECORDS, recordName, sizes } from "./stores/filled-store.ts";
import { median, microsPerCall, roundMillis, rounds, shuffledForever } from "./measure.ts";
import { withStore } from "./stores/opened-store.ts";
import type { Context, Row } from "./row.ts";

const LIMIT = 100;
const PLACES = 1000; // where pages begin

interface Listing {
  /** How many names there are in a store of that size. */
  count(entries: number): number;
  name(n: number): string;
  /** Lists one page after a name and returns how many it found. */
  page(view: View, after: string): number;
}

const NAMES: Listing = {
  count: (entries) => entries,
  name: recordName,
  page: (view, after) => view.list(RECORDS, { after, limit: LIMIT }).length,
};

const FOLDER_NAMES: Listing = {
  count: folderCount,
  name: folderName,
  page: (view, after) => view.list(FOLDERS, { after, limit: LIMIT }).length,
};

const VALUES: Listing = {
  ...NAMES,
  page: (view, after) =>
    view.records(RECORDS, bytesCodec, { after: RECORDS + after, limit: LIMIT }).length,
};

async function measure(context: Context, entries: number, listing: Listing): Promise<number[]> {
  const directory = await filledStore(context, entries);
  const count = listing.count(entries);
  const full = Math.min(LIMIT, count - 1);
  // Pages begin all over the listing, but not so late that they would be short.
  const starts = Array.from({ length: PLACES }, (_, i) => {
    return listing.name(Math.floor((i * (count - full)) / PLACES));
  });
  return await withStore(directory, {}, ({ barrier }) => {
    const view = barrier.view("shared/");
    const next = shuffledForever(starts);
    const page = () => {
      const found = listing.page(view, next());
      if (found !== full) throw new Error(`a page has ${found} names instead of ${full}`);
    };
    return rounds(context, () => microsPerCall(roundMillis(context), page));
  });
}

function row(detail: string, what: string, size: "middle" | "large", listing: Listing): Row {
  const run = async (context: Context) => {
    return { samples: await measure(context, sizes(context)[size], listing) };
  };
  return { name: `lists/${detail}`, what, unit: "µs", run };
}

export const listRows: readonly Row[] = [
  row("names-100k", "page of 100 names out of 100,000", "middle", NAMES),
  row("names-1m", "page of 100 names out of 1,000,000", "large", NAMES),
  {
    name: "lists/growth",
    what: "page out of 1,000,000 compared with 100,000",
    unit: "×",
    budget: { atMost: 1.5 },
    run: async (context) => {
      const { middle, large } = sizes(context);
      const few = await measure(context, middle, NAMES);
      const many = await measure(context, large, NAMES);
      return median(many) / median(few);
    },
  },
  row("folders-1m", "page of 100 folders with 200 entries each", "large", FOLDER_NAMES),
  row("records-1m", "page of 100 records of 200 B, decrypted", "large", VALUES),
];
