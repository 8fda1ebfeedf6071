// Constants that some functions read as a language of their own: patterns, ranges of addresses and
// names of zones. A fault in one is a fault of the document, found at write and not on some request.

import type { SourceText } from "../../document/source-text.ts";
import { isRange } from "../functions/addresses.ts";
import { limit, syntax } from "../failures.ts";
import { MAX_PATTERN_WEIGHT } from "../limits.ts";
import { Problem } from "../running/meter.ts";
import { type CallNode, childrenOf, type Node } from "../reading/node.ts";
import { Pattern } from "../functions/patterns.ts";
import { isZone } from "../functions/zones.ts";

/** Gives the patterns of the document, compiled, by their text. */
export function checkConstants(
  source: SourceText,
  nodes: readonly Node[],
): ReadonlyMap<string, Pattern> {
  const check = new Check(source);
  for (const node of nodes) check.visit(node);
  return check.patterns;
}

class Check {
  readonly patterns = new Map<string, Pattern>();
  readonly #source: SourceText;
  #weight = 0;

  constructor(source: SourceText) {
    this.#source = source;
  }

  visit(node: Node): void {
    if (node.kind === "call") this.#call(node);
    for (const child of childrenOf(node)) this.visit(child);
  }

  #call({ name, target, args }: CallNode): void {
    if (name === "matches") texts(target === null ? args[1] : args[0], this.#pattern);
    else if (name === "ip_in") texts(args[1], this.#range);
    else if (/^get[A-Z]/.test(name)) texts(args[0], this.#zone);
  }

  readonly #pattern = (text: string, at: number) => {
    if (this.patterns.has(text)) return;
    try {
      const pattern = new Pattern(text);
      this.patterns.set(text, pattern);
      this.#weight += pattern.weight;
    } catch (error) {
      throw error instanceof Problem ? syntax(this.#source, at, error.message) : error;
    }
    // All of them are compiled on the spot, 5 µs an instruction.
    if (this.#weight > 2 * MAX_PATTERN_WEIGHT) {
      throw limit(this.#source, at, "the patterns of this policy are too large together");
    }
  };

  readonly #range = (text: string, at: number) => {
    if (isRange(text)) return;
    const problem = 'ip_in() needs ranges such as "10.0.0.0/8" or "2001:db8::/32"';
    throw syntax(this.#source, at, problem);
  };

  readonly #zone = (text: string, at: number) => {
    if (isZone(text)) return;
    const problem = 'unknown time zone; known are names such as "Europe/Berlin" and "+02:00"';
    throw syntax(this.#source, at, problem);
  };
}

/** A text that stands there, or each of a list. */
function texts(node: Node | undefined, call: (text: string, at: number) => void): void {
  if (node?.kind === "constant" && typeof node.value === "string") call(node.value, node.at);
  if (node?.kind === "list") for (const element of node.elements) texts(element, call);
}
