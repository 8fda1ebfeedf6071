// One `path` block as it was written, checked. What several of them mean together: compile.ts.

import type { Instant, Nanos } from "@holdfast/shared/world";
import type { ParameterRules } from "./parameters/parameters.ts";
import type { Pattern } from "./pattern.ts";
import type { Template } from "./template.ts";
import type { Position } from "../document/hcl-node.ts";

export interface Wrapping {
  /** Null is not set. */
  readonly min: Nanos | null;
  readonly max: Nanos | null;
}

export interface AclRule {
  /** As written. */
  readonly label: string;
  /** The label in pieces; null where nothing is to be filled in. */
  readonly template: Template | null;
  /** Null where something is to be filled in first. */
  readonly pattern: Pattern | null;
  /** Bits of capability.ts. */
  readonly capabilities: number;
  readonly parameters: ParameterRules;
  readonly wrapping: Wrapping;
  /** From then on the rule is left out. */
  readonly expires: Instant | null;
  readonly position: Position;
}

export const NO_BOUNDS: Wrapping = { min: null, max: null };

/** Bounds of two blocks with one label: of those that are set the lower, for each. */
export function mergeWrapping(a: Wrapping, b: Wrapping): Wrapping {
  return { min: lower(a.min, b.min), max: lower(a.max, b.max) };
}

function lower(a: Nanos | null, b: Nanos | null): Nanos | null {
  if (a === null || b === null) return a ?? b;
  return a < b ? a : b;
}
