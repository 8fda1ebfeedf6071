// The rows of one kind of policy: a record by its name, and for one that ends by itself a row in the
// order of ends. What has ended is gone for every reader at once; its rows go with a later write.

import { EMPTY } from "@holdfast/shared/bytes";
import { bytesCodec, type Codec } from "@holdfast/shared/codec";
import type { Clock, Instant } from "@holdfast/shared/world";
import type { Tx, View, ViewReads } from "../barrier/view.ts";
import type { PolicyRecord } from "./policy-record.ts";

const BATCH = 256; // rows in one look
const SWEPT = 16; // ended policies that one write takes along

export interface Place<R> {
  readonly shared: View; // of everything below shared/
  readonly clock: Clock;
  readonly kind: string;
  readonly codec: Codec<R>;
  /** Below shared/. */
  readonly folder: (namespaceId: string) => string;
}

export interface NamePage {
  /** Only those after this name. */
  readonly after?: string | undefined;
  readonly limit: number;
}

/** `next` is what the following page starts after, null on the last. */
export interface Names {
  readonly names: readonly string[];
  readonly next: string | null;
}

export class PolicyRows<R extends PolicyRecord> {
  readonly #place: Place<R>;

  constructor(place: Place<R>) {
    this.#place = place;
  }

  /** As stored, ended or not. */
  stored(namespaceId: string, name: string): R | null {
    return this.#view(namespaceId).get(name, this.#place.codec);
  }

  /** Null for what has ended. Inside a transaction where one is given. */
  get(namespaceId: string, name: string, tx: Tx | null = null): R | null {
    const view = this.#view(namespaceId);
    const reads: ViewReads = tx === null ? view : tx.on(view);
    return living(reads.get(name, this.#place.codec), this.#place.clock.now());
  }

  put(tx: Tx, namespaceId: string, name: string, record: R): void {
    this.#forgetEnd(tx, namespaceId, name);
    tx.on(this.#view(namespaceId)).put(name, record, this.#place.codec);
    if (record.expires === null) return;
    tx.on(this.#ends(namespaceId)).put(endKey(record.expires, name), EMPTY, bytesCodec);
  }

  delete(tx: Tx, namespaceId: string, name: string): void {
    this.#forgetEnd(tx, namespaceId, name);
    tx.on(this.#view(namespaceId)).delete(name);
  }

  /** Removes some of what has ended. */
  sweep(tx: Tx, namespaceId: string): void {
    const ends = tx.on(this.#ends(namespaceId)).keys("", { limit: SWEPT });
    for (const name of endedIn(ends, this.#place.clock.now())) this.delete(tx, namespaceId, name);
  }

  /** Calls with the name of each policy that was written or deleted, before its writer is answered. */
  watch(namespaceId: string, call: (name: string) => void): () => void {
    return this.#view(namespaceId).watch("", ({ keys }) => keys.forEach((name) => call(name)));
  }

  /** Whole names, sorted. */
  names(namespaceId: string, page: NamePage): Names {
    const view = this.#view(namespaceId);
    const ended = this.#ended(namespaceId);
    const look = (from: { readonly after?: string }) => view.keys("", { ...from, limit: BATCH });
    return collect(page, look, (name) => !ended.has(name));
  }

  /** Names inside a folder, which ends in a slash, without it; folders in it with a slash. */
  below(namespaceId: string, folder: string, page: NamePage): Names {
    const view = this.#view(namespaceId);
    const ended = this.#ended(namespaceId);
    const look = (from: { readonly after?: string }) =>
      view.list(folder, { ...from, limit: BATCH });
    // A folder is there while something in it is: one more than have ended cannot all have.
    const isThere = (name: string) =>
      name.endsWith("/") && ended.size > 0
        ? view.keys(folder + name, { limit: ended.size + 1 }).some((key) => !ended.has(key))
        : !ended.has(folder + name);
    return collect(page, look, isThere);
  }

  #ended(namespaceId: string): ReadonlySet<string> {
    const now = this.#place.clock.now();
    const ends = this.#ends(namespaceId);
    const ended = new Set<string>();
    let after: string | undefined;
    for (;;) {
      const batch = ends.keys("", { ...(after === undefined ? {} : { after }), limit: BATCH });
      const found = endedIn(batch, now);
      for (const name of found) ended.add(name);
      if (batch.length < BATCH || found.length < batch.length) return ended;
      after = batch.at(-1);
    }
  }

  #forgetEnd(tx: Tx, namespaceId: string, name: string): void {
    const before = tx.on(this.#view(namespaceId)).get(name, this.#place.codec);
    if (before === null || before.expires === null) return;
    tx.on(this.#ends(namespaceId)).delete(endKey(before.expires, name));
  }

  #view(namespaceId: string): View {
    return this.#place.shared.sub(this.#place.folder(namespaceId));
  }

  #ends(namespaceId: string): View {
    return this.#place.shared.sub(policyEnds(this.#place.kind, namespaceId));
  }
}

function collect(
  { after, limit }: NamePage,
  look: (from: { readonly after?: string }) => string[],
  isThere: (name: string) => boolean,
): Names {
  const names: string[] = [];
  let from = after;
  for (;;) {
    const batch = look(from === undefined ? {} : { after: from });
    for (const name of batch) {
      if (!isThere(name)) continue;
      if (names.length === limit) return { names, next: names.at(-1) ?? null };
      names.push(name);
    }
    if (batch.length < BATCH) return { names, next: null };
    from = batch.at(-1);
  }
}

/** Below shared/: what ends by itself, in the order of ends. */
function policyEnds(kind: string, namespaceId: string): string {
  return `ns/${namespaceId}/policies/ends/${kind}/`;
}

const DIGITS = 20; // so that their order as text is that of the numbers

function endKey(expires: Instant, name: string): string {
  return `${String(expires).padStart(DIGITS, "0")}/${name}`;
}

/** Names of the first that have ended; the keys are in the order of ends. */
function endedIn(keys: readonly string[], now: Instant): string[] {
  const last = String(now).padStart(DIGITS, "0");
  const ended = keys.filter((key) => key.slice(0, DIGITS) <= last);
  return ended.map((key) => key.slice(DIGITS + 1));
}

/** Null for what has ended. */
export function living<T extends { readonly expires: Instant | null }>(
  policy: T | null,
  now: Instant,
): T | null {
  if (policy === null) return null;
  return policy.expires !== null && policy.expires <= now ? null : policy;
}
