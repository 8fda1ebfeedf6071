// How large a tree has become while it is built: the number of its nodes, and how deep they lie. Chains
// such as `a.b.c` or `1+1+1` nest without any bracket.

import type { SourceText } from "../../document/source-text.ts";
import { limit, tooDeep } from "../failures.ts";
import { MAX_DEPTH, MAX_NODES } from "../limits.ts";
import { childrenOf, type Node } from "./node.ts";

export class TreeSize {
  readonly #source: SourceText;
  readonly #depths = new WeakMap<Node, number>();
  #nodes = 0;

  constructor(source: SourceText) {
    this.#source = source;
  }

  /** Gives it back. Its children have been counted before. */
  counted(node: Node): Node {
    this.#nodes += 1;
    if (this.#nodes > MAX_NODES) {
      throw limit(this.#source, node.at, `an expression may have at most ${MAX_NODES} parts`);
    }
    let below = 0;
    for (const child of childrenOf(node)) below = Math.max(below, this.#depths.get(child) ?? 0);
    if (below + 1 > MAX_DEPTH) throw tooDeep(this.#source, node.at, MAX_DEPTH);
    this.#depths.set(node, below + 1);
    return node;
  }
}
