// Endpoints of attention as functions.
// Written by scripts/gen.ts out of the declarations: do not edit. Inputs and answers have the names of
// the wire.

import type { Answer, Caller, CallOptions } from "../client.ts";
import { needInput, oneSegment } from "../request-path.ts";

export type ReadAttentionAnswer = {
  /** The most urgent first */
  readonly items: readonly {
    /** What it is */
    readonly code: string;
    /** How soon */
    readonly severity: "act" | "soon" | "note";
    /** What it is about; empty for the server, null where it may not be known */
    readonly subject: string | null;
    /** Path of its namespace; empty for root */
    readonly namespace: string;
    /** When it was first seen */
    readonly since: string;
    /** What is the matter */
    readonly text: string;
    /** A command, or what to do */
    readonly remedy: string;
    /** 0 for one thing; else this item stands for so many more of its code that are not shown */
    readonly more: number;
    /** Id of a signed report about it */
    readonly evidence: string | null;
    /** Until when it was put off */
    readonly snoozed_until: string | null;
    /** Why; empty where it was not */
    readonly snooze_reason: string;
  }[];
  readonly checks: {
    /** Checks that were made */
    readonly ran: number;
    /** Of them, those that could not be ended; each is an item of the root namespace */
    readonly failed: number;
    /** Checks that do not apply to this server */
    readonly skipped: number;
  };
  /** Whether every check was made to its end */
  readonly complete: boolean;
};

/** Read what needs attention, with what to do about it */
export async function readAttention(
  client: Caller,
  options?: CallOptions,
): Promise<Answer<ReadAttentionAnswer>> {
  return client.call({ method: "GET", path: "sys/attention", answer: "data" }, options);
}

export type ReadAttentionHistoryInput = {
  /** Only those before this number */
  readonly before?: number | undefined;
  /** How many at most. */
  readonly limit?: number | undefined;
};

export type ReadAttentionHistoryAnswer = {
  /** What has closed */
  readonly items: readonly {
    /** Counts what has closed */
    readonly number: number;
    /** What it was */
    readonly code: string;
    /** How soon */
    readonly severity: "act" | "soon" | "note";
    /** What it was about; empty for the server */
    readonly subject: string;
    /** When it was first seen */
    readonly opened: string;
    /** When it was no longer there */
    readonly closed: string;
  }[];
};

/** Read what needed attention once */
export async function readAttentionHistory(
  client: Caller,
  query: ReadAttentionHistoryInput = {},
  options?: CallOptions,
): Promise<Answer<ReadAttentionHistoryAnswer>> {
  return client.call(
    { method: "GET", path: "sys/attention/history", query, answer: "data" },
    options,
  );
}

export type SnoozeAttentionInput = {
  /** What it is */
  readonly code: string;
  /** What it is about; empty for the server */
  readonly subject?: string | undefined;
  /** Until when: a time of RFC 3339, within 30 days */
  readonly until: string;
  /** Why: a text that is not blank */
  readonly reason: string;
};

/** Put off something that needs attention */
export async function snoozeAttention(
  client: Caller,
  input: SnoozeAttentionInput,
  options?: CallOptions,
): Promise<Answer<undefined>> {
  const { code, ...body } = needInput(input);
  return client.call(
    { method: "POST", path: `sys/attention/${oneSegment(code)}/snooze`, body, answer: "nothing" },
    options,
  );
}
