// The list of tokens, page by page: one answer never has to hold all of them.

import type { JsonObject } from "@holdfast/shared/json/json";
import type { Nanos } from "@holdfast/shared/world";
import type { Answer, Client } from "@holdfast/client/client";
import * as tokens from "@holdfast/client/api/tokens";
import { showValue } from "../terminal/value.ts";

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
  query: TokenQuery,
  first: Held | null = null,
): AsyncGenerator<TokenPage> {
  const { prefix = "", pageToken } = query;
  if (digitsOf(prefix).length % 2 === 1) return yield* oddPages(client, query, first);
  let held = first;
  let at = pageToken;
  do {
    const page = await readPage(client, query, { prefix: digitsOf(prefix), start: at }, held);
    yield page;
    at = page.next ?? undefined;
    held = null;
  } while (at !== undefined);
}

/** Pages of a prefix that the server is not asked for as such, put together out of those it gives. */
async function* oddPages(
  client: Client,
  query: TokenQuery,
  first: Held | null,
): AsyncGenerator<TokenPage> {
  const { prefix = "", reverse = false, perPage = PAGE, pageToken } = query;
  let found: JsonObject[] = [];
  let index: bigint | null = null;
  for (const stretch of stretchesOf(prefix, reverse, pageToken)) {
    let at: string | null | undefined = stretch.start;
    do {
      const held = index === null ? first : null;
      const page = await readPage(client, query, { ...stretch, start: at ?? undefined }, held);
      index ??= page.index;
      const inside = page.tokens.filter((one) => beginsWith(showValue(one["AccessorID"]), prefix));
      found.push(...inside);
      // One more than a page holds is where the next one begins.
      while (found.length > perPage) {
        const next = showValue(found[perPage]!["AccessorID"]);
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
  query: TokenQuery,
  { prefix, start }: Stretch,
  held: Held | null,
): Promise<TokenPage> {
  const { global, filter, reverse, perPage } = query;
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
  const header = answer.header("x-service-index") ?? "";
  return /^\d{1,20}$/.test(header) ? BigInt(header) : 0n;
}

// Beginnings of accessors: hexadecimal digits, hyphens or none, in either case.

/** Whether the text can be the beginning of a UUID. */
export function isAccessorPrefix(text: string): boolean {
  return /^[0-9a-f-]{0,36}$/i.test(text) && (text.match(/-/g)?.length ?? 0) <= 4;
}

/** A stretch of the list in the order of accessors, as the server can be asked for it. */
export interface Stretch {
  /** Whole bytes: the server takes no others. */
  readonly prefix: string;
  /** The accessor to begin with, whether a token has it or not. */
  readonly start: string | undefined;
}

const DIGITS = Array.from("0123456789abcdef");

/**
 * Where tokens with a prefix are, in their order. Of an odd number of digits the last one is where to
 * begin; one digit alone stands for sixteen bytes, as without a prefix the order would be another.
 */
export function stretchesOf(prefix: string, reverse: boolean, cursor?: string): Stretch[] {
  const digits = digitsOf(prefix);
  if (digits.length % 2 === 0) return [{ prefix: digits, start: cursor }];
  const even = digits.slice(0, -1);
  if (even !== "") {
    return [{ prefix: even, start: cursor ?? uuidOf(digits.padEnd(32, reverse ? "f" : "0")) }];
  }
  const all = (reverse ? DIGITS.toReversed() : DIGITS).map((digit) => digits + digit);
  const from = cursor === undefined ? 0 : all.indexOf(digitsOf(cursor).slice(0, 2));
  return all.slice(Math.max(0, from)).map((one, i) => ({
    prefix: one,
    start: i === 0 ? cursor : undefined,
  }));
}

function uuidOf(digits: string): string {
  return digits.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
}

export function beginsWith(accessor: string, prefix: string): boolean {
  return digitsOf(accessor).startsWith(digitsOf(prefix));
}

export function digitsOf(text: string): string {
  return text.toLowerCase().replaceAll("-", "");
}
