// A cluster that is sent shared rows alone has the rows that follow from them all the same: those below local/ are
// as if it had made the writes itself, but for indexes. One cluster writes tokens; a second one applies its shared
// rows, entry by entry, and does the local work (exchanges, private spaces, leases, ends by the clock) as the first.

import assert from "node:assert/strict";
import test from "node:test";
import fc from "fast-check";
import { bytesCodec, jsonCodec } from "@holdfast/shared/codec";
import { type Follower, Followers } from "../src/barrier/followers.ts";
import type { Tx } from "../src/barrier/view.ts";
import { LeaseRows } from "../src/leases/rows/lease-rows.ts";
import { Sweeps } from "../src/leases/revocation/sweeps.ts";
import { MemoryDisk } from "../src/storage/engines/memory.ts";
import type { PeerLink } from "../src/cluster/peer-link.ts";
import { AppliedLog } from "../src/replication/applied/applied-log.ts";
import { placesIn } from "../src/replication/applied/applied-place.ts";
import { streamLog } from "../src/replication/stream/messages.ts";
import { type LinkPorts, Progress } from "../src/replication/stream/receiving.ts";
import { SharedLog } from "../src/replication/sending/shared-log.ts";
import { decodeEntry, type LogOperation } from "../src/storage/rows/log-entry.ts";
import type { StoreTx } from "../src/storage/transaction.ts";
import type { TokenEnding } from "../src/tokens/life/expiry.ts";
import { tableCodec } from "../src/tokens/rows/derived-rows.ts";
import { type Token, tokenCodec } from "../src/tokens/token.ts";
import { CubbyholeContents } from "../src/wrapping/cubbyhole-contents.ts";
import { closeRoom, openRoom } from "./support/jobs.ts";
import {
  type MadeBarrier,
  ROOT_KEY,
  sealedBarrier,
  unsealed,
} from "./support/made/made-barrier.ts";
import { IDENTITY, TREE_KEY } from "./support/made/made-store.ts";
import {
  CLIENT,
  HOUR,
  type MadeTokens,
  MANAGEMENT,
  MINUTE,
  secretOf,
  tokensOver,
  turns,
} from "./support/made/made-tokens.ts";

const MOUNT = "c0000000-0000-4000-8000-000000000001";
const TABLE = /\/tokens\/table$/;
const CREATION = /(?<=\/by-creation\/)\d+(?=\/[^/]+\/global$)/;
const NOBODY = {} as PeerLink;
const TERMS = { meta: {}, withoutDefault: false, longest: null, period: null };

/** What is kept for tokens beside their records, as in the product. */
function hangingOn({ barrier, world }: MadeBarrier) {
  const local = barrier.view("local/");
  const cubbyholes = new CubbyholeContents(local);
  const leases = new LeaseRows(local, world.log);
  const sweeps = new Sweeps({ rows: leases, now: () => world.clock.now(), ...world });
  const ends: TokenEnding["ends"] = (tx, token) => {
    cubbyholes.wipe(tx, token.namespaceId, token.accessor);
    sweeps.ownerEnds(tx, token);
  };
  return { local, cubbyholes, leases, ends };
}

type Hanging = ReturnType<typeof hangingOn>;
type Planted = (follower: Follower<unknown>) => Follower<unknown>;

class Pair {
  readonly here: MadeTokens & Hanging;
  readonly there: MadeTokens & Hanging;
  readonly #applied: AppliedLog;
  readonly #sent: SharedLog;
  readonly #locals = new Set<string>(); // accessors of tokens that never leave a cluster
  readonly #indexes = new Map<string, string>(); // there, by those here
  #entries: Uint8Array[] = [];
  #ownDone: (raw: StoreTx) => void = () => {}; // in the transaction that applies an entry

  private constructor(here: Pair["here"], there: Pair["here"], planted: Planted) {
    this.here = here;
    this.there = there;
    const shared = there.barrier.view("shared/");
    const followers = new Followers(shared, [planted(there.tokens.follower)]);
    this.#applied = new AppliedLog({
      store: there.store,
      ...there.world,
      followers: {
        apply: (raw, operation) => {
          this.#ownDone(raw);
          followers.apply(raw, operation);
        },
      },
      places: placesOf(there),
      ports: {} as LinkPorts, // nothing is asked of anybody
    });
    this.#sent = new SharedLog(here.store.index);
    here.store.onLog((rows) => {
      for (const { entry } of rows) this.#entries.push(entry);
    });
  }

  /** Of one set: the keys and the salt are the same. */
  static async made(planted: Planted): Promise<Pair> {
    const first = sealedBarrier(new MemoryDisk());
    await first.barrier.create({ rootKey: ROOT_KEY, treeKey: TREE_KEY }, IDENTITY, () => {});
    const here = room(first);
    await first.barrier.view("shared/").write((tx) => here.tokens.first.created(tx));
    const disk = new MemoryDisk();
    for (const batch of first.engine.batches) disk.rows.apply(batch);
    const second = sealedBarrier(disk);
    assert.equal(unsealed(second.barrier), true);
    const there = room(second);
    await there.local.write((tx) => tx.put("other", 1, jsonCodec())); // so that indexes differ
    await there.local.write((tx) => tx.delete("other"));
    there.store.leaveShared(true);
    const { lineage, epoch, index, chain } = here.store.head!;
    const place = { lineage, epoch, index, chain, of: 1, half: null, part: 0, until: null };
    await there.store.write((tx) => placesOf(there).put(tx, place, null));
    openRoom(here.tokens);
    return new Pair(here, there, planted);
  }

  /** What an index of here is there; the same for what both began with. */
  #there(index: bigint | string): string {
    return this.#indexes.get(String(index)) ?? String(index);
  }

  noted({ accessor, global }: Token): void {
    if (!global) this.#locals.add(accessor);
  }

  async apply(): Promise<void> {
    for (let next = this.#entries.shift(); next !== undefined; next = this.#entries.shift()) {
      const { index, operations } = decodeEntry(next);
      const isLocal = operations.every((operation) => operation.class === "local");
      const own = isLocal ? operations : this.#ownWork(operations);
      const work = (tx: StoreTx) => {
        this.#ownDone = () => {};
        for (const { key, value, scope } of own) {
          if (value === null) tx.delete(key, scope);
          else if (TABLE.test(key)) touch(this.there.local.within(tx), key);
          else tx.put(key, value, scope);
        }
        this.#indexes.set(String(index), String(tx.index));
      };
      if (isLocal) await this.there.store.write(work);
      else this.#ownDone = work;
      await this.#send(next);
      assert.equal(this.#applied.cursor.index, index);
    }
  }

  /** As it crosses between the two. */
  async #send(entry: Uint8Array): Promise<void> {
    const { signal } = new AbortController();
    const session = this.#applied.session(new Progress(), { link: NOBODY, epoch: 1, signal });
    const words = this.#sent.take([entry]) ?? this.#sent.tell();
    await session.apply(streamLog.response.decode(streamLog.response.encode(words)), signal);
  }

  /** What a cluster does by itself in a transaction that changes global tokens as well: it ends the children of a token
   *  and tokens of its own. */
  #ownWork(operations: readonly LogOperation[]): readonly LogOperation[] {
    const own = operations.filter(({ key, value }) => {
      const isDone = value === null && key.startsWith("local/tokens/descents/");
      return isDone || key.startsWith("local/tokens/by-hash/") || this.#isOfLocal(key);
    });
    const touches = own.some(({ key }) => key.includes("/by-accessor/"));
    return [...own, ...operations.filter(({ key }) => touches && TABLE.test(key))];
  }

  #isOfLocal(key: string): boolean {
    return key.startsWith("local/") && key.split("/").some((part) => this.#locals.has(part));
  }

  compare(): void {
    const derived = rowsOf(this.here).map(([key, value]) => [
      key.replace(CREATION, (digits) => this.#there(BigInt(digits)).padStart(digits.length, "0")),
      TABLE.test(key) ? value.replace(/\d+/, (index) => this.#there(index)) : value,
    ]);
    const global = recordsOf(this.here).filter(({ global: is }) => is);
    const indexes = global.flatMap(({ accessor, createIndex, modifyIndex }) => {
      if (!this.#indexes.has(String(modifyIndex))) return []; // both have written it
      const own = { create: this.#there(createIndex), modify: this.#there(modifyIndex) };
      return [[`ns/root/tokens/indexes/${accessor}`, JSON.stringify(own)]];
    });
    const byKey = ([a = ""]: string[], [b = ""]: string[]) => (a < b ? -1 : 1);
    assert.deepEqual(rowsOf(this.there), [...derived, ...indexes].toSorted(byKey));
    const list = ({ tokens }: MadeTokens) =>
      tokens.ranges.byCreation("root", { limit: 1000 }).filter(({ global: is }) => is);
    assert.deepEqual(
      list(this.there).map(({ accessor, createIndex, modifyIndex }) => [
        accessor,
        ...[createIndex, modifyIndex].map(String),
      ]),
      list(this.here).map(({ accessor, createIndex, modifyIndex }) => [
        accessor,
        ...[createIndex, modifyIndex].map((index) => this.#there(index)),
      ]),
    );
  }

  async close(): Promise<void> {
    await closeRoom(this.here.tokens);
  }
}

function room(made: MadeBarrier): MadeTokens & Hanging {
  const hanging = hangingOn(made);
  return { ...tokensOver(made, { ending: hanging }), ...hanging };
}

function placesOf({ barrier }: MadeBarrier) {
  const below = "replication/performance/";
  return placesIn({ own: barrier.view(`core/${below}`), view: barrier.view(`local/${below}`) });
}

function touch(local: Tx, key: string): void {
  local.put(key.slice("local/".length), { index: String(local.index) }, tableCodec);
}

function rowsOf({ local }: Hanging): [key: string, value: string][] {
  const found = local.records("", bytesCodec, { limit: 100_000 });
  return found.map(({ key, value }) => [key, Buffer.from(value).toString()]);
}

/** Those that stand here several times come as often. */
const ACTS = [
  ...Array<"make">(4).fill("make"),
  ...Array<"pass">(2).fill("pass"),
  ..."change renew use once exchange keep lease tree alone collect wipe".split(" "),
];

const anyStep = fc.record({
  act: fc.constantFrom(...ACTS),
  which: fc.nat(30),
  child: fc.boolean(),
  global: fc.boolean(),
  management: fc.boolean(),
  login: fc.boolean(),
  uses: fc.option(fc.integer({ min: 1, max: 2 }), { nil: null }),
  minutes: fc.option(fc.integer({ min: 1, max: 9 }), { nil: null }),
});
type Step = typeof anyStep extends fc.Arbitrary<infer T> ? T : never;

function recordsOf({ barrier }: MadeBarrier): Token[] {
  return ["shared/", "local/"].flatMap((place) =>
    barrier
      .view(`${place}ns/root/tokens/by-accessor/`)
      .records("", tokenCodec, { limit: 10_000 })
      .map(({ value }) => value),
  );
}

function specOf(
  { child, global, management, login, uses, minutes }: Step,
  parent: Token | undefined,
) {
  const ttl = minutes === null ? null : BigInt(minutes) * MINUTE;
  const usual = { ...(management ? MANAGEMENT : CLIENT), global, ttl, renewable: ttl !== null };
  const origin = {
    namespaceId: "root",
    mount: MOUNT,
    login: "login/Ada",
    name: "ada",
    metadata: {},
  };
  const made = parent !== undefined && child ? placeOf(parent) : null;
  const terms = { ...TERMS, parent: made, usesLeft: uses };
  return { ...usual, terms, ...(login ? { origin } : {}) };
}

const refused = () => null; // what is over, gone or not made for it: a history is of any kind

async function run(pair: Pair, step: Step): Promise<void> {
  const { here } = pair;
  const { tokens, world, cubbyholes, leases, local } = here;
  const all = recordsOf(here);
  const one = all[step.which % Math.max(1, all.length)];
  if (step.act === "make") {
    const token = await tokens.writes.create(specOf(step, one)).catch(refused);
    if (token !== null) pair.noted(token);
  } else if (step.act === "pass") await world.timers.advance(BigInt(step.which) * MINUTE);
  else if (step.act === "collect") await tokens.collection.run({ force: step.global });
  else if (step.act === "wipe" && step.which === 0) await tokens.writes.wipeNamespace("root");
  if (one === undefined) return;
  const { namespaceId, accessor } = one;
  const caller = tokens.find(secretOf(one));
  if (step.act === "change") {
    const { type, policies } = step.management ? { ...MANAGEMENT, policies: [] } : CLIENT;
    await tokens.writes.update(namespaceId, accessor, { type, policies, name: "b" }).catch(refused);
  } else if (step.act === "renew") {
    await tokens.writes.renew(namespaceId, accessor, HOUR).catch(refused);
  } else if (step.act === "use" && caller?.counted) {
    if ((await tokens.use(caller)) === 0) await tokens.spent(caller);
  } else if (step.act === "tree") await tokens.deleteTree(namespaceId, accessor);
  else if (step.act === "alone") await tokens.deleteAlone(placeOf(one));
  else if (!one.global || caller === null) return;
  else if (step.act === "once") await tokens.oneTime.upsert(caller);
  else if (step.act === "exchange") {
    const { secret } = await tokens.oneTime.upsert(caller);
    await tokens.oneTime.exchange(secret.reveal(), namespaceId);
  } else if (step.act === "keep") {
    const space = { owner: { namespaceId, accessor }, namespaceId };
    await cubbyholes.replace(space, `a/${step.which}`, { b: "c" });
  } else if (step.act === "lease") {
    const now = world.clock.now();
    const id = `m/creds/${world.random.uuid()}`;
    const times = { issued: now, expires: now + HOUR, renewed: null, due: now + HOUR };
    const what = { path: "m/creds", mountUuid: MOUNT, secretType: "name", internal: {} };
    const state = { renewable: true, attempts: 0, error: "", irrevocable: false };
    const owner = { namespaceId, accessor };
    await local.write((tx) =>
      leases.add(tx, { namespaceId, id, owner, ...what, ...times, ...state }),
    );
  }
}

function placeOf({ namespaceId, accessor, global }: Token) {
  return { namespaceId, accessor, global };
}

function property(planted: Planted) {
  return fc.asyncProperty(fc.array(anyStep, { maxLength: 40 }), async (steps) => {
    const pair = await Pair.made(planted);
    for (const step of steps) {
      await run(pair, step);
      await turns(3);
      await pair.apply();
      pair.compare();
    }
    await pair.close();
  });
}

test("rows that follow from the shared records of another cluster are those of the one that wrote them", async () => {
  await fc.assert(
    property((follower) => follower),
    { numRuns: 120, seed: 12 },
  );
});

test("a follower that is skipped when a record goes is found, and one that leaves out a change", async () => {
  const skipping = (isSkipped: (before: unknown, after: unknown) => boolean): Planted => {
    return (follower) => ({
      folder: follower.folder,
      decode: (stored) => follower.decode(stored),
      follow: (tx, key, before, after) => {
        if (!isSkipped(before, after)) follower.follow(tx, key, before, after);
      },
    });
  };
  const plants = [
    skipping((_, after) => after === null),
    skipping((before, after) => before !== null && after !== null),
  ];
  for (const planted of plants) {
    const { failed, errorInstance } = await fc.check(property(planted), {
      numRuns: 60,
      seed: 12,
      endOnFailure: true,
    });
    assert.ok(failed && errorInstance instanceof assert.AssertionError, String(errorInstance));
  }
});
