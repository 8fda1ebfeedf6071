// When what is committed leaves for a secondary, how much of it goes at once, and how much before it answers.

import assert from "node:assert/strict";
import test, { type TestContext } from "node:test";
import { nextTurn } from "../../../tests/support/fake-world.ts";
import { madeStore } from "../../../tests/support/made/made-store.ts";
import type { Cursor, Hello } from "../../cluster/hello.ts";
import type { Store } from "../../storage/store.ts";
import type { MemberFilter } from "../filters/filters.ts";
import { SharedView } from "../filters/shared-view.ts";
import { chainAt } from "./decision.ts";
import { GATHERED, GATHERED_ENOUGH, GATHERED_MORE, LogSession } from "./log-session.ts";
import { LogTail } from "./log-tail.ts";
import { Member } from "./members.ts";
import { CREDIT, type Place, type ToReceiver, type ToSender } from "./messages.ts";
import { Outbox } from "./outbox.ts";

const MICROSECOND = 1000n;
const MILLISECOND = 1000n * MICROSECOND;
const KIB = 1024;
const MIB = 1024 * KIB;

/** A session whose other side answers what a test says. `sent` has what has left. */
async function begun(
  t: TestContext,
  final: (store: Store) => Place | null = () => null,
  utilization = () => 0,
) {
  const { store, world } = await madeStore();
  const { clock, timers } = world;
  const member = new Member("paris", {} as Hello, clock.now());
  const session = new LogSession({
    store,
    tail: new LogTail(store),
    member,
    clock,
    timers,
    admit: () => {},
    acknowledged: () => {},
    final: () => final(store),
    utilization,
  });
  const said = new Outbox<ToSender>();
  const over = new AbortController();
  const sent: ToReceiver[] = [];
  const { lineage, epoch, index, chain } = store.head!;
  said.push({
    start: { epoch: 1, cursor: { lineage, epoch, index, chain }, filter: "" },
    ack: null,
  });
  const running = (async () => {
    for await (const message of session.run(said, over.signal)) sent.push(message);
  })();
  t.after(async () => {
    over.abort();
    said.end();
    await running;
  });
  const batches = () => sent.flatMap(({ batch }) => batch ?? []);
  return {
    timers,
    session,
    /** What each message was of, in order. */
    kinds: () =>
      sent.flatMap(({ batch, heal }) =>
        heal !== null ? "question" : batch !== null ? "entries" : [],
      ),
    index: () => store.index,
    finals: () => sent.flatMap(({ final: place }) => place ?? []),
    heads: () => sent.flatMap(({ batch, head }) => (batch === null ? [] : head)),
    /** How many entries each message had. */
    sizes: () => batches().map(({ entries }) => entries.length),
    bytes: () => batches().reduce((sum, { entries }) => sum + sizeOf(entries), 0),
    write: async (length: number, count = 1) => {
      for (let i = 0; i < count; i++) {
        await store.write((tx) => tx.put("shared/a", new Uint8Array(length)));
      }
      await turns();
    },
    answer: async (credit: number) => {
      const durable = member.acknowledged ?? 0n;
      said.push({ start: null, ack: { received: durable, durable, credit: BigInt(credit) } });
      await turns();
    },
  };
}

function sizeOf(entries: readonly Uint8Array[]): number {
  return entries.reduce((sum, { length }) => sum + length, 0);
}

async function turns(): Promise<void> {
  for (let i = 0; i < 20; i++) await nextTurn();
}

test("an entry leaves at once; those that come soon after a message wait for one that comes later, and leave with it", async (t) => {
  const { timers, sizes, write } = await begun(t);
  await write(10);
  assert.deepEqual(sizes(), [1]);
  await write(10);
  await timers.advance(GATHERED_ENOUGH - MICROSECOND);
  await write(10);
  assert.deepEqual(sizes(), [1], "more may come");
  await timers.advance(MICROSECOND);
  await turns();
  assert.deepEqual(sizes(), [1], "nothing is sent for itself");
  await write(10);
  assert.deepEqual(sizes(), [1, 3]);
  await write(10);
  assert.deepEqual(sizes(), [1, 3], "the next wait as long");
});

test("where there is much to do more is sent together", async (t) => {
  let utilization = 0.31;
  const { timers, sizes, write } = await begun(
    t,
    () => null,
    () => utilization,
  );
  await write(10);
  await timers.advance(GATHERED_ENOUGH);
  await write(10);
  assert.deepEqual(sizes(), [1], "more may come");
  await timers.advance(GATHERED_MORE);
  await write(10);
  assert.deepEqual(sizes(), [1, 2]);
  await write(10);
  await timers.advance(GATHERED + GATHERED_MORE - MICROSECOND);
  await turns();
  assert.deepEqual(sizes(), [1, 2]);
  await timers.advance(MICROSECOND);
  await turns();
  assert.deepEqual(sizes(), [1, 2, 1], "what nothing comes after leaves by itself");
  utilization = 0.3;
  await timers.advance(GATHERED_ENOUGH);
  await write(10);
  assert.deepEqual(sizes(), [1, 2, 1, 1]);
});

test("a message says how far the log is where more waits than it has: an echo would stand behind all of it", async (t) => {
  const { heads, index, write, answer } = await begun(t);
  await write(10);
  assert.deepEqual(heads(), [0n], "there is no more");
  await write(MIB - KIB, 20); // more than the credit lets out
  await answer(CREDIT);
  assert.ok(heads().includes(index()), heads().join());
});

test("what nothing comes after leaves by itself", async (t) => {
  const { timers, sizes, write } = await begun(t);
  await write(10);
  await write(10);
  await timers.advance(GATHERED - MICROSECOND);
  await turns();
  assert.deepEqual(sizes(), [1]);
  await timers.advance(MICROSECOND);
  await turns();
  assert.deepEqual(sizes(), [1, 1]);
  await timers.advance(GATHERED);
  await write(10);
  assert.deepEqual(sizes(), [1, 1, 1], "after that time one leaves at once again");
});

test("an answer does not end the waiting", async (t) => {
  const { timers, sizes, bytes, write, answer } = await begun(t);
  await write(10);
  await write(10);
  await answer(bytes());
  assert.deepEqual(sizes(), [1]);
  await timers.advance(GATHERED);
  await turns();
  assert.deepEqual(sizes(), [1, 1]);
});

test("64 entries do not wait, and 63 do", async (t) => {
  const { sizes, write } = await begun(t);
  await write(10);
  await write(10, 63);
  assert.deepEqual(sizes(), [1]);
  await write(10);
  assert.deepEqual(sizes(), [1, 64]);
});

test("64 KiB do not wait, and less does", async (t) => {
  const { sizes, write } = await begun(t);
  await write(10);
  await write(31 * KIB, 2);
  assert.deepEqual(sizes(), [1]);
  await write(2 * KIB);
  assert.deepEqual(sizes(), [1, 3]);
});

test("what is under way is bounded by the credit and one message, and an answer makes room for as much as it names", async (t) => {
  const { timers, bytes, write, answer } = await begun(t);
  const settled = async () => {
    await timers.advance(GATHERED + MILLISECOND);
    await turns();
  };
  await write(MIB - 400, 24);
  await settled();
  const first = bytes();
  assert.ok(first >= CREDIT && first < CREDIT + MIB, `${first} bytes for a credit of ${CREDIT}`);
  await answer(first - CREDIT);
  await settled();
  assert.equal(bytes(), first, "that was what went beyond it");
  await answer(1);
  await settled();
  assert.ok(bytes() > first && bytes() <= first + MIB, "room for a byte is room for a message");
  const second = bytes();
  await answer(1000 * CREDIT);
  await settled();
  const third = bytes() - second;
  assert.ok(third >= CREDIT && third < CREDIT + MIB, `${third} bytes: credit does not add up`);
});

test("a question goes after the entries that are to be applied before it is answered, and those wait for no others", async (t) => {
  const { timers, session, kinds, index, write } = await begun(t);
  const heal = { id: 1n, keys: ["shared/a"], slots: new Uint8Array(0) };
  await write(10);
  session.ask({ heal }, index());
  await turns();
  assert.deepEqual(kinds(), ["entries", "question"]);
  await write(10);
  session.ask({ heal }, index());
  await turns();
  assert.deepEqual(kinds(), ["entries", "question", "entries", "question"]);
  session.ask({ heal }, index() + 1n);
  await turns();
  assert.equal(kinds().length, 4, "that one is not written yet");
  await write(10);
  await timers.advance(GATHERED);
  await turns();
  assert.deepEqual(kinds().slice(4), ["entries", "question"]);
});

test("which entry was the last is said after it, and an answer counts for that from then on alone", async (t) => {
  let isFinal = false;
  const place = ({ head }: Store) => (isFinal ? { index: head!.index, chain: head!.chain } : null);
  const { timers, session, finals, bytes, write, answer } = await begun(t, place);
  const settled = async () => {
    await timers.advance(GATHERED + MILLISECOND);
    await turns();
  };
  await write(MIB - 400, 20);
  await settled();
  const before = bytes();
  isFinal = true;
  session.wake();
  await answer(0);
  assert.deepEqual([finals(), session.isFinalHeard], [[], false], "entries wait for their credit");
  for (let i = 0; i < 4; i++) {
    await answer(CREDIT);
    await settled();
  }
  assert.ok(bytes() > before);
  assert.deepEqual([finals().length, session.isFinalHeard], [1, false]);
  await answer(0);
  assert.equal(session.isFinalHeard, true);
});

test("a log goes on from a place of its own alone: another chain is told apart, and what was let go", async () => {
  const { store, world } = await madeStore();
  const { clock, timers } = world;
  for (let i = 0; i < 6; i++) await store.write((tx) => tx.put("shared/a", new Uint8Array(i)));
  const cursorAt = (index: bigint): Cursor => {
    const { lineage, epoch } = store.head!;
    return { lineage, epoch, index, chain: chainAt(store, index)! };
  };
  const first = async (cursor: Cursor) => {
    const member = new Member("paris", {} as Hello, clock.now());
    const parts = { store, tail: new LogTail(store), member, clock, timers };
    const ports = { admit: () => {}, acknowledged: () => {}, final: () => null };
    const said = new Outbox<ToSender>();
    const over = new AbortController();
    said.push({ start: { epoch: 1, cursor, filter: "" }, ack: null });
    const running = new LogSession({ ...parts, ...ports }).run(said, over.signal);
    const { value } = await running.next();
    over.abort();
    said.end();
    await running.return(undefined);
    const { isDiverged, trimmed } = value as ToReceiver;
    return { isDiverged, trimmed, acknowledged: member.acknowledged };
  };
  const [three, four, five] = [3n, 4n, 5n].map(cursorAt) as [Cursor, Cursor, Cursor];
  const other = { ...five, chain: four.chain };
  assert.deepEqual(await first(five), { isDiverged: false, trimmed: 0n, acknowledged: 5n });
  assert.deepEqual(await first(other), { isDiverged: true, trimmed: 0n, acknowledged: null });
  await store.trim({ ...store.tail!, first: 5n, chainBefore: four.chain });
  assert.deepEqual(await first(four), { isDiverged: false, trimmed: 0n, acknowledged: 4n });
  assert.deepEqual(await first(three), { isDiverged: false, trimmed: 5n, acknowledged: null });
});

test("who begins by another filter than the one of now is told so, and sent nothing", async () => {
  const { store, world } = await madeStore();
  await store.write((tx) => tx.put("shared/a", new Uint8Array(1)));
  const lets = () => true;
  const view = new SharedView({ store, ...world, lets });
  const filter = { version: "1", lets, view: async () => view } as unknown as MemberFilter;
  const { lineage, epoch, index, chain } = store.head!;
  for (const said of ["", "2"]) {
    const session = new LogSession({
      ...world,
      store,
      tail: new LogTail(store),
      member: new Member("paris", {} as Hello, world.clock.now()),
      admit: () => {},
      acknowledged: () => {},
      final: () => null,
      sharedOnly: true,
      filter: () => filter,
    });
    const outbox = new Outbox<ToSender>();
    const cursor = { lineage, epoch, index, chain };
    outbox.push({ start: { epoch: 1, cursor, filter: said }, ack: null });
    const sent: ToReceiver[] = [];
    for await (const one of session.run(outbox, new AbortController().signal)) sent.push(one);
    assert.deepEqual(
      sent.map(({ isFiltered, batch }) => [isFiltered, batch]),
      [[true, null]],
    );
  }
});
