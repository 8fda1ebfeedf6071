// What is asked of policies, and what they answer. The pipeline asks, the policies room decides, the
// audit trail tells.

import type { JsonObject, JsonValue } from "@holdfast/shared/json/json";
import type { Nanos } from "@holdfast/shared/world";
import type { Capability } from "@holdfast/shared/endpoint/access";
import type { NamespaceRef } from "@holdfast/shared/endpoint/request";

/** Of a field: its first name, and the one form of all spellings of a value. */
export interface Reading {
  readonly name: string;
  readonly aliases?: readonly string[] | undefined;
  readonly canonical?: ((value: JsonValue) => JsonValue | undefined) | undefined;
  /** Case says nothing to whoever reads it: what is denied is denied in every case. */
  readonly caseless?: boolean | undefined;
  /** A map that may be written as a list of name=value: each pair counts as an element. */
  readonly pairs?: boolean | undefined;
}

export interface Question {
  /** Where the request goes: the caller's namespace or one below it. */
  readonly namespace: NamespaceRef;
  /** Relative to that namespace; for lists with a slash at the end. */
  readonly path: string;
  readonly capability: Exclude<Capability, "sudo">;
  /** Whether `sudo` is needed beside it. */
  readonly sudo: boolean;
  /** For rules on parameters: what the handler will take, in canonical form. It may be made when it is first
   *  looked at, so whoever needs no parameters leaves it alone. */
  readonly data: JsonObject;
  /** How the values of parameters are read, by name in lower case: values that are read as the same are
   *  the same for a rule. Default: as they stand. */
  readonly fields?: ReadonlyMap<string, Reading> | undefined;
  readonly wrapTtl: Nanos | null;
}

export interface Decision {
  readonly allowed: boolean;
  readonly granting: readonly { readonly name: string; readonly namespaceId: string }[];
}
