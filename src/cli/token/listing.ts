// The list of tokens, page by page: one answer never has to hold all of them.

import type { JsonObject } from "@holdfast/shared/json/json";
import type { Nanos } from "@holdfast/shared/world";
import type { Answer, Client } from "@holdfast/client/client";
import * as tokens from "@holdfast/client/api/tokens";
import { beginsWith, digitsOf, stretchesOf, type Stretch } from "./accessors.ts";
import { shown } from "../terminal/value.ts";

const PAGE = 1000;

export interface TokenQuery {
  readonly prefix?: string | undefined;
  readonly global?: boolean;
  readonly filter?: string | undefined;
  readonly reverse?: boolean;
  readonly perPage?: number | undefined;
  readonly pageToken?: string | undefined;
}

interface TokenPage {
  readonly tokens: readonly JsonObject[];
  readonly next: string | null;
  /** Of the table of tokens, when this page was read. */
  readonly index: bigint;
}

/** What makes a read wait for something new; for the first page alone. */
export interface Held {
  readonly query: { readonly index: number; readonly wait: string };
  readonly held: Nanos;
}

export async function* listPages(
  client: Client,
  asked: TokenQuery,
  first: Held | null = null,
): AsyncGenerator<TokenPage> {
  const { prefix = "", pageToken } = asked;
  if (digitsOf(prefix).length % 2 === 1) return yield* oddPages(client, asked, first);
  let held = first;
  let at = pageToken;
  do {
    const page = await readPage(client, asked, { prefix: digitsOf(prefix), start: at }, held);
    yield page;
    at = page.next ?? undefined;
    held = null;
  } while (at !== undefined);
}

/** Pages of a prefix that the server is not asked for as such, put together out of those it gives. */
async function* oddPages(
  client: Client,
  asked: TokenQuery,
  first: Held | null,
): AsyncGenerator<TokenPage> {
  const { prefix = "", reverse = false, perPage = PAGE, pageToken } = asked;
  let found: JsonObject[] = [];
  let index: bigint | null = null;
  for (const stretch of stretchesOf(prefix, reverse, pageToken)) {
    let at: string | null | undefined = stretch.start;
    do {
      const held = index === null ? first : null;
      const page = await readPage(client, asked, { ...stretch, start: at ?? undefined }, held);
      index ??= page.index;
      const inside = page.tokens.filter((one) => beginsWith(shown(one["AccessorID"]), prefix));
      found.push(...inside);
      // One more than a page holds is where the next one begins.
      while (found.length > perPage) {
        const next = shown(found[perPage]!["AccessorID"]);
        yield { tokens: found.slice(0, perPage), next, index };
        found = found.slice(perPage);
      }
      const beyond = inside.length < page.tokens.length;
      at = beyond ? null : page.next;
    } while (at !== null);
  }
  yield { tokens: found, next: null, index: index ?? 0n };
}

async function readPage(
  client: Client,
  asked: TokenQuery,
  { prefix, start }: Stretch,
  held: Held | null,
): Promise<TokenPage> {
  const { global, filter, reverse, perPage } = asked;
  const answer = await tokens.listTokens(
    client,
    {
      prefix: prefix === "" ? undefined : prefix,
      global: global === true ? true : undefined,
      filter,
      reverse: reverse === true ? true : undefined,
      per_page: perPage ?? PAGE,
      next_token: start,
      ...held?.query,
    },
    held === null ? {} : { held: held.held },
  );
  return {
    tokens: answer.data,
    next: answer.header("x-service-nexttoken") ?? null,
    index: indexOf(answer),
  };
}

/** Index of an answer; 0 where the server tells none. */
export function indexOf(answer: Pick<Answer, "header">): bigint {
  const told = answer.header("x-service-index") ?? "";
  return /^\d{1,20}$/.test(told) ? BigInt(told) : 0n;
}
