// Kinds of flags: what they take, how they read it, how help and completion show them. A refusal names
// the flag and what it accepts and does not repeat the value: it may be a secret in the wrong place.

import { Failure } from "@holdfast/shared/failure";
import type { ServerWords } from "./argument.ts";
import { parseDuration } from "@holdfast/shared/text/duration";
import type { Nanos } from "@holdfast/shared/world";
import { UsageError } from "./usage-error.ts";

export interface Flag<T> {
  readonly help: string;
  /** Stands for the value in help; null for a switch, which needs none. */
  readonly placeholder: string | null;
  readonly choices: readonly string[];
  readonly isFile: boolean;
  /** Completed from what a server knows. */
  readonly words?: ServerWords;
  /** Shown in help; empty when there is none. */
  readonly fallback: string;
  /** Every value given, in order; a switch without a value is "true". */
  read(values: readonly string[], name: string): T;
}

/** The names that a command's flags have inside, with their values. */
export type Flags = Readonly<Record<string, Flag<unknown>>>;
export type FlagValues<F extends Flags> = {
  readonly [K in keyof F]: F[K] extends Flag<infer T> ? T : never;
};

interface Kind<T> {
  readonly placeholder: string;
  readonly accepts: string;
  readonly choices?: readonly string[];
  readonly isFile?: boolean;
  readonly words?: ServerWords;
  convert(text: string): T | undefined;
}

/** Takes one value; where it is given twice the last one counts, so that aliases can be overruled. */
export class ValueFlag<T> implements Flag<T | undefined> {
  readonly help: string;
  readonly fallback = "";
  readonly words?: ServerWords;
  readonly #kind: Kind<T>;

  constructor(kind: Kind<T>, help: string) {
    this.#kind = kind;
    this.help = help;
    if (kind.words !== undefined) this.words = kind.words;
  }

  get placeholder(): string {
    return this.#kind.placeholder;
  }

  get choices(): readonly string[] {
    return this.#kind.choices ?? [];
  }

  get isFile(): boolean {
    return this.#kind.isFile ?? false;
  }

  read(values: readonly string[], name: string): T | undefined {
    const last = values.at(-1);
    if (last === undefined) return undefined;
    const value = this.#kind.convert(last);
    if (value === undefined) throw new UsageError(`-${name} takes ${this.#kind.accepts}`);
    return value;
  }

  default(value: T, display = String(value)): Flag<T> {
    const { help, placeholder, choices, isFile } = this;
    const read = (values: readonly string[], name: string) => this.read(values, name) ?? value;
    return { help, placeholder, choices, isFile, fallback: display, read };
  }

  /** May be given several times. */
  repeated(): Flag<readonly T[]> {
    const { help, placeholder, choices, isFile, words } = this;
    return {
      ...(words === undefined ? {} : { words }),
      help: `${help}; repeat for several`,
      placeholder,
      choices,
      isFile,
      fallback: "",
      read: (values, name) =>
        values.map((one) => this.read([one], name)).filter((one) => one !== undefined),
    };
  }
}

export const flag = {
  string: (help: string, placeholder = "TEXT", words?: ServerWords): ValueFlag<string> =>
    new ValueFlag(
      {
        placeholder,
        accepts: "a value",
        convert: (text) => text,
        ...(words === undefined ? {} : { words }),
      },
      help,
    ),

  file: (help: string): ValueFlag<string> => {
    const convert = (text: string) => (text === "" ? undefined : text);
    return new ValueFlag({ placeholder: "FILE", accepts: "a file", isFile: true, convert }, help);
  },

  oneOf: <const V extends string>(choices: readonly V[], help: string): ValueFlag<V> =>
    new ValueFlag(
      {
        placeholder: choices.join("|"),
        accepts: `one of ${choices.join(", ")}`,
        choices,
        convert: (text) => choices.find((choice) => choice === text),
      },
      help,
    ),

  integer: (help: string, { min = 0, max = Number.MAX_SAFE_INTEGER } = {}): ValueFlag<number> =>
    new ValueFlag(
      {
        placeholder: "N",
        accepts:
          max === Number.MAX_SAFE_INTEGER
            ? `a whole number, at least ${min}`
            : `a whole number from ${min} to ${max}`,
        convert: (text) => {
          const number = /^\d{1,16}$/.test(text) ? Number(text) : -1;
          return number >= min && number <= max ? number : undefined;
        },
      },
      help,
    ),

  duration: (help: string): ValueFlag<Nanos> =>
    new ValueFlag(
      {
        placeholder: "TIME",
        accepts: "a duration such as 90s or 1h30m",
        convert: (text) => {
          try {
            return parseDuration(text);
          } catch (error) {
            if (error instanceof Failure) return undefined;
            throw error;
          }
        },
      },
      help,
    ),

  /** name=value; the value may be empty and may hold "=". */
  pair: (help: string): ValueFlag<readonly [string, string]> =>
    new ValueFlag<readonly [string, string]>(
      {
        placeholder: "NAME=VALUE",
        accepts: "NAME=VALUE",
        convert: (text) => {
          const at = text.indexOf("=");
          return at < 1 ? undefined : [text.slice(0, at), text.slice(at + 1)];
        },
      },
      help,
    ),

  switch: (help: string): Flag<boolean> => ({
    help,
    placeholder: null,
    choices: [],
    isFile: false,
    fallback: "",
    read: (values, name) => {
      const last = values.at(-1);
      if (last === undefined || last === "false" || last === "0") return false;
      if (last === "true" || last === "1") return true;
      throw new UsageError(`-${name} is a switch: it takes true, false or nothing`);
    },
  }),
};

/** customMetadata inside is -custom-metadata on the command line. */
export function flagName(key: string): string {
  return key.replace(/[A-Z]/g, (capital) => `-${capital.toLowerCase()}`);
}
