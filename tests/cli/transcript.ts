// Transcripts: a command, then what it must print. Read by people as documentation, run by tests.
//
//   $ holdfast COMMAND     a command; words in quotes as in a shell; {{name}} is put in
//   < text                 a line of its standard input
//   <- text                the same without a newline behind it
//   text                   a line of its standard output
//   ! text                 a line of its standard error
//   ? 3                    its exit code; 0 when it is not said
//   # text                 a remark
//
// In expected lines {{name}} stands for anything without spaces: it is kept under that name, and must be
// the same where the name comes again. {{*}} stands for anything at all, "..." for any number of lines.

import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { run } from "./harness.ts";

export interface Step {
  readonly line: number;
  readonly words: readonly string[];
  readonly stdin: string;
  readonly stdout: readonly string[];
  readonly stderr: readonly string[];
  readonly code: number;
}

export function readTranscript(text: string): Step[] {
  const steps: {
    -readonly [K in keyof Step]: Step[K] extends readonly string[] ? string[] : Step[K];
  }[] = [];
  for (const [i, line] of text.split("\n").entries()) {
    const step = steps.at(-1);
    if (line.startsWith("#") || (line === "" && step === undefined)) continue;
    if (line.startsWith("$ ")) {
      const words = wordsOf(line.slice(2));
      assert.equal(words.shift(), "holdfast", `line ${i + 1}: every command is holdfast's`);
      steps.push({ line: i + 1, words, stdin: "", stdout: [], stderr: [], code: 0 });
    } else if (step === undefined) assert.fail(`line ${i + 1}: there is no command before it`);
    else if (line.startsWith("<- ")) step.stdin += line.slice(3);
    else if (line.startsWith("< ")) step.stdin += `${line.slice(2)}\n`;
    else if (line.startsWith("? ")) step.code = Number(line.slice(2));
    else if (line.startsWith("! ") || line === "!") step.stderr.push(line.slice(2));
    else step.stdout.push(line);
  }
  // Empty lines between steps belong to nobody.
  for (const { stdout } of steps) while (stdout.at(-1) === "") stdout.pop();
  return steps;
}

/**
 * Runs every step in order; the first that prints something else fails, by its line. `known` holds the
 * names that the transcript may use from the start, and gets those that it finds.
 */
export async function runTranscript(
  name: string,
  text: string,
  env: Readonly<Record<string, string>>,
  known: Map<string, string> = new Map(),
): Promise<void> {
  for (const step of readTranscript(text)) {
    const put = (some: string) =>
      some.replace(/\{\{(\w+)\}\}/g, (whole, key) => known.get(key) ?? whole);
    const { HOLDFAST_TOKEN: token } = env;
    const root = known.get("root_token");
    // Once a transcript has seen a root token it acts with it.
    const credential = root ?? token;
    const ran = await run(step.words.map(put), {
      stdin: put(step.stdin),
      env: { ...env, ...(credential === undefined ? {} : { HOLDFAST_TOKEN: credential }) },
    });
    const place = `${name}:${step.line}: holdfast ${step.words.join(" ")}`;
    const printed = `\nstdout:\n${ran.stdout}\nstderr:\n${ran.stderr}`;
    matchLines(step.stdout, ran.stdout, known, `${place}: standard output${printed}`);
    matchLines(step.stderr, ran.stderr, known, `${place}: standard error${printed}`);
    assert.equal(ran.code, step.code, `${place}: exit code${printed}`);
  }
}

/** Every transcript of the folder, by name. */
export function transcripts(): (readonly [name: string, text: string])[] {
  const folder = join(import.meta.dirname, "transcripts");
  return globSync("*.txt", { cwd: folder })
    .toSorted()
    .map((name) => [name, readFileSync(join(folder, name), "utf8")]);
}

function matchLines(
  expected: readonly string[],
  printed: string,
  known: Map<string, string>,
  place: string,
): void {
  const lines = printed.replace(/\n$/, "").split("\n");
  let rest = printed === "" ? [] : lines.map((line) => line.trimEnd());
  for (const [i, pattern] of expected.entries()) {
    if (pattern === "...") {
      const next = expected[i + 1];
      if (next === undefined) return;
      const at = rest.findIndex((line) => matchLine(next, line, new Map(known)) !== null);
      assert.ok(at >= 0, `${place}\nno line matches ${next}`);
      rest = rest.slice(at);
      continue;
    }
    const line = rest.shift();
    const found = line === undefined ? null : matchLine(pattern, line, known);
    assert.ok(found !== null, `${place}\nexpected ${pattern}\nfound    ${line ?? "the end"}`);
    for (const [key, value] of found) known.set(key, value);
  }
  assert.deepEqual(rest, [], `${place}\nmore than expected`);
}

function matchLine(
  pattern: string,
  line: string,
  known: ReadonlyMap<string, string>,
): Map<string, string> | null {
  const keys: string[] = [];
  const source = pattern.split(/(\{\{(?:\w+|\*)\}\})/).map((part) => {
    const key = /^\{\{(\w+|\*)\}\}$/.exec(part)?.[1];
    if (key === undefined) return RegExp.escape(part).replace(/(?:\\x20| )+/g, " +");
    if (key === "*") return ".*";
    const value = known.get(key);
    if (value !== undefined) return RegExp.escape(value);
    keys.push(key);
    return "(\\S+)";
  });
  const found = new RegExp(`^${source.join("")}$`).exec(line);
  return found === null ? null : new Map(keys.map((key, i) => [key, found[i + 1] ?? ""]));
}

function wordsOf(line: string): string[] {
  return Array.from(
    line.matchAll(/"([^"]*)"|'([^']*)'|(\S+)/g),
    ([, a, b, c]) => a ?? b ?? c ?? "",
  );
}
