// The endpoints of mounts as the OpenAPI document shows them: below the path of each mount, or once for
// each type with a parameter in its place.

import { SECOND } from "@holdfast/shared/text/duration";
import type { Nanos, Timers } from "@holdfast/shared/world";
import type { Described } from "../endpoint/openapi.ts";
import type { NamespaceRef } from "@holdfast/shared/endpoint/request";
import type { MountRecord } from "../mounts/table/mount-record.ts";
import type { Mounts } from "../mounts/mounts.ts";
import type { EngineType } from "@holdfast/plugin-sdk/engine";

/** A namespace that has more is described by type: the document would be of no use to anybody. */
const MAX_DESCRIBED = 100;
const MAX_KEPT = 64; // namespaces, by what is asked there
/** For all plugins together: who has not said by then what its paths are is told of without them. */
const SAY_WITHIN: Nanos = SECOND;
const NOT_IN_TIME = "it has not said so, or not in time";

export interface DescribedMountsOptions {
  readonly mounts: Mounts;
  /** What the server itself has. */
  readonly own: readonly Described[];
  readonly timers: Pick<Timers, "after">;
}

/** What a plugin has said of its own paths, or why that is not known. */
type Said = readonly Described[] | string;

export class DescribedMounts {
  readonly #options: DescribedMountsOptions;
  /** The same list as long as the mounts are the same: documents are kept by it. */
  readonly #known = new Map<
    string,
    { readonly mark: string; readonly all: readonly Described[] }
  >();
  readonly #generic: readonly Described[];
  readonly #numbers = new WeakMap<readonly Described[], number>();
  #last = 0;

  constructor(options: DescribedMountsOptions) {
    this.#options = options;
    const byType = options.mounts.types.flatMap((type) => ofType(type, options.mounts));
    this.#generic = [...options.own, ...byType];
  }

  /** For callers that have a token; others are told of the server alone. Plugins are asked where the caller sees anything of their mount. */
  async in(
    namespace: NamespaceRef,
    generic: boolean,
    sees: (endpoint: Described) => boolean,
  ): Promise<readonly Described[]> {
    const { mounts, own } = this.#options;
    if (generic) return this.#generic;
    const views = [...mounts.list(namespace, "secret"), ...mounts.list(namespace, "auth")].filter(
      ({ record }) => record.state.kind === "active",
    );
    if (views.length > MAX_DESCRIBED) return this.#generic;
    const records = views.map(({ record }) => record);
    const said = await this.#said(records, sees);
    const mark = views.map(({ record: { path, type, options, accessor }, version, sha256 }) => [
      path,
      type,
      options,
      version,
      sha256,
      this.#inShort(said.get(accessor)),
    ]);
    const text = JSON.stringify(mark);
    const place = JSON.stringify([namespace.id, [...said.keys()]]);
    const known = this.#known.get(place);
    if (known?.mark === text) return known.all;
    const all = [
      ...own,
      ...records.flatMap((record) => atMount(record, mounts, said.get(record.accessor))),
    ];
    if (this.#known.size >= MAX_KEPT) this.#known.clear();
    this.#known.set(place, { mark: text, all });
    return all;
  }

  async #said(
    records: readonly MountRecord[],
    sees: (endpoint: Described) => boolean,
  ): Promise<ReadonlyMap<string, Said>> {
    const { mounts, timers } = this.#options;
    const plugins = records.flatMap((record) => {
      const isSeen = () => atMount(record, mounts, undefined).some(sees);
      const saying = record.plugin !== undefined && isSeen() ? mounts.describedOf(record) : null;
      return saying === null ? [] : [[record.accessor, saying] as const];
    });
    if (plugins.length === 0) return new Map();
    const late = Promise.withResolvers<string>();
    const timer = timers.after(SAY_WITHIN, () => late.resolve(NOT_IN_TIME));
    const all = plugins.map(async ([accessor, saying]) => {
      const said = await Promise.race([saying.catch(() => NOT_IN_TIME), late.promise]);
      return [accessor, said] as const;
    });
    const found = new Map(await Promise.all(all));
    timer.cancel();
    return found;
  }

  /** Of a list a number that no other has. */
  #inShort(said: Said | undefined): string | number {
    if (said === undefined || typeof said === "string") return said ?? "";
    const known = this.#numbers.get(said) ?? ++this.#last;
    this.#numbers.set(said, known);
    return known;
  }
}

function atMount(record: MountRecord, mounts: Mounts, said: Said | undefined): Described[] {
  const base = `/${record.path.replace(/\/$/, "")}`;
  const isKnown = said !== undefined && typeof said !== "string" && said.length > 0;
  const endpoints: readonly Described[] = isKnown ? said : mounts.endpointsOf(record);
  const why = typeof said === "string" ? ` What paths the plugin has is not known: ${said}.` : "";
  return endpoints.map((endpoint) => ({
    ...endpoint,
    name: `${endpoint.name}_${record.accessor}`,
    description: `${endpoint.description}${why}`.trim(),
    path: endpoint.path === "/" ? base : base + endpoint.path,
  }));
}

function ofType(type: EngineType<unknown>, mounts: Mounts): Described[] {
  const { kind, type: name } = type;
  const options = type.checkOptions({});
  const base = `${kind === "auth" ? "/auth" : ""}/:${name}_mount_path+`;
  return mounts.endpointsOf({ kind, type: name, options }).map((endpoint) => ({
    ...endpoint,
    name: `${endpoint.name}_${name}`,
    path: endpoint.path === "/" ? base : base + endpoint.path,
  }));
}
