// Loops as CEL writes them, `list.all(x, x > 0)`: told by name and turned into a node of their own.

import type { SourceText } from "../document/source-text.ts";
import { syntax } from "./failures.ts";
import type { FoldNode, Macro, Node } from "./node.ts";

export const MACROS: ReadonlyMap<string, Macro> = new Map(
  (["all", "exists", "exists_one", "filter", "map"] as const).map((name) => [name, name]),
);

export function foldOf(
  source: SourceText,
  macro: Macro,
  range: Node,
  args: readonly Node[],
  at: number,
): FoldNode {
  const [variable, second, third] = args;
  const most = macro === "map" ? 3 : 2;
  if (variable?.kind !== "name" || second === undefined || args.length > most) {
    const problem = `${macro}() takes a variable and an expression, as in [1, 2].${macro}(x, x > 0)`;
    throw syntax(source, at, problem);
  }
  const base = { kind: "fold", macro, range, variable: variable.name, at } as const;
  if (macro !== "map") return { ...base, test: second, step: null };
  return third === undefined
    ? { ...base, test: null, step: second }
    : { ...base, test: second, step: third };
}
