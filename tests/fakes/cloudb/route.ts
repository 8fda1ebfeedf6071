// One kind of call that the fake of cloud B understands, and what its handler is told.

import type { Caller } from "./model.ts";
import { badRequest } from "./refusal.ts";
import type { Tenant } from "./tenant.ts";

export type Members = Readonly<Record<string, unknown>>;

export interface CloudRequest {
  readonly tenant: Tenant;
  readonly caller: Caller;
  /** As it was asked for, without the query. */
  readonly path: string;
  /** The named parts of the path, decoded. */
  readonly parts: Readonly<Record<string, string>>;
  readonly query: URLSearchParams;
  readonly body: Members;
}

export interface Reply {
  readonly status: number;
  readonly body?: object;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface Route {
  readonly action: string;
  readonly method: string;
  /** Matched against the whole path. */
  readonly pattern: RegExp;
  readonly run: (request: CloudRequest) => Reply | Promise<Reply>;
}

export const NO_CONTENT: Reply = { status: 204 };

export function membersOf(value: unknown): Members {
  return typeof value === "object" && value !== null && !Array.isArray(value)
    ? (value as Members)
    : {};
}

/** Properties that the provider does not know are refused. */
export function checkProperties(body: Members, known: readonly string[], type: string): void {
  const unknown = Object.keys(body).find((name) => !known.includes(name));
  if (unknown === undefined) return;
  throw badRequest(`Invalid property '${unknown}' specified on resource '${type}'.`);
}

export function textOf(body: Members, name: string): string {
  const value = body[name];
  if (typeof value === "string" && value !== "") return value;
  throw badRequest(`Property '${name}' is required and must be a non-empty string.`);
}
