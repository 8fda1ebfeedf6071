// What can be told to be wrong before a program ever runs: names, properties, functions, and kinds of
// values where they are known. Typing errors are the commonest fault of a policy, and
// one that denies everybody at run time is found too late.

import type { SourceText } from "../../document/source-text.ts";
import { limit, unknown, wrongType } from "../failures.ts";
import { comparable, type Kind } from "./kinds.ts";
import { MAX_RULES_DEPTH } from "../limits.ts";
import {
  type CallNode,
  childrenOf,
  type Constant,
  type FoldNode,
  type MapNode,
  type Node,
  startOf,
} from "../reading/node.ts";
import { isProperty, ROOTS, type Shape } from "../request/properties.ts";
import { resultOf } from "./signatures.ts";

export interface KnownRule {
  readonly kind: Kind;
  /** With those of the rules that it uses. */
  readonly depth: number;
}

const TYPES: ReadonlySet<string> = new Set([
  "int",
  "uint",
  "double",
  "bool",
  "string",
  "bytes",
  "list",
  "map",
  "null_type",
  "type",
]);

export interface CheckerOptions {
  readonly source: SourceText;
  /** True: rules are variables, by their bare names (JSON). False: `rule.NAME`. */
  readonly bare: boolean;
}

export class Checker {
  readonly #source: SourceText;
  readonly #bare: boolean;
  readonly #rules = new Map<string, KnownRule>();
  readonly #warnings: string[] = [];
  #variables: readonly string[] = [];

  constructor({ source, bare }: CheckerOptions) {
    this.#source = source;
    this.#bare = bare;
  }

  get warnings(): readonly string[] {
    return this.#warnings;
  }

  /** Later expressions may use it. */
  rule(name: string, node: Node): void {
    this.#rules.set(name, { kind: this.#kindOf(node), depth: this.#depthOf(node) });
  }

  /** One whose value decides: it must be true or false as far as that can be told. */
  condition(what: string, node: Node): void {
    const kind = this.#kindOf(node);
    this.#depthOf(node);
    if (kind === "any" || kind === "bool") return;
    throw wrongType(
      this.#source,
      startOf(node),
      `${what} must be true or false, but this is of kind ${kind}`,
    );
  }

  #depthOf(node: Node): number {
    const depth = this.#depth(node);
    if (depth > MAX_RULES_DEPTH) {
      throw limit(this.#source, node.at, "rules build on each other too deeply");
    }
    return depth;
  }

  #depth(node: Node): number {
    const rule = this.#ruleOf(node);
    if (rule !== null) return rule.depth + 1;
    return 1 + childrenOf(node).reduce((max, child) => Math.max(max, this.#depth(child)), 0);
  }

  #ruleOf(node: Node): KnownRule | null {
    const name = ruleName(node, this.#bare);
    return name === null ? null : (this.#rules.get(name) ?? null);
  }

  #kindOf(node: Node): Kind {
    switch (node.kind) {
      case "constant":
        return kindOfConstant(node.value);
      case "name":
      case "select":
        return this.#chain(node);
      case "has":
        this.#chain({ kind: "select", operand: node.operand, field: node.field, at: node.at });
        return "bool";
      case "list":
        for (const element of node.elements) this.#kindOf(element);
        return "list";
      case "map":
        this.#map(node);
        return "map";
      case "fold":
        return this.#fold(node);
      case "call":
        return this.#call(node);
    }
  }

  #map({ entries }: MapNode): void {
    const seen = new Set<string>();
    for (const { key, value } of entries) {
      this.#kindOf(key);
      this.#kindOf(value);
      if (key.kind !== "constant") continue;
      const display = showKey(key.value);
      // Told at write where it stands there; 0 and 0u are one.
      if (seen.has(display)) throw wrongType(this.#source, key.at, "a map has this key twice");
      seen.add(display);
    }
  }

  /** A name with properties behind it: known from the table up to where data begins. */
  #chain(node: Node): Kind {
    const names: { name: string; at: number }[] = [];
    let at = node;
    while (at.kind === "select") {
      names.unshift({ name: at.field, at: at.at });
      at = at.operand;
    }
    if (at.kind !== "name") return this.#properties(this.#kindOf(at), names, null);
    if (this.#variables.includes(at.name)) return "any";
    if (this.#bare && this.#rules.has(at.name)) {
      return this.#properties(this.#rules.get(at.name)?.kind ?? "any", names, at.name);
    }
    if (!this.#bare && at.name === "rule") return this.#rule(at.at, names);
    const root = ROOTS.get(at.name);
    if (root !== undefined) return this.#known(root, at.name, names);
    if (TYPES.has(at.name)) return this.#properties("type", names, at.name);
    throw unknown(this.#source, at.at, "name", at.name, this.#names());
  }

  #names(): string[] {
    const rules = this.#bare ? Array.from(this.#rules.keys()) : ["rule"];
    return [...ROOTS.keys(), ...rules, ...this.#variables];
  }

  #rule(at: number, names: { name: string; at: number }[]): Kind {
    const [first, ...rest] = names;
    if (first === undefined) {
      throw wrongType(this.#source, at, 'a rule is used by its name, as in "rule.office"');
    }
    const known = this.#rules.get(first.name);
    if (known === undefined) {
      const guesses = Array.from(this.#rules.keys(), (name) => `rule.${name}`);
      throw unknown(this.#source, first.at, "rule", `rule.${first.name}`, guesses);
    }
    return this.#properties(known.kind, rest, `rule.${first.name}`);
  }

  #known(root: Shape, name: string, names: readonly { name: string; at: number }[]): Kind {
    let shape = root;
    let path = name;
    for (const [i, step] of names.entries()) {
      if (isProperty(shape)) return this.#properties(shape.kind, names.slice(i), path);
      const inner = path;
      path = `${path}.${step.name}`;
      const next: Shape | undefined = shape.get(step.name);
      if (next === undefined) {
        const known = Array.from(shape.keys(), (key) => `${inner}.${key}`);
        throw unknown(this.#source, step.at, "property", path, known);
      }
      shape = next;
    }
    return isProperty(shape) ? shape.kind : "map";
  }

  /** Only maps have properties; what they are is data. */
  #properties(
    kind: Kind,
    names: readonly { name: string; at: number }[],
    path: string | null,
  ): Kind {
    const [first] = names;
    if (first === undefined) return kind;
    if (kind === "any" || kind === "map") return "any";
    const whose = path === null ? "a value" : `"${path}"`;
    throw wrongType(
      this.#source,
      first.at,
      `unknown property "${first.name}": ${whose} is of kind ${kind}, which has none`,
    );
  }

  /** Whether its members are those of the table and no data. */
  #isRecord(node: Node): boolean {
    const names: string[] = [];
    let at = node;
    for (; at.kind === "select"; at = at.operand) names.unshift(at.field);
    if (at.kind !== "name" || this.#variables.includes(at.name)) return false;
    if (this.#bare && this.#rules.has(at.name)) return false;
    let shape = ROOTS.get(at.name);
    for (const name of names) {
      shape = shape === undefined || isProperty(shape) ? undefined : shape.get(name);
    }
    return shape !== undefined && !isProperty(shape);
  }

  /** `request["path"]` is `request.path`: otherwise brackets were the way past the check of names. */
  #member(whole: Node, key: Node): Kind {
    if (key.kind === "constant" && typeof key.value === "string") {
      return this.#chain({ kind: "select", operand: whole, field: key.value, at: key.at });
    }
    const problem = 'a property is named after a dot, as in "request.path"';
    throw wrongType(this.#source, startOf(key), problem);
  }

  #fold({ macro, range, variable, test, step, at }: FoldNode): Kind {
    const kind = this.#kindOf(range);
    if (kind !== "any" && kind !== "list" && kind !== "map") {
      const problem = `${macro}() goes through a list or a map, but this is of kind ${kind}`;
      throw wrongType(this.#source, at, problem);
    }
    const outer = this.#variables;
    this.#variables = [...outer, variable];
    if (test !== null) this.#boolean(test, `the condition of ${macro}()`);
    if (step !== null) this.#kindOf(step);
    this.#variables = outer;
    return macro === "map" || macro === "filter" ? "list" : "bool";
  }

  #boolean(node: Node, what: string): void {
    const kind = this.#kindOf(node);
    if (kind === "any" || kind === "bool") return;
    throw wrongType(
      this.#source,
      startOf(node),
      `${what} must be true or false, but this is of kind ${kind}`,
    );
  }

  #call(node: CallNode): Kind {
    const { name, at, args } = node;
    if (name === "_&&_" || name === "_||_") {
      for (const arg of args) this.#boolean(arg, `a side of ${name.slice(1, -1)}`);
      return "bool";
    }
    if (name === "_?_:_") {
      const [condition, yes, no] = args;
      if (condition !== undefined) this.#boolean(condition, "a condition");
      const kinds = [yes, no].map((side) => (side === undefined ? "any" : this.#kindOf(side)));
      return kinds[0] === kinds[1] ? (kinds[0] ?? "any") : "any";
    }
    const [whole, key] = args;
    if (name === "_[_]" && whole !== undefined && key !== undefined && this.#isRecord(whole)) {
      return this.#member(whole, key);
    }
    const target = node.target === null ? null : this.#kindOf(node.target);
    const argumentKinds = args.map((arg) => this.#kindOf(arg));
    if (
      (name === "_==_" || name === "_!=_") &&
      !comparable(argumentKinds[0] ?? "any", argumentKinds[1] ?? "any")
    ) {
      const { line, column } = this.#source.positionAt(at);
      const sides = argumentKinds.join(" and ");
      this.#warnings.push(`${line}:${column}: ${sides} are never equal`);
    }
    return resultOf(this.#source, { name, target, kinds: argumentKinds, at });
  }
}

/** The name of the rule that a node stands for, by its form alone. */
export function ruleName(node: Node, bare: boolean): string | null {
  if (bare) return node.kind === "name" ? node.name : null;
  if (node.kind !== "select" || node.operand.kind !== "name") return null;
  return node.operand.name === "rule" ? node.field : null;
}

function kindOfConstant(value: unknown): Kind {
  if (value === null) return "null";
  if (typeof value === "string") return "string";
  if (typeof value === "bigint") return "int";
  if (typeof value === "number") return "double";
  if (typeof value === "boolean") return "bool";
  return value instanceof Uint8Array ? "bytes" : "uint";
}

/** Numbers of all kinds are one key if they are equal. */
function showKey(key: Constant): string {
  if (typeof key === "string") return `"${key}`;
  return key !== null && typeof key === "object" && "unsigned" in key
    ? `${key.unsigned}`
    : String(key);
}
