// Requests that nobody made: what a test of a policy gives, laid over a plain one, and the plain one
// itself, on which every new policy is tried once. Names are those that programs use.

import { parseDuration, SECOND } from "@holdfast/shared/text/duration";
import { Failure } from "@holdfast/shared/failure";
import { testInputInvalid as refused } from "../failures.ts";
import { isObject, isRawNumber, type JsonObject, type JsonValue } from "@holdfast/shared/json/json";
import { nearest } from "../../base/nearest.ts";
import { parseTime } from "@holdfast/shared/text/time";
import type { Instant, Nanos } from "@holdfast/shared/world";
import { showName } from "../../document/document-failure.ts";
import type { ProgramInput, ProgramToken, ReplicationMode } from "./program-input.ts";
import { isProperty, ROOTS, type Shape } from "./properties.ts";

/** A Monday, at noon. */
const NOON: Instant = 1_772_452_800n * SECOND;
const MODES: readonly ReplicationMode[] = ["disabled", "bootstrapping", "primary", "secondary"];

/** Refuses names that no program could ask for, and values of another kind. */
export function testInput(value: JsonObject): ProgramInput {
  checkNames(value, ROOTS, "");
  const read = new InputReader(value);
  const now = read.time("now") ?? NOON;
  const token =
    value["token"] === undefined || hasMembers(value["token"]) ? tokenOf(read, now) : null;
  return {
    now,
    request: {
      id: read.text("request.id", "00000000-0000-4000-8000-000000000000"),
      path: read.text("request.path", "secret/example"),
      operation: read.text("request.operation", "read"),
      data: read.map("request.data"),
      remoteAddress: read.text("request.connection.remote_addr", "127.0.0.1"),
      remotePort: read.int("request.connection.remote_port", 50_000),
      headers: read.headers("request.headers"),
      wrapTtl: read.length("request.wrapping.ttl") ?? read.seconds("request.wrapping.ttl_seconds"),
      policyOverride: read.bool("request.policy_override", false),
      unauthenticated: read.bool("request.unauthenticated", token === null),
      mountPoint: read.text("request.mount_point", ""),
      mountType: read.text("request.mount_type", ""),
      mountAccessor: read.text("request.mount_accessor", ""),
    },
    token,
    namespace: read.namespace("namespace"),
    replication: {
      dr: read.mode("replication.dr.mode"),
      performance: read.mode("replication.performance.mode"),
    },
    identity: read.map("identity"),
    mfa: read.map("mfa"),
  };
}

function tokenOf(read: InputReader, now: Instant): ProgramToken {
  const created = read.int("token.creation_time_unix", -1);
  const times = { created: read.time("token.creation_time"), now };
  return {
    accessor: read.text("token.accessor", "00000000-0000-4000-8000-000000000001"),
    displayName: read.text("token.display_name", "token"),
    type: read.text("token.type", "client"),
    policies: read.texts("token.policies", ["default"]),
    global: read.bool("token.global", false),
    metadata: read.metadata("token.metadata"),
    created: times.created ?? (created === -1 ? times.now : BigInt(created) * SECOND),
    creationTtl: read.seconds("token.creation_ttl_seconds") ?? 0n,
    expires: read.time("token.expire_time"),
    numUses: read.int("token.num_uses", 0),
    period: read.seconds("token.period_seconds") ?? 0n,
    explicitMaxTtl: read.seconds("token.explicit_max_ttl_seconds") ?? 0n,
    path: read.text("token.path", ""),
    role: read.text("token.role", ""),
    entityId: read.text("token.entity_id", ""),
    namespace: read.namespace("token.namespace"),
  };
}

function hasMembers(value: JsonValue): boolean {
  return isObject(value) && Object.keys(value).length > 0;
}

function checkNames(object: JsonObject, shape: ReadonlyMap<string, Shape>, lead: string): void {
  for (const [name, value] of Object.entries(object)) {
    const child = shape.get(name);
    if (child === undefined) {
      const guess = nearest(name, Array.from(shape.keys()));
      const hint = guess === null ? "" : `; did you mean ${showName(lead + guess)}?`;
      throw refused(`unknown property ${showName(lead + name)}${hint}`);
    }
    if (isProperty(child)) continue;
    if (value === null && name === "token") continue;
    if (!isObject(value)) throw refused(`${showName(lead + name)} is a map of properties`);
    checkNames(value, child, `${lead}${name}.`);
  }
}

class InputReader {
  readonly #value: JsonObject;

  constructor(value: JsonObject) {
    this.#value = value;
  }

  #at(path: string): JsonValue | undefined {
    let value: JsonValue | undefined = this.#value;
    for (const name of path.split(".")) {
      value = isObject(value) && Object.hasOwn(value, name) ? value[name] : undefined;
    }
    return value;
  }

  text(path: string, otherwise: string): string {
    const value = this.#at(path) ?? otherwise;
    if (typeof value !== "string") throw wrong(path, "text");
    return value;
  }

  bool(path: string, otherwise: boolean): boolean {
    const value = this.#at(path) ?? otherwise;
    if (typeof value !== "boolean") throw wrong(path, "true or false");
    return value;
  }

  int(path: string, otherwise: number): number {
    const value = this.#at(path) ?? otherwise;
    if (typeof value !== "number" || !Number.isSafeInteger(value)) throw wrong(path, "an integer");
    return value;
  }

  seconds(path: string): Nanos | null {
    return this.#at(path) === undefined ? null : BigInt(this.int(path, 0)) * SECOND;
  }

  length(path: string): Nanos | null {
    return this.#parsed(path, parseDuration, 'a length of time such as "5m"');
  }

  time(path: string): Instant | null {
    return this.#parsed(path, parseTime, 'a time such as "2026-03-02T12:00:00Z"');
  }

  #parsed<T>(path: string, parse: (value: unknown) => T, what: string): T | null {
    const value = this.#at(path);
    if (value === undefined || value === null) return null;
    try {
      return parse(value);
    } catch (error) {
      if (error instanceof Failure) throw wrong(path, what);
      throw error;
    }
  }

  map(path: string): JsonObject {
    const value = this.#at(path) ?? {};
    if (!isObject(value)) throw wrong(path, "a map");
    return value;
  }

  texts(path: string, otherwise: readonly string[]): readonly string[] {
    const value = this.#at(path) ?? otherwise;
    if (!isList(value)) throw wrong(path, "a list of text");
    return value.map((item) => {
      if (typeof item !== "string") throw wrong(path, "a list of text");
      return item;
    });
  }

  metadata(path: string): Record<string, string> {
    return Object.fromEntries(
      Object.entries(this.map(path)).map(([name, value]) => {
        if (typeof value !== "string") throw wrong(`${path}.${name}`, "text");
        return [name, value];
      }),
    );
  }

  headers(path: string): Record<string, readonly string[]> {
    return Object.fromEntries(
      Object.keys(this.map(path)).map((name) => [
        name.toLowerCase(),
        this.texts(`${path}.${name}`, []),
      ]),
    );
  }

  namespace(path: string): { readonly id: string; readonly path: string } {
    return { id: this.text(`${path}.id`, "root"), path: this.text(`${path}.path`, "") };
  }

  mode(path: string): ReplicationMode {
    const text = this.text(path, "disabled");
    const mode = MODES.find((known) => known === text);
    if (mode === undefined) throw wrong(path, `one of ${MODES.join(", ")}`);
    return mode;
  }
}

function isList(value: JsonValue | readonly string[]): value is readonly JsonValue[] {
  return Array.isArray(value) && !isRawNumber(value);
}

function wrong(path: string, what: string): Failure {
  return refused(`${showName(path)} must be ${what}`);
}
