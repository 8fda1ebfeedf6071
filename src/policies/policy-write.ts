// What one write makes of a policy: its next version. The same for all kinds, and for a trial that
// stores nothing.

import type { Clock, Instant, Nanos } from "@holdfast/shared/world";
import * as failures from "./failures.ts";
import type { PolicyRecord } from "./policy-record.ts";

/** What a caller wants to have stored. */
export interface PolicyChange {
  readonly name: string;
  /** In clear, the very text that was judged. Undefined: as it is. */
  readonly text?: string | undefined;
  /** The version that it replaces; -1 when there must be none. Default: not compared. */
  readonly cas?: number | undefined;
  /** The next write must give `cas`. */
  readonly casRequired?: boolean | undefined;
  /** When the policy ends by itself, null for never. */
  readonly expires?: Instant | null | undefined;
  /** The same, from now; not beside `expires`. */
  readonly ttl?: Nanos | null | undefined;
  /** For people. Default: as it is. */
  readonly description?: string | undefined;
  /** Whether what is not given stays as it is, which needs something to be there. Default: it is a
   *  whole policy. */
  readonly partial?: boolean | undefined;
  /** Everything is checked, and nothing stored. Default false. */
  readonly trial?: boolean | undefined;
}

export interface PolicyWritten<R = PolicyRecord> {
  readonly name: string;
  readonly version: number;
  readonly record: R;
  readonly warnings: readonly string[];
}

/** Of the transaction, or of the one that a trial would be. */
export interface Moment {
  readonly index: bigint;
  readonly time: Instant;
}

/** When it ends; undefined where the caller says nothing of it. */
export function endOf({ expires, ttl }: PolicyChange, clock: Clock): Instant | null | undefined {
  if (ttl === undefined || ttl === null) {
    if (expires === undefined && ttl === undefined) return undefined;
    const end = expires ?? null;
    if (end !== null && end <= clock.now()) throw failures.alreadyEnded();
    return end;
  }
  if (expires !== undefined && expires !== null) throw failures.twoEnds();
  if (ttl <= 0n) throw failures.alreadyEnded();
  return clock.now() + ttl;
}

/** The next version, for a change that may be made to what is there. */
export function successor(
  before: PolicyRecord | null,
  change: PolicyChange,
  end: Instant | null | undefined,
  { index, time }: Moment,
): PolicyRecord {
  const base = change.partial === true ? before : null;
  if (change.partial === true && before === null) throw failures.absent();
  checkVersion(before, change.cas);
  const text = change.text ?? base?.text;
  if (text === undefined) throw failures.textMissing();
  const description = change.description ?? before?.description ?? "";
  return {
    text,
    version: (before?.version ?? 0) + 1,
    modified: time,
    created: before?.created ?? index,
    written: index,
    casRequired: change.casRequired ?? base?.casRequired ?? false,
    expires: end === undefined ? (base?.expires ?? null) : end,
    ...(description === "" ? {} : { description }),
  };
}

function checkVersion(before: PolicyRecord | null, cas: number | undefined): void {
  if (cas === undefined) {
    if (before?.casRequired === true) throw failures.casMissing();
    return;
  }
  if (cas !== (before?.version ?? -1)) throw failures.casMismatch();
}
