// name=value arguments: the data of a write, the parameters of a read. A value can come from a file
// (name=@file) or from standard input (name=-), so that no secret needs to stand on a command line.

import { isObject, type JsonObject, type JsonValue } from "../base/json.ts";
import { parseExact } from "../client/exact-json.ts";
import type { Query } from "../client/client.ts";
import type { Context } from "./command.ts";
import { UsageError } from "./usage-error.ts";

// What the server takes at most, unless a listener says otherwise (contract decision 31).
const MAX_INPUT = 32 * 2 ** 20;

type Sources = Pick<Context, "files" | "prompt">;

/**
 * The body that the arguments describe. "-" is a JSON object on standard input, "@file" one in a file.
 * A name given several times becomes a list. null when there is no argument at all.
 */
export async function readData(
  args: readonly string[],
  sources: Sources,
): Promise<JsonObject | null> {
  if (args.length === 0) return null;
  const input = onlyOnce(sources);
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
    const value = await valueOf(text, input, sources);
    const before = data[name];
    if (!seen.has(name)) data[name] = value;
    else data[name] = Array.isArray(before) ? [...before, value] : [before ?? null, value];
    seen.add(name);
  }
  return data;
}

/** The same as parameters of a request without a body. */
export async function readQuery(args: readonly string[], sources: Sources): Promise<Query> {
  const input = onlyOnce(sources);
  const query: Record<string, string> = {};
  for (const [i, arg] of args.entries()) {
    const [name, text] = splitPair(arg, i);
    query[name] = await valueOf(text, input, sources);
  }
  return query;
}

function splitPair(arg: string, index: number): readonly [name: string, value: string] {
  const at = arg.indexOf("=");
  if (at > 0) return [arg.slice(0, at), arg.slice(at + 1)];
  // The argument is not repeated: it may be a secret that lost its name.
  throw new UsageError(
    `data argument ${index + 1} is not NAME=VALUE`,
    "values come as name=value, name=@file, name=- (standard input), or all as JSON with -",
  );
}

async function valueOf(text: string, input: Input, { files }: Sources): Promise<string> {
  if (text === "-") return withoutLastNewline(await input());
  if (text.startsWith("@")) return withoutLastNewline(files.text(text.slice(1), MAX_INPUT));
  // A backslash in front of "@" or "-" stands for the character itself.
  return /^\\(@|-$)/.test(text) ? text.slice(1) : text;
}

async function wholeObject(
  arg: string,
  input: Input,
  { files }: Sources,
): Promise<JsonObject | null> {
  if (arg !== "-" && !arg.startsWith("@")) return null;
  const text = arg === "-" ? await input() : files.text(arg.slice(1), MAX_INPUT);
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

type Input = () => Promise<string>;

function onlyOnce({ prompt }: Sources): Input {
  let used = false;
  return () => {
    if (used) throw new UsageError("standard input can be used for one value only");
    used = true;
    return prompt.whole(MAX_INPUT);
  };
}

/** Editors and echo end a text with a newline that is no part of it. */
function withoutLastNewline(text: string): string {
  return text.replace(/\r?\n$/, "");
}
