// A performance secondary beside its primary: what a write costs that it sends on, and how many reads it answers.

import { type Caller, call, requestBytes } from "../api/api-caller.ts";
import { load } from "../load/load.ts";
import { median, roundMillis, rounds } from "../measure.ts";
import type { Context, Figures, Row } from "../row.ts";
import { withClusters } from "./two-clusters.ts";

const READERS = 32;
const HOP_MS = 5;
const NAMES = 16;
const VALUE = "x".repeat(200);

/** One client, who waits for each answer. */
async function writesAt(context: Context, caller: Caller): Promise<number> {
  const requests = Array.from({ length: NAMES }, (_, i) =>
    requestBytes(caller, "POST", `secret/data/w-${i}`, { data: { value: VALUE } }),
  );
  const millis = roundMillis(context, 2000);
  const { latencies } = await load(
    new URL(caller.url),
    { clients: [requests], statuses: [200] },
    millis,
  );
  return median(latencies);
}

async function readsAt(context: Context, caller: Caller): Promise<number> {
  const clients = Array.from({ length: READERS }, (_, i) => [
    requestBytes(caller, "GET", `secret/data/w-${i % NAMES}`),
  ]);
  const millis = roundMillis(context, 2000);
  const { perSecond } = await load(new URL(caller.url), { clients, statuses: [200] }, millis);
  return perSecond;
}

/** Of writes that were answered: how many the very next read there does not show. */
async function unseen(caller: Caller, count: number): Promise<number> {
  let missed = 0;
  for (let i = 0; i < count; i++) {
    const value = `seen ${i}`;
    await call(caller, "POST", "secret/data/seen", { data: { value } });
    const read = await call(caller, "GET", "secret/data/seen");
    if (!JSON.stringify(read).includes(`"${value}"`)) missed++;
  }
  return missed;
}

async function forwarded(context: Context): Promise<Figures> {
  return await withClusters(context, "performance", async (primary, secondary) => {
    const found = await rounds(context, async () => {
      const own = await writesAt(context, primary);
      const sent = await writesAt(context, secondary);
      return { own, sent, share: sent / (2 * own + HOP_MS) };
    });
    const missed = await unseen(secondary, context.quick ? 20 : 500);
    return {
      samples: found.map(({ share }) => share),
      also: [
        { what: "p50", unit: "ms", samples: found.map(({ sent }) => sent) },
        { what: "p50 of the primary's own", unit: "ms", samples: found.map(({ own }) => own) },
        {
          what: "answered writes that the next read there does not show",
          unit: "",
          samples: [missed],
          budget: { atMost: 0 },
        },
      ],
    };
  });
}

async function reads(context: Context): Promise<Figures> {
  return await withClusters(context, "performance", async (primary, secondary) => {
    for (let i = 0; i < NAMES; i++) {
      await call(secondary, "POST", `secret/data/w-${i}`, { data: { value: VALUE } });
    }
    let isTurn = false;
    const found = await rounds(context, async () => {
      // In turns first and second: what the machine does besides falls on both.
      isTurn = !isTurn;
      const first = await readsAt(context, isTurn ? primary : secondary);
      const other = await readsAt(context, isTurn ? secondary : primary);
      return isTurn ? { there: first, here: other } : { there: other, here: first };
    });
    return {
      samples: found.map(({ here }) => here),
      also: [
        { what: "of its primary", unit: "/s", samples: found.map(({ there }) => there) },
        {
          what: "of the primary's: medians of the rounds",
          unit: "×",
          samples: [
            median(found.map(({ here }) => here)) / median(found.map(({ there }) => there)),
          ],
          budget: { atLeast: 0.95 },
        },
      ],
    };
  });
}

export const regionRows: readonly Row[] = [
  {
    name: "replication/sent-on",
    what: "p50 of a write that a secondary sends on / (2 × its primary's own + 5 ms)",
    unit: "×",
    budget: { atMost: 1 },
    run: forwarded,
  },
  {
    name: "replication/region-reads",
    what: "reads that a performance secondary answers, 32 clients",
    unit: "/s",
    run: reads,
  },
];
