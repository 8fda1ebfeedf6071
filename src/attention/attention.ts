// What needs somebody's attention, now and with what to do about it: asked of counters, in a few milliseconds however
// much the server holds. When something opens and closes is written down. A check that fails is told as such: an
// empty list is an all-clear only if it is complete.

import { DAY } from "@holdfast/shared/text/duration";
import { describe } from "@holdfast/shared/failure";
import {
  type Caller,
  isAtOrBelow,
  type NamespaceRef,
  ROOT_NAMESPACE,
} from "@holdfast/shared/endpoint/request";
import { cut } from "@holdfast/shared/endpoint/page";
import type { Log } from "@holdfast/shared/log";
import { showTime } from "@holdfast/shared/text/time";
import type { Clock, Instant, Nanos } from "@holdfast/shared/world";
import type { Tx, View } from "../barrier/view.ts";
import * as rows from "./attention-rows.ts";
import { type Check, CHECKS, type Facts, type Found, type Severity } from "./checks.ts";
import * as failures from "./failures.ts";

const MAX_OF_ONE = 100; // items of one code
const LONGEST_SNOOZE: Nanos = 30n * DAY;

export interface AttentionOptions {
  /** core/attention/ */
  readonly view: View;
  readonly facts: Facts;
  readonly clock: Pick<Clock, "now">;
  readonly log: Log;
  /** What of a namespace the caller's policies reach. */
  readonly reachOf: (
    caller: Caller,
    namespace: NamespaceRef,
  ) => Promise<(beginning: string) => boolean>;
  /** Default: all there are. */
  readonly checks?: readonly Check[];
}

export interface Item extends Found {
  readonly code: string;
  readonly severity: Severity;
  readonly remedy: string;
  readonly since: string;
  readonly snoozed: { readonly until: Instant; readonly reason: string } | null;
}

export interface Looked {
  readonly items: readonly Item[];
  readonly checks: { readonly ran: number; readonly failed: number; readonly skipped: number };
  readonly complete: boolean;
}

/** An item for somebody: without a name that is not theirs to know. */
export interface NamedItem extends Omit<Item, "subject"> {
  readonly subject: string | null;
}

export interface LookedFor extends Omit<Looked, "items"> {
  readonly items: readonly NamedItem[];
}

export class Attention {
  readonly #options: AttentionOptions;
  #open: ReadonlyMap<string, rows.OpenItem> = new Map();
  #snoozed: ReadonlyMap<string, rows.Snooze> = new Map();
  #unwatch: () => void = () => {};

  constructor(options: AttentionOptions) {
    this.#options = options;
  }

  open(): void {
    const { view } = this.#options;
    this.#load();
    this.#unwatch = view.watch("", () => this.#load());
  }

  close(): void {
    this.#unwatch();
    this.#open = new Map();
    this.#snoozed = new Map();
  }

  /** All of it, whoever asks. */
  look(): Looked {
    const { facts, clock, checks = CHECKS, log } = this.#options;
    const now = clock.now();
    const items: Item[] = [];
    let [failed, skipped] = [0, 0];
    for (const check of checks) {
      try {
        const found = check.find(facts, now);
        if (found === null) skipped++;
        else items.push(...this.#items(check, found, now));
      } catch (error) {
        failed++;
        log.warn("a check of what needs attention failed", {
          code: check.code,
          cause: describe(error),
        });
        items.push(...this.#items(check, [FAILED], now));
      }
    }
    const counts = { ran: checks.length - skipped, failed, skipped };
    return { items, checks: counts, complete: failed === 0 };
  }

  /** What is of this namespace and below, with the names that the caller's policies reach. */
  async lookFor(caller: Caller, namespace: NamespaceRef): Promise<LookedFor> {
    const looked = this.look();
    const seen = looked.items.filter((item) => isAtOrBelow(item.namespace, namespace));
    const reaches = new Map<string, (beginning: string) => boolean>();
    const items: NamedItem[] = [];
    for (const item of seen) {
      const { id } = item.namespace;
      const reach = reaches.get(id) ?? (await this.#options.reachOf(caller, item.namespace));
      reaches.set(id, reach);
      const known = item.subject === "" || reach(item.seenBy);
      const { subject, evidence = null } = item;
      items.push({
        ...item,
        ...(known ? { subject, evidence } : { subject: null, evidence: null }),
      });
    }
    return { ...looked, items };
  }

  /** How many of each code, without what was put off. */
  counts(): readonly {
    readonly code: string;
    readonly severity: Severity;
    readonly count: number;
  }[] {
    const { items } = this.look();
    return (this.#options.checks ?? CHECKS).map(({ code, severity }) => {
      const own = items.filter((item) => item.code === code && item.snoozed === null);
      return { code, severity, count: own.length };
    });
  }

  /** Writes down what has opened and closed since the last time. */
  async record(): Promise<void> {
    const { view, clock } = this.#options;
    const { items } = this.look();
    const here = new Map(items.map((item) => [rows.placeKey(placeOf(item)), item]));
    const opened = Array.from(here).filter(([key]) => !this.#open.has(key));
    const gone = Array.from(this.#open).filter(([key]) => !here.has(key));
    if (opened.length === 0 && gone.length === 0) return;
    const now = showTime(clock.now());
    const write = (tx: Tx) => {
      for (const [, item] of opened) {
        rows.putOpen(tx, { ...placeOf(item), severity: item.severity, since: item.since });
      }
      for (const [, item] of gone) rows.close(tx, { ...item, closed: now });
    };
    await view.write(write, { essential: true }); // a full disk is one of the things to be told
    this.#load();
  }

  /** The newest first, of a namespace; to root, of all. `last` is where those before it begin, if there are any. */
  history(namespace: NamespaceRef, before: number | null, limit: number) {
    const looked = rows.readHistory(this.#options.view, { before, limit: limit + 1 });
    const { page, last } = cut(looked, limit);
    const isOurs = ({ namespaceId }: rows.ClosedItem) =>
      namespace.path === "" || namespaceId === namespace.id;
    return { found: page.filter(({ item }) => isOurs(item)), last: last?.number ?? null };
  }

  /** Puts one off: it is still in the answer, and neither counted nor failed on. */
  async snooze(
    namespace: NamespaceRef,
    { code, subject, until, reason }: SnoozeInput,
  ): Promise<void> {
    const { clock, view, checks = CHECKS } = this.#options;
    const check = checks.find((one) => one.code === code);
    if (check === undefined) throw failures.codeUnknown();
    if (check.severity === "act") throw failures.neverSnoozed();
    const now = clock.now();
    if (until <= now || until - now > LONGEST_SNOOZE) throw failures.snoozeTooLong();
    const item = this.look().items.find(
      (one) => one.code === code && one.subject === subject && one.namespace.id === namespace.id,
    );
    if (item === undefined) throw failures.nothingToSnooze();
    const place = placeOf(item);
    await view.write((tx) => {
      const { severity, since } = item;
      if (!this.#open.has(rows.placeKey(place))) rows.putOpen(tx, { ...place, severity, since });
      rows.putSnooze(tx, { ...place, until: String(until), reason });
    });
    this.#load();
  }

  #items(check: Check, found: readonly Found[], now: Instant): Item[] {
    const { code, severity, remedy } = check;
    const first = found.slice(0, MAX_OF_ONE);
    const more = found.length - first.length;
    const rest: Found[] = more === 0 ? [] : [{ ...FAILED, text: `${more} more are like these` }];
    return [...first, ...rest].map((one) => {
      const key = rows.placeKey({ code, namespaceId: one.namespace.id, subject: one.subject });
      const snooze = this.#snoozed.get(key);
      const until = snooze === undefined ? 0n : BigInt(snooze.until);
      const snoozed =
        snooze === undefined || until <= now ? null : { until, reason: snooze.reason };
      const since = this.#open.get(key)?.since ?? showTime(now);
      return { ...one, code, severity, remedy, since, snoozed };
    });
  }

  #load(): void {
    const { view } = this.#options;
    this.#open = rows.readOpen(view);
    this.#snoozed = rows.readSnoozed(view);
  }
}

export interface SnoozeInput {
  readonly code: string;
  readonly subject: string;
  readonly until: Instant;
  readonly reason: string;
}

/** In the place of what a check would have found. */
const FAILED: Found = {
  subject: "",
  namespace: ROOT_NAMESPACE,
  seenBy: "",
  text: "this could not be checked; the server's log says why",
};

function placeOf({ code, namespace, subject }: Item): rows.ItemPlace {
  return { code, namespaceId: namespace.id, subject };
}
