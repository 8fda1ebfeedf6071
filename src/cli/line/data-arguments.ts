// name=value arguments: the data of a write, the parameters of a read. A value can come from a file
// (name=@file) or from standard input (name=-), so that no secret needs to stand on a command line. Both
// are taken byte for byte; on a terminal name=- asks without echo.

import { isObject, type JsonObject, type JsonValue } from "@holdfast/shared/json/json";
import { parseExact } from "@holdfast/client/exact-json";
import type { Query } from "@holdfast/client/client";
import type { Context } from "../command.ts";
import { UsageError } from "./usage-error.ts";

// What the server takes at most, unless a listener says otherwise.
const MAX_INPUT = 32 * 2 ** 20;

/** `out` is told of what is odd about a value. */
export type Sources = Pick<Context, "files" | "prompt" | "out">;

interface DataOptions {
  /** A name given twice becomes a list; else it is refused. */
  readonly lists?: boolean;
  /** What is written counts from now on: a password that is typed unseen is asked for twice. */
  readonly newPasswords?: boolean;
}

/**
 * The body that the arguments describe. "-" is a JSON object on standard input, "@file" one in a file.
 * A name given several times becomes a list, or is refused where that is hardly meant. null when there is no argument at all.
 */
export async function readData(
  args: readonly string[],
  sources: Sources,
  { lists = true, newPasswords = false }: DataOptions = {},
): Promise<JsonObject | null> {
  if (args.length === 0) return null;
  const input = inputOf(sources, newPasswords);
  // No prototype: "__proto__" is a name like any other.
  const data: Record<string, JsonValue> = Object.create(null);
  const seen = new Set<string>();
  for (const [i, arg] of args.entries()) {
    const whole = await wholeObject(arg, input, sources);
    if (whole !== null) {
      for (const [name, value] of Object.entries(whole)) data[name] = value ?? null;
      continue;
    }
    const [name, text] = splitPair(arg, i);
    if (!lists && seen.has(name)) {
      throw new UsageError(
        `${name} is given twice`,
        "give it once; a list is given as JSON with -",
      );
    }
    const value = await valueOf(name, text, input, sources);
    const before = data[name];
    if (!seen.has(name)) data[name] = value;
    else data[name] = Array.isArray(before) ? [...before, value] : [before ?? null, value];
    seen.add(name);
  }
  return data;
}

/** One value from where the text says, as in name=TEXT. */
export function readValue(name: string, text: string, sources: Sources): Promise<string> {
  return valueOf(name, text, inputOf(sources), sources);
}

/** The same as parameters of a request without a body. */
export async function readQuery(args: readonly string[], sources: Sources): Promise<Query> {
  const input = inputOf(sources);
  const query: Record<string, string> = {};
  for (const [i, arg] of args.entries()) {
    const [name, text] = splitPair(arg, i);
    query[name] = await valueOf(name, text, input, sources);
  }
  return query;
}

function splitPair(arg: string, index: number): readonly [name: string, value: string] {
  const at = arg.indexOf("=");
  if (at > 0) return [arg.slice(0, at), arg.slice(at + 1)];
  // The argument is not repeated: it may be a secret that lost its name.
  throw new UsageError(
    `data argument ${index + 1} is not NAME=VALUE`,
    "values come as name=value, name=@file, name=- (standard input, or asked for), or all as JSON with -",
  );
}

async function valueOf(
  name: string,
  text: string,
  input: Input,
  { files, out }: Sources,
): Promise<string> {
  if (text === "-") return noted(name, await input.value(name), out);
  if (text.startsWith("@")) return noted(name, files.text(text.slice(1), MAX_INPUT), out);
  // A backslash in front of "@" or "-" stands for the character itself.
  return /^\\(@|-$)/.test(text) ? text.slice(1) : text;
}

async function wholeObject(
  arg: string,
  input: Input,
  { files }: Sources,
): Promise<JsonObject | null> {
  if (arg !== "-" && !arg.startsWith("@")) return null;
  const text = arg === "-" ? await input.whole() : files.text(arg.slice(1), MAX_INPUT);
  const from = arg === "-" ? "standard input" : arg.slice(1);
  let value: JsonValue;
  try {
    value = parseExact(text);
  } catch {
    // The parser's own message quotes the text.
    throw new UsageError(`${from} is not valid JSON`);
  }
  if (!isObject(value)) throw new UsageError(`${from} must hold a JSON object`);
  return value;
}

interface Input {
  /** What belongs to this name: asked for without echo on a terminal, else all of standard input. */
  value(name: string): Promise<string>;
  whole(): Promise<string>;
}

const PASSWORD = /(?:^|[_.-])pass(?:word|phrase|wd)?$/i;

function inputOf({ prompt }: Sources, newPasswords = false): Input {
  let used = false;
  const whole = () => {
    if (used) throw new UsageError("standard input can be used for one value only");
    used = true;
    return prompt.whole(MAX_INPUT);
  };
  const typed = async (name: string) => {
    const once = await typedValue(prompt, name, name);
    if (!newPasswords || !PASSWORD.test(name)) return once;
    if ((await typedValue(prompt, name, `${name} again`)) === once) return once;
    throw new UsageError(`${name} was not typed the same twice`, "run the command again");
  };
  return { whole, value: (name) => (prompt.interactive ? typed(name) : whole()) };
}

async function typedValue(prompt: Context["prompt"], name: string, label: string): Promise<string> {
  const typed = await prompt.secret(label, { exact: true });
  if (typed === null) throw new UsageError(`no value was given for ${name}`);
  return typed.reveal();
}

/**
 * Files and pipes are taken byte for byte. One line with a newline behind it was mostly made by echo or
 * an editor, and is then no password that anybody could type: that is said.
 */
function noted(name: string, text: string, out: Sources["out"]): string {
  if (text === "") out.hint(`Note: ${name} is empty: nothing came from where it was to be read.`);
  if (/^[^\r\n]+\r?\n$/.test(text)) {
    out.hint(`Note: ${name} ends with a newline, which is kept; printf '%s' makes none.`);
  }
  return text;
}
