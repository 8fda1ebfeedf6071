// The one file that knows how the CEL package is driven: it plans trees of ours and runs them. See
// load.ts for how it is reached.

import { celEnv, plan } from "@bufbuild/cel";
import { strings } from "@bufbuild/cel/ext";
import { Checker } from "../checking/checker.ts";
import { CompiledProgram, type Run } from "./compiled-program.ts";
import { checkConstants } from "../checking/constants.ts";
import { readDocument } from "../reading/document.ts";
import { functionsOf, type Group } from "../functions/functions.ts";
import { lower } from "./lowering.ts";
import { Meter } from "./meter.ts";
import type { Node } from "../reading/node.ts";
import { ProgramFunctions } from "./program-functions.ts";
import type { ProgramInput } from "../request/program-input.ts";
import type { Program, Programs } from "../program.ts";
import { RequestView } from "../request/request-view.ts";
import { checkTests, dryRun } from "../checking/trial.ts";
import { Zones } from "../functions/zones.ts";

export class ProgramEngine implements Programs {
  readonly #env = celEnv({ funcs: strings });
  readonly #meter = new Meter();
  readonly #functions: ReadonlyMap<string, Group>;
  /**
   * Several programs judge one request in one go: what one of them has looked at is there for the
   * next. Forgotten right after, since the body of a request is not ours to keep; a WeakMap would keep
   * it no longer, but doubles the cost of an evaluation in garbage collection (measured).
   */
  #last: RequestView | null = null;

  constructor() {
    this.#functions = functionsOf(this.#env.funcs, { meter: this.#meter, zones: new Zones() });
  }

  parseProgram(text: string): Program {
    const written = readDocument(text);
    const { source, bare, rules, when, main } = written;
    const nodes = [...rules, main].map(({ node }) => node);
    if (when !== null) nodes.push(when);
    const checker = new Checker({ source, bare });
    for (const { name, node } of rules) checker.rule(name, node);
    if (when !== null) checker.condition("the condition after when", when);
    checker.condition("main", main.node);
    checkTests(written);
    const functions = new ProgramFunctions(this.#functions, {
      meter: this.#meter,
      rules: rules.map(({ name }) => name),
      patterns: checkConstants(source, nodes),
    });
    const program = new CompiledProgram(written, {
      functions,
      meter: this.#meter,
      runs: new Map(nodes.map((node) => [node, this.#planned(node, functions, bare)])),
      view: (input) => this.#view(input),
    });
    return program.withWarnings([...checker.warnings, ...dryRun(program)]);
  }

  #planned(node: Node, functions: ProgramFunctions, bare: boolean): Run {
    const env = new Proxy(this.#env, {
      get: (target, key) =>
        key === "funcs" ? functions.resolver(target.funcs) : Reflect.get(target, key),
    });
    return plan(env, lower(node, functions.lowering(bare)));
  }

  #view(input: ProgramInput): RequestView {
    if (this.#last?.input === input) return this.#last;
    if (this.#last === null) {
      queueMicrotask(() => {
        this.#last = null;
      });
    }
    this.#last = new RequestView(input);
    return this.#last;
  }
}
