// Receipts: what is left of a lease that has ended, so that somebody can still be told what there was, for whom, and
// how it ended. Nothing in them is secret. Every hour those that came are signed for in one report.

import { createHash } from "node:crypto";
import { jsonCodec } from "@holdfast/shared/codec";
import type { NamespaceRef } from "@holdfast/shared/endpoint/request";
import { invariant } from "@holdfast/shared/invariant";
import { DAY } from "@holdfast/shared/text/duration";
import type { Clock, Instant, Nanos, Timers } from "@holdfast/shared/world";
import type { Tx, View, ViewReads } from "../barrier/view.ts";
import { canonicalJson } from "../signed/canonical-json.ts";
import { LEASES_ENDED } from "../signed/kinds.ts";
import type { Evidence } from "./evidence.ts";
import * as failures from "./failures.ts";

const KEPT_FOR: Nanos = 400n * DAY;
const KEPT_BYTES = 64 * 1024 * 1024;
const DROPPED_AT_ONCE = 4; // with each that comes: more than come, and little in one transaction
const SIGNED_AT_ONCE = 10_000; // in one report
const READ_AT_ONCE = 200;

/** Why it ended. */
export type LeaseEnding = "expiry" | "revoke" | "token" | "unmount";

/** "ended": the engine says that it is gone outside. "expires": nobody can end it before its time. "given-up": it may still
 *  be there. */
export type LeaseEnd = "ended" | "expires" | "given-up";

/** What a login has proved; without one, the token that it all began with. */
export type ReceiptOrigin = {
  readonly namespace_id: string;
  /** Uuid of the auth mount; empty without a login. */
  readonly mount: string;
  readonly name: string;
  /** Of that token; empty with a login. */
  readonly accessor: string;
};

export interface Receipt {
  readonly lease_id: string;
  readonly namespace_id: string;
  /** Of the request, relative to its namespace. */
  readonly path: string;
  readonly secret_type: string;
  /** That it was made for; empty where the engine has none. */
  readonly role: string;
  /** What the provider calls what was made. */
  readonly objects: readonly string[];
  /** Of the token that it was issued to; empty for none. */
  readonly accessor: string;
  /** Who was behind that token; null where nobody has noted it. */
  readonly origin: ReceiptOrigin | null;
  readonly issued: string;
  readonly ended: string;
  readonly why: LeaseEnding;
  readonly result: LeaseEnd;
  /** Until when what was handed out is good all the same; null where that is over. */
  readonly good_until: string | null;
  /** By which the provider knows the calls that ended it. */
  readonly request_ids: readonly string[];
  /** How often ending it was tried. */
  readonly tries: number;
  /** Why the last try that failed did; empty where none has. */
  readonly error: string;
}

interface Totals {
  readonly bytes: number;
  /** The last that a report has; empty for none. */
  readonly reported: string;
}

const receipts = jsonCodec<Receipt>();
const totals = jsonCodec<Totals>();
const text = jsonCodec<string>();

const TIMES = "by-time/";
const IDS = "ids/";
const TOTALS = "totals";
const NONE: Totals = { bytes: 0, reported: "" };

export interface ReceiptsOptions {
  /** core/evidence/receipts/ */
  readonly view: View;
  readonly evidence: Pick<Evidence, "sign">;
  readonly clock: Pick<Clock, "now">;
  readonly timers: Timers;
  /** Kept at most. Default 64 MiB. */
  readonly keptBytes?: number;
}

export class Receipts {
  readonly #options: ReceiptsOptions;

  constructor(options: ReceiptsOptions) {
    this.#options = options;
  }

  /** In the transaction that forgets the lease. One that had ended and was brought back by a restore has ended when it
   *  first did: its receipt stays. */
  put(tx: Tx, receipt: Receipt, now: Instant): void {
    const view = tx.on(this.#options.view);
    const { namespace_id: namespaceId, lease_id: id } = receipt;
    const first = receiptOf(view, namespaceId, id)?.result ?? "given-up";
    if (first !== "given-up") return;
    const key = `${TIMES}${String(now).padStart(20, "0")}/${namespaceId}/${id}`;
    view.put(key, receipt, receipts);
    view.put(idKey(namespaceId, id), key, text);
    const before = view.get(TOTALS, totals) ?? NONE;
    view.put(TOTALS, { ...before, bytes: before.bytes + sizeOf(receipt) }, totals);
    this.#drop(view, now);
  }

  /** Those that are there are signed for elsewhere. */
  signedFor(tx: Tx): void {
    const view = tx.on(this.#options.view);
    const [last] = view.keys(TIMES, { limit: 1, reverse: true });
    if (last === undefined) return;
    view.put(TOTALS, { ...(view.get(TOTALS, totals) ?? NONE), reported: last }, totals);
  }

  find(namespace: NamespaceRef, id: string): Receipt {
    const receipt = this.of(namespace.id, id);
    if (receipt === null) throw failures.receiptUnknown();
    return receipt;
  }

  /** Null where no lease of this id has ended, or so long ago that its receipt is gone. */
  of(namespaceId: string, id: string): Receipt | null {
    return receiptOf(this.#options.view, namespaceId, id);
  }

  /** Ids of one namespace, in their order. */
  list(
    namespace: NamespaceRef,
    { after, limit }: { readonly after?: string; readonly limit: number },
  ): string[] {
    const prefix = idKey(namespace.id, "");
    const page = after === undefined ? { limit } : { limit, after: prefix + after };
    return this.#options.view.keys(prefix, page).map((key) => key.slice(prefix.length));
  }

  /** Signs for those that came since the last time. */
  async report(isOpen: () => boolean = () => true): Promise<void> {
    const { view, evidence, timers } = this.#options;
    for (;;) {
      const { reported } = view.get(TOTALS, totals) ?? NONE;
      const hash = createHash("sha256");
      const all: Receipt[] = [];
      let after = reported;
      while (all.length < SIGNED_AT_ONCE) {
        const page = { limit: READ_AT_ONCE, ...(after === "" ? {} : { after }) };
        const rows = view.records(TIMES, receipts, page);
        for (const { value } of rows) hash.update(`${canonicalJson({ ...value })}\n`);
        all.push(...rows.map(({ value }) => value));
        after = rows.at(-1)?.key ?? after;
        if (rows.length < READ_AT_ONCE) break;
        await timers.turn();
      }
      const [first, last] = [all[0], all.at(-1)];
      if (first === undefined || last === undefined || !isOpen()) return;
      const count = (end: LeaseEnd) => all.filter(({ result }) => result === end).length;
      const [abandoned, expiring] = [count("given-up"), count("expires")];
      await evidence.sign({
        kind: LEASES_ENDED,
        subject: { leases: all.length, first: first.lease_id, last: last.lease_id },
        result: {
          state: abandoned + expiring === 0 ? "ended" : "partly",
          ended: count("ended"),
          expires: expiring,
          given_up: abandoned,
        },
        inputs: [{ name: "receipts", digest: hash.digest("hex") }],
        statement:
          `${all.length} leases have ended from ${first.ended} to ${last.ended}` +
          (expiring === 0
            ? ""
            : `; credentials of ${expiring} of them cannot be ended before their time`) +
          (abandoned === 0
            ? "."
            : `; ${abandoned} of them were given up, and may still be there outside.`),
      });
      const reportedNow = after;
      await view.write((tx) => {
        const before = tx.get(TOTALS, totals) ?? NONE;
        tx.put(TOTALS, { ...before, reported: reportedNow }, totals);
      });
    }
  }

  #drop(view: Tx, now: Instant): void {
    const { keptBytes = KEPT_BYTES } = this.#options;
    const before = view.get(TOTALS, totals) ?? NONE;
    let { bytes } = before;
    const oldest = String(now - KEPT_FOR).padStart(20, "0");
    const [first] = view.keys(TIMES, { limit: 1 });
    if (first === undefined || (bytes <= keptBytes && first > TIMES + oldest)) return;
    for (const { key, value } of view.records(TIMES, receipts, { limit: DROPPED_AT_ONCE })) {
      if (bytes <= keptBytes && key > TIMES + oldest) break;
      view.delete(key);
      const id = idKey(value.namespace_id, value.lease_id);
      if (view.get(id, text) === key) view.delete(id); // one that was given up may have a later one
      bytes -= sizeOf(value);
    }
    invariant(bytes >= 0, "no more is dropped than there was");
    view.put(TOTALS, { ...before, bytes }, totals);
  }
}

function receiptOf(view: ViewReads, namespaceId: string, id: string): Receipt | null {
  const key = view.get(idKey(namespaceId, id), text);
  return key === null ? null : view.get(key, receipts);
}

function idKey(namespaceId: string, id: string): string {
  return `${IDS}${namespaceId}/${id}`;
}

function sizeOf(receipt: Receipt): number {
  return receipts.encode(receipt).length;
}
