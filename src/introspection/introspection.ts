// What the server tells about itself: metrics, its own description, configuration, node, host, running
// requests, logs, versions. The room keeps nothing; it asks those who know, and cuts the answer down
// to what its caller may see.

import { EXPOSITION_TYPE } from "@holdfast/shared/exposition";
import type { JsonObject } from "@holdfast/shared/json/json";
import type { LogThreshold } from "@holdfast/shared/log";
import type { Registry } from "../base/metrics.ts";
import { RecentMap } from "@holdfast/shared/recent-map";
import type { HostReading, RuntimeReading } from "../system/runtime-stats.ts";
import type { Instant } from "@holdfast/shared/world";
import { type Described, openapiDocument } from "../endpoint/openapi.ts";
import { JSON_TYPE, TextBody } from "@holdfast/shared/endpoint/output";
import { type Caller, type NamespaceRef, ROOT_NAMESPACE } from "@holdfast/shared/endpoint/request";
import * as failures from "./failures.ts";
import type { VersionHistory } from "./version-history.ts";

/** What a caller's policies reach. Management tokens are not asked about. */
export interface Sight {
  /** Whether anything at or below a beginning of a path may be allowed to the caller. */
  reachOf(caller: Caller, namespace: NamespaceRef): Promise<(prefix: string) => boolean>;
}

export interface NodeFacts {
  readonly hostname: string;
  readonly apiAddress: string;
  readonly clusterAddress: string;
  readonly active: boolean;
  readonly version: string;
}

/** A request that is being answered: who asks for what, nothing of its content. */
export interface InFlight {
  readonly id: string;
  readonly began: Instant;
  readonly verb: string;
  readonly endpoint: string;
  readonly address: string;
}

/** Logs by component, and how much each writes. */
export interface Loggers {
  levels(): ReadonlyMap<string, LogThreshold>;
  /** False when there is no such log. Null for all of them. */
  set(name: string | null, level: LogThreshold): boolean;
  /** Back to what the configuration says. */
  reset(name: string | null): boolean;
}

export interface IntrospectionOptions {
  readonly version: string;
  readonly registry: Registry;
  /** Everything that is served in the namespace, for a caller that may be told of mounts; with
   *  `generic` mounts as their type instead of each. `sees`: what the caller will be shown of it. */
  readonly declarations: (
    caller: Caller | null,
    namespace: NamespaceRef,
    generic: boolean,
    sees: (endpoint: Described) => boolean,
  ) => readonly Described[] | Promise<readonly Described[]>;
  readonly sight: Sight;
  readonly namespaces: { childrenOf(parent: NamespaceRef): readonly NamespaceRef[] };
  /** The configuration in force, without secrets. */
  readonly configuration: () => JsonObject;
  /** Reads a part of the configuration again; throws a Failure for what there is not. */
  readonly reload: (what: string) => Promise<void> | void;
  readonly node: () => NodeFacts;
  readonly host: () => HostReading;
  readonly runtime: () => RuntimeReading;
  /** Free bytes where data is kept; null when it is in memory. */
  readonly freeBytes: () => number | null;
  readonly inFlight: () => readonly InFlight[];
  readonly loggers: Loggers;
  readonly versions: VersionHistory;
}

/** Of some 300 KB each. There are two for management tokens, two for nobody, and one for each kind of
 *  policies among clients. */
const MAX_DOCUMENTS = 16;

export class Introspection {
  readonly options: IntrospectionOptions;
  /** Documents by what is seen in them, as long as the declarations are the same. */
  readonly #documents = new WeakMap<readonly Described[], RecentMap<string, TextBody>>();

  constructor(options: IntrospectionOptions) {
    this.options = options;
  }

  metrics(format: "prometheus" | "json"): TextBody {
    const { registry } = this.options;
    return format === "prometheus"
      ? new TextBody(EXPOSITION_TYPE, registry.text())
      : new TextBody(JSON_TYPE, JSON.stringify(registry.json()));
  }

  /** The description of what the caller may see in this namespace. Making it takes milliseconds. */
  async openapi(
    caller: Caller | null,
    namespace: NamespaceRef,
    generic: boolean,
  ): Promise<TextBody> {
    const sees = await this.#sees(caller, namespace);
    const all = await this.options.declarations(caller, namespace, generic, sees);
    const seen = all.map(sees);
    const known = this.#documents.get(all) ?? new RecentMap<string, TextBody>();
    this.#documents.set(all, known);
    const key = seen.map(Number).join("");
    const found = known.get(key);
    if (found !== undefined) return found;
    const visible = all.filter((_, at) => seen[at]);
    const made = openapiDocument(visible, { title: "Holdfast", version: this.options.version });
    const document = new TextBody(JSON_TYPE, JSON.stringify(made));
    known.set(key, document);
    if (known.size > MAX_DOCUMENTS && known.oldest !== null) known.delete(known.oldest.key);
    return document;
  }

  /** Namespaces one below this one in which the caller may do something. */
  async usableChildren(caller: Caller | null, namespace: NamespaceRef): Promise<readonly string[]> {
    if (caller === null) return [];
    const { namespaces } = this.options;
    const names: string[] = [];
    for (const child of namespaces.childrenOf(namespace)) {
      const reaches = await this.#reachOf(caller, child);
      if (reaches("")) names.push(`${child.path.slice(child.path.lastIndexOf("/") + 1)}/`);
    }
    return names;
  }

  levels(name: string | null): Record<string, LogThreshold> {
    const levels = this.options.loggers.levels();
    if (name === null) return Object.fromEntries(levels);
    const level = levels.get(name);
    if (level === undefined) throw failures.unknownLogger();
    return { [name]: level };
  }

  setLevel(name: string | null, level: LogThreshold): void {
    if (!this.options.loggers.set(name, level)) throw failures.unknownLogger();
  }

  resetLevel(name: string | null): void {
    if (!this.options.loggers.reset(name)) throw failures.unknownLogger();
  }

  async #sees(
    caller: Caller | null,
    namespace: NamespaceRef,
  ): Promise<(endpoint: Described) => boolean> {
    const child = namespace.id !== ROOT_NAMESPACE.id;
    const reaches = caller === null ? () => false : await this.#reachOf(caller, namespace);
    return ({ access, path, rootOnly }) => {
      if (rootOnly && child) return false;
      switch (access.kind) {
        case "open":
        case "ceremony":
        case "drOperation":
          return true;
        case "token":
          return caller !== null;
        case "management":
          return caller?.type === "management";
        case "capability":
          return reaches(path.slice(1).split(":", 1)[0] ?? "");
      }
    };
  }

  async #reachOf(caller: Caller, namespace: NamespaceRef): Promise<(prefix: string) => boolean> {
    if (caller.type === "management") return () => true;
    return this.options.sight.reachOf(caller, namespace);
  }
}
