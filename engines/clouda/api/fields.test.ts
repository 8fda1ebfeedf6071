import assert from "node:assert/strict";
import test from "node:test";
import { listed } from "./fields.ts";

const NAMES = Array.from({ length: 12_345 }, (_, i) => String(i).padStart(6, "0"));

async function names({ after = "", limit }: { readonly after?: string; readonly limit: number }) {
  return NAMES.filter((name) => name > after).slice(0, limit);
}

test("a list is whole, however long, unless a part is asked for", async () => {
  const all = { after: undefined, limit: undefined };
  assert.deepEqual(await listed(all, names), NAMES);
  assert.deepEqual(await listed({ ...all, after: "012000" }, names), NAMES.slice(12_001));
  assert.deepEqual(await listed({ ...all, limit: 2 }, names), NAMES.slice(0, 2));
  assert.deepEqual(await listed({ after: "000001", limit: 2 }, names), NAMES.slice(2, 4));
});
