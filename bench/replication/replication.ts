// Disaster recovery between two processes: how far a secondary is behind, how fast it catches up, copies and compares, what it
// costs its primary, and how soon it is one.

import { join } from "node:path";
import { performance } from "node:perf_hooks";
import { setTimeout as pause } from "node:timers/promises";
import { residentBytesOf } from "../api/api-usage.ts";
import { median, quantile, roundMillis, rounds } from "../measure.ts";
import type { Context, Figures, Row } from "../row.ts";
import { trimmed } from "../stores/fill-server.ts";
import { copiedStore } from "../stores/tokens-store.ts";
import { shareOf } from "./neighbour.ts";
import { type Pair, withPair } from "./pair.ts";

const MIB = 2 ** 20;
const PER_SECOND = 2000;
const BURSTS = { count: 10, everyMillis: 5 }; // 2,000/s
const COST_TURNS = 15;
const MAX_LAG_MS = 20;
const TOKENS = 250_000; // each has four rows
const QUICK_TOKENS = 1000;
const CHANGED = 1000; // entries between two trees

interface Lags {
  /** Until it was durable there. */
  readonly lags: number[];
  /** Until that was heard here. */
  readonly heard: number[];
  readonly commits: number[];
}

/** From the moment in which a write is answered here. */
async function lagsFor(pair: Pair, millis: number): Promise<Lags> {
  const answered: { readonly index: bigint; readonly at: bigint }[] = [];
  const [heard, commits]: [number[], number[]] = [[], []];
  let next = 0;
  const look = () => {
    const now = process.hrtime.bigint();
    const { acknowledged } = pair;
    for (; answered[next] !== undefined && answered[next]!.index <= acknowledged; next++) {
      heard.push(millisFrom(answered[next]!.at, now));
    }
  };
  const looking = setInterval(look, 1);
  await pair.durable();
  await pair.applied(0n);
  const end = performance.now() + millis;
  await pair.paced(
    PER_SECOND,
    () => performance.now() < end,
    (index, took) => {
      commits.push(took);
      answered.push({ index, at: process.hrtime.bigint() });
    },
  );
  await pair.durable();
  look();
  clearInterval(looking);
  const { index: last } = answered.at(-1)!;
  const applied = await pair.applied(last);
  let at = 0;
  const lags = answered.map((one) => {
    while (applied[at]!.index < one.index) at++;
    return millisFrom(one.at, applied[at]!.at);
  });
  return { lags, heard, commits };
}

/** Entries may be there before they are answered here. */
function millisFrom(from: bigint, to: bigint): number {
  return Math.max(0, Number(to - from) / 1e6);
}

/** A primary runs for months: both sides have compiled what they need before anything is measured. Few messages go, so that
 *  takes its time. */
async function warm(context: Context, pair: Pair): Promise<void> {
  const end = performance.now() + roundMillis(context, 40_000);
  await pair.paced(
    PER_SECOND,
    () => performance.now() < end,
    () => {},
  );
}

async function lag(context: Context): Promise<Figures> {
  return await withPair(context.directory, async (pair) => {
    await pair.join();
    await pair.streams();
    await warm(context, pair);
    const found = await rounds(context, async () => {
      const { lags, heard, commits } = await lagsFor(pair, roundMillis(context, 3000));
      const [p99, own] = [quantile(lags, 0.99), quantile(commits, 0.99)];
      // A machine that makes the primary itself wait is no measure of the way between the two.
      const share = p99 / Math.max(MAX_LAG_MS, 2 * own);
      return { p50: median(lags), p99, own, share, heard: quantile(heard, 0.99) };
    });
    return {
      samples: found.map(({ p99 }) => p99),
      also: [
        { what: "p50", unit: "ms", samples: found.map(({ p50 }) => p50), budget: { atMost: 5 } },
        {
          what: "p99 until the primary has heard of it",
          unit: "ms",
          samples: found.map(({ heard }) => heard),
        },
        {
          what: "p99 of the primary's own commits",
          unit: "ms",
          samples: found.map(({ own }) => own),
        },
        {
          what: "p99 / the greater of 20 ms and 2 × its commits' p99, best round",
          unit: "×",
          samples: [Math.min(...found.map(({ share }) => share))],
          budget: { atMost: 1 },
        },
      ],
    };
  });
}

async function catchUp(context: Context): Promise<Figures> {
  const count = context.quick ? 200 : 30_000;
  return await withPair(context.directory, async (pair) => {
    await pair.join();
    await pair.streams();
    const rate = async (busy: boolean) => {
      await pair.durable();
      await pair.away();
      const first = pair.server.store.index;
      await pair.writes(count);
      await pair.back();
      let caughtUp = false;
      const writing = busy
        ? pair.paced(
            PER_SECOND,
            () => !caughtUp,
            () => {},
          )
        : Promise.resolve(0);
      await pair.streams().catch(() => {});
      // From the first that comes: what a start takes is another row's.
      const began = performance.now();
      const before = pair.acknowledged > first ? pair.acknowledged : first;
      const end = pair.server.store.index;
      const done = await pair.durable(end);
      caughtUp = true;
      await writing;
      return Number(end - before) / ((done - began) / 1000);
    };
    const quiet = await rounds(context, () => rate(false));
    const busy = await rounds(context, () => rate(true));
    return {
      samples: quiet,
      also: [
        {
          what: "while the primary writes 2,000/s",
          unit: "entries/s",
          samples: busy,
          budget: { atLeast: 2 * PER_SECOND },
        },
      ],
    };
  });
}

/** Of both processes while something goes on: the most that is added. In MiB. */
async function grownWhile<T>(
  pids: readonly number[],
  work: Promise<T>,
): Promise<{ readonly result: T; readonly grown: readonly number[] }> {
  const before = pids.map(residentBytesOf);
  const most = [...before];
  let over = false;
  void work.finally(() => (over = true)).catch(() => {}); // whoever waits for it hears of it
  while (!over) {
    pids.forEach((pid, i) => (most[i] = Math.max(most[i] ?? 0, residentBytesOf(pid))));
    await pause(50);
  }
  return { result: await work, grown: most.map((bytes, i) => (bytes - (before[i] ?? 0)) / MIB) };
}

async function firstCopy(context: Context): Promise<Figures> {
  const tokens = context.quick ? QUICK_TOKENS : TOKENS;
  const store = await copiedStore(context, tokens, join(context.directory, "store"));
  return await withPair(
    join(context.directory, "pair"),
    async (pair) => {
      // Each joins anew; the first is as good as the others, and takes minutes.
      const began = await pair.join();
      const pids = [process.pid, pair.secondaryPid];
      const { result, grown } = await grownWhile(pids, pair.streams());
      const changed = await changedApart(context, pair);
      return {
        samples: [(result - began) / 1000],
        also: [
          {
            what: "more memory of the primary",
            unit: "MiB",
            samples: [grown[0] ?? 0],
            budget: { atMost: 150 },
          },
          {
            what: "more memory of the secondary",
            unit: "MiB",
            samples: [grown[1] ?? 0],
            budget: { atMost: 150 },
          },
          {
            what: "comparison after 1,000 changes, log trimmed",
            unit: "s",
            samples: changed.map(({ seconds }) => seconds),
            budget: { atMost: 3 },
          },
          {
            what: "on the wire for it",
            unit: "MB",
            samples: changed.map(({ megabytes }) => megabytes),
            budget: { atMost: 8 },
          },
        ],
      };
    },
    { store, counted: true },
  );
}

/** The secondary is away while a thousand entries change and the log is given up: both trees are compared. */
async function changedApart(context: Context, pair: Pair) {
  return await rounds(context, async () => {
    await pair.equal();
    await pair.away();
    await pair.writes(CHANGED);
    await trimmed(pair.server.store);
    await pair.way?.take();
    const began = await pair.back();
    const done = await pair.equal();
    return { seconds: (done - began) / 1000, megabytes: ((await pair.way?.take()) ?? 0) / 1e6 };
  });
}

/** What entries of a primary cost it with a secondary that follows and without, by turns, so that what changes slowly is in
 *  both. Besides, without it on a machine that is as busy: a neighbour takes what the secondary took; and with its
 *  bytes over a connection that is nothing else. */
async function cost(context: Context): Promise<Figures> {
  const measured = async (pair: Pair): Promise<Figures> => {
    await pair.join();
    await pair.streams();
    await warm(context, pair);
    const once = async (burst?: () => void) => {
      await burstsFor(pair, roundMillis(context, 500), burst); // what came before leaves nothing behind
      const before = process.cpuUsage();
      const commits = await burstsFor(pair, roundMillis(context, 2000), burst);
      const { user, system } = process.cpuUsage(before);
      return {
        micros: (user + system) / commits.length,
        p99: quantile(commits, 0.99),
        resident: residentBytesOf(process.pid) / MIB,
      };
    };
    const learning = roundMillis(context, 3000);
    const share = await shareOf(pair.secondaryPid, () => burstsFor(pair, learning));
    const neighbour = await pair.neighbour(BURSTS.everyMillis);
    const link = await pair.bareLink();
    let logged = 0; // bytes, since the last message
    const unwatch = pair.server.store.onLog((rows) => {
      for (const { entry } of rows) logged += entry.length;
    });
    const sendBare = () => {
      link.send(logged);
      logged = 0;
    };
    try {
      await neighbour.learn(share, learning);
      const [beside, busy, idle, bare]: [Turn[], Turn[], Turn[], Turn[]] = [[], [], [], []];
      for (let i = 0; i < (context.quick ? 1 : COST_TURNS); i++) {
        await pair.streams();
        await pair.durable();
        beside.push(await once());
        await pair.durable();
        await pair.away();
        neighbour.work();
        busy.push(await once());
        neighbour.rest();
        idle.push(await once());
        logged = 0;
        bare.push(await once(sendBare));
        await pair.back();
      }
      const beyond = (others: readonly Turn[], name: keyof Turn, some = beside) =>
        some.map((one, i) => one[name] - others[i]![name]);
      return {
        samples: beyond(idle, "micros"),
        also: [
          {
            what: "of it without a secondary",
            unit: "µs",
            samples: idle.map((one) => one.micros),
          },
          {
            what: "of the same bytes over a bare connection",
            unit: "µs",
            samples: beyond(idle, "micros", bare),
          },
          {
            what: "more than beside a neighbour that is as busy",
            unit: "µs",
            samples: beyond(busy, "micros"),
          },
          {
            what: "p99 of the primary's commits, with / without",
            unit: "×",
            samples: beside.map(({ p99 }, i) => p99 / idle[i]!.p99),
          },
          {
            what: "with / beside a neighbour that is as busy",
            unit: "×",
            samples: beside.map(({ p99 }, i) => p99 / busy[i]!.p99),
            budget: { atMost: 1.1 },
          },
          {
            what: "more memory than without",
            unit: "MiB",
            samples: beyond(idle, "resident"),
            budget: { atMost: 24 },
          },
        ],
      };
    } finally {
      unwatch();
      await link.close();
      await neighbour.stop();
    }
  };
  return await withPair(context.directory, measured, { apart: true });
}

interface Turn {
  readonly micros: number;
  readonly p99: number;
  readonly resident: number;
}

async function burstsFor(pair: Pair, millis: number, burst?: () => void): Promise<number[]> {
  const commits: number[] = [];
  const end = performance.now() + millis;
  await pair.inBursts(
    BURSTS,
    () => performance.now() < end,
    (took) => commits.push(took),
    burst,
  );
  return commits;
}

async function promote(context: Context): Promise<Figures> {
  const tokens = context.quick ? QUICK_TOKENS : TOKENS;
  const store = await copiedStore(context, tokens, join(context.directory, "store"));
  return await withPair(
    join(context.directory, "pair"),
    async (pair) => {
      await pair.join();
      await pair.streams();
      const found: { answered: number; wrote: number }[] = [];
      // There and back, so that each time another process takes over.
      for (let i = 0; i < (context.quick ? 1 : 2); i++) {
        found.push(await pair.failover(pair.primary, pair.secondary));
        found.push(await pair.failover(pair.secondary, pair.primary));
      }
      return {
        samples: found.map(({ wrote }) => wrote),
        also: [
          {
            what: "until the promotion is answered",
            unit: "ms",
            samples: found.map(({ answered }) => answered),
            budget: { atMost: 2000 },
          },
        ],
      };
    },
    { store },
  );
}

export const replicationRows: readonly Row[] = [
  {
    name: "replication/lag",
    what: "behind at 2,000 writes/s, made in process, p99",
    unit: "ms",
    run: lag,
  },
  {
    name: "replication/catch-up",
    what: "30,000 entries from the log",
    unit: "entries/s",
    budget: { atLeast: 5000 },
    run: catchUp,
  },
  {
    name: "replication/first-copy",
    what: "1,000,000 entries to an empty secondary",
    unit: "s",
    budget: { atMost: 100 },
    run: firstCopy,
  },
  {
    name: "replication/cost",
    what: "for each entry and secondary, of the primary's processor",
    unit: "µs",
    budget: { atMost: 15 },
    run: cost,
  },
  {
    name: "replication/promote",
    what: "1,000,000 entries, promote to the first write",
    unit: "ms",
    budget: { atMost: 3000 },
    run: promote,
  },
];
