// What the room keeps below core/attention/: what is open and since when, what was put off, and what was open once.

import { createHash } from "node:crypto";
import { jsonCodec } from "@holdfast/shared/codec";
import type { Tx, View, ViewReads } from "../barrier/view.ts";
import type { Severity } from "./checks.ts";

/** What one item is known by. */
export interface ItemPlace {
  readonly code: string;
  readonly namespaceId: string;
  readonly subject: string;
}

export interface OpenItem extends ItemPlace {
  readonly severity: Severity;
  readonly since: string; // RFC 3339
}

export interface ClosedItem extends OpenItem {
  readonly closed: string;
}

export interface Snooze extends ItemPlace {
  readonly until: string; // nanoseconds
  readonly reason: string;
}

export const MAX_OPEN = 10_000;
export const MAX_HISTORY = 10_000;

const open = jsonCodec<OpenItem>();
const closed = jsonCodec<ClosedItem>();
const snooze = jsonCodec<Snooze>();
const count = jsonCodec<number>();

const OPEN = "open/";
const SNOOZED = "snoozed/";
const HISTORY = "history/";
const LAST = "last"; // number of the newest in the history

/** What they are found by in memory: asked of ten thousand at a look, so nothing is hashed for it. */
export function placeText({ code, namespaceId, subject }: ItemPlace): string {
  return `${code}\n${namespaceId}\n${subject}`;
}

function placeKey({ code, namespaceId, subject }: ItemPlace): string {
  const digest = createHash("sha256").update(`${namespaceId}\n${subject}`).digest("hex");
  return `${code}/${digest.slice(0, 32)}`;
}

/** By `placeText`. */
export function readOpen(view: ViewReads): Map<string, OpenItem> {
  const rows = view.records(OPEN, open, { limit: MAX_OPEN });
  return new Map(rows.map(({ value }) => [placeText(value), value]));
}

/** By `placeText`. */
export function readSnoozed(view: ViewReads): Map<string, Snooze> {
  const rows = view.records(SNOOZED, snooze, { limit: MAX_OPEN });
  return new Map(rows.map(({ value }) => [placeText(value), value]));
}

export function putOpen(tx: Tx, item: OpenItem): void {
  tx.put(OPEN + placeKey(item), item, open);
}

/** What goes with it is that it was put off. */
export function close(tx: Tx, item: ClosedItem): void {
  const key = placeKey(item);
  const last = (tx.get(LAST, count) ?? 0) + 1;
  tx.delete(OPEN + key);
  tx.delete(SNOOZED + key);
  tx.put(historyKey(last), item, closed);
  tx.put(LAST, last, count);
  if (last > MAX_HISTORY) tx.delete(historyKey(last - MAX_HISTORY));
}

export function putSnooze(tx: Tx, item: Snooze): void {
  tx.put(SNOOZED + placeKey(item), item, snooze);
}

/** The newest first. */
export function readHistory(
  view: View,
  { before, limit }: { readonly before: number | null; readonly limit: number },
): { readonly number: number; readonly item: ClosedItem }[] {
  const last = view.get(LAST, count) ?? 0;
  const found: { readonly number: number; readonly item: ClosedItem }[] = [];
  for (let number = Math.min(last, (before ?? last + 1) - 1); number > 0; number--) {
    const item = found.length < limit ? view.get(historyKey(number), closed) : null;
    if (item === null) break;
    found.push({ number, item });
  }
  return found;
}

function historyKey(number: number): string {
  return HISTORY + String(number).padStart(12, "0");
}
