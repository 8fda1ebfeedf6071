// What a filter can see of a token, and of the state while one is looked at. Neither the secret nor
// the hash is here: a filter would tell them letter by letter (T-B09).

import type { Clock, Instant, Nanos } from "@holdfast/shared/world";
import type { Allowance } from "./allowance.ts";

export interface FilteredToken {
  readonly accessor: string;
  readonly name: string;
  readonly type: "client" | "management";
  readonly policies: readonly string[];
  readonly global: boolean;
  readonly created: Instant;
  readonly expires: Instant | null;
  readonly ttl: Nanos | null;
  readonly createIndex: bigint;
  readonly modifyIndex: bigint;
  readonly keptFrom?: string | undefined;
}

export interface Role {
  readonly id: string;
  readonly name: string;
}

export type Element = string | Role;

/** One token under test. Variables have numbers, by the quantifiers around them from the outside. */
export interface Scene {
  token: FilteredToken;
  readonly elements: Element[];
  readonly positions: number[];
  readonly clock: Clock;
  readonly allowance: Allowance;
}
