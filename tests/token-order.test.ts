// Rows of tokens that a comparison brings come in any order, some at a time: whichever it is, the cluster that takes them has the same tokens
// afterwards, found by the same secrets, with the same rows beside them but for indexes.

import assert from "node:assert/strict";
import test from "node:test";
import fc from "fast-check";
import { bytesCodec } from "@holdfast/shared/codec";
import { type Follower, Followers } from "../src/barrier/followers.ts";
import { MemoryDisk } from "../src/storage/engines/memory.ts";
import { decodeEntry, type LogOperation } from "../src/storage/rows/log-entry.ts";
import { closeRoom, openRoom } from "./support/jobs.ts";
import { ROOT_KEY, sealedBarrier, unsealed } from "./support/made/made-barrier.ts";
import { IDENTITY, TREE_KEY } from "./support/made/made-store.ts";
import {
  CLIENT,
  HOUR,
  type MadeTokens,
  MANAGEMENT,
  secretOf,
  tokensOver,
} from "./support/made/made-tokens.ts";

const anyStep = fc.record({
  act: fc.constantFrom("make", "make", "make", "change", "renew", "delete"),
  which: fc.nat(20),
  management: fc.boolean(),
  ends: fc.boolean(),
});
type Step = typeof anyStep extends fc.Arbitrary<infer T> ? T : never;
type Row = Pick<LogOperation, "key" | "value" | "scope">;
type Batches = readonly MadeTokens["engine"]["batches"][number][];
type Planted = (follower: Follower<unknown>) => Follower<unknown>;

const AS_IT_IS: Planted = (follower) => follower;

/** One cluster that writes, what it has written last under each key, and every secret that it has given. */
class Writer {
  readonly here: MadeTokens;
  /** What both begin with: of one set the keys and the salt are the same. */
  readonly base: Batches;
  readonly rows = new Map<string, Row>();
  readonly secrets: string[] = [];
  readonly #tokens: string[] = []; // by accessor

  private constructor(here: MadeTokens, base: Batches) {
    this.here = here;
    this.base = base;
    here.store.onLog((entries) => {
      for (const { entry } of entries) {
        const { operations } = decodeEntry(entry);
        for (const { class: where, ...row } of operations) {
          if (where === "shared") this.rows.set(row.key, row);
        }
      }
    });
  }

  static async made(): Promise<Writer> {
    const first = sealedBarrier(new MemoryDisk());
    await first.barrier.create({ rootKey: ROOT_KEY, treeKey: TREE_KEY }, IDENTITY, () => {});
    const here = tokensOver(first);
    await first.barrier.view("shared/").write((tx) => here.tokens.first.created(tx));
    const base = [...first.engine.batches];
    openRoom(here.tokens);
    return new Writer(here, base);
  }

  async run({ act, which, management, ends }: Step): Promise<void> {
    const { writes } = this.here.tokens;
    if (act === "make") {
      const ttl = ends ? HOUR : null;
      const spec = { ...(management ? MANAGEMENT : CLIENT), global: true, ttl, renewable: ends };
      const token = await writes.create(spec);
      this.secrets.push(secretOf(token));
      this.#tokens.push(token.accessor);
    }
    const accessor = this.#tokens[which % Math.max(1, this.#tokens.length)];
    if (accessor === undefined) return;
    const refused = () => null; // it is gone, or does not end
    if (act === "change") {
      const change = { type: "client", policies: [`p${which}`], name: "b" } as const;
      await writes.update("root", accessor, change).catch(refused);
    } else if (act === "renew") await writes.renew("root", accessor, HOUR).catch(refused);
    else if (act === "delete") await this.here.tokens.deleteTree("root", accessor).catch(refused);
  }
}

/** One that takes what it is sent. */
class Taker {
  readonly there: MadeTokens;
  readonly #followers: Followers;

  constructor(base: Batches, planted: Planted) {
    const disk = new MemoryDisk();
    for (const batch of base) disk.rows.apply(batch);
    const second = sealedBarrier(disk);
    assert.equal(unsealed(second.barrier), true);
    this.there = tokensOver(second);
    this.there.store.leaveShared(true);
    const shared = second.barrier.view("shared/");
    this.#followers = new Followers(shared, [planted(this.there.tokens.follower)]);
    openRoom(this.there.tokens);
  }

  async take(rows: readonly Row[], some: number): Promise<void> {
    for (let at = 0; at < rows.length; at += some) {
      await this.there.store.writeApplied((tx) => {
        for (const row of rows.slice(at, at + some)) this.#followers.apply(tx, row);
      });
    }
  }

  /** Who is found by each of them, the list, and what follows from the records; indexes are of the order in which they came. */
  found(secrets: readonly string[]): unknown {
    const { tokens, barrier } = this.there;
    const local = barrier.view("local/").records("", bytesCodec, { limit: 100_000 });
    const list = tokens.ranges.byCreation("root", { limit: 1000 });
    return {
      callers: secrets.map((secret) => tokens.find(secret)?.accessor ?? null),
      list: list.map(({ accessor, name, policies }) => ({ accessor, name, policies })).sort(byName),
      rows: local
        .map(({ key, value }) => withoutIndexes(key, Buffer.from(value).toString()))
        .sort(),
    };
  }

  async close(): Promise<void> {
    await closeRoom(this.there.tokens);
  }
}

function byName(a: { readonly accessor: string }, b: { readonly accessor: string }): number {
  return a.accessor < b.accessor ? -1 : 1;
}

function withoutIndexes(key: string, value: string): string {
  const isIndex = /\/tokens\/(table$|indexes\/)/.test(key);
  return `${key.replace(/(?<=\/by-creation\/)\d+/, "#")} ${isIndex ? "#" : value}`;
}

function property(planted: Planted) {
  const steps = fc.array(anyStep, { maxLength: 15 });
  const order = fc.array(fc.nat(1_000_000), { minLength: 200, maxLength: 200 });
  return fc.asyncProperty(steps, steps, order, fc.integer({ min: 1, max: 9 }), async (...drawn) => {
    const [before, after, numbers, some] = drawn;
    const writer = await Writer.made();
    const takers = [AS_IT_IS, planted].map((one) => new Taker(writer.base, one));
    for (const part of [before, after]) {
      writer.rows.clear(); // a comparison sends what differs, as it is
      for (const step of part) await writer.run(step);
      const inOrder = [...writer.rows.values()].sort((a, b) => (a.key < b.key ? -1 : 1));
      const drawnAt = new Map(inOrder.map((row, i) => [row, numbers[i % numbers.length] ?? 0]));
      const shuffled = inOrder.toSorted((a, b) => drawnAt.get(a)! - drawnAt.get(b)!);
      await takers[0]!.take(inOrder, inOrder.length || 1);
      await takers[1]!.take(shuffled, some);
      const [one, other] = takers.map((taker) => taker.found(writer.secrets));
      assert.deepEqual(other, one);
      const callers = writer.secrets.map((secret) => writer.here.tokens.find(secret));
      const own = callers.map((caller) => caller?.accessor ?? null);
      assert.deepEqual((one as { readonly callers: unknown }).callers, own);
    }
    for (const taker of takers) await taker.close();
    await closeRoom(writer.here.tokens);
  });
}

test("token rows that come in any order, some at a time, give the same tokens", async () => {
  await fc.assert(property(AS_IT_IS), { numRuns: 60, seed: 17 });
});

test("a follower that takes a record for what it was when it first came is found", async () => {
  const known = new Set<string>();
  const planted: Planted = (follower) => ({
    folder: follower.folder,
    decode: (stored) => follower.decode(stored),
    follow: (tx, key, before, after) => {
      if (!known.has(key)) follower.follow(tx, key, before, after);
      known.add(key);
    },
  });
  const { failed, errorInstance } = await fc.check(property(planted), {
    numRuns: 60,
    seed: 17,
    endOnFailure: true,
  });
  assert.ok(failed && errorInstance instanceof assert.AssertionError, String(errorInstance));
});
