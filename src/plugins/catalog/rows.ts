// What is kept of plugins, and where: below shared/plugins/, so that every cluster that shares data has the same catalog.

import { type Codec, jsonCodec } from "@holdfast/shared/codec";
import type { CatalogEntry, PluginId, PluginType, RuntimeEntry } from "../ports.ts";

/** A record of the catalog, and what is known of it besides. */
export interface KeptEntry extends CatalogEntry {
  /** What the plugin has said of its version when it was registered; empty where it said nothing, or was not asked. */
  readonly reportedVersion: string;
  /** A block of the configuration has made it, and may change it. */
  readonly declared: boolean;
}

/** Name and type, and a version where there are several: what a row is found by. */
type EntryRow = Omit<KeptEntry, "type" | "name" | "version">;

export const entryCodec: Codec<EntryRow> = jsonCodec();
export const runtimeCodec: Codec<Omit<RuntimeEntry, "name">> = jsonCodec();
export const pinCodec: Codec<{ readonly version: string }> = jsonCodec();
/** That an entry needs a runtime: everything is in the key. */
export const useCodec: Codec<Readonly<Record<string, never>>> = jsonCodec();

export const CATALOG = "catalog/";
export const PINS = "pins/";
export const RUNTIMES = "runtimes/";
export const USES = "runtime-uses/";

const UNVERSIONED = "-"; // no version is written so

export function entryKey({ type, name, version }: PluginId): string {
  return `${versionsOf(type, name)}${version || UNVERSIONED}`;
}

/** Below it, the entries of that name by their versions. */
export function versionsOf(type: PluginType, name: string): string {
  return `${CATALOG}${type}/${name}/`;
}

/** Of a key below CATALOG. */
export function idOf(key: string): PluginId {
  const [, type = "", name = "", version = ""] = key.split("/");
  return { type: type as PluginType, name, version: version === UNVERSIONED ? "" : version };
}

export function rowOf(entry: KeptEntry): EntryRow {
  const { sha256, command, args, env, ociImage, runtime, network } = entry;
  const { reportedVersion, declared } = entry;
  return { sha256, command, args, env, ociImage, runtime, network, reportedVersion, declared };
}

export function pinKey(type: PluginType, name: string): string {
  return `${PINS}${type}/${name}`;
}

export function usesOf(runtime: string): string {
  return `${USES}${runtime}/`;
}

export function useKey(runtime: string, { type, name, version }: PluginId): string {
  return `${usesOf(runtime)}${type}/${name}/${version || UNVERSIONED}`;
}

/** Of a key below the uses of a runtime. */
export function userOf(key: string): string {
  const [, , , name = ""] = key.split("/");
  return name;
}
