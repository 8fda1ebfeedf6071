import assert from "node:assert/strict";
import test from "node:test";
import { MINUTE, SECOND } from "@holdfast/shared/text/duration";
import { Failure } from "@holdfast/shared/failure";
import type { Nanos } from "@holdfast/shared/world";
import {
  type RequestContext,
  type Caller,
  ROOT_NAMESPACE,
} from "@holdfast/shared/endpoint/request";
import { FakeClock, FakeTimers, FlakyRandom } from "../../../tests/support/fake-world.ts";
import { FairTurns } from "../../base/fair-turns.ts";
import {
  BlockingQueries,
  type ParkedOptions,
  type Seen,
  type Watched,
} from "./blocking-queries.ts";

const TICK: Nanos = 50_000_000n;

/** Who watches what, and the index of the table. */
class Table {
  index = 10n;
  readonly watches = new Map<string, Set<() => void>>();

  watch({ namespaceId, accessor }: Watched, call: () => void): () => void {
    const name = `${namespaceId}/${accessor ?? ""}`;
    const calls = this.watches.get(name) ?? new Set();
    this.watches.set(name, calls.add(call));
    return () => {
      calls.delete(call);
      if (calls.size === 0) this.watches.delete(name);
    };
  }

  change(accessor: string | null = null): void {
    this.index++;
    for (const call of this.watches.get(`root/${accessor ?? ""}`) ?? []) call();
  }

  /** What a list sees. */
  look = (): Seen => ({
    index: this.index,
    watched: { namespaceId: "root", accessor: null },
  });
}

function made(options: Partial<ParkedOptions> = {}) {
  const clock = new FakeClock();
  const timers = new FakeTimers(clock);
  const random = new FlakyRandom();
  const table = new Table();
  const turns = new FairTurns({ clock, timers });
  const parked = new BlockingQueries({ changes: table, clock, timers, random, turns, ...options });
  parked.open();
  return { clock, timers, table, parked };
}

function callerOf(accessor: string, expires: bigint | null = null): Caller {
  const type = "management";
  const namespace = ROOT_NAMESPACE;
  return { accessor, type, name: "", policies: [], namespace, global: true, created: 0n, expires };
}

interface Question extends Pick<RequestContext, "caller" | "signal" | "allow" | "recheck"> {
  caller: Caller;
  valid: boolean;
  readonly client: AbortController;
  allowed: Nanos;
}

function ask(caller: Caller = callerOf("a")): Question & RequestContext {
  const client = new AbortController();
  const question: Question = {
    caller,
    valid: true,
    client,
    allowed: 0n,
    signal: client.signal,
    allow: (duration) => {
      question.allowed = duration;
    },
    recheck: () => (question.valid ? question.caller : null),
  };
  return question as Question & RequestContext; // the rest is not looked at
}

/** Whether it has ended, and how. */
function followed<T>(answer: Promise<T>) {
  const state: { done: boolean; value: T | null; error: unknown } = {
    done: false,
    value: null,
    error: null,
  };
  answer.then(
    (value) => Object.assign(state, { done: true, value }),
    (error: unknown) => Object.assign(state, { done: true, error }),
  );
  return state;
}

async function settle(turns = 6): Promise<void> {
  for (let i = 0; i < turns; i++) await new Promise((resolve) => setImmediate(resolve));
}

function codeOf(error: unknown): string {
  return error instanceof Failure ? error.code : String(error);
}

test("without an index, and with an old one, the answer comes at once and nothing is parked", async () => {
  const { parked, table, timers } = made();
  for (const index of [0n, 9n]) {
    const seen = await parked.answer(ask(), { index, wait: null }, table.look);
    assert.equal(seen.index, 10n);
  }
  assert.equal(parked.count, 0);
  assert.equal(timers.armed, 0);
});

test("a change to what was asked about wakes it; another index does not answer it", async () => {
  const { parked, table, timers } = made();
  const answer = followed(parked.answer(ask(), { index: 11n, wait: null }, table.look));
  table.change(); // 11: not newer than what the caller has
  await settle();
  assert.equal(answer.done, false);
  table.change("some-other-token");
  await settle();
  assert.equal(answer.done, false, "it does not watch single tokens");
  table.change();
  await settle();
  assert.equal(answer.value?.index, 13n);
  assert.equal(parked.count, 0);
  assert.equal(table.watches.size, 0);
  assert.equal(timers.armed, 0);
});

test("a wait ends between its length and a sixteenth more, with what there is", async () => {
  for (let i = 0; i < 20; i++) {
    const { parked, table, timers } = made();
    const answer = followed(parked.answer(ask(), { index: 10n, wait: 16n * SECOND }, table.look));
    await timers.advance(16n * SECOND - 1n);
    await settle();
    assert.equal(answer.done, false);
    await timers.advance(SECOND + TICK);
    await settle();
    assert.equal(answer.value?.index, 10n);
    assert.equal(parked.count, 0);
  }
});

test("the jitter spreads queries that began together", async () => {
  const { parked, table, timers } = made();
  const answers = Array.from({ length: 50 }, () =>
    followed(parked.answer(ask(), { index: 10n, wait: 160n * SECOND }, table.look)),
  );
  await timers.advance(165n * SECOND);
  await settle(20);
  const done = answers.filter((answer) => answer.done).length;
  assert.ok(done > 5 && done < 45, `${done} of 50 ended half way`);
  await timers.advance(6n * SECOND);
  await settle(20);
  assert.ok(answers.every((answer) => answer.done));
});

test("five minutes are the longest wait, and the default", async () => {
  for (const wait of [null, 10n * MINUTE, 1000n * MINUTE]) {
    const { parked, table, timers } = made();
    const question = ask();
    const answer = followed(parked.answer(question, { index: 10n, wait }, table.look));
    await settle();
    assert.ok(question.allowed >= 6n * MINUTE && question.allowed < 7n * MINUTE);
    await timers.advance(5n * MINUTE - 1n);
    await settle();
    assert.equal(answer.done, false);
    await timers.advance((5n * MINUTE) / 16n + TICK + 1n);
    await settle();
    assert.equal(answer.value?.index, 10n);
  }
});

test("T-B05: a credential that is deleted meanwhile is refused at once", async () => {
  const { parked, table } = made();
  const question = ask();
  const answer = followed(parked.answer(question, { index: 99n, wait: null }, table.look));
  question.valid = false;
  table.change("a"); // nothing that the list looks at
  await settle();
  assert.equal(codeOf(answer.error), "invalid-token");
  assert.equal(parked.count, 0);
});

test("whoever may not look any more is told so by the look itself", async () => {
  const { parked, table } = made();
  const question = ask();
  const look = (caller: Caller): Seen => {
    if (caller.type !== "management") throw new Failure("denied", "permission_denied", "no");
    return table.look();
  };
  const answer = followed(parked.answer(question, { index: 99n, wait: null }, look));
  question.caller = { ...question.caller, type: "client" };
  table.change("a");
  await settle();
  assert.equal(codeOf(answer.error), "permission_denied");
});

test("T-B05: a credential that expires meanwhile is refused when it does", async () => {
  const { parked, table, timers, clock } = made();
  const question = ask(callerOf("a", clock.now() + 30n * SECOND));
  const answer = followed(parked.answer(question, { index: 99n, wait: null }, table.look));
  await timers.advance(30n * SECOND);
  await settle();
  assert.equal(answer.done, false, "valid up to and including that instant");
  question.valid = false;
  await timers.advance(2n * TICK);
  await settle();
  assert.equal(codeOf(answer.error), "invalid-token");
});

test("T-B05: when the clock is set, those that expire are looked at, and the others are not", async () => {
  const { parked, table, timers, clock } = made();
  const expiring = ask(callerOf("a", clock.now() + 60n * MINUTE));
  let looks = 0;
  const look = () => {
    looks++;
    return table.look();
  };
  const first = followed(parked.answer(expiring, { index: 99n, wait: null }, look));
  const other = followed(parked.answer(ask(callerOf("b")), { index: 99n, wait: null }, look));
  looks = 0;
  clock.jump(clock.now() + 120n * MINUTE);
  expiring.valid = false;
  await timers.advance(2n * TICK);
  await settle();
  assert.equal(codeOf(first.error), "invalid-token");
  assert.equal(other.done, false);
  assert.equal(looks, 0);
});

test("a client that hangs up frees its slot at once", async () => {
  const { parked, table, timers } = made({ maxWaiting: 1 });
  const question = ask();
  const answer = followed(parked.answer(question, { index: 10n, wait: null }, table.look));
  await assert.rejects(
    parked.answer(ask(callerOf("b")), { index: 10n, wait: null }, table.look),
    /on this server/,
  );
  question.client.abort();
  await settle();
  assert.ok(answer.done);
  assert.equal(parked.count, 0);
  assert.equal(table.watches.size, 0);
  assert.equal(timers.armed, 0);
  const next = followed(parked.answer(ask(), { index: 10n, wait: null }, table.look));
  table.change();
  await settle();
  assert.equal(next.value?.index, 11n);
});

test("64 for one credential, whatever the others do", async () => {
  const { parked, table } = made();
  const query = { index: 10n, wait: null };
  const waiting = Array.from({ length: 64 }, () => parked.answer(ask(), query, table.look));
  await assert.rejects(parked.answer(ask(), query, table.look), (error: unknown) => {
    assert.ok(error instanceof Failure);
    assert.equal(error.kind, "rate-limited");
    assert.match(error.message, /with this token/);
    return true;
  });
  waiting.push(parked.answer(ask(callerOf("b")), query, table.look));
  assert.equal(parked.count, 65);
  table.change();
  await Promise.all(waiting);
  assert.equal(parked.count, 0);
});

test("the seal wakes everybody, and nobody parks any more until the node is open again", async () => {
  const { parked, table } = made();
  const query = { index: 10n, wait: null };
  const answer = followed(parked.answer(ask(), query, table.look));
  parked.close();
  await settle();
  assert.equal((answer.error as Failure).kind, "sealed");
  await assert.rejects(parked.answer(ask(), query, table.look), /service is sealed/);
  parked.open();
  const again = followed(parked.answer(ask(), query, table.look));
  await settle();
  assert.equal(again.done, false);
  table.change();
  await settle();
  assert.equal(again.value?.index, 11n);
});

test("woken, and sealed before it had its turn: refused", async () => {
  const { parked, table } = made();
  const answer = followed(parked.answer(ask(), { index: 10n, wait: null }, table.look));
  table.change();
  parked.close();
  await settle();
  assert.equal((answer.error as Failure).kind, "sealed");
});

test("ten thousand: one timer, nothing done while they wait, all woken by one change in small steps", async () => {
  const { parked, table, timers } = made({ maxPerCredential: 64 });
  let looks = 0;
  const look = () => {
    looks++;
    return table.look();
  };
  const waiting = Array.from({ length: 10_000 }, (_, i) =>
    parked.answer(ask(callerOf(`token-${i % 160}`)), { index: 10n, wait: null }, look),
  );
  await settle();
  assert.equal(parked.count, 10_000);
  await assert.rejects(
    parked.answer(ask(callerOf("x")), { index: 10n, wait: null }, look),
    /on this server/,
  );
  assert.equal(timers.armed, 1);
  assert.equal(table.watches.size, 161);
  looks = 0;
  await timers.advance(60n * SECOND);
  assert.equal(looks, 0);
  const before = timers.turns;
  table.change();
  await Promise.all(waiting);
  assert.equal(looks, 10_000);
  assert.ok(timers.turns - before >= 10_000 / 16, "never more than 16 in one turn");
  assert.equal(parked.count, 0);
  assert.equal(timers.armed, 0);
});
