// What a region does with each word of its primary's log, beside a log of its own; the rows of comparisons are taken elsewhere.

import assert from "node:assert/strict";
import test from "node:test";
import { EMPTY, utf8 } from "@holdfast/shared/bytes";
import { fakeWorld } from "../../../tests/support/fake-world.ts";
import {
  chainEntry,
  encodeEntry,
  type LogEntry,
  sharedPart,
} from "../../storage/rows/log-entry.ts";
import { sha256 } from "../../storage/rows/merkle.ts";
import type { Decision } from "../stream/decision.ts";
import { NO_WORDS, type SharedHead, type ToReceiver } from "../stream/messages.ts";
import { type Connection, Progress } from "../stream/receiving.ts";
import { AppliedLog, type AppliedParts } from "./applied-log.ts";
import type { AppliedPlace } from "./applied-place.ts";

const LINEAGE = Buffer.alloc(16, 1);
const SUM = Buffer.alloc(32, 2);
const CHAIN = Buffer.alloc(32, 3);
const PLACE: AppliedPlace = {
  lineage: LINEAGE,
  epoch: 1,
  index: 4n,
  chain: CHAIN,
  of: 1,
  half: null,
  part: 0,
  until: null,
};
const EPOCH = 3; // of the set

/** Of the primary, with one row that is shared. */
function entryAt(index: bigint, key = `shared/${index}`): LogEntry {
  const value = utf8("x");
  const row = { key, value, valueDigest: sha256(value), scope: Buffer.alloc(16) };
  const operations = [{ class: "shared" as const, ...row }];
  return chainEntry({ epoch: 1, index, time: 0n, operations, control: null }, CHAIN);
}

function u32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}

function words(entries: readonly LogEntry[], skipped: readonly number[]): ToReceiver {
  const sent = entries.map((entry) => sharedPart(encodeEntry(entry))!);
  return { ...NO_WORDS, batch: { entries: sent }, skipped: Buffer.concat(skipped.map(u32)) };
}

function stage(stored: AppliedPlace | null = PLACE, hasLed: boolean | null = null) {
  const found = { place: stored, compared: 0, kept: 0, over: 0 };
  const taken: string[] = [];
  const store = {
    locked: false,
    head: { shared: { count: 5, sum: SUM } },
    limits: { operations: 101, bytes: 1001 },
    writeApplied: async (run: (tx: object) => void) => run({}),
  };
  const places = {
    read: () => found.place,
    readIn: () => found.place,
    put: (_: object, place: AppliedPlace) => void (found.place = place),
  };
  const followers = {
    apply: (_: object, { key }: { readonly key: string }) => void taken.push(key),
  };
  const ports = { epoch: () => EPOCH, compared: () => void found.compared++ };
  const surplus = {
    keep: async () => {
      found.kept++;
      return hasLed === true;
    },
    over: async () => void found.over++,
  };
  const about = { store, places, followers, ports, ...(hasLed === null ? {} : { surplus }) };
  const log = new AppliedLog({ ...fakeWorld(), ...about } as unknown as AppliedParts);
  const compared = new Error("rows are compared");
  const link = { call: () => Promise.reject(compared), stream: () => assert.fail("no rows yet") };
  const { signal } = new AbortController();
  const connection = { link, epoch: EPOCH, signal } as unknown as Connection;
  const progress = new Progress();
  const session = log.session(progress, connection);
  const begin = (decision: Decision = { kind: "resume" }) => session.begin(decision, EMPTY);
  const apply = (word: ToReceiver) => session.apply(word, signal);
  return { log, session, begin, apply, found, taken, progress };
}

test("it shows where it is by its place, and says how much it takes at once with room for what follows", () => {
  const { log } = stage();
  const { lineage, epoch, index, chain } = PLACE;
  assert.deepEqual(log.cursor, { lineage, epoch, index, chain });
  assert.equal(log.isConsistent, true);
  assert.deepEqual(log.standing(), {
    timeline: EMPTY,
    limits: { operations: 75, bytes: 750n },
    half: null,
    isEmpty: false,
  });
  const none = stage(null).log;
  assert.deepEqual(none.cursor, { lineage: EMPTY, epoch: 0, index: 0n, chain: EMPTY });
  assert.equal(none.isConsistent, false);
  const halfOf = (half: AppliedPlace["half"]) => stage({ ...PLACE, half }).log.standing().half;
  assert.deepEqual(halfOf({ kind: "copy", after: "shared/3" }), { isCopy: true, head: EMPTY });
  assert.deepEqual(halfOf({ kind: "diff" }), { isCopy: false, head: EMPTY });
  assert.equal(halfOf({ kind: "entry" }), null, "it comes again as a whole");
});

test("a primary that refuses is believed at once; one that goes on with the log is, unless this cluster has led since", async () => {
  const refused = stage(PLACE, true);
  await assert.rejects(refused.begin({ kind: "refuse", reason: "it is full" }), /it is full/);
  assert.equal(refused.found.kept, 0);
  await stage().begin();
  const never = stage(PLACE, false);
  await never.begin();
  assert.deepEqual([never.found.kept, never.found.over], [1, 0]);
  const led = stage(PLACE, true);
  await assert.rejects(led.begin(), /rows are compared/);
  assert.deepEqual([led.found.kept, led.found.over], [1, 0]);
  await assert.rejects(stage().begin({ kind: "diff" }), /rows are compared/);
});

test("entries are applied once and in their order, with those between them that have nothing for it, as of which primary they are", async () => {
  const { begin, apply, taken, found, progress } = stage();
  await begin();
  await apply(words([entryAt(3n), entryAt(4n), entryAt(5n)], [0, 0, 0]));
  assert.deepEqual(taken, ["shared/5"]);
  await apply(words([entryAt(8n), entryAt(9n)], [2, 0]));
  assert.deepEqual(taken, ["shared/5", "shared/8", "shared/9"]);
  const { index, of, chain } = found.place!;
  assert.deepEqual([index, of, chain], [9n, EPOCH, Buffer.from(entryAt(9n).chain)]);
  assert.equal(progress.announced, 9n);
  for (const [word, refusal] of [
    [words([entryAt(11n)], [0]), /entry 11 after 9/],
    [words([entryAt(10n)], [1]), /entry 10 after 9/],
    [words([entryAt(10n)], []), /no entries/],
    [words([], []), /no entries/],
    [words([entryAt(10n, "shared//x")], [0]), /no such key/],
  ] as const) {
    await assert.rejects(apply(word), refusal);
  }
  assert.equal(found.place!.index, 9n);
  await assert.rejects(stage(null).apply(words([entryAt(1n)], [0])), /before any rows/);
});

test("places that have nothing for it are passed over, and it never goes back", async () => {
  const { apply, found, taken } = stage();
  const chain = Buffer.alloc(32, 9);
  await apply({ ...words([entryAt(5n)], [0]), skip: { index: 8n, chain } });
  assert.deepEqual([found.place!.index, found.place!.chain], [8n, chain]);
  for (const index of [8n, 7n, 1n]) {
    await apply({ ...NO_WORDS, skip: { index, chain: CHAIN } });
    assert.deepEqual([found.place!.index, found.place!.chain], [8n, chain], String(index));
  }
  assert.deepEqual(taken, ["shared/5"]);
});

test("rows that were read later are of one index when the log has come there, and not before", async () => {
  const { apply, found, log } = stage({ ...PLACE, until: 6n });
  await apply(words([entryAt(5n)], [0]));
  assert.deepEqual([found.place!.until, log.isConsistent], [6n, false]);
  await apply(words([entryAt(6n)], [0]));
  assert.deepEqual([found.place!.until, log.isConsistent], [null, true]);
});

test("a head of the same index is the same, or says of what it is another", () => {
  const head: SharedHead = {
    lineage: LINEAGE,
    epoch: 1,
    index: 4n,
    chain: CHAIN,
    sum: SUM,
    count: 5n,
  };
  const compared = (change: Partial<SharedHead>, place = PLACE) => {
    const { session, found, progress } = stage(place);
    progress.rounds = 2;
    const end = session.compare({ ...NO_WORDS, shared: { ...head, ...change } });
    return [end?.kind ?? null, found.compared, progress.rounds];
  };
  assert.deepEqual(compared({}), [null, 1, 0]);
  const other = Buffer.alloc(32, 7);
  assert.deepEqual(compared({ sum: other }), ["suspect", 0, 2]);
  assert.deepEqual(compared({ count: 6n }), ["suspect", 0, 2]);
  assert.deepEqual(compared({ chain: other }), ["diverged", 0, 2]);
  assert.deepEqual(compared({ lineage: other.subarray(16) }), ["diverged", 0, 2]);
  // Of another index nothing is known, nor of rows that are of several.
  assert.deepEqual(compared({ index: 5n, sum: other }), [null, 0, 2]);
  assert.deepEqual(compared({ sum: other }, { ...PLACE, until: 9n }), [null, 0, 2]);
  assert.deepEqual(compared({ sum: other }, { ...PLACE, half: { kind: "diff" } }), [null, 0, 2]);
  const { session } = stage();
  assert.throws(() => session.compare(NO_WORDS), /not shared/);
});
