// What engines count, as their types declare it: see plugin-sdk/metrics.ts. Counters and histograms by the
// type of the mount, ages by the mount itself.

import {
  type Counter,
  type Family,
  type Histogram,
  type Label,
  type Registry,
  SECONDS_BUCKETS,
} from "../base/metrics.ts";
import { invariant } from "@holdfast/shared/invariant";
import type {
  EngineMetrics,
  MetricDeclaration,
  MetricDeclarations,
} from "@holdfast/plugin-sdk/metrics";
import type { Clock } from "@holdfast/shared/world";

export interface CountingType {
  readonly type: string;
  readonly metrics?: MetricDeclarations;
}

type Labels = Readonly<Record<string, string>>;

/** Names of labels in the order of the family's. */
interface Counted<Child> {
  readonly labels: readonly string[];
  readonly family: Family<readonly Label[], Child>;
}

const PREFIX = "holdfast_";
const MAX_MOUNTS = 1000;

export class EngineInstruments {
  readonly #registry: Registry;
  readonly #clock: Pick<Clock, "now">;
  readonly #isMounted: (accessor: string) => boolean;
  readonly #counters = new Map<string, Counted<Counter>>();
  readonly #histograms = new Map<string, Counted<Histogram>>();
  /** By accessor: seconds since 1970. Those of mounts that are gone are passed over. */
  readonly #ages = new Map<string, Map<string, number>>();

  constructor(
    registry: Registry,
    clock: Pick<Clock, "now">,
    isMounted: (accessor: string) => boolean,
  ) {
    this.#registry = registry;
    this.#clock = clock;
    this.#isMounted = isMounted;
  }

  /** A number that is there already stays as it was declared first: a type that comes later counts in it as
   *  "other". */
  declare(types: readonly CountingType[]): void {
    const byName = new Map<string, { type: string; declared: MetricDeclaration }[]>();
    for (const { type, metrics = {} } of types) {
      for (const [name, declared] of Object.entries(metrics)) {
        if (this.#has(name)) continue;
        const known = byName.get(name);
        if (known === undefined) byName.set(name, [{ type, declared }]);
        else known.push({ type, declared });
      }
    }
    for (const [name, declarers] of byName) this.#add(name, declarers);
  }

  /** For the engine of one mount. */
  of({ type, accessor }: { readonly type: string; readonly accessor: string }): EngineMetrics {
    const childOf = <C>(counted: Counted<C> | undefined, words: Labels) =>
      counted?.family.of(type, ...counted.labels.map((label) => words[label] ?? ""));
    return {
      count: (name, words = {}) => childOf(this.#counters.get(name), words)?.add(),
      observe: (name, value, words = {}) =>
        childOf(this.#histograms.get(name), words)?.observe(value),
      since: (name, at) => {
        if (at === null) this.#ages.get(name)?.delete(accessor);
        else this.#ages.get(name)?.set(accessor, at);
      },
    };
  }

  #has(name: string): boolean {
    return this.#counters.has(name) || this.#histograms.has(name) || this.#ages.has(name);
  }

  #add(
    name: string,
    declarers: readonly { readonly type: string; readonly declared: MetricDeclaration }[],
  ): void {
    const [{ declared: first } = { declared: null }] = declarers;
    invariant(first !== null, "somebody declares it");
    const alike = declarers.every(({ declared }) => shapeOf(declared) === shapeOf(first));
    invariant(alike, `types of engines declare ${name} differently`);
    const about = { name: `${PREFIX}${name}`, help: first.help };
    if (first.kind === "age") return this.#addAge(name, about);
    const labels = Object.keys(first.labels ?? {});
    const words = labels.map((label) => ({
      name: label,
      values: declarers.flatMap(({ declared }) => labelsOf(declared)[label] ?? []),
    }));
    const all = [{ name: "mount_type", values: declarers.map(({ type }) => type) }, ...words];
    if (first.kind === "counter") {
      this.#counters.set(name, { labels, family: this.#registry.counters(about, all) });
    } else {
      const { buckets = SECONDS_BUCKETS } = first;
      this.#histograms.set(name, {
        labels,
        family: this.#registry.histograms(about, all, buckets),
      });
    }
  }

  #addAge(name: string, about: { readonly name: string; readonly help: string }): void {
    const moments = new Map<string, number>();
    this.#ages.set(name, moments);
    this.#registry.readsNamed(about, "mount", MAX_MOUNTS, () => {
      const now = Number(this.#clock.now() / 1_000_000n) / 1000;
      return [...moments]
        .filter(([accessor]) => this.#isMounted(accessor))
        .map(([at, seconds]) => ({ at, value: Math.max(0, now - seconds) }));
    });
  }
}

function labelsOf(declared: MetricDeclaration): Readonly<Record<string, readonly string[]>> {
  return declared.kind === "age" ? {} : (declared.labels ?? {});
}

/** What all who declare the same number must agree on: all but the words of its labels. */
function shapeOf(declared: MetricDeclaration): string {
  const buckets = declared.kind === "histogram" ? (declared.buckets ?? SECONDS_BUCKETS) : [];
  return JSON.stringify([declared.kind, declared.help, Object.keys(labelsOf(declared)), buckets]);
}
