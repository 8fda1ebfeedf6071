// The storage of a mount as a plugin has it. A transaction's function runs here, on what the host has told; what it has read and
// what it writes go to the host in one call, which commits where all of it is still so, and otherwise says what there is.

import type { Codec } from "@holdfast/shared/codec";
import { invariant } from "@holdfast/shared/invariant";
import { SECOND } from "@holdfast/shared/text/duration";
import type { Clock, Instant, Nanos, Random } from "@holdfast/shared/world";
import type {
  EngineStorage,
  EngineTx,
  EngineWriteOptions,
  StoragePage,
  StorageRecord,
} from "../storage.ts";
import {
  seenRange,
  seenValue,
  type Transacted,
  type WireTransaction,
} from "../wire/host-service.ts";
import { neverCommitted, tooManyReads } from "./failures.ts";
import { Known, nameOf } from "./known.ts";
import type { RangeSpec } from "./overlay.ts";
import { rangeSpec, RemoteTx } from "./remote-tx.ts";

type NamesPage = { readonly after?: string; readonly limit: number };

/** So often something else was faster: then somebody writes without end. */
const MAX_CONFLICTS = 200;
/** Of one transaction: what is read one after the other is asked for one after the other. */
const MAX_FETCHES = 20_000;
/** After a conflict, so long, whoever reads the same takes turns from the beginning. */
const HOT: Nanos = 5n * SECOND;
const MAX_HOT = 1000;

const NOTHING_WRITTEN = { puts: [], settles: [], begins: [], time: null, deletion: false } as const;

export interface RemoteStorageParts {
  /** Throws the failure of an answer. */
  readonly transact: (transaction: WireTransaction) => Promise<Transacted>;
  readonly clock: Pick<Clock, "elapsed" | "now">;
  readonly random: Random;
  /** Of what stays in this cluster. */
  readonly local: boolean;
  readonly writtenElsewhere: () => boolean;
}

export class RemoteStorage implements EngineStorage {
  readonly #parts: RemoteStorageParts;
  readonly #turns = new Line();
  readonly #hot = new Map<string, Nanos>();
  /** What the server's clock said, and when. */
  #said: { readonly time: Instant; readonly at: Nanos } | null = null;

  constructor(parts: RemoteStorageParts) {
    this.#parts = parts;
  }

  get writtenElsewhere(): boolean {
    return this.#parts.writtenElsewhere();
  }

  async get<T>(key: string, codec: Codec<T>): Promise<T | null> {
    const known = new Known();
    await this.#fetch(known, [key], []);
    const bytes = known.values.get(key) ?? null;
    return bytes === null ? null : codec.decode(bytes);
  }

  async records<T>(
    prefix: string,
    codec: Codec<T>,
    page: StoragePage,
  ): Promise<StorageRecord<T>[]> {
    const { names, values } = await this.#range(rangeSpec("records", prefix, page));
    return names.map((key, i) => ({ key, value: codec.decode(values[i]!) }));
  }

  async keys(prefix: string, page: StoragePage): Promise<string[]> {
    return [...(await this.#range(rangeSpec("keys", prefix, page))).names];
  }

  async list(prefix: string, page: NamesPage): Promise<string[]> {
    return [...(await this.#range(rangeSpec("list", prefix, page))).names];
  }

  async write<T>(
    fn: (tx: EngineTx) => T,
    { deletion = false }: EngineWriteOptions = {},
  ): Promise<T> {
    const known = new Known();
    let leave: (() => void) | null = null;
    let exact: Instant | null = null;
    let conflicts = 0;
    let fetches = 0;
    try {
      for (;;) {
        const { tx, outcome } = this.#run(fn, known, exact);
        if (tx.isMissing) {
          if (++fetches > MAX_FETCHES) throw tooManyReads();
          if (leave === null && this.#isHot(tx)) leave = await this.#turns.take();
          await this.#fetch(known, tx.missingKeys, tx.missingRanges);
          continue;
        }
        const answer = await this.#commit(tx, known, "error" in outcome, deletion);
        if (answer.committed) {
          if ("error" in outcome) throw outcome.error;
          return outcome.value;
        }
        if (++conflicts > MAX_CONFLICTS) throw neverCommitted();
        exact = answer.time;
        if (answer.reads.length + answer.ranges.length === 0) continue; // it was the time alone
        this.#heat(tx);
        leave ??= await this.#turns.take();
      }
    } finally {
      leave?.();
    }
  }

  #run<T>(fn: (tx: EngineTx) => T, known: Known, exact: Instant | null) {
    const tx = new RemoteTx(known, exact ?? this.#time(), this.#parts.random);
    try {
      const value = fn(tx);
      invariant(!(value instanceof Promise), "a transaction's function is synchronous");
      return { tx, outcome: { value } };
    } catch (error) {
      return { tx, outcome: { error } };
    }
  }

  /** One that has thrown writes nothing; that what it has read was so at one moment is to be known all the same. */
  async #commit(
    tx: RemoteTx,
    known: Known,
    hasThrown: boolean,
    deletion: boolean,
  ): Promise<Transacted> {
    const keys = [...tx.keysRead];
    const ranges = [...new Map(tx.rangesRead.map((spec) => [nameOf(spec), spec])).values()];
    const answer = await this.#transact({
      ...NOTHING_WRITTEN,
      commit: true,
      local: this.#parts.local,
      reads: keys.map((key) => ({ key, seen: seenValue(known.values.get(key) ?? null) })),
      ranges: ranges.map((spec) => {
        const range = known.range(spec);
        invariant(range !== undefined, "what was read is known");
        return { ...spec, seen: seenRange(range.names, range.values) };
      }),
      ...(hasThrown
        ? {}
        : {
            deletion,
            time: tx.looked ? tx.time : null,
            puts: [...tx.written].map(([key, value]) => ({ key, value })),
            settles: tx.settled,
            begins: tx.begun.map(({ id, kind, data }) => ({
              id,
              kind,
              data: JSON.stringify(data),
            })),
          }),
    });
    if (!answer.committed) learn(known, answer, keys, ranges);
    return answer;
  }

  async #range(spec: RangeSpec) {
    const known = new Known();
    await this.#fetch(known, [], [spec]);
    const found = known.range(spec);
    invariant(found !== undefined, "what was fetched is known");
    return found;
  }

  async #fetch(known: Known, keys: readonly string[], ranges: readonly RangeSpec[]): Promise<void> {
    const answer = await this.#transact({
      ...NOTHING_WRITTEN,
      commit: false,
      local: this.#parts.local,
      reads: keys.map((key) => ({ key, seen: null })),
      ranges: ranges.map((spec) => ({ ...spec, seen: null })),
    });
    for (const key of keys) known.values.set(key, null);
    for (const spec of ranges) known.setRange(spec, { names: [], values: [] });
    learn(known, answer, keys, ranges);
  }

  async #transact(transaction: WireTransaction): Promise<Transacted> {
    const answer = await this.#parts.transact(transaction);
    this.#said = { time: answer.time, at: this.#parts.clock.elapsed() };
    return answer;
  }

  /** That of the server, as far as it is known here: it looks at it again. */
  #time(): Instant {
    const { clock } = this.#parts;
    const said = this.#said;
    return said === null ? clock.now() : said.time + (clock.elapsed() - said.at);
  }

  #isHot(tx: RemoteTx): boolean {
    const now = this.#parts.clock.elapsed();
    return namesOf(tx).some((name) => now - (this.#hot.get(name) ?? -HOT) < HOT);
  }

  #heat(tx: RemoteTx): void {
    const now = this.#parts.clock.elapsed();
    if (this.#hot.size > MAX_HOT) this.#hot.clear();
    for (const name of namesOf(tx).slice(0, MAX_HOT)) this.#hot.set(name, now);
  }
}

function namesOf(tx: RemoteTx): string[] {
  return [...tx.keysRead, ...tx.missingKeys, ...tx.rangesRead.map(nameOf)];
}

/** What differs from what was said, by its place in that. */
function learn(
  known: Known,
  answer: Transacted,
  keys: readonly string[],
  ranges: readonly RangeSpec[],
): void {
  for (const { at, value } of answer.reads) {
    const key = keys[at];
    if (key !== undefined) known.values.set(key, value);
  }
  for (const { at, names, values } of answer.ranges) {
    const spec = ranges[at];
    if (spec !== undefined) known.setRange(spec, { names, values });
  }
}

/** Whose turn it is, in order. */
class Line {
  #last: Promise<void> = Promise.resolve();

  async take(): Promise<() => void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const before = this.#last;
    this.#last = before.then(() => promise);
    await before;
    return resolve;
  }
}
