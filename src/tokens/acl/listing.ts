// Lists of tokens: which order, where a page starts and ends, what its cursor is. Pages
// come straight from the ordered rows; one without a filter costs what it gives, whatever is stored.

import { isUuid } from "@holdfast/shared/text/uuid";
import type { Clock, Nanos } from "@holdfast/shared/world";
import { SECOND } from "@holdfast/shared/text/duration";
import type { Pace } from "@holdfast/shared/sliced";
import { callerGone, cursorMalformed } from "./query-failures.ts";
import type { Token } from "../token.ts";
import type { TokenRanges } from "../rows/token-ranges.ts";
import { stubOf, type TokenStub } from "./wire-record.ts";

const BATCH = 64; // tokens read in one go: a millisecond or two
const REMEMBERED: Nanos = SECOND;
const MAX_REMEMBERED = 8; // lists
const MAX_IN_ONE = 1000; // tokens in a list that is remembered

export interface ListQuery {
  readonly namespaceId: string;
  /** What accessors start with, as in the text of a UUID; may be empty. */
  readonly prefix: string;
  readonly global: boolean;
  readonly reverse: boolean;
  /** 0: everything. */
  readonly perPage: number;
  /** Empty: from the start. */
  readonly nextToken: string;
  /** As it was given; empty without one. */
  readonly filter: string;
}

export interface TokenList {
  readonly stubs: readonly TokenStub[];
  /** Cursor of the next page; null on the last. */
  readonly next: string | null;
}

export interface TokenFilter {
  /** Whether what it says of a token changes with the time. Default: no. */
  readonly byClock?: boolean;
  matches(token: Token): boolean;
}

export interface ListingParts {
  readonly ranges: Pick<TokenRanges, "byCreation" | "byAccessor">;
  readonly tableIndex: (namespaceId: string) => bigint;
  readonly parseFilter: (text: string) => TokenFilter | Promise<TokenFilter>;
  readonly clock: Pick<Clock, "elapsed">;
}

/** A query that is understood. */
export interface ListPlan {
  readonly query: ListQuery;
  readonly order: Order;
  readonly filter: TokenFilter | null;
}

interface Remembered {
  readonly index: bigint;
  readonly until: Nanos;
  readonly list: TokenList;
}

export class Listing {
  readonly #parts: ListingParts;
  readonly #remembered = new Map<string, Remembered>();

  constructor(parts: ListingParts) {
    this.#parts = parts;
  }

  /** Refuses what is wrong with a query, before anybody waits or anything is read. */
  async plan(query: ListQuery): Promise<ListPlan> {
    const order = orderOf(query);
    const { filter } = query;
    return { query, order, filter: filter === "" ? null : await this.#parts.parseFilter(filter) };
  }

  async list(plan: ListPlan, signal: AbortSignal, pace: Pace): Promise<TokenList> {
    const { tableIndex, clock } = this.#parts;
    const { namespaceId } = plan.query;
    // A change wakes everybody who waited for it, and many of them ask for the same.
    const name = JSON.stringify(plan.query);
    const index = tableIndex(namespaceId);
    const known = this.#remembered.get(name);
    if (known?.index === index && clock.elapsed() < known.until) return known.list;
    const list = await this.#read(plan, signal, pace);
    const lasts = plan.filter?.byClock !== true && tableIndex(namespaceId) === index;
    if (lasts) this.#remember(name, index, list);
    return list;
  }

  /** At sealing. */
  forget(): void {
    this.#remembered.clear();
  }

  async #read(
    { query, order, filter }: ListPlan,
    signal: AbortSignal,
    { turns, whose }: Pace,
  ): Promise<TokenList> {
    const { ranges } = this.#parts;
    const { namespaceId, perPage } = query;
    const stubs: TokenStub[] = [];
    const max = perPage === 0 ? Infinity : perPage;
    let from = order.start;
    for (;;) {
      const wanted = filter === null ? Math.min(max - stubs.length, BATCH) : BATCH;
      // One more than is looked at: it is where the next batch or page starts.
      const tokens = order.read(ranges, namespaceId, from, wanted + 1);
      for (const token of tokens.slice(0, wanted)) {
        if (filter !== null && !filter.matches(token)) continue;
        if (stubs.length === max) return { stubs, next: order.cursor(token) };
        stubs.push(stubOf(token));
      }
      const following = tokens[wanted];
      if (following === undefined) return { stubs, next: null };
      if (filter === null && stubs.length === max) {
        return { stubs, next: order.cursor(following) };
      }
      from = following;
      await turns.next(whose);
      if (signal.aborted) throw callerGone();
    }
  }

  #remember(name: string, index: bigint, list: TokenList): void {
    if (list.stubs.length > MAX_IN_ONE) return;
    Object.freeze(list.stubs); // as what is told to all of them
    this.#remembered.delete(name);
    for (const [oldest] of this.#remembered) {
      if (this.#remembered.size < MAX_REMEMBERED) break;
      this.#remembered.delete(oldest);
    }
    this.#remembered.set(name, { index, list, until: this.#parts.clock.elapsed() + REMEMBERED });
  }
}

type Place = Pick<Token, "createIndex" | "accessor">;

interface Order {
  /** Undefined: at the end of the order. */
  readonly start: Place | undefined;
  read(
    ranges: ListingParts["ranges"],
    namespaceId: string,
    from: Place | undefined,
    limit: number,
  ): Token[];
  cursor(token: Token): string;
}

function orderOf({ prefix, global, reverse, nextToken }: ListQuery): Order {
  if (prefix === "" && !global) {
    return {
      start: nextToken === "" ? undefined : creationCursor(nextToken),
      read: (ranges, namespaceId, from, limit) =>
        ranges.byCreation(namespaceId, { from, limit, reverse }),
      cursor: ({ createIndex, accessor }) => `${createIndex}.${accessor}`,
    };
  }
  return {
    start: nextToken === "" ? undefined : accessorCursor(nextToken),
    read: (ranges, namespaceId, from, limit) =>
      ranges.byAccessor(namespaceId, { from: from?.accessor, limit, reverse, prefix, global }),
    cursor: ({ accessor }) => accessor,
  };
}

function creationCursor(text: string): Place {
  const [, index = "", accessor = ""] = /^(\d{1,20})\.([0-9a-fA-F-]{36})$/.exec(text) ?? [];
  if (index === "") throw cursorMalformed();
  return { ...accessorCursor(accessor), createIndex: BigInt(index) };
}

function accessorCursor(text: string): Place {
  if (!isUuid(text)) throw cursorMalformed();
  return { createIndex: 0n, accessor: text.toLowerCase() };
}
