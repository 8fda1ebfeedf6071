// What the endpoints of the ACL API are answered from: the tokens, their lists, and the queries that wait
// for a change. Opened after the tokens; closed before anybody waits for running requests to end.

import type { Clock, Instant, Random, Timers } from "@holdfast/shared/world";
import { checkRegion } from "../../endpoint/acl-query.ts";
import type { RequestContext, Caller } from "@holdfast/shared/endpoint/request";
import { AddressLimit } from "../address-limit.ts";
import type { FairTurns } from "../../base/fair-turns.ts";
import { parseFilter } from "../filter/filter.ts";
import { type ListQuery, Listing, type TokenList } from "./listing.ts";
import { type BlockingQuery, BlockingQueries, type Watched } from "./blocking-queries.ts";
import { credentialGone, denied } from "./query-failures.ts";
import type { Exchanged } from "../one-time-tokens.ts";
import type { Token } from "../token.ts";
import type { Tokens } from "../tokens.ts";

export interface AclTokensOptions {
  readonly tokens: Tokens;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly turns: FairTurns;
  readonly random: Random;
  /** Name of the own region. */
  readonly region: () => string;
  /** Where global tokens and policies come from; null: they are written here. Default: they always are. */
  readonly source?: () => TokenSource | null;
  /** Whoever comes without a credential reads the anonymous token as its own. */
  readonly anonymousSelf: boolean;
}

/** The region that global tokens and policies come from. */
export interface TokenSource {
  readonly region: string;
  readonly isRunning: boolean;
  /** Up to which of its indexes they have come. */
  readonly applied: bigint;
  readonly lastSuccess: Instant | null;
  readonly lastError: { readonly at: Instant; readonly message: string } | null;
}

/** As of an index: that of the table where there is no token. */
export interface Found<T> {
  readonly value: T;
  readonly index: bigint;
}

export class AclTokens {
  readonly tokens: Tokens;
  readonly anonymousSelf: boolean;
  readonly source: () => TokenSource | null;
  readonly #region: () => string;
  readonly #listing: Listing;
  readonly #parked: BlockingQueries;
  readonly #exchanges: AddressLimit;

  constructor(options: AclTokensOptions) {
    const { tokens, clock, timers, turns, random, region, anonymousSelf } = options;
    const tableIndex = (namespaceId: string) => tokens.tableIndex(namespaceId);
    this.tokens = tokens;
    this.anonymousSelf = anonymousSelf;
    this.source = options.source ?? (() => null);
    this.#region = region;
    this.#listing = new Listing({
      ranges: tokens.ranges,
      tableIndex,
      parseFilter: (text) => parseFilter(text, { clock }),
      clock,
    });
    const changes = {
      watch: ({ namespaceId, accessor }: Watched, call: () => void) =>
        accessor === null
          ? tokens.rows.onTable(namespaceId, call)
          : tokens.rows.onToken({ namespaceId, accessor }, call),
    };
    this.#parked = new BlockingQueries({ changes, clock, timers, random, turns });
    this.#exchanges = new AddressLimit({ clock });
  }

  /** Blocking queries that have no answer yet. */
  get waiting(): number {
    return this.#parked.count;
  }

  open(): void {
    this.#parked.open();
  }

  close(): void {
    this.#parked.close();
    this.#listing.forget();
  }

  /** What names the authoritative region is answered there, and comes no further than the pipeline. */
  checkRegion(name: string): void {
    checkRegion(name, this.#region());
  }

  async list(
    context: RequestContext,
    query: ListQuery,
    blocking: BlockingQuery,
  ): Promise<Found<TokenList>> {
    const { namespaceId } = query;
    const plan = await this.#listing.plan(query);
    // The index is that of before the reading: what changes meanwhile is then seen next time.
    const { index } = await this.#parked.answer(context, blocking, (caller) => {
      if (caller.type !== "management") throw denied();
      return {
        index: this.tokens.tableIndex(namespaceId),
        watched: { namespaceId, accessor: null },
      };
    });
    return { index, value: await this.#listing.list(plan, context.signal, context.pace) };
  }

  /** By its accessor: for management, and for the token itself. Others learn nothing. */
  async read(
    context: RequestContext,
    accessor: string,
    blocking: BlockingQuery,
  ): Promise<Found<Token | null>> {
    const namespaceId = context.namespace.id;
    return this.#parked.answer(context, blocking, (caller) => {
      const value = this.tokens.byAccessor(namespaceId, accessor);
      if (caller.type !== "management" && !isOwn(caller, value)) throw denied();
      // While there is none, the answer is as new as the table.
      const index = value?.modifyIndex ?? this.tokens.tableIndex(namespaceId);
      return { value, index, watched: { namespaceId, accessor: value?.accessor ?? null } };
    });
  }

  async readSelf(context: RequestContext, blocking: BlockingQuery): Promise<Found<Token>> {
    return this.#parked.answer(context, blocking, ({ accessor, namespace }) => {
      const value = this.tokens.byAccessor(namespace.id, accessor);
      if (value === null) throw credentialGone();
      return { value, index: value.modifyIndex, watched: { namespaceId: namespace.id, accessor } };
    });
  }

  /** What fails is counted by address, but for callers on this machine, who need no network to be a
   *  burden. */
  async exchange(secret: string, { remote, namespace }: RequestContext): Promise<Exchanged> {
    if (!remote.loopback) this.#exchanges.check(remote.address);
    try {
      return await this.tokens.oneTime.exchange(secret, namespace.id);
    } catch (error) {
      if (!remote.loopback) this.#exchanges.count(remote.address);
      throw error;
    }
  }
}

function isOwn(caller: Caller, token: Token | null): boolean {
  return token?.accessor === caller.accessor && token.namespaceId === caller.namespace.id;
}
