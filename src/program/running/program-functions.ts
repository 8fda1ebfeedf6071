// The functions of one program: its rules, the properties it reads, its patterns and the ticks of its
// loops, under names that no program can write. Also what they answer from during a run.

import {
  celError,
  type CelList,
  celList,
  type CelResult,
  type CelValue,
  isCelList,
} from "@bufbuild/cel";
import { type Group, ownGroup, type Resolver } from "../functions/functions.ts";
import { MAX_ELEMENTS } from "../limits.ts";
import type { Lowering } from "./lowering.ts";
import type { Meter } from "./meter.ts";
import { listTooLong } from "../functions/native.ts";
import type { Pattern } from "../functions/patterns.ts";
import type { Shape } from "../request/properties.ts";
import type { RequestView } from "../request/request-view.ts";

export interface ProgramFunctionsOptions {
  readonly meter: Meter;
  /** Names of the rules, as written. */
  readonly rules: readonly string[];
  /** By their text. */
  readonly patterns: ReadonlyMap<string, Pattern>;
}

type Call = (id: number, args: readonly CelValue[]) => CelResult;

export class ProgramFunctions {
  readonly #common: ReadonlyMap<string, Group>;
  readonly #meter: Meter;
  readonly #rules: readonly string[];
  readonly #patterns: ReadonlyMap<string, Pattern>;
  readonly #own = new Map<string, Group>();
  readonly #growing = new WeakMap<CelList, CelValue[]>();
  #results: (CelResult | undefined)[] = [];
  #view: RequestView | null = null;
  #evaluate: ((rule: number) => CelResult) | null = null;

  constructor(common: ReadonlyMap<string, Group>, options: ProgramFunctionsOptions) {
    this.#common = common;
    this.#meter = options.meter;
    this.#rules = options.rules;
    this.#patterns = options.patterns;
    this.#add("@new_list", () => this.#newList());
    this.#add("@append", (id, [list, element]) => this.#append(id, list, element));
  }

  /** Ready for a run on one request. */
  begin(view: RequestView, evaluate: (rule: number) => CelResult): void {
    this.#results = [];
    this.#view = view;
    this.#evaluate = evaluate;
  }

  /** Nothing of the request stays behind. */
  end(): void {
    this.#results = [];
    this.#view = null;
    this.#evaluate = null;
  }

  /** Undefined: it was not needed. */
  resultOf(rule: number): CelResult | undefined {
    return this.#results[rule];
  }

  resolver(engine: Resolver): Resolver {
    const find = (name: string) =>
      this.#own.get(name) ?? this.#tick(name) ?? this.#common.get(name);
    return new Proxy(engine, {
      get: (target, key) => (key === "find" ? find : Reflect.get(target, key)),
    });
  }

  lowering(bare: boolean): Lowering {
    return {
      bare,
      rule: (name) => this.#rule(name),
      property: (path, shape) => this.#property(path, shape),
      pattern: (text) => this.#pattern(text),
    };
  }

  #rule(name: string): string | null {
    const index = this.#rules.indexOf(name);
    if (index === -1) return null;
    return this.#add(`@rule:${name}`, () => {
      const known = this.#results[index];
      if (known !== undefined) return known;
      const result = this.#evaluate?.(index) ?? celError("no request");
      this.#results[index] = result;
      return result;
    });
  }

  #property(path: string, shape: Shape): string {
    const missing = `field not found: ${path.slice(path.lastIndexOf(".") + 1)}`;
    return this.#add(`@${path}`, (id) => this.#view?.get(shape) ?? celError(missing, id));
  }

  #pattern(text: string): string {
    const pattern = this.#patterns.get(text);
    return this.#add(`@matches:${text}`, (id, [subject]) => {
      if (pattern === undefined || typeof subject !== "string") {
        return celError("wrong arguments for matches()", id);
      }
      return pattern.foundIn(subject, this.#meter);
    });
  }

  #tick(name: string): Group | undefined {
    const units = Number(/^@tick:(\d+)$/.exec(name)?.[1] ?? Number.NaN);
    if (Number.isNaN(units)) return undefined;
    return ownGroup(name, this.#meter, () => {
      this.#meter.charge(units);
      return true;
    });
  }

  #newList(): CelResult {
    const elements: CelValue[] = [];
    const list = celList(elements);
    this.#growing.set(list, elements);
    return list;
  }

  #append(id: number, list: CelValue | undefined, element: CelValue | undefined): CelResult {
    const elements = isCelList(list) ? this.#growing.get(list) : undefined;
    if (elements === undefined || element === undefined || list === undefined) {
      return celError("no list to collect in", id);
    }
    if (elements.length >= MAX_ELEMENTS) throw listTooLong();
    elements.push(element);
    return list;
  }

  #add(name: string, call: Call): string {
    if (!this.#own.has(name)) this.#own.set(name, ownGroup(name, this.#meter, call));
    return name;
  }
}
