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

const MAX_OF_ONE = 100; // items of one code, in what somebody looks at
const MAX_WRITTEN = 1000; // that open, and that close, in one transaction
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
  readonly snoozed: PutOff | null;
  /** 0: this is one thing. Else it stands for so many more like those before it, and cannot be put off. */
  readonly more: number;
}

interface PutOff {
  readonly until: Instant;
  readonly reason: string;
}

/** What a check has found, of all namespaces; `failed` where it could not be made to its end. */
interface Checked {
  readonly check: Check;
  readonly found: readonly Found[];
  readonly failed: boolean;
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
  /** When what is not written down yet was first seen by whoever looked: it is written down with that time. */
  readonly #seen = new Map<string, string>();
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
    this.#seen.clear();
  }

  /** What is of this namespace and below, whoever asks: of each code the first, and how many more there are. */
  look(namespace: NamespaceRef = ROOT_NAMESPACE): Looked {
    const { clock, checks = CHECKS } = this.#options;
    const now = clock.now();
    const checked = this.#check(now);
    this.#forgetEnded(checked);
    const items = checked.flatMap(({ check, found }) => {
      const own = found.filter((one) => isAtOrBelow(one.namespace, namespace));
      return this.#items(check, own, { namespace, now });
    });
    const failed = checked.filter((one) => one.failed).length;
    const counts = { ran: checked.length, failed, skipped: checks.length - checked.length };
    return { items, checks: counts, complete: failed === 0 };
  }

  /** What is of this namespace and below, with the names that the caller's policies reach. */
  async lookFor(caller: Caller, namespace: NamespaceRef): Promise<LookedFor> {
    const looked = this.look(namespace);
    const reaches = new Map<string, (beginning: string) => boolean>();
    const items: NamedItem[] = [];
    for (const item of looked.items) {
      const { id } = item.namespace;
      const reach = reaches.get(id) ?? (await this.#options.reachOf(caller, item.namespace));
      reaches.set(id, reach);
      const known = item.subject === "" || reach(item.seenBy);
      const { subject, evidence = null, text, detail = "" } = item;
      const fullText = detail === "" ? text : `${text}: ${detail}`;
      items.push({
        ...item,
        ...(known ? { subject, evidence, text: fullText } : { subject: null, evidence: null }),
      });
    }
    return { ...looked, items };
  }

  /** How many of each code there are, shown or not, without what was put off. */
  counts(): readonly {
    readonly code: string;
    readonly severity: Severity;
    readonly count: number;
  }[] {
    const now = this.#options.clock.now();
    const counted = new Map(
      this.#check(now).map(({ check: { code }, found }) => [
        code,
        found.filter((one) => this.#putOff(code, one, now) === null).length,
      ]),
    );
    return (this.#options.checks ?? CHECKS).map(({ code, severity }) => {
      return { code, severity, count: counted.get(code) ?? 0 };
    });
  }

  /** Writes down what has opened and closed since the last time. */
  async record(): Promise<void> {
    const { view, clock } = this.#options;
    const now = clock.now();
    const since = showTime(now);
    const checked = this.#check(now);
    const here = new Map<string, rows.OpenItem>();
    for (const { check, found } of checked) {
      const { code, severity } = check;
      for (const one of found) {
        const place = placeOf(code, one);
        const key = rows.placeText(place);
        here.set(key, { ...place, severity, since: this.#seen.get(key) ?? since });
      }
    }
    const failed = new Set(checked.flatMap((one) => (one.failed ? [one.check.code] : [])));
    // What could not be looked at has not ended.
    const gone = [...this.#open]
      .filter(([key, { code }]) => !here.has(key) && !failed.has(code))
      .slice(0, MAX_WRITTEN);
    const opened = this.#toOpen(here);
    if (opened.length === 0 && gone.length === 0) return;
    const write = (tx: Tx) => {
      for (const item of opened) rows.putOpen(tx, item);
      for (const [, item] of gone) rows.close(tx, { ...item, closed: since });
    };
    await view.write(write, { essential: true }); // a full disk is one of the things to be told
    this.#load();
    this.#forgetEnded(checked);
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
    const found = this.#check(now)
      .find((one) => one.check === check)
      ?.found.find((one) => one.subject === subject && one.namespace.id === namespace.id);
    if (found === undefined) throw failures.nothingToSnooze();
    const place = placeOf(code, found);
    await view.write((tx) => {
      const { severity } = check;
      const isOpen = this.#open.has(rows.placeText(place));
      if (!isOpen) rows.putOpen(tx, { ...place, severity, since: this.#sinceOf(place, now) });
      rows.putSnooze(tx, { ...place, until: String(until), reason });
    });
    this.#load();
  }

  /** Without those that do not apply here. */
  #check(now: Instant): Checked[] {
    const { facts, checks = CHECKS, log } = this.#options;
    return checks.flatMap((check): Checked[] => {
      try {
        const found = check.find(facts, now);
        return found === null ? [] : [{ check, found, failed: false }];
      } catch (error) {
        const about = { code: check.code, cause: describe(error) };
        log.warn("a check of what needs attention failed", about);
        return [{ check, found: [FAILED], failed: true }];
      }
    });
  }

  #items(
    check: Check,
    found: readonly Found[],
    { namespace, now }: { readonly namespace: NamespaceRef; readonly now: Instant },
  ): Item[] {
    const { code, severity, remedy } = check;
    const all = found.map((one) => ({ one, snoozed: this.#putOff(code, one, now) }));
    if (all.length > MAX_OF_ONE) {
      all.sort((a, b) => Number(a.snoozed !== null) - Number(b.snoozed !== null)); // put off last
    }
    const rest = all.splice(MAX_OF_ONE);
    const items = all.map(({ one, snoozed }): Item => {
      const since = this.#sinceOf(placeOf(code, one), now);
      return { ...one, code, severity, remedy, since, snoozed, more: 0 };
    });
    const [first] = rest;
    if (first === undefined) return items;
    const more = rest.length;
    const text = more === 1 ? "one more is like these" : `${more} more are like these`;
    // Which of them came first is not kept: as long as the first of those that are shown.
    const since = items.reduce(
      (first, one) => (one.since < first ? one.since : first),
      showTime(now),
    );
    const about = { subject: "", namespace, seenBy: "", text, since };
    return [...items, { ...about, code, severity, remedy, snoozed: first.snoozed, more }];
  }

  /** Whoever was told a time is never told a later one. */
  #sinceOf(place: rows.ItemPlace, now: Instant): string {
    const key = rows.placeText(place);
    const known = this.#open.get(key)?.since ?? this.#seen.get(key);
    if (known !== undefined) return known;
    const since = showTime(now);
    if (this.#seen.size < rows.MAX_OPEN) this.#seen.set(key, since);
    return since;
  }

  /** What is written down by now, or is no longer there. What could not be looked at has not ended. */
  #forgetEnded(checked: readonly Checked[]): void {
    if (this.#seen.size === 0) return;
    const here = new Set(
      checked.flatMap(({ check, found }) =>
        found.map((one) => rows.placeText(placeOf(check.code, one))),
      ),
    );
    const failed = new Set(checked.flatMap((one) => (one.failed ? [one.check.code] : [])));
    for (const key of this.#seen.keys()) {
      const [code = ""] = key.split("\n", 1);
      if (this.#open.has(key) || !(here.has(key) || failed.has(code))) this.#seen.delete(key);
    }
  }

  /** Null where it is not put off, or no longer. */
  #putOff(code: string, found: Found, now: Instant): PutOff | null {
    if (this.#snoozed.size === 0) return null;
    const snooze = this.#snoozed.get(rows.placeText(placeOf(code, found)));
    if (snooze === undefined) return null;
    const until = BigInt(snooze.until);
    return until <= now ? null : { until, reason: snooze.reason };
  }

  /** What is not written down yet: of each code in each namespace the first, so that none takes the place of others. */
  #toOpen(here: ReadonlyMap<string, rows.OpenItem>): rows.OpenItem[] {
    const counts = new Map<string, number>();
    const count = ({ code, namespaceId }: rows.ItemPlace) => {
      const group = `${code}\n${namespaceId}`;
      const number = (counts.get(group) ?? 0) + 1;
      counts.set(group, number);
      return number;
    };
    for (const item of this.#open.values()) count(item);
    const room = Math.min(MAX_WRITTEN, rows.MAX_OPEN - this.#open.size);
    return [...here]
      .filter(([key, item]) => !this.#open.has(key) && count(item) <= MAX_OF_ONE)
      .slice(0, Math.max(0, room))
      .map(([, item]) => item);
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

function placeOf(code: string, { namespace, subject }: Found): rows.ItemPlace {
  return { code, namespaceId: namespace.id, subject };
}
