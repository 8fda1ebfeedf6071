// Every property that a program can name, its kind, and where it comes from. The one
// table for what is checked at write, what a run reads, and what tests may give.

import type { JsonObject, JsonValue } from "@holdfast/shared/json/json";
import { isObject } from "@holdfast/shared/json/json";
import { SECOND } from "@holdfast/shared/text/duration";
import { showTime } from "@holdfast/shared/text/time";
import type { Nanos } from "@holdfast/shared/world";
import type { Kind } from "../checking/kinds.ts";
import type { ProgramInput, ProgramToken } from "./program-input.ts";

/** Times and lengths as nanoseconds, integers as bigint; maps and lists as JSON. */
export type Plain = string | boolean | bigint | readonly JsonValue[] | JsonObject;

export interface Property {
  readonly path: string;
  readonly kind: Kind;
  /** Undefined: this request does not have it. */
  read(input: ProgramInput): Plain | undefined;
}

type Read = (input: ProgramInput) => Plain | undefined;

function property(path: string, kind: Kind, read: Read): Property {
  return { path, kind, read };
}

function ofToken(
  path: string,
  kind: Kind,
  read: (token: ProgramToken) => Plain | undefined,
): Property {
  return {
    path: `token.${path}`,
    kind,
    read: ({ token }) => (token === null ? undefined : read(token)),
  };
}

function ofEntity(name: string, kind: Kind): Property {
  return property(`identity.entity.${name}`, kind, ({ identity }) => {
    const entity = identity?.["entity"];
    return isObject(entity) ? plainJson(entity[name]) : undefined;
  });
}

function ofGroups(name: string, kind: Kind, none: Plain): Property {
  return property(`identity.groups.${name}`, kind, ({ identity }) => {
    const groups = identity?.["groups"];
    return (isObject(groups) ? plainJson(groups[name]) : undefined) ?? none;
  });
}

export const PROPERTIES: readonly Property[] = [
  property("now", "timestamp", ({ now }) => now),
  property("request.id", "string", ({ request }) => request.id),
  property("request.path", "string", ({ request }) => request.path),
  property("request.operation", "string", ({ request }) => request.operation),
  property("request.data", "map", ({ request }) => request.data ?? {}),
  property("request.connection.remote_addr", "string", ({ request }) => request.remoteAddress),
  property("request.connection.remote_port", "int", ({ request }) => BigInt(request.remotePort)),
  property("request.headers", "map", ({ request }) => request.headers),
  property("request.wrapping.ttl", "duration", ({ request }) => request.wrapTtl ?? 0n),
  property("request.wrapping.ttl_seconds", "int", ({ request }) => seconds(request.wrapTtl ?? 0n)),
  property("request.policy_override", "bool", ({ request }) => request.policyOverride),
  property("request.unauthenticated", "bool", ({ request }) => request.unauthenticated),
  property("request.mount_point", "string", ({ request }) => request.mountPoint),
  property("request.mount_type", "string", ({ request }) => request.mountType),
  property("request.mount_accessor", "string", ({ request }) => request.mountAccessor),
  ofToken("accessor", "string", (token) => token.accessor),
  ofToken("display_name", "string", (token) => token.displayName),
  ofToken("type", "string", (token) => token.type),
  ofToken("policies", "list", (token) => token.policies),
  ofToken("global", "bool", (token) => token.global),
  ofToken("metadata", "map", (token) => token.metadata),
  ofToken("creation_time", "string", (token) => showTime(token.created)),
  ofToken("creation_time_unix", "int", (token) => seconds(token.created)),
  ofToken("creation_ttl_seconds", "int", (token) => seconds(token.creationTtl)),
  ofToken("expire_time", "string", ({ expires }) => (expires === null ? "" : showTime(expires))),
  ofToken("num_uses", "int", (token) => BigInt(token.numUses)),
  ofToken("period_seconds", "int", (token) => seconds(token.period)),
  ofToken("explicit_max_ttl_seconds", "int", (token) => seconds(token.explicitMaxTtl)),
  ofToken("path", "string", (token) => token.path),
  ofToken("role", "string", (token) => token.role),
  ofToken("entity_id", "string", (token) => token.entityId),
  ofToken("namespace.id", "string", (token) => token.namespace.id),
  ofToken("namespace.path", "string", (token) => token.namespace.path),
  ofEntity("id", "string"),
  ofEntity("name", "string"),
  ofEntity("metadata", "map"),
  ofEntity("aliases", "list"),
  ofEntity("policies", "list"),
  ofEntity("creation_time", "string"),
  ofEntity("last_update_time", "string"),
  ofEntity("merged_entity_ids", "list"),
  ofGroups("by_id", "map", {}),
  ofGroups("by_name", "map", {}),
  ofGroups("names", "list", []),
  property("namespace.id", "string", ({ namespace }) => namespace.id),
  property("namespace.path", "string", ({ namespace }) => namespace.path),
  property("replication.dr.mode", "string", ({ replication }) => replication.dr),
  property("replication.performance.mode", "string", ({ replication }) => replication.performance),
  property("mfa.methods", "map", ({ mfa }) => {
    const methods = mfa?.["methods"];
    return isObject(methods) ? methods : {};
  }),
];

/** What stands at a path: a property, or a map of further names. */
export type Shape = Property | ReadonlyMap<string, Shape>;

export const ROOTS: ReadonlyMap<string, Shape> = tree();

function tree(): ReadonlyMap<string, Shape> {
  const roots = new Map<string, Shape>();
  for (const leaf of PROPERTIES) {
    const names = leaf.path.split(".");
    const last = names.pop() ?? "";
    let at = roots;
    for (const name of names) {
      const there = at.get(name);
      const next: Map<string, Shape> = there instanceof Map ? there : new Map<string, Shape>();
      at.set(name, next);
      at = next;
    }
    at.set(last, leaf);
  }
  return roots;
}

export function isProperty(shape: Shape): shape is Property {
  return "path" in shape;
}

function seconds(nanos: Nanos): bigint {
  const rest = ((nanos % SECOND) + SECOND) % SECOND; // down, before 1970 too
  return (nanos - rest) / SECOND;
}

function plainJson(value: JsonValue | undefined): Plain | undefined {
  if (typeof value === "string" || typeof value === "boolean") return value;
  return isList(value) || isObject(value) ? value : undefined;
}

function isList(value: JsonValue | undefined): value is readonly JsonValue[] {
  return Array.isArray(value);
}
