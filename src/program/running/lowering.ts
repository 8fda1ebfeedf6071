// From our tree to the engine's. Names of docs/policies/programs.md become calls that read just that property;
// loops get the budget built in; what the engine would do in the square of the size, or with its own
// idea of a missing key, becomes a call of ours. Positions travel as the numbers of expressions, so
// that an error at run time can say where.

import type { plan } from "@bufbuild/cel";
import { ruleName } from "../checking/checker.ts";
import { UNITS_PER_NODE, UNITS_PER_STEP } from "../limits.ts";
import { type Constant, type FoldNode, type Node, sizeOf } from "../reading/node.ts";
import { SIGNATURES } from "../checking/signatures.ts";
import { isProperty, ROOTS, type Shape } from "../request/properties.ts";

export type Expr = Extract<Parameters<typeof plan>[1], { $typeName: "cel.expr.Expr" }>;
type Kind = Expr["exprKind"];

const RESULT = "@result"; // no program can write this name

export interface Lowering {
  readonly bare: boolean;
  /** Names for calls that stand for these; the functions behind them are the program's own. */
  rule(name: string): string | null;
  property(path: string, shape: Shape): string;
  pattern(text: string): string;
}

/** The number of an expression is one more than its place: nought is "unknown" to the engine. */
export function placeOf(id: bigint | undefined): number | null {
  return id === undefined || id === 0n ? null : Number(id) - 1;
}

export function lower(node: Node, lowering: Lowering): Expr {
  return new Lowerer(lowering).lower(node);
}

class Lowerer {
  readonly #lowering: Lowering;
  #variables: readonly string[] = [];

  constructor(lowering: Lowering) {
    this.#lowering = lowering;
  }

  lower(node: Node): Expr {
    switch (node.kind) {
      case "constant":
        return constant(node.at, node.value);
      case "name":
      case "select":
        return this.#known(node) ?? this.#plain(node);
      case "has":
        return call(node.at, "@has", [this.lower(node.operand), constant(node.at, node.field)]);
      case "list":
        return list(
          node.at,
          node.elements.map((element) => this.lower(element)),
        );
      case "map":
        return this.#map(node.at, node.entries);
      case "fold":
        return this.#fold(node);
      case "call": {
        const args = node.args.map((arg, place) => this.#argument(node.name, arg, place));
        if (node.name === "_[_]") return call(node.at, "@index", args);
        if (node.name === "matches") return this.#matches(node);
        const target = node.target === null ? undefined : this.lower(node.target);
        return call(node.at, node.name, args, target);
      }
    }
  }

  /** What decides must be true or false, and is asked where that is not plain from what is written. A
   *  zone that does not stand in the document costs more: its name may be a new one each time. */
  #argument(name: string, arg: Node, place: number): Expr {
    const lowered = this.lower(arg);
    const decides = name === "_&&_" || name === "_||_" || (name === "_?_:_" && place === 0);
    if (decides) return isBool(arg) ? lowered : call(arg.at, "@bool", [lowered]);
    const isZone = /^get[A-Z]/.test(name) && arg.kind !== "constant";
    return isZone ? call(arg.at, "@zone", [lowered]) : lowered;
  }

  /** A rule, or as much of a chain as the table of properties knows; null for anything else. */
  #known(node: Node): Expr | null {
    const root = rootOf(node);
    if (root === null || this.#variables.includes(root)) return null;
    const rule = ruleName(node, this.#lowering.bare);
    const called = rule === null ? null : this.#lowering.rule(rule);
    if (called !== null) return call(node.at, called, []);
    const shape = shapeOf(node);
    return shape === null ? null : call(node.at, this.#lowering.property(pathOf(node), shape), []);
  }

  #plain(node: Node): Expr {
    if (node.kind === "name") return ident(node.at, node.name);
    if (node.kind !== "select") return this.lower(node);
    return call(node.at, "@field", [this.lower(node.operand), constant(node.at, node.field)]);
  }

  /** A pattern that stands in the document is compiled with it. */
  #matches(node: Extract<Node, { kind: "call" }>): Expr {
    const [text, pattern] = node.target === null ? node.args : [node.target, ...node.args];
    const parts = [text, pattern].filter((part) => part !== undefined);
    if (pattern?.kind !== "constant" || typeof pattern.value !== "string" || text === undefined) {
      return call(
        node.at,
        "matches",
        parts.map((part) => this.lower(part)),
      );
    }
    return call(node.at, this.#lowering.pattern(pattern.value), [this.lower(text)]);
  }

  #map(at: number, entries: readonly { readonly key: Node; readonly value: Node }[]): Expr {
    return made(at, {
      case: "structExpr",
      value: {
        $typeName: "cel.expr.Expr.CreateStruct",
        messageName: "",
        entries: entries.map(({ key, value }) => ({
          $typeName: "cel.expr.Expr.CreateStruct.Entry",
          id: BigInt(key.at + 1),
          keyKind: { case: "mapKey", value: this.lower(key) },
          value: this.lower(value),
          optionalEntry: false,
        })),
      },
    });
  }

  #fold(node: FoldNode): Expr {
    const { at, macro, range, variable } = node;
    const through = call(at, "@range", [this.lower(range)]);
    const outer = this.#variables;
    this.#variables = [...outer, variable];
    const test = node.test === null ? null : this.lower(node.test);
    const step = node.step === null ? ident(at, variable) : this.lower(node.step);
    this.#variables = outer;

    const parts = [node.test, node.step].filter((part) => part !== null);
    const size = parts.reduce((sum, part) => sum + sizeOf(part), 0);
    const tick = call(at, `@tick:${Math.max(UNITS_PER_STEP, UNITS_PER_NODE * size)}`, []);
    const result = ident(at, RESULT);
    const turn = (goesOn: Expr | null) =>
      goesOn === null ? tick : call(at, "_&&_", [tick, goesOn]);
    const notFalse = (what: Expr) => call(at, "@not_strictly_false", [what]);
    const loop = (init: Expr, condition: Expr, next: Expr, end: Expr) =>
      made(at, {
        case: "comprehensionExpr",
        value: {
          $typeName: "cel.expr.Expr.Comprehension",
          iterVar: variable,
          iterVar2: "",
          iterRange: through,
          accuVar: RESULT,
          accuInit: init,
          loopCondition: condition,
          loopStep: next,
          result: end,
        },
      });

    const tested = test ?? constant(at, true);
    if (macro === "all") {
      const next = call(at, "_&&_", [result, tested]);
      return loop(constant(at, true), turn(notFalse(result)), next, result);
    }
    if (macro === "exists") {
      const next = call(at, "_||_", [result, tested]);
      const goesOn = notFalse(call(at, "!_", [result]));
      return loop(constant(at, false), turn(goesOn), next, result);
    }
    if (macro === "exists_one") {
      const one = constant(at, 1n);
      const next = call(at, "_?_:_", [tested, call(at, "_+_", [result, one]), result]);
      return loop(constant(at, 0n), turn(null), next, call(at, "_==_", [result, one]));
    }
    // The list that a loop collects is nobody else's yet, so it grows in place.
    const grow = call(at, "@append", [result, step]);
    const next = test === null ? grow : call(at, "_?_:_", [test, grow, result]);
    return loop(call(at, "@new_list", []), turn(null), next, result);
  }
}

/** Whether it gives true, false or an error, whatever the request. */
function isBool(node: Node): boolean {
  if (node.kind === "constant") return typeof node.value === "boolean";
  if (node.kind === "fold") return node.macro !== "map" && node.macro !== "filter";
  if (node.kind !== "call") return node.kind === "has";
  const { name } = node;
  if (name === "_&&_" || name === "_||_") return true;
  return SIGNATURES.get(name)?.every(({ result }) => result === "bool") ?? false;
}

function rootOf(node: Node): string | null {
  let at = node;
  while (at.kind === "select") at = at.operand;
  return at.kind === "name" ? at.name : null;
}

/** As written: `request.path`. */
function pathOf(node: Node): string {
  if (node.kind === "select") return `${pathOf(node.operand)}.${node.field}`;
  return node.kind === "name" ? node.name : "";
}

function shapeOf(node: Node): Shape | null {
  if (node.kind === "name") return ROOTS.get(node.name) ?? null;
  if (node.kind !== "select") return null;
  const outer = shapeOf(node.operand);
  return outer === null || isProperty(outer) ? null : (outer.get(node.field) ?? null);
}

function made(at: number, exprKind: Kind): Expr {
  return { $typeName: "cel.expr.Expr", id: BigInt(at + 1), exprKind };
}

function ident(at: number, name: string): Expr {
  return made(at, { case: "identExpr", value: { $typeName: "cel.expr.Expr.Ident", name } });
}

function list(at: number, elements: Expr[]): Expr {
  return made(at, {
    case: "listExpr",
    value: { $typeName: "cel.expr.Expr.CreateList", elements, optionalIndices: [] },
  });
}

function call(at: number, name: string, args: Expr[], target?: Expr): Expr {
  const base = { $typeName: "cel.expr.Expr.Call", function: name, args } as const;
  return made(at, {
    case: "callExpr",
    value: target === undefined ? base : { ...base, target },
  });
}

function constant(at: number, value: Constant): Expr {
  return made(at, {
    case: "constExpr",
    value: { $typeName: "cel.expr.Constant", constantKind: constantKind(value) },
  });
}

type ConstantKind = Extract<Kind, { case: "constExpr" }>["value"]["constantKind"];

function constantKind(value: Constant): ConstantKind {
  if (value === null) return { case: "nullValue", value: 0 };
  if (typeof value === "string") return { case: "stringValue", value };
  if (typeof value === "bigint") return { case: "int64Value", value };
  if (typeof value === "number") return { case: "doubleValue", value };
  if (typeof value === "boolean") return { case: "boolValue", value };
  if (value instanceof Uint8Array) return { case: "bytesValue", value };
  return { case: "uint64Value", value: value.unsigned };
}
