// An expression as it was written: the tree between parser and evaluator. Operators are calls under the
// names CEL gives them (`_+_`); macros are nodes of their own, since what they become is ours to say.

export interface Place {
  /** Into the text of the document. */
  readonly at: number;
}

export type Constant = string | bigint | number | boolean | null | Uint8Array | Unsigned;

export interface Unsigned {
  readonly unsigned: bigint;
}

export type Node =
  | ConstantNode
  | NameNode
  | SelectNode
  | HasNode
  | CallNode
  | ListNode
  | MapNode
  | FoldNode;

export interface ConstantNode extends Place {
  readonly kind: "constant";
  readonly value: Constant;
}

export interface NameNode extends Place {
  readonly kind: "name";
  readonly name: string;
}

export interface SelectNode extends Place {
  readonly kind: "select";
  readonly operand: Node;
  readonly field: string;
}

/** `has(operand.field)`. */
export interface HasNode extends Place {
  readonly kind: "has";
  readonly operand: Node;
  readonly field: string;
}

export interface CallNode extends Place {
  readonly kind: "call";
  readonly name: string;
  /** Of `target.name(…)`. */
  readonly target: Node | null;
  readonly args: readonly Node[];
}

export interface ListNode extends Place {
  readonly kind: "list";
  readonly elements: readonly Node[];
}

export interface MapNode extends Place {
  readonly kind: "map";
  readonly entries: readonly { readonly key: Node; readonly value: Node }[];
}

export type Macro = "all" | "exists" | "exists_one" | "filter" | "map";

/** `range.macro(variable, test)`, or `range.map(variable, [test,] step)`. */
export interface FoldNode extends Place {
  readonly kind: "fold";
  readonly macro: Macro;
  readonly range: Node;
  readonly variable: string;
  readonly test: Node | null;
  /** Of `map` alone. */
  readonly step: Node | null;
}

export function childrenOf(node: Node): readonly Node[] {
  switch (node.kind) {
    case "constant":
    case "name":
      return [];
    case "select":
    case "has":
      return [node.operand];
    case "call":
      return node.target === null ? node.args : [node.target, ...node.args];
    case "list":
      return node.elements;
    case "map":
      return node.entries.flatMap(({ key, value }) => [key, value]);
    case "fold":
      return [node.range, node.test, node.step].filter((child) => child !== null);
  }
}

/** How many there are, itself included. */
export function sizeOf(node: Node): number {
  return childrenOf(node).reduce((sum, child) => sum + sizeOf(child), 1);
}

/** Where the first word of it stands: an operator's own place is its sign, a property's its name. */
export function startOf(node: Node): number {
  if (node.kind === "select") return startOf(node.operand);
  if (node.kind === "fold") return startOf(node.range);
  if (node.kind !== "call") return node.at;
  const [first] = childrenOf(node);
  const leads = node.target !== null || /^[_@]/.test(node.name);
  return leads && first !== undefined ? startOf(first) : node.at;
}
