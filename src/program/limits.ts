// Guard rails, so that neither a document nor the data of a request can hold the
// server up. They bound work, never time: a decision must not depend on how busy the machine is.

import type { DocumentLimits } from "../document/source-text.ts";

export const DOCUMENT_LIMITS: DocumentLimits = {
  noun: "policy",
  bytes: 64 * 1024,
  depth: 64,
  blocks: 10_000,
};

export const MAX_EXPRESSION = 16 * 1024;
export const MAX_NESTING = 64;
export const MAX_NODES = 10_000;
/** Of a tree, with those of the rules it uses: the evaluator recurses over it. */
export const MAX_DEPTH = 250;
export const MAX_RULES_DEPTH = 1_000;

/** Steps of loops. All other work that grows with data is counted in the same coin. */
export const MAX_STEPS = 20_000;
/** Of all programs that judge one request: some 50 ms, whoever wrote them and however many there are. */
export const MAX_STEPS_TOGETHER = 4 * MAX_STEPS;
/** Parts of a step. One is 20 to 60 ns of work, so that a budget is over within 20 ms; the bombs of the
 *  tests hold every function and operator against that. */
export const UNITS_PER_STEP = 16;
/** For each part of what a loop repeats; a turn costs one step at least. */
export const UNITS_PER_NODE = 8;
/** For an answer that is an error: it remembers where it was made, which takes microseconds. */
export const UNITS_PER_ERROR = 192;

export const MAX_TEXT = 64 * 1024;
export const MAX_ELEMENTS = 10_000;
export const MAX_PATTERN = 512;
/** Instructions, told before compiling; see base/pattern-weight.ts. */
export const MAX_PATTERN_WEIGHT = 1_500;
