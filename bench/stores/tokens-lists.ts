// Pages of a list of tokens, read through the API out of few and out of very many: a page costs what it
// gives. Both servers run at the same time and take turns, so that a busy machine is as hard on both.

import { join } from "node:path";
import { type Caller, requestBytes } from "../api/api-caller.ts";
import { processorMicrosOf } from "../api/api-usage.ts";
import { load } from "../load/load.ts";
import { quantile, roundMillis, rounds, median } from "../measure.ts";
import type { Context, Figure, Figures } from "../row.ts";
import { withTokensNode } from "./tokens-node.ts";
import { copiedStore, PREFIX, tokenSizes } from "./tokens-store.ts";

const PAGE = 100;
// A list that was just read is remembered, the last eight of them: with more places to begin at, and one
// client who goes round, every page is read anew.
const PLACES = 24;
// The share of the order that is left behind the last place, so that pages are full in small stores.
const REST = 0.4;

export interface Listed {
  readonly by: "creation" | "accessor";
  /** Parameters of the query. */
  readonly query: string;
  readonly reverse: boolean;
  /** Where the order of accessors begins, and how many digits follow. Default: nowhere. */
  readonly prefix?: string;
}

interface Measured {
  readonly millis: number;
  /** Null where the system does not tell. */
  readonly serverMicros: number | null;
}

export async function lists(context: Context, listed: Listed): Promise<Figures> {
  const { small, large } = tokenSizes(context);
  const few = join(context.directory, "few");
  const many = join(context.directory, "many");
  const fewStore = await copiedStore(context, small, few);
  const manyStore = await copiedStore(context, large, many);
  return await withTokensNode({ directory: few, ...fewStore }, (fewNode) =>
    withTokensNode({ directory: many, ...manyStore }, async (manyNode) => {
      const fewRequests = await requestsOf(fewNode.caller, listed);
      const manyRequests = await requestsOf(manyNode.caller, listed);
      const found = await rounds(context, async () => ({
        few: await round(context, fewNode.caller, fewNode.pid, fewRequests),
        many: await round(context, manyNode.caller, manyNode.pid, manyRequests),
      }));
      const millis = (of: "few" | "many") => found.map((both) => both[of].millis);
      const micros = (of: "few" | "many") =>
        found.map((both) => both[of].serverMicros).filter((value) => value !== null);
      const ratio = median(micros("many")) / median(micros("few"));
      const also: Figure[] = [
        { what: `out of ${small.toLocaleString("en")}`, unit: "ms", samples: millis("few") },
        { what: "server's processor time each, 1,000", unit: "µs", samples: micros("few") },
        { what: "server's processor time each, 1,000,000", unit: "µs", samples: micros("many") },
      ];
      const same: Figure = {
        what: "processor time, 1,000,000 / 1,000",
        unit: "×",
        samples: [ratio],
        budget: { atMost: 1.25 },
      };
      return {
        samples: millis("many"),
        also: [...also, ...(Number.isFinite(ratio) ? [same] : [])],
      };
    }),
  );
}

async function round(
  context: Context,
  caller: Caller,
  pid: number,
  requests: readonly Buffer[],
): Promise<Measured> {
  const before = processorMicrosOf(pid);
  const work = { clients: [requests], statuses: [200] };
  const { latencies } = await load(new URL(caller.url), work, roundMillis(context));
  const after = processorMicrosOf(pid);
  const used = before === null || after === null ? null : after - before;
  return {
    millis: quantile(latencies, 0.5),
    serverMicros: used === null ? null : used / latencies.length,
  };
}

/** Pages that begin at places all over the order; every one is full. */
async function requestsOf(caller: Caller, listed: Listed): Promise<Buffer[]> {
  const { query, reverse } = listed;
  const cursor = listed.by === "creation" ? await creationCursors(caller) : accessorCursors(listed);
  const requests: Buffer[] = [];
  for (let i = 0; i < PLACES; i++) {
    const share = (i / PLACES) * (1 - REST);
    const next = cursor(reverse ? 1 - share : share);
    const order = reverse ? "&reverse=true" : "";
    const path = `acl/tokens?per_page=${PAGE}${order}${query}&next_token=${next}`;
    const page = await listOf(caller, path);
    if (page.length !== PAGE) throw new Error(`${path} gives ${page.length} tokens, not ${PAGE}`);
    requests.push(requestBytes(caller, "GET", path));
  }
  return requests;
}

/** By CreateIndex, between that of the first and that of the last token. */
async function creationCursors(caller: Caller): Promise<(share: number) => string> {
  const [first] = await listOf(caller, "acl/tokens?per_page=1");
  const [last] = await listOf(caller, "acl/tokens?per_page=1&reverse=true");
  const from = first?.CreateIndex ?? 0;
  const to = last?.CreateIndex ?? 0;
  return (share) =>
    `${Math.round(from + (to - from) * share)}.00000000-0000-4000-8000-000000000000`;
}

function accessorCursors({ prefix = "" }: Listed): (share: number) => string {
  // With no prefix asked for, the tokens with the lower of both that there are would do as well.
  const begin = prefix === "" ? PREFIX : prefix;
  return (share) => {
    const digits = Math.min(0xff_ffff, Math.floor(share * 0x100_0000));
    return `${begin}${digits.toString(16).padStart(6, "0")}-0000-4000-8000-000000000000`;
  };
}

async function listOf(
  { url, headers }: Caller,
  path: string,
): Promise<readonly { readonly CreateIndex: number }[]> {
  const answer = await fetch(`${url}/v1/${path}`, { headers: { ...headers } });
  if (!answer.ok) throw new Error(`${path} was answered ${answer.status}`);
  return (await answer.json()) as { CreateIndex: number }[]; // as lists are answered
}
