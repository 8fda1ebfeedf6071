// What an engine is given of a loaded snapshot: everything that its mount had stored, and no way to change it.

import type { WriteAhead } from "@holdfast/plugin-sdk/engine";
import type { EngineStorage } from "@holdfast/plugin-sdk/storage";
import type { View } from "../../barrier/view.ts";
import { snapshotNotWritten } from "./failures.ts";

export function readOnlyStorage(view: View): EngineStorage {
  return {
    get: async (key, codec) => view.get(key, codec),
    records: async (prefix, codec, page) => view.records(prefix, codec, page),
    keys: async (prefix, page) => view.keys(prefix, page),
    list: async (prefix, page) => view.list(prefix, page),
    write: refuse,
  };
}

export const readOnlyWriteAhead: WriteAhead = {
  begin: refuse,
  note: refuse,
  drop: refuse,
  orphan: refuse,
};

async function refuse(): Promise<never> {
  throw snapshotNotWritten();
}
