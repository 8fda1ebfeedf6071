// What the engine finds when it looks for a function: ours first, its own only where the table of
// signatures has the name. Every call comes by here, which makes this the place of the budget, and of
// the rule that no error text holds a value.

import {
  type celEnv,
  celError,
  type CelResult,
  celType,
  type CelValue,
  isCelError,
} from "@bufbuild/cel";
import { CONVERSIONS } from "./conversions.ts";
import { UNITS_PER_ENGINE_CALL, UNITS_PER_ERROR } from "../limits.ts";
import { LOOKUPS } from "./lookups.ts";
import { type Meter, Problem } from "../running/meter.ts";
import type { Native, Tools } from "./native.ts";
import { operators } from "./operators.ts";
import { SIGNATURES } from "../checking/signatures.ts";
import { TEXTS } from "./texts.ts";

type Env = ReturnType<typeof celEnv>;
export type Resolver = Env["funcs"];
export type Group = NonNullable<ReturnType<Resolver["find"]>>;
type Result = ReturnType<Group["call"]>;

const NO_FUNCTIONS: readonly never[] = [];
// Texts of the engine that name kinds and operators and nothing else.
const PLAIN = /(?:overflow during [\w+*/%_ -]+|(?:divide|modulus) by zero|out of range)$/;

/** All functions that do not depend on the program. */
export function functionsOf(engine: Resolver, tools: Tools): ReadonlyMap<string, Group> {
  const equal = engine.find("_==_");
  const scalars = (a: CelValue, b: CelValue) => {
    tools.meter.charge(UNITS_PER_ENGINE_CALL);
    return equal?.call(0, undefined, [a, b]) === true;
  };
  const natives = new Map([...operators(scalars), ...TEXTS, ...CONVERSIONS, ...LOOKUPS]);
  const names = new Set([...natives.keys(), ...SIGNATURES.keys()]);
  return new Map(
    Array.from(names, (name) => [name, group(name, natives.get(name), engine.find(name), tools)]),
  );
}

/** One that is ours alone. */
export function ownGroup(
  name: string,
  meter: Meter,
  answer: (id: number, values: readonly CelValue[]) => CelResult,
): Group {
  return {
    name,
    [Symbol.iterator]: () => NO_FUNCTIONS.values(),
    call(id, _target, args): Result {
      try {
        const result = answer(id, args);
        return isCelError(result) ? paid(result, meter) : result;
      } catch (error) {
        if (error instanceof Problem) return paid(celError(error.message, id), meter);
        throw error;
      }
    },
  };
}

function group(
  name: string,
  native: Native | undefined,
  engine: Group | undefined,
  tools: Tools,
): Group {
  return {
    name,
    [Symbol.iterator]: () => NO_FUNCTIONS.values(),
    call(id, target, args): Result {
      const values = target === undefined ? args : [target, ...args];
      try {
        const answer = native?.(values, tools);
        if (answer !== undefined) return answer;
      } catch (error) {
        if (error instanceof Problem) return paid(celError(error.message, id), tools.meter);
        throw error; // past everything that could swallow it
      }
      if (engine !== undefined) tools.meter.charge(UNITS_PER_ENGINE_CALL);
      const result = engine?.call(id, target, args);
      if (result === undefined) return paid(celError(mismatch(name, values), id), tools.meter);
      if (isCelError(result)) return paid(celError(quiet(name, result), id), tools.meter);
      return result;
    },
  };
}

/** Also one that is only handed on: `||` and `&&` make a new one of those that they join. */
function paid(error: CelResult, meter: Meter): CelResult {
  meter.charge(UNITS_PER_ERROR);
  return error;
}

function quiet(name: string, error: Error): string {
  return PLAIN.test(error.message) ? error.message : `${show(name)} cannot be computed`;
}

function mismatch(name: string, values: readonly CelValue[]): string {
  const kinds = values.map((value) => celType(value).name.replace(/^google\.protobuf\./, ""));
  return `wrong arguments (${kinds.join(", ")}) for ${show(name)}`;
}

function show(name: string): string {
  const sign = /^_(.+)_$/.exec(name)?.[1] ?? /^([!-])_$/.exec(name)?.[1];
  if (sign !== undefined) return `"${sign}"`;
  if (name === "@index") return "an index";
  return name.startsWith("@") ? `"${name.slice(1)}"` : `${name}()`;
}
