// The two ways to write text in HCL: quoted, with escapes, and as a heredoc, which has none. Reads
// from a given place and says where it ended.

import { syntaxError } from "./document-failure.ts";
import type { Heredoc } from "./hcl-node.ts";
import type { SourceText } from "./source-text.ts";

export interface Reading {
  readonly text: string;
  /** Just behind what was read. */
  readonly end: number;
}

/** Begins at the opening quote. `${…}` is kept as it stands: no escapes in it, and quotes are text. */
export function readQuoted(source: SourceText, offset: number): Reading {
  const { text } = source;
  let decoded = "";
  let from = offset + 1; // what lies between here and `at` is taken over in one piece
  let at = from;
  for (;;) {
    const character = text[at];
    if (character === '"') return { text: decoded + text.slice(from, at), end: at + 1 };
    if (character === undefined || character === "\n" || character === "\r") {
      const problem = 'text is not closed on its line: expected ", and line breaks written as \\n';
      throw syntaxError(source.positionAt(offset), problem);
    }
    if (character === "\\") {
      const escape = readEscape(source, at);
      decoded += text.slice(from, at) + escape.text;
      from = escape.end;
      at = from;
    } else if (character === "$" && text[at + 1] === "{") {
      at = endOfInterpolation(source, at);
    } else {
      at += 1;
    }
  }
}

function endOfInterpolation(source: SourceText, offset: number): number {
  const { text } = source;
  let open = 1;
  for (let at = offset + 2; at < text.length && text[at] !== "\n"; at += 1) {
    if (text[at] === "{") open += 1;
    else if (text[at] === "}") open -= 1;
    if (open === 0) return at + 1;
  }
  const problem =
    "the braces of ${ are not balanced on its line; write \\x24{ where it is plain text";
  throw syntaxError(source.positionAt(offset), problem);
}

const SHORT: ReadonlyMap<string, string> = new Map([
  ["n", "\n"],
  ["t", "\t"],
  ["r", "\r"],
  ['"', '"'],
  ["\\", "\\"],
]);
const HEX_DIGITS: ReadonlyMap<string, number> = new Map([
  ["x", 2],
  ["u", 4],
  ["U", 8],
]);
const ACCEPTED = '\\n \\t \\r \\" \\\\ \\uXXXX \\UXXXXXXXX \\xXX \\ooo';

function readEscape(source: SourceText, offset: number): Reading {
  const letter = source.text[offset + 1] ?? "";
  const short = SHORT.get(letter);
  if (short !== undefined) return { text: short, end: offset + 2 };
  const digits = HEX_DIGITS.get(letter);
  const end = offset + (digits === undefined ? 4 : 2 + digits);
  const code =
    digits === undefined ? octalAt(source.text, offset + 1) : source.hexAt(offset + 2, digits);
  if (code === null) {
    throw syntaxError(source.positionAt(offset), `unknown escape; accepted are ${ACCEPTED}`);
  }
  // The originals of \x and \ooo write bytes. Below 128 a byte is a character; above, the same
  // escape would mean one thing there and another here.
  if (code > 0x7f && letter !== "u" && letter !== "U") {
    const problem = "\\xXX and \\ooo write ASCII characters only; write others as \\uXXXX";
    throw syntaxError(source.positionAt(offset), problem);
  }
  if (code === 0 || code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff)) {
    const problem =
      "the escape writes no character: NUL, surrogates and numbers above 10FFFF are not accepted";
    throw syntaxError(source.positionAt(offset), problem);
  }
  return { text: String.fromCodePoint(code), end };
}

function octalAt(text: string, offset: number): number | null {
  const digits = text.slice(offset, offset + 3);
  return /^[0-7]{3}$/.test(digits) ? Number.parseInt(digits, 8) : null;
}

/**
 * Begins at `<<`. Ends at the first line that holds the tag alone, blanks before it allowed. The text
 * is the lines between, each with its line feed. After `<<-` the blanks before the closing tag are
 * taken off every line, if every line has them; otherwise, as everywhere, nothing is taken off.
 */
export function readHeredoc(source: SourceText, offset: number): Reading & { heredoc: Heredoc } {
  const { text } = source;
  const indented = text[offset + 2] === "-";
  const tagAt = offset + (indented ? 3 : 2);
  const opening = lineFrom(text, tagAt);
  const tag = opening.text;
  if (!TAG.test(tag) || opening.next > text.length) {
    const problem = "expected <<TAG or <<-TAG and then the end of the line, as in <<EOT";
    throw syntaxError(source.positionAt(offset), problem);
  }
  const lines: string[] = [];
  for (let at = opening.next; at <= text.length;) {
    const line = lineFrom(text, at);
    const blanks = leadingBlanks(line.text);
    if (line.text.length === blanks + tag.length && line.text.endsWith(tag)) {
      const shared = line.text.slice(0, blanks);
      const cut = indented && lines.every((one) => one.startsWith(shared)) ? blanks : 0;
      const joined = lines.map((one) => `${one.slice(cut)}\n`).join("");
      return { text: joined, end: at + line.text.length, heredoc: { tag, indented } };
    }
    lines.push(line.text);
    at = line.next;
  }
  const problem = "the heredoc is not closed: expected its tag alone on a line";
  throw syntaxError(source.positionAt(offset), problem);
}

const TAG = /^[A-Za-z_][A-Za-z0-9_]*$/;

/** Whether a printer may use it. */
export function isHeredocTag(text: string): boolean {
  return TAG.test(text);
}

export function leadingBlanks(line: string): number {
  let count = 0;
  while (line[count] === " " || line[count] === "\t") count += 1;
  return count;
}

/** The line without its end, and where the next begins: behind the text if this was the last. */
function lineFrom(text: string, offset: number): { text: string; next: number } {
  const feed = text.indexOf("\n", offset);
  if (feed === -1) return { text: text.slice(offset), next: text.length + 1 };
  const end = feed > offset && text[feed - 1] === "\r" ? feed - 1 : feed;
  return { text: text.slice(offset, end), next: feed + 1 };
}
