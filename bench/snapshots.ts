// Snapshots of a store with a million entries, taken from and put back into a running server: how fast, how
// much memory, and what those who write meanwhile notice of it.

import { createReadStream, createWriteStream } from "node:fs";
import { join } from "node:path";
import { performance } from "node:perf_hooks";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { setTimeout as pause } from "node:timers/promises";
import { type Caller, call, requestBytes } from "./api/api-caller.ts";
import { residentBytesOf } from "./api/api-usage.ts";
import { pacedLoad } from "./load/paced-load.ts";
import { LONGEST_BLOCK_MS, quantile, roundMillis, rounds } from "./measure.ts";
import { ask } from "./processes.ts";
import type { Context, Figures, Row } from "./row.ts";
import type { TakingFigures, TakingInput } from "./stores/taking-process.ts";
import { type TokensNode, withTokensNode } from "./stores/tokens-node.ts";
import { copiedStore } from "./stores/tokens-store.ts";

const TOKENS = 250_000; // each has four rows
const QUICK_TOKENS = 1000;
const MIB = 2 ** 20;
const SNAPSHOT = "/v1/sys/storage/raft/snapshot";

interface Saved {
  readonly megabytes: number; // for each second
  readonly grown: number; // MiB
  readonly block: number; // ms
  readonly writes: number; // p99 of writes meanwhile by that before
}

async function save(context: Context): Promise<Figures> {
  const store = await copiedStore(
    context,
    context.quick ? QUICK_TOKENS : TOKENS,
    join(context.directory, "store"),
  );
  return await withTokensNode({ directory: context.directory, ...store }, async (node) => {
    const found = await rounds(context, () => saveOnce(context, node));
    const of = (name: keyof Saved) => found.map((each) => each[name]);
    return {
      samples: of("megabytes"),
      also: [
        { what: "more memory", unit: "MiB", samples: of("grown"), budget: { atMost: 64 } },
        {
          what: "longest block of the event loop",
          unit: "ms",
          samples: of("block"),
          budget: { atMost: LONGEST_BLOCK_MS },
        },
        {
          what: "p99 of writes meanwhile / before",
          unit: "×",
          samples: of("writes"),
          budget: { atMost: 1.5 },
        },
      ],
    };
  });
}

async function saveOnce(context: Context, node: TokensNode): Promise<Saved> {
  const { caller, pid } = node;
  const before = await writesFor(caller, pause(roundMillis(context, 5000)));
  await longestBlock(caller); // what was before does not count
  const resident = residentBytesOf(pid);
  const input: TakingInput = { url: caller.url + SNAPSHOT, headers: caller.headers };
  const saving = ask<TakingFigures>("stores/taking-process.ts", input);
  let over = false;
  void saving.finally(() => {
    over = true;
  });
  let most = resident;
  const watching = (async () => {
    while (!over) {
      most = Math.max(most, residentBytesOf(pid));
      await pause(20);
    }
  })();
  const meanwhile = await writesFor(caller, saving);
  const { bytes, millis } = await saving;
  await watching;
  return {
    megabytes: bytes / 1e6 / (millis / 1000),
    grown: (most - resident) / MIB,
    block: await longestBlock(caller),
    writes: meanwhile / before,
  };
}

/** 200 in a second, until it is over: p99 in ms. */
async function writesFor(caller: Caller, over: Promise<unknown>): Promise<number> {
  const request = requestBytes(caller, "POST", "acl/token", {
    Name: "service",
    Type: "client",
    Policies: ["default"],
    ExpirationTTL: "12h",
  });
  return quantile(await pacedLoad(new URL(caller.url), request, over), 0.99);
}

async function downloaded({ url, headers }: Caller): Promise<AsyncIterable<Uint8Array>> {
  const answer = await fetch(url + SNAPSHOT, { headers });
  if (answer.status !== 200 || answer.body === null) throw new Error(`status ${answer.status}`);
  return answer.body;
}

async function download(caller: Caller, file: string): Promise<void> {
  await pipeline(await downloaded(caller), createWriteStream(file));
}

/** Since it was last asked, in ms. */
async function longestBlock({ url, headers }: Caller): Promise<number> {
  const answer = await fetch(`${url}/v1/sys/metrics?format=prometheus`, { headers });
  const found = /^nodejs_eventloop_lag_max_seconds (\S+)$/m.exec(await answer.text())?.[1];
  return Number(found) * 1000;
}

/** From the request to the first answer of the house that has the data. */
async function restore(context: Context): Promise<Figures> {
  const tokens = context.quick ? QUICK_TOKENS : TOKENS;
  const store = await copiedStore(context, tokens, join(context.directory, "store"));
  const file = join(context.directory, "taken.snap");
  return await withTokensNode({ directory: context.directory, ...store }, async (node) => {
    await download(node.caller, file);
    const found = await rounds(context, () => restoreOnce(node, file));
    return {
      samples: found.map(({ seconds }) => seconds),
      also: [
        { what: "more memory", unit: "MiB", samples: found.map(({ grown }) => grown) },
        {
          what: "longest block of the event loop",
          unit: "ms",
          samples: found.map(({ block }) => block),
          budget: { atMost: LONGEST_BLOCK_MS },
        },
      ],
    };
  });
}

async function restoreOnce(node: TokensNode, file: string): Promise<Needed> {
  const { caller } = node;
  return await needed(node, async () => {
    const answer = await sent(caller, SNAPSHOT, file);
    if (answer.status !== 204) throw new Error(`status ${answer.status}: ${await answer.text()}`);
    await restored(caller);
  });
}

async function sent({ url, headers }: Caller, path: string, file: string): Promise<Response> {
  return await fetch(url + path, {
    method: "POST",
    headers: { ...headers, "Content-Type": "application/gzip" },
    body: Readable.toWeb(createReadStream(file)) as ReadableStream,
    duplex: "half",
  });
}

interface Needed {
  readonly seconds: number;
  readonly grown: number; // MiB
  readonly block: number; // ms
}

/** What a server needs for it. */
async function needed({ caller, pid }: TokensNode, work: () => Promise<void>): Promise<Needed> {
  await longestBlock(caller); // what was before does not count
  const resident = residentBytesOf(pid);
  let highest = resident;
  const watching = setInterval(() => (highest = Math.max(highest, residentBytesOf(pid))), 20);
  const began = performance.now();
  try {
    await work();
  } finally {
    clearInterval(watching);
  }
  const seconds = (performance.now() - began) / 1000;
  return { seconds, grown: (highest - resident) / MIB, block: await longestBlock(caller) };
}

/** Until it can be read from, beside the data. */
async function loadBeside(context: Context): Promise<Figures> {
  const tokens = context.quick ? QUICK_TOKENS : TOKENS;
  const store = await copiedStore(context, tokens, join(context.directory, "store"));
  const file = join(context.directory, "taken.snap");
  return await withTokensNode({ directory: context.directory, ...store }, async (node) => {
    await download(node.caller, file);
    const found = await rounds(context, () => loadOnce(node, file));
    const of = (name: keyof (typeof found)[number]) => found.map((each) => each[name]);
    return {
      samples: of("seconds"),
      also: [
        { what: "more memory", unit: "MiB", samples: of("grown"), budget: { atMost: 64 } },
        {
          what: "longest block of the event loop",
          unit: "ms",
          samples: of("block"),
          budget: { atMost: LONGEST_BLOCK_MS },
        },
      ],
    };
  });
}

async function loadOnce(node: TokensNode, file: string): Promise<Needed> {
  const { caller } = node;
  let text = "";
  const found = await needed(node, async () => {
    const answer = await sent(caller, `${SNAPSHOT}-load`, file);
    text = await answer.text();
    if (answer.status !== 200) throw new Error(`status ${answer.status}: ${text}`);
  });
  const { data } = JSON.parse(text) as { data: { snapshot_id: string } };
  await call(caller, "DELETE", `sys/storage/raft/snapshot-load/${data.snapshot_id}`);
  return found;
}

async function restored(caller: Caller): Promise<void> {
  for (;;) {
    const status = await fetch(`${caller.url}/v1/sys/storage/raft/restore-status`, {
      headers: caller.headers,
    });
    if (status.status === 200) {
      const text = await status.text();
      if (/"state":"done"/.test(text)) break;
      if (/"state":"failed"/.test(text)) throw new Error(text);
    }
    await pause(20);
  }
  await call(caller, "GET", "acl/tokens?per_page=1");
}

export const savedRows: readonly Row[] = [
  {
    name: "snapshots/save",
    what: "1,000,000 entries made and sent, beside 200 writes/s",
    unit: "MB/s",
    run: save,
  },
  {
    name: "snapshots/restore",
    what: "the same put back, until it is served",
    unit: "s",
    run: restore,
  },
  {
    name: "snapshots/load",
    what: "the same loaded beside the data, until it is read from",
    unit: "s",
    run: loadBeside,
  },
];
