// What is asked of policies, and what they answer. The pipeline asks, the policies room decides, the
// audit trail tells.

import type { JsonObject } from "../base/json.ts";
import type { Nanos } from "../base/world.ts";
import type { Capability } from "./access.ts";
import type { NamespaceRef } from "./request.ts";

export interface Question {
  /** Where the request goes: the caller's namespace or one below it. */
  readonly namespace: NamespaceRef;
  /** Relative to that namespace; for lists with a slash at the end. */
  readonly path: string;
  readonly capability: Exclude<Capability, "sudo">;
  /** Whether `sudo` is needed beside it. */
  readonly sudo: boolean;
  /** Body or query parameters, for rules on parameters. */
  readonly data: JsonObject;
  readonly wrapTtl: Nanos | null;
}

export interface Decision {
  readonly allowed: boolean;
  readonly granting: readonly { readonly name: string; readonly namespaceId: string }[];
}
