// Splits a command line into flags and arguments. One dash or two, "-flag value" or "-flag=value",
// anywhere on the line; "--" ends the flags, a lone "-" is an argument (standard input). What is not
// known is refused with the nearest known name, and without its value.

import { flagName, type Flag, type Flags } from "./flag.ts";
import { nearest } from "./nearest.ts";
import { UsageError } from "./usage-error.ts";

export interface Line {
  /** Values by the flag's name on the command line. */
  readonly flags: ReadonlyMap<string, readonly string[]>;
  readonly rest: readonly string[];
  /** How many of `rest` stand in front of "--"; undefined without one. */
  readonly beforeDashes: number | undefined;
}

/**
 * Reads as long as `known` tells flags. With `stopAtWord` it stops before the first argument: the part
 * in front of a command, whose flags are not known yet.
 */
export function readLine(
  args: readonly string[],
  known: ReadonlyMap<string, Flag<unknown>>,
  { stopAtWord = false } = {},
): Line {
  const flags = new Map<string, string[]>();
  const rest: string[] = [];
  let beforeDashes: number | undefined;
  let at = 0;
  while (at < args.length) {
    const word = args[at]!;
    if (word === "--") {
      at++;
      beforeDashes = rest.length;
      break;
    }
    if (!isFlag(word)) {
      if (stopAtWord) break;
      rest.push(word);
      at++;
      continue;
    }
    const { name, value } = splitFlag(word);
    const flag = known.get(name);
    if (flag === undefined) throw unknownFlag(name, known);
    at++;
    const values = flags.get(name) ?? [];
    flags.set(name, values);
    if (value !== null) values.push(value);
    else if (flag.placeholder === null) values.push("true");
    else if (at < args.length) values.push(args[at++]!);
    else throw new UsageError(`-${name} needs a value: -${name}=${flag.placeholder}`);
  }
  return { flags, rest: [...rest, ...args.slice(at)], beforeDashes };
}

/** Flags by their names on the command line. */
export function byName(...groups: readonly Flags[]): Map<string, Flag<unknown>> {
  return new Map(
    groups.flatMap((flags) =>
      Object.entries(flags).map(([key, flag]) => [flagName(key), flag] as const),
    ),
  );
}

/** Every flag's value, by its name inside. */
export function readFlags(flags: Flags, values: Line["flags"]): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(flags).map(([key, flag]) => {
      const name = flagName(key);
      return [key, flag.read(values.get(name) ?? [], name)];
    }),
  );
}

function isFlag(word: string): boolean {
  return word.startsWith("-") && word !== "-";
}

function splitFlag(word: string): { readonly name: string; readonly value: string | null } {
  const text = word.replace(/^--?/, "");
  const at = text.indexOf("=");
  return at < 0
    ? { name: text, value: null }
    : { name: text.slice(0, at), value: text.slice(at + 1) };
}

/** Flags of other tools, and of what is meant to come. */
const NOT_HERE: ReadonlyMap<string, readonly [why: string, next: string]> = new Map([
  [
    "t",
    ["there are no output templates", "use -field NAME, or -format json with a tool such as jq"],
  ],
  ["role-id", ["there are no roles of tokens", "give policies: -policy NAME"]],
  ["role-name", ["there are no roles of tokens", "give policies: -policy NAME"]],
  [
    "wait-replicated",
    [
      "there is nothing to wait for: a token is there when the region that was asked has answered",
      "leave -wait-replicated out",
    ],
  ],
]);

function unknownFlag(name: string, known: ReadonlyMap<string, Flag<unknown>>): UsageError {
  if (name === "token") {
    return new UsageError(
      "there is no -token flag: a token on the command line is seen by every process and kept in " +
        "the shell's history",
      "set HOLDFAST_TOKEN, or run `holdfast login` once",
    );
  }
  const elsewhere = NOT_HERE.get(name);
  if (elsewhere !== undefined) return new UsageError(...elsewhere);
  // A word with a dash in front can be anything, a secret too; only what looks like a flag is shown.
  if (!/^[a-z][a-z-]{0,23}$/.test(name)) {
    return new UsageError(
      "an argument that begins with a dash is not a flag",
      "put -- in front of arguments that begin with a dash",
    );
  }
  const guess = nearest(name, [...known.keys()]);
  return new UsageError(
    `there is no flag -${name}`,
    guess === null ? null : `did you mean -${guess}?`,
  );
}
