// Fills a store: the records in large transactions, then some of them again one by one, so that the
// log holds entries of both kinds.

import { bytesCodec } from "@holdfast/shared/codec";
import { mountScope } from "../../src/barrier/scope.ts";
import type { View } from "../../src/barrier/view.ts";
import {
  entryCount,
  FOLDERS,
  folderName,
  IN_FOLDER,
  mountOf,
  MOUNTS,
  RECORDS,
  recordName,
  VALUE_BYTES,
} from "./filled-store.ts";
import { withStore } from "./opened-store.ts";
import { answer } from "../processes.ts";

const MAX_ROWS = 8192; // what one transaction may hold
const IN_FLIGHT = 2; // one is being written while the next is sealed and hashed
const WRITERS = 256;

export interface FillOptions {
  readonly directory: string;
  readonly entries: number;
  /** How many records are written again in transactions of their own. */
  readonly singles: number;
}

const value = Buffer.alloc(VALUE_BYTES, "holdfast ");

function keyOf(entries: number, n: number): string {
  if (n < entries) return RECORDS + recordName(n);
  const at = n - entries;
  return FOLDERS + folderName(Math.floor(at / IN_FOLDER)) + recordName(at);
}

/** Of the mount that the nth entry belongs to. */
type ViewFor = (n: number) => View;

async function fill(view: View, viewFor: ViewFor, entries: number): Promise<void> {
  const total = entryCount(entries);
  let next = 0;
  const writer = async () => {
    while (next < total) {
      const first = next;
      next = Math.min(total, first + MAX_ROWS);
      const end = next;
      await view.write((tx) => {
        for (let n = first; n < end; n++) {
          tx.on(viewFor(n)).put(keyOf(entries, n), value, bytesCodec);
        }
      });
    }
  };
  await Promise.all(Array.from({ length: IN_FLIGHT }, writer));
}

async function writeSingles(viewFor: ViewFor, entries: number, singles: number): Promise<void> {
  let next = 0;
  const writer = async () => {
    while (next < singles) {
      const n = next++ % entries;
      await viewFor(n).write((tx) => tx.put(RECORDS + recordName(n), value, bytesCodec));
    }
  };
  await Promise.all(Array.from({ length: WRITERS }, writer));
}

await answer(({ directory, entries, singles }: FillOptions) =>
  withStore(directory, {}, async ({ barrier }) => {
    const view = barrier.view("shared/");
    const mounts = Array.from({ length: MOUNTS }, (_, n) => view.in(mountScope(mountOf(n))));
    const viewFor: ViewFor = (n) => mounts[n % MOUNTS]!;
    await fill(view, viewFor, entries);
    await writeSingles(viewFor, entries, singles);
    return {};
  }),
);
