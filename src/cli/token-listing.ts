// The list of tokens, page by page: one answer never has to hold all of them.

import { isObject, type JsonObject } from "../base/json.ts";
import type { Nanos } from "../base/world.ts";
import type { Answer, Client, Query } from "../client/client.ts";
import { beginsWith, evenPrefix } from "./accessor-prefix.ts";
import { shown } from "./terminal/value.ts";

const PAGE = 1000;

export interface TokenQuery {
  readonly prefix?: string | undefined;
  readonly global?: boolean;
  readonly filter?: string | undefined;
  readonly reverse?: boolean;
  readonly perPage?: number | undefined;
  readonly pageToken?: string | undefined;
}

export interface TokenPage {
  readonly tokens: readonly JsonObject[];
  readonly next: string | null;
  /** Of the table of tokens, when this page was read. */
  readonly index: bigint;
}

/** What makes a read wait for something new; for the first page alone. */
export interface Held {
  readonly query: Query;
  readonly held: Nanos;
}

export async function* listPages(
  client: Client,
  asked: TokenQuery,
  first: Held | null = null,
): AsyncGenerator<TokenPage> {
  let held = first;
  let at = asked.pageToken ?? null;
  do {
    const page = await readPage(client, { ...asked, pageToken: at ?? undefined }, held);
    yield page;
    at = page.next;
    held = null;
  } while (at !== null);
}

async function readPage(client: Client, asked: TokenQuery, held: Held | null): Promise<TokenPage> {
  const { prefix, global, filter, reverse, perPage, pageToken } = asked;
  const even = prefix === undefined ? "" : evenPrefix(prefix);
  const answer = await client.request("GET", "acl/tokens", {
    query: {
      prefix: even === "" ? undefined : even,
      global: global === true ? true : undefined,
      filter,
      reverse: reverse === true ? true : undefined,
      per_page: perPage ?? PAGE,
      next_token: pageToken,
      ...held?.query,
    },
    ...(held === null ? {} : { held: held.held }),
  });
  const tokens = Array.isArray(answer.body) ? answer.body.filter(isObject) : [];
  return {
    tokens:
      prefix === undefined
        ? tokens
        : tokens.filter(({ AccessorID }) => beginsWith(shown(AccessorID), prefix)),
    next: answer.header("x-service-nexttoken") ?? null,
    index: indexOf(answer),
  };
}

/** Index of an answer; 0 where the server tells none. */
export function indexOf(answer: Answer): bigint {
  const told = answer.header("x-service-index") ?? "";
  return /^\d{1,20}$/.test(told) ? BigInt(told) : 0n;
}
