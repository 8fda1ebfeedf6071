// One run of a transaction's function in a plugin, over what is known: what it reads, what it writes, and what it would have to
// know. Nothing of it is anywhere else before the host has committed it.

import type { Codec } from "@holdfast/shared/codec";
import { OwnError } from "@holdfast/shared/failure";
import { invariant } from "@holdfast/shared/invariant";
import type { JsonObject } from "@holdfast/shared/json/json";
import type { Instant, Random } from "@holdfast/shared/world";
import type { EngineTx, StoragePage, StorageRecord } from "../storage.ts";
import { MANY_KEYS } from "../wire/limits.ts";
import type { Known } from "./known.ts";
import { overlaid, pageOf, type RangeSpec, touches } from "./overlay.ts";

type NamesPage = { readonly after?: string; readonly limit: number };

/** Thrown inwards: what is missing is fetched, and the function is run anew, also where it has caught this. */
class NotKnown extends OwnError {}

export interface Begun {
  readonly id: string;
  readonly kind: string;
  readonly data: JsonObject;
}

export class RemoteTx implements EngineTx {
  readonly #known: Known;
  readonly #random: Random;
  readonly #now: Instant;
  /** Whether it has looked at the time. */
  looked = false;
  readonly keysRead = new Set<string>();
  readonly rangesRead: RangeSpec[] = [];
  readonly missingKeys: string[] = [];
  readonly missingRanges: RangeSpec[] = [];
  readonly written = new Map<string, Uint8Array | null>();
  readonly settled: string[] = [];
  readonly begun: Begun[] = [];

  constructor(known: Known, now: Instant, random: Random) {
    this.#known = known;
    this.#now = now;
    this.#random = random;
  }

  get isMissing(): boolean {
    return this.missingKeys.length + this.missingRanges.length > 0;
  }

  get time(): Instant {
    this.looked = true;
    return this.#now;
  }

  get<T>(key: string, codec: Codec<T>): T | null {
    const own = this.written.get(key);
    const bytes = own === undefined ? this.#stored(key) : own;
    return bytes === null ? null : codec.decode(new Uint8Array(bytes));
  }

  records<T>(prefix: string, codec: Codec<T>, page: StoragePage): StorageRecord<T>[] {
    const { names, values } = this.#range(rangeSpec("records", prefix, page));
    return names.map((key, i) => ({ key, value: codec.decode(new Uint8Array(values[i]!)) }));
  }

  keys(prefix: string, page: StoragePage): string[] {
    return [...this.#range(rangeSpec("keys", prefix, page)).names];
  }

  list(prefix: string, page: NamesPage): string[] {
    return [...this.#range(rangeSpec("list", prefix, page)).names];
  }

  put<T>(key: string, value: T, codec: Codec<T>): void {
    invariant(isCanonical(key), `a key is words with "/" between them: ${JSON.stringify(key)}`);
    this.written.set(key, new Uint8Array(codec.encode(value)));
  }

  delete(key: string): void {
    this.written.set(key, null);
  }

  settle(recordId: string): void {
    const at = this.begun.findIndex(({ id }) => id === recordId);
    if (at >= 0) this.begun.splice(at, 1);
    else this.settled.push(recordId);
  }

  begin(kind: string, data: JsonObject): string {
    const id = this.#random.uuid();
    this.begun.push({ id, kind, data });
    return id;
  }

  #stored(key: string): Uint8Array | null {
    this.keysRead.add(key);
    const found = this.#known.values.get(key);
    if (found !== undefined) return found;
    this.missingKeys.push(key);
    throw new NotKnown("it is fetched");
  }

  #range(spec: RangeSpec): { readonly names: readonly string[]; readonly values: Uint8Array[] } {
    if (!touches(this.written, spec.prefix)) {
      const { names, values } = this.#storedRange(spec);
      return { names, values: [...values] };
    }
    // What it has written changes which keys stand where: all of them are looked at.
    const all = { kind: "keys", after: null, limit: MANY_KEYS, reverse: false } as const;
    const { names: stored } = this.#storedRange({ ...all, prefix: spec.prefix });
    const names = pageOf(overlaid(stored, this.written, spec.prefix), spec);
    if (spec.kind !== "records") return { names, values: [] };
    return { names, values: this.#valuesOf(names) };
  }

  #valuesOf(keys: readonly string[]): Uint8Array[] {
    const unknown = keys.filter((key) => !this.written.has(key) && !this.#known.values.has(key));
    if (unknown.length > 0) {
      this.missingKeys.push(...unknown);
      throw new NotKnown("they are fetched");
    }
    return keys.flatMap((key) => this.written.get(key) ?? this.#stored(key) ?? []);
  }

  #storedRange(spec: RangeSpec) {
    this.rangesRead.push(spec);
    const found = this.#known.range(spec);
    if (found !== undefined) return found;
    this.missingRanges.push(spec);
    throw new NotKnown("it is fetched");
  }
}

export function rangeSpec(kind: RangeSpec["kind"], prefix: string, page: StoragePage): RangeSpec {
  const { after = null, limit, reverse = false } = page;
  return { kind, prefix, after, limit: Math.min(limit, MANY_KEYS), reverse };
}

function isCanonical(key: string): boolean {
  return key !== "" && key.split("/").every((segment) => segment !== "");
}
