// A template of names and a run of it: the part of Go's text templates that names are
// made with. Whoever writes one is trusted with the engine, not with the processor: a run has so many
// steps, and no text in it grows beyond a bound.

import { callFunction, isTrue, showValue, size, type TemplateWorld } from "./functions.ts";
import { TemplateError } from "./lexer.ts";
import { parse } from "./parser.ts";
import {
  CallError,
  type Command,
  LimitError,
  type Node,
  type Operand,
  type Pipe,
  TemplateData,
  type Value,
} from "./tree.ts";

const MAX_STEPS = 10_000;
const STEP_BYTES = 64; // of a text that is worked on: so many cost as much as a step
const MAX_OUTPUT = 1024;

export class Template {
  readonly source: string;
  readonly #nodes: readonly Node[];

  /** Throws a TemplateError with the place of what is wrong. `fields` are those that a run is given. */
  constructor(source: string, fields: readonly string[]) {
    this.source = source;
    this.#nodes = parse(source, fields);
  }

  /** Throws a TemplateError. */
  run(fields: Readonly<Record<string, string>>, world: TemplateWorld): string {
    return new Run(this.source, new TemplateData(fields), world).whole(this.#nodes);
  }
}

interface Variable {
  readonly name: string;
  value: Value;
}

class Run {
  readonly #source: string;
  readonly #world: TemplateWorld;
  readonly #variables: Variable[];
  #dot: Value;
  #steps = 0;
  #output = "";

  constructor(source: string, data: TemplateData, world: TemplateWorld) {
    this.#source = source;
    this.#world = world;
    this.#dot = data;
    this.#variables = [{ name: "$", value: data }];
  }

  whole(nodes: readonly Node[]): string {
    this.#all(nodes);
    return this.#output;
  }

  #all(nodes: readonly Node[]): void {
    for (const node of nodes) this.#node(node);
  }

  #node(node: Node): void {
    this.#step(node.at);
    if (node.kind === "text") return this.#write(node.text, node.at);
    if (node.kind === "action") {
      const value = this.#pipe(node.pipe);
      if (node.pipe.variable === null) this.#write(this.#textOf(value, node.at), node.at);
      return;
    }
    const [known, dot] = [this.#variables.length, this.#dot];
    const value = this.#pipe(node.pipe);
    if (isTrue(value)) {
      if (node.kind === "with") this.#dot = value;
      this.#all(node.body);
    } else {
      this.#all(node.otherwise);
    }
    this.#dot = dot;
    this.#variables.length = known;
  }

  #pipe({ commands, variable }: Pipe): Value {
    let value: Value | undefined;
    for (const command of commands) value = this.#command(command, value);
    const result = value ?? "";
    if (variable === null) return result;
    if (variable.declared) {
      this.#variables.push({ name: variable.name, value: result });
    } else {
      const known = this.#variables.findLast(({ name }) => name === variable.name);
      if (known !== undefined) known.value = result;
    }
    return result;
  }

  #command({ call, operands, at }: Command, last: Value | undefined): Value {
    this.#step(at);
    if (call === "and" || call === "or") return this.#shortCut(call, operands, last, at);
    const args = operands.map((operand) => this.#operand(operand));
    if (last !== undefined) args.push(last);
    if (call === null) return args[0] ?? "";
    for (const arg of args) if (typeof arg === "string") this.#work(arg, at);
    return this.#tried(at, call, () => callFunction(call, args, this.#world));
  }

  /** The first that decides, or else the last. */
  #shortCut(
    call: "and" | "or",
    operands: readonly Operand[],
    last: Value | undefined,
    at: number,
  ): Value {
    let value: Value | undefined;
    for (const operand of operands) {
      value = this.#operand(operand);
      if (isTrue(value) === (call === "or")) return value;
    }
    const result = last ?? value;
    if (result === undefined) throw this.#fault(at, `${call}: it takes at least 1 argument`);
    return result;
  }

  #operand(operand: Operand): Value {
    this.#step(operand.at);
    let value = this.#plain(operand);
    for (const name of operand.fields) {
      const fields: Readonly<Record<string, string>> =
        value instanceof TemplateData ? value.fields : {};
      const field = Object.hasOwn(fields, name) ? fields[name] : undefined;
      if (field === undefined) throw this.#fault(operand.at, `there is no field .${name} here`);
      value = field;
    }
    return value;
  }

  #plain(operand: Operand): Value {
    switch (operand.kind) {
      case "literal":
        return operand.value;
      case "dot":
        return this.#dot;
      case "pipe":
        return this.#pipe(operand.pipe);
      case "variable":
        return this.#variables.findLast(({ name }) => name === operand.name)?.value ?? "";
    }
  }

  #write(text: string, at: number): void {
    if (size(this.#output) + size(text) > MAX_OUTPUT) {
      throw this.#limit(at, `the result has more than ${MAX_OUTPUT} bytes`);
    }
    this.#output += text;
  }

  #textOf(value: Value, at: number): string {
    return this.#tried(at, "", () => showValue(value));
  }

  #tried<T>(at: number, call: string, run: () => T): T {
    try {
      return run();
    } catch (error) {
      if (!(error instanceof CallError)) throw error;
      const message = call === "" ? error.message : `${call}: ${error.message}`;
      throw error instanceof LimitError ? this.#limit(at, message) : this.#fault(at, message);
    }
  }

  #work(text: string, at: number): void {
    this.#steps += Math.floor(text.length / STEP_BYTES);
    this.#step(at);
  }

  #step(at: number): void {
    if (++this.#steps > MAX_STEPS) throw this.#limit(at, `it takes more than ${MAX_STEPS} steps`);
  }

  #limit(at: number, message: string): TemplateError {
    return new TemplateError(this.#source, at, message, { limit: true });
  }

  #fault(at: number, message: string): TemplateError {
    return new TemplateError(this.#source, at, message);
  }
}
