// Which types of engines there are, and what a request to mount one of them comes to.

import { hex } from "@holdfast/shared/bytes";
import type { Random } from "@holdfast/shared/world";
import type { NamespaceRef } from "@holdfast/shared/endpoint/request";
import type { EngineOptions, EngineType } from "@holdfast/plugin-sdk/engine";
import { sortedOptions } from "../engine-routes.ts";
import * as failures from "../failures.ts";
import { changed, checkConfig, DEFAULT_CONFIG, type ServerTtls } from "./mount-config.ts";
import { isProtected, readMountPath } from "./mount-path.ts";
import type { MountKind, MountRecord } from "./mount-record.ts";
import type { Failure } from "@holdfast/shared/failure";
import type { ForeignTypes, NewMount, TypeAlias } from "../ports.ts";

export interface MountTypesOptions {
  readonly types: readonly EngineType<unknown>[];
  readonly aliases: ReadonlyMap<string, TypeAlias>;
  /** Those that every namespace has, and nobody mounts. */
  readonly fixed: readonly EngineType<unknown>[];
  readonly foreign?: ForeignTypes | undefined;
  readonly random: Random;
  readonly ttls: ServerTtls;
}

/** Other texts may be a secret in the wrong place, and are not repeated. */
const PLUGIN_NAME = /^[a-z0-9][a-z0-9_.-]{0,127}$/;

/** Of what a mount is. */
export type TypeOf = Pick<MountRecord, "kind" | "type" | "plugin">;

export class MountTypes {
  readonly #options: MountTypesOptions;
  readonly #types: ReadonlyMap<string, EngineType<unknown>>;

  constructor(options: MountTypesOptions) {
    this.#options = options;
    this.#types = new Map(options.types.map((type) => [keyOf(type.kind, type.type), type]));
  }

  /** Of those that are built in and can be mounted. */
  of(kind: MountKind, type: string): EngineType<unknown> | null {
    return this.#types.get(keyOf(kind, type)) ?? null;
  }

  any({ kind, type, plugin }: TypeOf): EngineType<unknown> | null {
    const { fixed, foreign } = this.#options;
    if (plugin !== undefined) return foreign?.type(kind, type, plugin.version) ?? null;
    return this.of(kind, type) ?? fixed.find((one) => one.type === type) ?? null;
  }

  /** The version of its plugin that is wanted from now on. */
  chosenVersion({ kind, type }: TypeOf, wanted: string): string {
    const chosen = this.#options.foreign?.choose(kind, type, wanted) ?? null;
    if (chosen === null) throw failures.pluginNotFound(type, wanted);
    return chosen.version;
  }

  /** What is asked for by its name. One that is not built in stands before what is, where it says so. */
  #chosen(
    kind: MountKind,
    name: string,
    wanted: string,
  ): { readonly type: EngineType<unknown>; readonly plugin?: MountRecord["plugin"] } {
    const { foreign } = this.#options;
    const builtIn = this.of(kind, name);
    if (builtIn !== null && wanted === builtIn.version) return { type: builtIn };
    const other = foreign?.choose(kind, name, wanted) ?? null;
    if (
      foreign !== undefined &&
      other !== null &&
      (other.hides || builtIn === null || wanted !== "")
    ) {
      const { version } = other;
      return { type: foreign.type(kind, name, version), plugin: { version } };
    }
    if (builtIn === null) throw this.#unknown(kind, name, wanted);
    checkVersion(builtIn, wanted);
    return { type: builtIn };
  }

  #unknown(kind: MountKind, name: string, wanted: string): Failure {
    const other = kind === "auth" ? "secret" : "auth";
    const isOther =
      this.of(other, name) !== null ||
      (this.#options.foreign?.choose(other, name, "") ?? null) !== null;
    if (isOther) return failures.typeOfOtherKind(name, other);
    return PLUGIN_NAME.test(name)
      ? failures.pluginNotFound(name, wanted, this.#names(kind))
      : failures.typeUnknown(this.#names(kind));
  }

  /** Refuses what cannot be; whether its path is free is for a transaction to see. */
  newRecord({ id }: NamespaceRef, mount: NewMount, taken: ReadonlySet<string>): MountRecord {
    const { aliases, fixed, random, ttls } = this.#options;
    const { kind, config = {}, description = "", local = false } = mount;
    const alias = aliases.get(mount.type);
    const name = alias?.type ?? mount.type;
    const path = readMountPath(mount.path === "" ? mount.type : mount.path, kind);
    if (isProtected(path, kind)) throw failures.pathProtected(path);
    if (fixed.some(({ type }) => type === name)) throw failures.typeFixed(name);
    const { type, plugin } = this.#chosen(kind, name, mount.version ?? "");
    const whole = changed(DEFAULT_CONFIG, config);
    checkConfig(whole, ttls);
    return {
      uuid: random.uuid(),
      accessor: this.#newAccessor(name, taken),
      kind,
      type: name,
      ...(plugin === undefined ? {} : { plugin }),
      namespaceId: id,
      path,
      description,
      options: type.checkOptions({ ...mount.options, ...alias?.options }, { local }),
      config: whole,
      local,
      sealWrap: mount.sealWrap ?? false,
      created: 0n,
      state: { kind: "active" },
    };
  }

  /** Part of the subject of workload identities, so that it never changes. */
  #newAccessor(type: string, taken: ReadonlySet<string>): string {
    for (;;) {
      const accessor = `${type}_${hex(this.#options.random.bytes(4))}`;
      if (!taken.has(accessor)) return accessor;
    }
  }

  #names(kind: MountKind): string[] {
    return this.#options.types.filter((type) => type.kind === kind).map(({ type }) => type);
  }
}

export function checkVersion(type: EngineType<unknown>, wanted = ""): void {
  if (wanted !== "" && wanted !== type.version) throw failures.versionUnknown(type.version);
}

/** What tuning makes of the options; refuses what the type does not allow. */
export function changedOptions(
  type: EngineType<unknown> | null,
  { options: before, type: name, local }: MountRecord,
  options: EngineOptions,
): EngineOptions {
  if (type === null) throw failures.notReady(`there is no type ${name} here`);
  const after = type.checkOptions({ ...before, ...options }, { local });
  if (JSON.stringify(sortedOptions(after)) === JSON.stringify(sortedOptions(before))) return before;
  const why =
    type.canChangeOptions === undefined
      ? "they are fixed when it is mounted"
      : type.canChangeOptions(before, after);
  if (why !== null) throw failures.optionsFixed(why);
  return after;
}

function keyOf(kind: MountKind, type: string): string {
  return `${kind}/${type}`;
}
