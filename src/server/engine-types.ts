// The types of engines that are built in, what else they are called, and what is mounted by itself.

import type { FixedMount } from "../mounts/table/fixed-mounts.ts";
import type { DefaultMount, TypeAlias } from "../mounts/ports.ts";
import { TYPE_ALIASES } from "../mounts/table/type-aliases.ts";
import { approleType } from "@holdfast/engines/approle/approle";
import { cloudaType } from "@holdfast/engines/clouda/clouda";
import { cloudbType } from "@holdfast/engines/cloudb/cloudb";
import type { PrivateSpaces } from "@holdfast/engines/cubbyhole/cubbyhole";
import { cubbyholeEngine } from "@holdfast/engines/cubbyhole/engine";
import { databaseType } from "@holdfast/engines/database/database";
import { kvEngine } from "@holdfast/engines/kv/kv";
import { userpassType } from "@holdfast/engines/userpass/userpass";
import { anyEngine, type EngineType } from "@holdfast/plugin-sdk/engine";
import type { JsonObject } from "@holdfast/shared/json/json";
import type { Config } from "../config/config.ts";

export function builtInTypes(): EngineType<unknown>[] {
  return [
    anyEngine(kvEngine),
    anyEngine(cloudaType),
    anyEngine(cloudbType),
    anyEngine(databaseType),
    anyEngine(userpassType()),
    anyEngine(approleType()),
  ];
}

/** Those that every namespace has. */
export function fixedMounts(spaces: PrivateSpaces): FixedMount[] {
  const description = "a private space for each token, which goes with it";
  return [{ path: "cubbyhole/", description, type: anyEngine(cubbyholeEngine(spaces)) }];
}

/** Older names, for existing clients. */
export function typeAliases(compat: boolean): ReadonlyMap<string, TypeAlias> {
  return compat ? TYPE_ALIASES : new Map();
}

/** What the configuration says to the engines of a type. */
export function engineSettings({
  clouds,
  compat,
}: Pick<Config, "clouds" | "compat">): ReadonlyMap<string, JsonObject> {
  const { namePrefix, cloudbEndpoints } = clouds;
  const settings = { name_prefix: namePrefix, compat };
  const endpoints = cloudbEndpoints === null ? null : { ...cloudbEndpoints };
  return new Map<string, JsonObject>([
    ["clouda", settings],
    ["cloudb", { ...settings, endpoints }],
  ]);
}

/** Made once, at initialisation. */
export function defaultMounts({
  dev,
  clouds,
}: {
  readonly dev: boolean;
  readonly clouds: readonly string[];
}): DefaultMount[] {
  const secret = { path: "secret", type: "kv", description: "key/value secrets" };
  const mounted = clouds.map((type) => ({ path: type, type }));
  return dev ? [secret, ...mounted] : mounted;
}
