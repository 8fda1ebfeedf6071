// The tokens of the ACL API through the API of a running server, with few of them and with a million: lists,
// durable creates, memory, and how soon a server that is started again serves.

import { rmSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { type Caller, requestBytes } from "./api/api-caller.ts";
import { processorMicrosOf, residentBytesOf } from "./api/api-usage.ts";
import { type Load, load, type Loaded } from "./load/load.ts";
import { median, quantile, roundMillis, rounds } from "./measure.ts";
import type { Context, Figure, Figures, Row } from "./row.ts";
import { lists } from "./stores/tokens-lists.ts";
import { type TokensNode, withTokensNode } from "./stores/tokens-node.ts";
import { copiedStore, PREFIX, tokenSizes } from "./stores/tokens-store.ts";

const CLIENTS = 64;
const QUICK_CLIENTS = 4;
const IDLE_MS = 2000;
const MIB = 2 ** 20;
const MAX_GROWTH_MIB = 64; // see million.ts: the sums of the tree and the page cache of SQLite
const LISTS_BEFORE = 200; // pages that are read before memory is looked at

/** The two stores take turns, so that a busy machine is as hard on both. */
async function creates(context: Context): Promise<Figures> {
  const { large } = tokenSizes(context);
  const none = join(context.directory, "none");
  const many = join(context.directory, "many");
  const empty = await copiedStore(context, 0, none);
  const filled = await copiedStore(context, large, many);
  return await withTokensNode({ directory: none, ...empty }, (noneNode) =>
    withTokensNode({ directory: many, ...filled }, async (manyNode) => {
      const found = await rounds(context, async () => ({
        none: await createFor(context, noneNode),
        many: await createFor(context, manyNode),
      }));
      const onNone = rates(found.map((both) => both.none));
      const onMany = rates(found.map((both) => both.many));
      const shares = found.map(({ none, many }) => many.loaded.perSecond / none.loaded.perSecond);
      return {
        samples: onNone.perSecond,
        also: [
          { what: "beside 1,000,000", unit: "/s", samples: onMany.perSecond },
          {
            what: "beside 1,000,000 / on an empty store, round by round",
            unit: "×",
            samples: shares,
            budget: { atLeast: 0.8 },
          },
          { what: "latency p99, empty", unit: "ms", samples: onNone.p99 },
          { what: "latency p99, 1,000,000", unit: "ms", samples: onMany.p99 },
          { what: "server's processor time each, empty", unit: "µs", samples: onNone.micros },
          { what: "server's processor time each, 1,000,000", unit: "µs", samples: onMany.micros },
        ].filter(({ samples }) => samples.length > 0),
      };
    }),
  );
}

const ENOUGH = { atLeast: 2500 };

interface CreateRound {
  readonly loaded: Loaded;
  readonly serverMicros: number | null;
}

async function createFor(context: Context, { caller, pid }: TokensNode): Promise<CreateRound> {
  const clients = context.quick ? QUICK_CLIENTS : CLIENTS;
  const before = processorMicrosOf(pid);
  const loaded = await load(
    new URL(caller.url),
    creatingBy(caller, clients),
    roundMillis(context, 2000),
  );
  const after = processorMicrosOf(pid);
  const used = before === null || after === null ? null : after - before;
  return { loaded, serverMicros: used === null ? null : used / loaded.latencies.length };
}

function creatingBy(caller: Caller, clients: number): Load {
  return {
    clients: Array.from({ length: clients }, (_, i) => [createBytes(caller, i)]),
    statuses: [200],
  };
}

function createBytes(caller: Caller, client: number): Buffer {
  // One that exists, as those of most tokens do: names that no policy has cost a look and a warning.
  const body = { Name: `service ${client}`, Type: "client", Policies: ["default"] };
  return requestBytes(caller, "POST", "acl/token", { ...body, ExpirationTTL: "12h" });
}

function rates(found: readonly CreateRound[]) {
  return {
    perSecond: found.map(({ loaded }) => loaded.perSecond),
    p99: found.map(({ loaded }) => quantile(loaded.latencies, 0.99)),
    micros: found.map(({ serverMicros }) => serverMicros).filter((value) => value !== null),
  };
}

async function memory(context: Context): Promise<Figures> {
  const { small, large } = tokenSizes(context);
  const rss = async (tokens: number) => {
    const directory = join(context.directory, String(tokens));
    const store = await copiedStore(context, tokens, directory);
    const samples: number[] = [];
    for (let i = 0; i < (context.quick ? 1 : 3); i++) {
      await withTokensNode({ directory, ...store }, async ({ caller, pid }) => {
        const page = requestBytes(caller, "GET", "acl/tokens?per_page=100&reverse=true");
        const pages = Array.from({ length: LISTS_BEFORE }, () => page);
        await load(new URL(caller.url), { clients: [pages], statuses: [200] }, 500);
        await pause(context.quick ? 0 : IDLE_MS);
        samples.push(residentBytesOf(pid) / MIB);
      });
    }
    rmSync(directory, { recursive: true, force: true });
    return samples;
  };
  const [few, many] = [await rss(small), await rss(large)];
  const also: Figure[] = [
    { what: "with 1,000 tokens", unit: "MiB", samples: few },
    { what: "with 1,000,000 tokens", unit: "MiB", samples: many },
  ];
  return { samples: [median(many) - median(few)], also };
}

async function restart(context: Context): Promise<Figures> {
  const { small, large } = tokenSizes(context);
  const starts = async (tokens: number) => {
    const directory = join(context.directory, String(tokens));
    const store = await copiedStore(context, tokens, directory);
    return await rounds(context, () =>
      withTokensNode({ directory, ...store }, ({ readyMillis }) => Promise.resolve(readyMillis)),
    );
  };
  const few = await starts(small);
  const many = await starts(large);
  return { samples: many, also: [{ what: "with 1,000 tokens", unit: "ms", samples: few }] };
}

export const tokenRows: readonly Row[] = [
  {
    name: "tokens/list-creation",
    what: "a page of 100 out of 1,000,000 tokens, oldest first",
    unit: "ms",
    run: (context) => lists(context, { by: "creation", reverse: false, query: "" }),
  },
  {
    name: "tokens/list-reverse",
    what: "the same, newest first",
    unit: "ms",
    run: (context) => lists(context, { by: "creation", reverse: true, query: "" }),
  },
  {
    name: "tokens/list-prefix",
    what: "a page of 100 out of 1,000,000, with a prefix",
    unit: "ms",
    run: (context) =>
      lists(context, {
        by: "accessor",
        reverse: false,
        query: `&prefix=${PREFIX}`,
        prefix: PREFIX,
      }),
  },
  {
    name: "tokens/list-global",
    what: "a page of 100 out of 1,000,000, global ones only",
    unit: "ms",
    run: (context) => lists(context, { by: "accessor", reverse: true, query: "&global=true" }),
  },
  {
    name: "tokens/creates",
    what: "durable audited creates on an empty store, 64 clients",
    unit: "/s",
    budget: ENOUGH,
    load: {
      clients: CLIENTS,
      prepare: async (caller, clients) => creatingBy(caller, clients),
      made: () => [],
    },
    run: creates,
  },
  {
    name: "tokens/rss",
    what: "RSS with 1,000,000 tokens, beyond that with 1,000",
    unit: "MiB",
    budget: { atMost: MAX_GROWTH_MIB },
    run: memory,
  },
  {
    name: "tokens/ready",
    what: "1,000,000 tokens, process start to the first page",
    unit: "ms",
    budget: { atMost: 5000 },
    run: restart,
  },
];
