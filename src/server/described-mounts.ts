// The endpoints of mounts as the OpenAPI document shows them: below the path of each mount, or once for
// each type with a parameter in its place.

import type { Described } from "../endpoint/openapi.ts";
import type { NamespaceRef } from "@holdfast/shared/endpoint/request";
import type { MountRecord } from "../mounts/table/mount-record.ts";
import type { Mounts } from "../mounts/mounts.ts";
import type { EngineType } from "@holdfast/plugin-sdk/engine";

/** A namespace that has more is described by type: the document would be of no use to anybody. */
const MAX_DESCRIBED = 100;
const MAX_KEPT = 64; // namespaces

export interface DescribedMountsOptions {
  readonly mounts: Mounts;
  /** What the server itself has. */
  readonly own: readonly Described[];
}

export class DescribedMounts {
  readonly #options: DescribedMountsOptions;
  /** The same list as long as the mounts are the same: documents are kept by it. */
  readonly #known = new Map<
    string,
    { readonly mark: string; readonly all: readonly Described[] }
  >();
  readonly #generic: readonly Described[];

  constructor(options: DescribedMountsOptions) {
    this.#options = options;
    const byType = options.mounts.types.flatMap((type) => ofType(type, options.mounts));
    this.#generic = [...options.own, ...byType];
  }

  /** For callers that have a token; others are told of the server alone. */
  in(namespace: NamespaceRef, generic: boolean): readonly Described[] {
    const { mounts, own } = this.#options;
    if (generic) return this.#generic;
    const views = [...mounts.list(namespace, "secret"), ...mounts.list(namespace, "auth")].filter(
      ({ record }) => record.state.kind === "active",
    );
    if (views.length > MAX_DESCRIBED) return this.#generic;
    const records = views.map(({ record }) => record);
    const mark = views.map(({ record: { path, type, options }, version, sha256 }) => [
      path,
      type,
      options,
      version,
      sha256,
    ]);
    const text = JSON.stringify(mark);
    const known = this.#known.get(namespace.id);
    if (known?.mark === text) return known.all;
    const all = [...own, ...records.flatMap((record) => atMount(record, mounts))];
    if (this.#known.size >= MAX_KEPT) this.#known.clear();
    this.#known.set(namespace.id, { mark: text, all });
    return all;
  }
}

function atMount(record: MountRecord, mounts: Mounts): Described[] {
  const base = `/${record.path.replace(/\/$/, "")}`;
  return mounts.endpointsOf(record).map((endpoint) => ({
    ...endpoint,
    name: `${endpoint.name}_${record.accessor}`,
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
