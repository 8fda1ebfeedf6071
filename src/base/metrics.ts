// Numbers about this process: counters, gauges and histograms, shown as Prometheus text (0.0.4) or as
// JSON. The values a label may have are declared with it and everything else counts as "other", so
// that no caller can make the number of series grow or put a secret into one. Which instruments
// there are is introspection/'s business.

import { jsonSeries, type Labels, type Series, writeSeries } from "@holdfast/shared/exposition";
import { invariant } from "@holdfast/shared/invariant";
import type { JsonObject } from "@holdfast/shared/json/json";

export interface Label {
  readonly name: string;
  readonly values: readonly string[];
}

/** Where a value goes that its label did not declare. */
export const OTHER = "other";

/** From a quarter of a millisecond to ten seconds: what a request, a record or a commit may take. */
export const SECONDS_BUCKETS: readonly number[] = [
  0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10,
];

// Children of one family; each is a line for every scrape, a histogram some twenty.
const MAX_CHILDREN = 4096;

type Kind = "counter" | "gauge" | "histogram";

export interface About {
  /** The whole name, as it is shown: easy to search for. */
  readonly name: string;
  readonly help: string;
}

/** One value for each label, in the order of their declaration. */
export type Values<L extends readonly Label[]> = { readonly [K in keyof L]: string };

export interface Reading<L extends readonly Label[]> {
  readonly at: Values<L>;
  readonly value: number;
}

export class Counter {
  #value = 0;

  get value(): number {
    return this.#value;
  }

  add(more = 1): void {
    if (more > 0) this.#value += more;
  }
}

export class Gauge {
  #value = 0;

  get value(): number {
    return this.#value;
  }

  set(value: number): void {
    this.#value = value;
  }

  add(difference: number): void {
    this.#value += difference;
  }
}

export class Histogram {
  readonly bounds: readonly number[];
  readonly #counts: Float64Array; // by bucket, not cumulative; the last is what lies above all bounds
  #sum = 0;

  constructor(bounds: readonly number[]) {
    this.bounds = bounds;
    this.#counts = new Float64Array(bounds.length + 1);
  }

  get sum(): number {
    return this.#sum;
  }

  /** How many were at or below each bound, and how many in all. */
  get cumulative(): readonly number[] {
    let total = 0;
    return Array.from(this.#counts, (count) => (total += count));
  }

  observe(value: number): void {
    if (!(value >= 0)) return; // a NaN would spoil the sum for good
    const { bounds } = this;
    let at = 0;
    // Most values are near the lower end: a walk is quicker than halving.
    while (at < bounds.length && value > bounds[at]!) at++;
    this.#counts[at]!++;
    this.#sum += value;
  }
}

/** Counters of things that operators have named, with those names as labels: for names of a fixed form
 *  which only they choose, and no caller by a request. So many of them at most; the others count as one. */
export class NamedCounters {
  readonly #max: number;
  readonly #counts = new Map<string, { readonly at: readonly string[]; value: number }>();

  constructor(max: number) {
    this.#max = max;
  }

  add(...at: readonly string[]): void {
    const key = JSON.stringify(at);
    const count = this.#counts.get(key);
    if (count !== undefined) count.value++;
    else if (this.#counts.size < this.#max) this.#counts.set(key, { at, value: 1 });
    else if (at.length > 0) this.add(); // without a name: "other"
    else this.#counts.set(key, { at, value: 1 });
  }

  entries(): readonly { readonly at: readonly string[]; readonly value: number }[] {
    return [...this.#counts.values()];
  }
}

/** One instrument for each combination of label values, made when first asked for. */
export class Family<L extends readonly Label[], Child> {
  readonly #space: LabelSpace<L>;
  readonly #make: () => Child;
  readonly #children: (Child | undefined)[];

  constructor(space: LabelSpace<L>, make: () => Child) {
    this.#space = space;
    this.#make = make;
    this.#children = Array.from({ length: space.size });
  }

  /** Keep what it gives where the values are known beforehand. */
  of(...values: Values<L>): Child {
    const at = this.#space.index(values);
    return (this.#children[at] ??= this.#make());
  }

  entries(): { readonly labels: Labels; readonly child: Child }[] {
    return this.#children.flatMap((child, at) =>
      child === undefined ? [] : [{ labels: this.#space.labels(at), child }],
    );
  }
}

/** Combinations of label values as numbers from 0 to size - 1. */
class LabelSpace<L extends readonly Label[]> {
  readonly size: number;
  readonly #names: readonly string[];
  readonly #values: readonly (readonly string[])[];
  readonly #places: readonly ReadonlyMap<string, number>[];

  constructor(labels: L) {
    this.#names = labels.map(({ name }) => name);
    this.#values = labels.map(({ values }) => [...new Set([...values, OTHER])]);
    this.#places = this.#values.map((values) => new Map(values.map((value, at) => [value, at])));
    this.size = this.#values.reduce((product, values) => product * values.length, 1);
    invariant(this.size <= MAX_CHILDREN, "a family of metrics has too many series");
    const legal = this.#names.every((name) => /^[a-z_][a-z0-9_]*$/.test(name) && name !== "le");
    invariant(legal, "the name of a label is not valid");
  }

  index(values: Values<L>): number {
    let at = 0;
    for (let i = 0; i < this.#places.length; i++) {
      const places = this.#places[i]!;
      at = at * places.size + (places.get(values[i]!) ?? places.get(OTHER)!);
    }
    return at;
  }

  labels(index: number): Labels {
    const found: [string, string][] = [];
    let rest = index;
    for (let i = this.#names.length - 1; i >= 0; i--) {
      const values = this.#values[i]!;
      found.unshift([this.#names[i]!, values[rest % values.length]!]);
      rest = Math.floor(rest / values.length);
    }
    return found;
  }
}

interface Metric extends About {
  readonly kind: Kind;
  readonly series: () => readonly Series[];
}

/** One of several numbers that come out of the same look. */
export interface PickedValue<R> extends About {
  readonly kind: "counter" | "gauge";
  readonly pick: (reading: R) => number | null;
}

export class Registry {
  readonly #metrics = new Map<string, Metric>();
  #scrape = 0;

  counter(about: About): Counter {
    const counter = new Counter();
    this.#add(about, "counter", () => [{ labels: [], value: counter.value }]);
    return counter;
  }

  gauge(about: About): Gauge {
    const gauge = new Gauge();
    this.#add(about, "gauge", () => [{ labels: [], value: gauge.value }]);
    return gauge;
  }

  counters<const L extends readonly Label[]>(about: About, labels: L): Family<L, Counter> {
    const family = new Family(new LabelSpace(labels), () => new Counter());
    this.#add(about, "counter", () =>
      family.entries().map((entry) => ({ labels: entry.labels, value: entry.child.value })),
    );
    return family;
  }

  histograms<const L extends readonly Label[]>(
    about: About,
    labels: L,
    bounds: readonly number[] = SECONDS_BUCKETS,
  ): Family<L, Histogram> {
    const family = new Family(new LabelSpace(labels), () => new Histogram(bounds));
    this.#add(about, "histogram", () =>
      family.entries().map((entry) => ({ labels: entry.labels, histogram: entry.child })),
    );
    return family;
  }

  /** A number that somebody else keeps; asked for at each scrape. Null: not known now. */
  reads(about: About, kind: "counter" | "gauge", read: () => number | null): void {
    this.#add(about, kind, () => {
      const value = read();
      return value === null ? [] : [{ labels: [], value }];
    });
  }

  readsEach<const L extends readonly Label[]>(
    about: About,
    kind: "counter" | "gauge",
    labels: L,
    read: () => readonly Reading<L>[],
  ): void {
    const space = new LabelSpace(labels);
    this.#add(about, kind, () => {
      const sums = new Map<number, number>(); // several may fall under "other"
      for (const { at, value } of read()) {
        const index = space.index(at);
        sums.set(index, (sums.get(index) ?? 0) + value);
      }
      return Array.from(sums, ([index, value]) => ({ labels: space.labels(index), value }));
    });
  }

  /** A gauge by names that only the server gives, such as accessors of mounts; so many at most. */
  readsNamed(
    about: About,
    label: string,
    max: number,
    read: () => readonly { readonly at: string; readonly value: number }[],
  ): void {
    this.#add(about, "gauge", () =>
      read()
        .slice(0, max)
        .map(({ at, value }) => ({ labels: [[label, at]], value })),
    );
  }

  /** By words that only the server or its operators have, and have few of. */
  readsPairs(
    about: About,
    labels: readonly string[],
    read: () => readonly { readonly at: readonly string[]; readonly value: number }[],
    kind: "counter" | "gauge" = "gauge",
  ): void {
    this.#add(about, kind, () =>
      read().map(({ at, value }) => ({
        labels: labels.map((name, i) => [name, at[i] ?? OTHER]),
        value,
      })),
    );
  }

  /** The same, of histograms that somebody else keeps. */
  readsHistograms(
    about: About,
    label: string,
    read: () => readonly { readonly at: string; readonly histogram: Histogram }[],
  ): void {
    this.#add(about, "histogram", () =>
      read().map(({ at, histogram }) => ({ labels: [[label, at]], histogram })),
    );
  }

  /** See NamedCounters. */
  namedCounters(about: About, labels: readonly string[], max: number): NamedCounters {
    const counters = new NamedCounters(max);
    this.#add(about, "counter", () =>
      counters.entries().map(({ at, value }) => {
        return { labels: labels.map((name, i) => [name, at[i] ?? OTHER]), value };
      }),
    );
    return counters;
  }

  /** Numbers of one reading, which is taken once for each scrape. */
  readsTogether<R>(picks: readonly PickedValue<R>[], read: () => R): void {
    let last: { readonly scrape: number; readonly reading: R } | null = null;
    const current = () => {
      if (last?.scrape !== this.#scrape) last = { scrape: this.#scrape, reading: read() };
      return last.reading;
    };
    for (const { pick, kind, ...about } of picks) this.reads(about, kind, () => pick(current()));
  }

  /** Text exposition format 0.0.4. */
  text(): string {
    this.#scrape++;
    const lines: string[] = [];
    for (const { name, help, kind, series } of this.#metrics.values()) {
      lines.push(`# HELP ${name} ${help.replaceAll("\\", "\\\\").replaceAll("\n", "\\n")}`);
      lines.push(`# TYPE ${name} ${kind}`);
      for (const one of series()) writeSeries(lines, name, one);
    }
    return `${lines.join("\n")}\n`;
  }

  json(): JsonObject {
    this.#scrape++;
    return {
      metrics: Array.from(this.#metrics.values(), ({ name, help, kind, series }) => ({
        name,
        type: kind,
        help,
        series: series().map(jsonSeries),
      })),
    };
  }

  #add(about: About, kind: Kind, series: () => readonly Series[]): void {
    const { name, help } = about;
    invariant(/^[a-z_][a-z0-9_]*$/.test(name), `the name of a metric is not valid: ${name}`);
    invariant(!this.#metrics.has(name), `the metric ${name} is there already`);
    this.#metrics.set(name, { name, help, kind, series });
  }
}
