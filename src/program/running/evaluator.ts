// From the tree of an expression to a function that evaluates it. Names, functions and patterns are looked
// up once, here; a run then goes from step to step. An error is a value that ends what it is part of, save
// in `&&`, `||` and the loops that stand for them, as CEL defines. Loops pay for each turn.

import { ruleName } from "../checking/checker.ts";
import { FUNCTIONS, showFunction } from "../functions/functions.ts";
import { UNITS_PER_NEW_ZONE } from "../functions/lookups.ts";
import { listTooLong, type Native } from "../functions/native.ts";
import type { Pattern } from "../functions/patterns.ts";
import { MAX_ELEMENTS, UNITS_PER_NODE, UNITS_PER_STEP } from "../limits.ts";
import {
  type CallNode,
  type Constant,
  type FoldNode,
  type MapNode,
  type Node,
  sizeOf,
} from "../reading/node.ts";
import { isProperty, ROOTS, type Shape } from "../request/properties.ts";
import { Problem } from "./meter.ts";
import { Fault, type Run, type Step } from "./run.ts";
import {
  EntryMap,
  keyOf,
  List,
  TypeName,
  typeNameOf,
  Uint,
  type Value,
  ValueList,
  ValueMap,
} from "./values.ts";

export interface Names {
  /** Rules are variables, by their bare names. */
  readonly bare: boolean;
  /** Places of the rules, by their names. */
  readonly rules: ReadonlyMap<string, number>;
  /** Compiled, by their text. */
  readonly patterns: ReadonlyMap<string, Pattern>;
}

/** One that has passed the checker. */
export function compile(node: Node, names: Names): Step {
  return new Compiler(names).step(node);
}

class Compiler {
  readonly #names: Names;
  #variables: readonly string[] = [];

  constructor(names: Names) {
    this.#names = names;
  }

  step(node: Node): Step {
    switch (node.kind) {
      case "constant":
        return always(constantOf(node.value));
      case "name":
        return this.#known(node) ?? this.#name(node.name);
      case "select":
        return this.#known(node) ?? field(this.step(node.operand), node.field, node.at);
      case "has":
        return this.#has(node);
      case "list":
        return this.#list(node.elements);
      case "map":
        return this.#map(node);
      case "fold":
        return this.#fold(node);
      case "call":
        return this.#call(node);
    }
  }

  /** A rule, or as much of a chain as the table of properties knows; null for anything else. */
  #known(node: Node): Step | null {
    const root = rootOf(node);
    if (root === null || this.#variables.includes(root)) return null;
    const name = ruleName(node, this.#names.bare);
    const rule = name === null ? undefined : this.#names.rules.get(name);
    if (rule !== undefined) return ruleAt(rule);
    const shape = shapeOf(node);
    return shape === null ? null : property(shape, node);
  }

  /** Or of a variable: what it is then, the table does not know. */
  #isOfRule(node: Node): boolean {
    const root = rootOf(node) ?? "";
    return this.#variables.includes(root) || (this.#names.bare && this.#names.rules.has(root));
  }

  #name(name: string): Step {
    const place = this.#variables.lastIndexOf(name);
    // Behind the checker a name that is no variable is that of a type.
    if (place === -1) return always(new TypeName(name));
    return ({ variables }) => variables[place] ?? null;
  }

  #has({ operand, field, at }: Extract<Node, { kind: "has" }>): Step {
    const shape = this.#isOfRule(operand) ? null : shapeOf({ kind: "select", operand, field, at });
    // The whole need not be made to tell of a part.
    if (shape !== null && isProperty(shape)) return ({ view }) => view.get(shape) !== undefined;
    const whole = this.step(operand);
    return (run) => {
      const value = whole(run);
      if (value instanceof Fault) return value;
      if (value instanceof ValueMap) return value.get(field) !== undefined;
      return run.fault("has() needs a map to look into", at);
    };
  }

  #list(elements: readonly Node[]): Step {
    const steps = elements.map((element) => this.step(element));
    const build: Step = (run) => {
      const values: Value[] = [];
      for (const step of steps) {
        const value = step(run);
        if (value instanceof Fault) return value;
        values.push(value);
      }
      return new ValueList(values);
    };
    // One of constants is the same each time.
    const constants = elements.flatMap((node) =>
      node.kind === "constant" ? [constantOf(node.value)] : [],
    );
    return constants.length < elements.length ? build : always(new ValueList(constants));
  }

  #map({ entries, at }: MapNode): Step {
    const steps = entries.map(({ key, value }) => [this.step(key), this.step(value)] as const);
    return (run) => {
      const map = new EntryMap();
      for (const [keyStep, valueStep] of steps) {
        const result = keyStep(run);
        if (result instanceof Fault) return result;
        const key = keyOf(result);
        if (key === null) return new Fault("unsupported key type", at);
        const value = valueStep(run);
        if (value instanceof Fault) return value;
        if (!map.add(key, value)) return new Fault("a map has one key twice", at);
      }
      return map;
    };
  }

  // --- calls ---

  #call(node: CallNode): Step {
    const { name, target, args, at } = node;
    if (name === "_&&_") return this.#logical(args, false);
    if (name === "_||_") return this.#logical(args, true);
    if (name === "_?_:_") return this.#conditional(args);
    const parts = target === null ? args : [target, ...args];
    if (name === "matches") return this.#matches(parts, at);
    const isPart = /^get[A-Z]/.test(name);
    const steps = parts.map((part, i) => {
      const step = this.step(part);
      return isPart && i > 0 && part.kind !== "constant" ? newZone(step) : step;
    });
    return apply(name, FUNCTIONS.get(name), steps, at);
  }

  /** `&&` or `||`: `decisive` is the value that settles it, whatever else is an error. */
  #logical(args: readonly Node[], decisive: boolean): Step {
    const steps = args.map((arg) => this.#truth(arg));
    return (run) => {
      let fault: Fault | null = null;
      for (const step of steps) {
        const value = step(run);
        if (value === decisive) return decisive;
        if (value instanceof Fault) fault ??= value;
      }
      return fault ?? !decisive;
    };
  }

  #conditional([condition, yes, no]: readonly Node[]): Step {
    if (condition === undefined || yes === undefined || no === undefined) return always(null);
    const [test, then, otherwise] = [this.#truth(condition), this.step(yes), this.step(no)];
    return (run) => {
      const value = test(run);
      return value === true ? then(run) : value === false ? otherwise(run) : value;
    };
  }

  /** True, false or a fault. */
  #truth(node: Node): Step {
    const step = this.step(node);
    const { at } = node;
    return (run) => {
      const value = step(run);
      if (typeof value === "boolean" || value instanceof Fault) return value;
      return run.fault("&&, || and ? need true or false", at);
    };
  }

  /** A pattern that stands in the document is compiled with it. */
  #matches(parts: readonly Node[], at: number): Step {
    const [text, written] = parts;
    const isConstant = written?.kind === "constant" && typeof written.value === "string";
    const pattern = isConstant ? this.#names.patterns.get(String(written.value)) : undefined;
    if (pattern === undefined || text === undefined) {
      const steps = parts.map((part) => this.step(part));
      return apply("matches", FUNCTIONS.get("matches"), steps, at);
    }
    const found: Native = (meter, subject) => {
      if (typeof subject === "string") return pattern.foundIn(subject, meter);
      throw new Problem("wrong arguments for matches()");
    };
    return apply("matches", found, [this.step(text)], at);
  }

  // --- loops ---

  #fold(node: FoldNode): Step {
    const { at, macro } = node;
    const range = rangeOf(this.step(node.range), at);
    const outer = this.#variables;
    this.#variables = [...outer, node.variable];
    const test = node.test === null ? null : this.step(node.test);
    const step = node.step === null ? null : this.step(node.step);
    this.#variables = outer;
    const parts = [node.test, node.step].filter((part) => part !== null);
    const size = parts.reduce((sum, part) => sum + sizeOf(part), 0);
    const units = Math.max(UNITS_PER_STEP, UNITS_PER_NODE * size);
    const loop: Loop = { range, place: outer.length, units, at };
    if (macro === "all") return quantified(loop, test ?? always(true), false);
    if (macro === "exists") return quantified(loop, test ?? always(true), true);
    if (macro === "exists_one") return existsOne(loop, test ?? always(true));
    return collected(loop, test, step);
  }
}

interface Loop {
  /** Gives a List or a fault. */
  readonly range: (run: Run) => List | Fault;
  /** Of its variable. */
  readonly place: number;
  /** For each turn. */
  readonly units: number;
  readonly at: number;
}

/** `all` and `exists`: `decisive` is the value that settles it, whatever else is an error. */
function quantified({ range, place, units, at }: Loop, test: Step, decisive: boolean): Step {
  return (run) => {
    const list = range(run);
    if (list instanceof Fault) return list;
    let fault: Fault | null = null;
    for (let i = 0; i < list.size; i += 1) {
      run.meter.charge(units);
      run.variables[place] = list.get(i) ?? null;
      const value = test(run);
      if (value === decisive) return decisive;
      if (value instanceof Fault) fault ??= value;
      else if (typeof value !== "boolean") fault ??= notBool(value, at);
    }
    return fault ?? !decisive;
  };
}

function existsOne({ range, place, units, at }: Loop, test: Step): Step {
  return (run) => {
    const list = range(run);
    if (list instanceof Fault) return list;
    let count = 0;
    for (let i = 0; i < list.size; i += 1) {
      run.meter.charge(units);
      run.variables[place] = list.get(i) ?? null;
      const value = test(run);
      if (value instanceof Fault) return value;
      if (typeof value !== "boolean") return notTested(value, at);
      if (value) count += 1;
    }
    return count === 1;
  };
}

/** `filter` and `map`: without a test everything counts, without a step it is the element itself. */
function collected({ range, place, units, at }: Loop, test: Step | null, step: Step | null): Step {
  return (run) => {
    const list = range(run);
    if (list instanceof Fault) return list;
    const values: Value[] = [];
    for (let i = 0; i < list.size; i += 1) {
      run.meter.charge(units);
      const element = list.get(i) ?? null;
      run.variables[place] = element;
      const counts = test === null ? true : test(run);
      if (counts instanceof Fault) return counts;
      if (typeof counts !== "boolean") return notTested(counts, at);
      if (!counts) continue;
      const value = step === null ? element : step(run);
      if (value instanceof Fault) return value;
      if (values.length >= MAX_ELEMENTS) return run.fault(listTooLong().message, at);
      values.push(value);
    }
    return new ValueList(values);
  };
}

/** What a loop goes through: a list, or the keys of a map. It pays before the first turn. */
function rangeOf(step: Step, at: number): Loop["range"] {
  return (run) => {
    const value = step(run);
    if (value instanceof Fault) return value;
    if (value instanceof List) {
      run.meter.charge(value.size);
      return value;
    }
    if (!(value instanceof ValueMap)) return mismatch(run, "@range", [value], at);
    run.meter.charge(value.size);
    return new ValueList(value.keys());
  };
}

function notBool(value: Value, at: number): Fault {
  const kind = typeNameOf(value);
  const display = kind === "list" ? "list(dyn)" : kind === "map" ? "map(dyn, dyn)" : kind;
  return new Fault(`type mismatch: expected bool, got ${display}`, at);
}

function notTested(value: Value, at: number): Fault {
  return new Fault(`found no matching overload for _?_:_ applied to '(${typeNameOf(value)})'`, at);
}

// --- single steps ---

function always(value: Value): Step {
  return () => value;
}

function ruleAt(place: number): Step {
  return (run) => {
    const result = run.rule(place);
    return result instanceof Fault ? run.fault(result.message, result.at) : result;
  };
}

function property(shape: Shape, node: Node): Step {
  const name = node.kind === "select" ? node.field : node.kind === "name" ? node.name : "";
  const { at } = node;
  return (run) => {
    const value = run.view.get(shape);
    return value === undefined ? run.fault(`field not found: ${name}`, at) : value;
  };
}

/** The name stands in the document, and may be told. */
function field(operand: Step, name: string, at: number): Step {
  return (run) => {
    const value = operand(run);
    if (value instanceof Fault) return value;
    if (!(value instanceof ValueMap)) return run.fault(`${name} is asked of what is no map`, at);
    const found = value.get(name);
    return found === undefined ? run.fault(`field not found: ${name}`, at) : found;
  };
}

/** A zone that does not stand in the document costs more: its name may be a new one each time. */
function newZone(step: Step): Step {
  return (run) => {
    const value = step(run);
    if (!(value instanceof Fault)) run.meter.charge(UNITS_PER_NEW_ZONE);
    return value;
  };
}

/** A function on values, all of which must be there. */
function apply(name: string, native: Native | undefined, steps: readonly Step[], at: number): Step {
  const [first, second] = steps;
  if (native === undefined || first === undefined) {
    return (run) => mismatch(run, name, [], at);
  }
  if (second === undefined) {
    return (run) => {
      const a = first(run);
      if (a instanceof Fault) return a;
      try {
        const value = native(run.meter, a);
        return value === undefined ? mismatch(run, name, [a], at) : value;
      } catch (error) {
        return problem(run, error, at);
      }
    };
  }
  if (steps.length === 2) {
    return (run) => {
      const a = first(run);
      if (a instanceof Fault) return a;
      const b = second(run);
      if (b instanceof Fault) return b;
      try {
        const value = native(run.meter, a, b);
        return value === undefined ? mismatch(run, name, [a, b], at) : value;
      } catch (error) {
        return problem(run, error, at);
      }
    };
  }
  return (run) => {
    const values: Value[] = [];
    for (const step of steps) {
      const value = step(run);
      if (value instanceof Fault) return value;
      values.push(value);
    }
    const [a = null, b, c, d] = values;
    try {
      const value = native(run.meter, a, b, c, d);
      return value === undefined ? mismatch(run, name, values, at) : value;
    } catch (error) {
      return problem(run, error, at);
    }
  };
}

function problem(run: Run, error: unknown, at: number): Fault {
  if (error instanceof Problem) return run.fault(error.message, at);
  throw error;
}

function mismatch(run: Run, name: string, values: readonly Value[], at: number): Fault {
  const kinds = values.map((value) => typeNameOf(value).replace(/^google\.protobuf\./, ""));
  return run.fault(`wrong arguments (${kinds.join(", ")}) for ${showFunction(name)}`, at);
}

function constantOf(value: Constant): Value {
  const isUnsigned = typeof value === "object" && value !== null && "unsigned" in value;
  return isUnsigned ? new Uint(value.unsigned) : value;
}

// --- names ---

function rootOf(node: Node): string | null {
  let at = node;
  while (at.kind === "select") at = at.operand;
  return at.kind === "name" ? at.name : null;
}

function shapeOf(node: Node): Shape | null {
  if (node.kind === "name") return ROOTS.get(node.name) ?? null;
  if (node.kind !== "select") return null;
  const outer = shapeOf(node.operand);
  return outer === null || isProperty(outer) ? null : (outer.get(node.field) ?? null);
}
