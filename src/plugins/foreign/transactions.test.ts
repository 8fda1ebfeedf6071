// Transactions by calls, against a model: what is committed is as if one after the other, and what one reads is of one moment.

import assert from "node:assert/strict";
import test from "node:test";
import fc from "fast-check";
import { bytesCodec } from "@holdfast/shared/codec";
import { MINUTE } from "@holdfast/shared/text/duration";
import { DrivenWorld, MemoryStorage } from "@holdfast/plugin-sdk/testing";
import { MountKeys } from "./mount-keys.ts";
import { NO_PATHS, SpecialPaths } from "./special-paths.ts";
import { PluginTransactions, TransactionRefused } from "./transactions.ts";

const KEYS = ["a", "a/b", "a/c", "b", "d//e", "d/f"];
const PREFIXES = ["", "a", "a/", "d/", "d//", "x/"];

interface Step {
  readonly who: number;
  readonly does: "get" | "list" | "page" | "put" | "delete" | "commit" | "write";
  readonly key: string;
  readonly prefix: string;
  readonly value: number;
}

const step: fc.Arbitrary<Step> = fc.record({
  who: fc.integer({ min: 0, max: 2 }),
  does: fc.constantFrom("get", "list", "page", "put", "delete", "commit", "write"),
  key: fc.constantFrom(...KEYS),
  prefix: fc.constantFrom(...PREFIXES),
  value: fc.integer({ min: 0, max: 3 }),
});

type State = ReadonlyMap<string, string>;

function namesIn(state: State, prefix: string): string[] {
  const names = [...state.keys()].flatMap((key) => {
    const [name = ""] = /^[^/]*\/?/.exec(key.slice(prefix.length)) ?? [];
    return key.startsWith(prefix) && name !== "" ? [name] : [];
  });
  return [...new Set(names)].toSorted();
}

/** What a step answers over a state, which it changes. */
function modelled(state: Map<string, string>, { does, key, prefix, value }: Step): unknown {
  switch (does) {
    case "get":
      return state.get(key) ?? null;
    case "list":
      return namesIn(state, prefix);
    case "page":
      return namesIn(state, prefix).slice(0, 2);
    case "put":
      return void state.set(key, String(value));
    case "delete":
      return void state.delete(key);
    case "commit":
    case "write":
      return undefined;
  }
}

function text(bytes: Uint8Array | null): string | null {
  return bytes === null ? null : Buffer.from(bytes).toString();
}

function opened() {
  const world = new DrivenWorld();
  const storage = new MemoryStorage(world);
  const keys = new MountKeys({ storage }, () => new SpecialPaths(NO_PATHS));
  const { clock, random, timers } = world;
  let turns = 0;
  const counted = { turn: () => (turns++, timers.turn()) };
  const transactions = new PluginTransactions({ keys, clock, random, timers: counted });
  return { world, keys, transactions, turns: () => turns };
}

async function refusal(promise: Promise<unknown>): Promise<string | null> {
  const error = await promise.then(
    () => null,
    (cause: unknown) => cause,
  );
  if (error === null) return null;
  assert.ok(error instanceof TransactionRefused);
  return error.message;
}

test("what is committed is as if one came after the other, and what each has read is so at its last read", async () => {
  let committed = 0;
  let refused = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => {
      const { keys, transactions } = opened();
      const state = new Map<string, string>();
      const open = new Map<number, { id: string; done: { step: Step; said: unknown }[] }>();
      for (const one of steps) {
        const { who, does, key, prefix, value } = one;
        if (does === "write") {
          const bytes = Buffer.from(String(value));
          await keys.write(key, (tx, escaped) => tx.put(escaped, bytes, bytesCodec));
          state.set(key, String(value));
          continue;
        }
        let tx = open.get(who);
        if (tx === undefined) open.set(who, (tx = { id: transactions.begin(false), done: [] }));
        const { id, done } = tx;
        /** As it is with what it has done, if that is as it was told. */
        const after = (): Map<string, string> | null => {
          const own = new Map(state);
          const isSo = done.every(
            ({ step: before, said }) =>
              JSON.stringify(modelled(own, before)) === JSON.stringify(said),
          );
          return isSo ? own : null;
        };
        if (does === "commit") {
          open.delete(who);
          const why = await refusal(transactions.commit(id));
          const own = after();
          // One read, and nothing written: that is of the moment in which it was read.
          if (why === null && done.length <= 1 && own === null) continue;
          if (why === null) {
            assert.ok(own !== null, "it has read what is not so");
            state.clear();
            for (const [name, text] of own) state.set(name, text);
            committed++;
          } else refused++;
          continue;
        }
        const answer = async () => {
          if (does === "get") return text(await transactions.get(id, key));
          const limit = does === "page" ? 2 : Infinity;
          if (does === "list" || does === "page")
            return (await transactions.list(id, prefix, { after: "", limit })).toSorted();
          return await transactions.put(
            id,
            key,
            does === "put" ? Buffer.from(String(value)) : null,
          );
        };
        const answering = answer();
        if ((await refusal(answering)) !== null) {
          open.delete(who);
          transactions.rollback(id);
          refused++;
          continue;
        }
        done.push({ step: one, said: await answering });
        const isRead = does === "get" || does === "list" || does === "page";
        const isKnown = done.slice(0, -1).some(({ step: before }) => before.key === key);
        if (isRead && !(does === "get" && isKnown)) assert.ok(after() !== null, "of one moment");
      }
      for (const key of KEYS) {
        assert.equal(text(await keys.get(key)), state.get(key) ?? null);
      }
    }),
    { numRuns: 1000 },
  );
  assert.ok(committed > 100 && refused > 5, `${committed} ${refused}`);
});

test("a page has as many names as there are, whatever the transaction has deleted before them; those of a folder go with its last key", async () => {
  const { keys, transactions } = opened();
  for (const key of ["p/a", "p/b/x", "p/b/y", "p/c", "p/d"]) {
    await keys.write(key, (tx, escaped) => tx.put(escaped, Buffer.from("1"), bytesCodec));
  }
  const id = transactions.begin(false);
  const page = (limit: number, after = "") => transactions.list(id, "p/", { after, limit });
  for (const key of ["p/a", "p/b/x"]) await transactions.put(id, key, null);
  assert.deepEqual(await page(2), ["b/", "c"]);
  await transactions.put(id, "p/b/y", null);
  assert.deepEqual(await page(2), ["c", "d"]);
  await transactions.put(id, "p/ca", Buffer.from("2"));
  assert.deepEqual(await page(2, "c"), ["ca", "d"]);
});

test("what one has read is looked at again only where something was changed, and then by turns with others", async () => {
  const { keys, transactions, turns } = opened();
  const id = transactions.begin(true);
  for (let i = 0; i < 500; i++) await transactions.get(id, `k${i}`);
  assert.equal(turns(), 0);
  await keys.write("other", (tx, escaped) => tx.put(escaped, Buffer.from("1"), bytesCodec));
  await transactions.get(id, "one-more");
  assert.equal(turns(), 7);
  await transactions.get(id, "and-one-more");
  assert.equal(turns(), 7);
});

test("one that is left alone is forgotten after five minutes, and makes room", async () => {
  const { world, transactions } = opened();
  const first = transactions.begin(false);
  for (let i = 1; i < 64; i++) transactions.begin(true);
  assert.throws(() => transactions.begin(false), /there are 64 transactions already/);
  await world.advance(4n * MINUTE);
  await transactions.put(first, "a", Buffer.from("1"));
  await world.advance(2n * MINUTE);
  transactions.begin(false);
  assert.equal(await refusal(transactions.commit(first)), null, "it was not left alone");
  assert.match((await refusal(transactions.commit(first))) ?? "", /there is no such transaction/);
});
