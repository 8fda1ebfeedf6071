// What stands on a command line without a dash: arguments by position. Their order is that of the
// declaration; one that may be left out comes after those that may not, the rest is last.

import { UsageError } from "./usage-error.ts";

export interface Argument<T> {
  readonly help: string;
  readonly form: "required" | "optional" | "rest";
  /** Completed from these. */
  readonly choices: readonly string[];
  /** Completed from what a server knows. */
  readonly words?: ServerWords;
  /** What stands behind "--" is this one's alone. */
  readonly behindDashes?: boolean;
  read(values: readonly string[], name: string): T;
}

/** What a shell can complete by asking the server: paths of mounts and of secrets, names. */
export const SERVER_WORDS = ["secrets", "auth", "policies", "namespaces", "kv", "paths"] as const;
export type ServerWords = (typeof SERVER_WORDS)[number];

interface Completion {
  readonly choices?: readonly string[];
  readonly words?: ServerWords;
}

export type Arguments = Readonly<Record<string, Argument<unknown>>>;
export type ArgumentValues<A extends Arguments> = {
  readonly [K in keyof A]: A[K] extends Argument<infer T> ? T : never;
};

export const argument = {
  required: (help: string, completed: Completion = {}): Argument<string> => ({
    help,
    form: "required",
    choices: [],
    ...completed,
    read: ([first], name) => {
      if (first === undefined || first === "") throw missing(name, help);
      return first;
    },
  }),

  optional: (help: string, completed: Completion = {}): Argument<string | undefined> => ({
    help,
    form: "optional",
    choices: [],
    ...completed,
    read: ([first]) => first,
  }),

  oneOf: <const V extends string>(choices: readonly V[], help: string): Argument<V> => ({
    help,
    form: "required",
    choices,
    read: ([first], name) => {
      const choice = choices.find((one) => one === first);
      if (choice !== undefined) return choice;
      if (first === undefined) throw missing(name, choices.join(", "));
      throw new UsageError(`${displayName(name)} must be one of ${choices.join(", ")}`);
    },
  }),

  rest: (help: string, completed: Completion = {}): Argument<readonly string[]> => ({
    help,
    form: "rest",
    choices: [],
    ...completed,
    read: (values) => values,
  }),

  /** A command line of another program: no word of it is taken for an argument in front of it. */
  command: (help: string): Argument<readonly string[]> => ({
    ...argument.rest(help),
    behindDashes: true,
  }),
};

export function readArguments<A extends Arguments>(
  declared: A,
  words: readonly string[],
  beforeDashes?: number,
): Record<string, unknown> {
  const values: Record<string, unknown> = {};
  const split = Object.values(declared).some(({ behindDashes }) => behindDashes === true);
  const front = split ? (beforeDashes ?? words.length) : words.length;
  let at = 0;
  for (const [name, one] of Object.entries(declared)) {
    const taken = one.form === "rest" ? words.slice(at) : words.slice(at, Math.min(at + 1, front));
    at += taken.length;
    values[name] = one.read(taken, name);
  }
  // Not repeated in the message: a stray argument may be a share or a token.
  const more = words.length - at;
  if (more > 0) throw new UsageError(`${more} more argument${more > 1 ? "s" : ""} than expected`);
  return values;
}

export function displayName(name: string): string {
  return name.replace(/[A-Z]/g, (capital) => `_${capital}`).toUpperCase();
}

function missing(name: string, help: string): UsageError {
  return new UsageError(`${displayName(name)} is missing: ${afterColon(help)}`);
}

/** A sentence of its own, in the middle of another: words in capitals stay. */
export function afterColon(help: string): string {
  return /^[A-Z][a-z ]/.test(help) ? help.charAt(0).toLowerCase() + help.slice(1) : help;
}
