// A rule document in its one layout. Only blanks between things are changed: comments stay where they
// are, and the text of expressions and tests stays as it is but for the indentation of its lines.

import { invariant } from "@holdfast/shared/invariant";
import {
  depthsOf,
  type RuleComment,
  type RuleItem,
  type RulePart,
  scanRules,
} from "./rule-scanner.ts";
import { type DocumentLimits, SourceText } from "../../document/source-text.ts";

// What was on one line stays there as long as the line is no longer than this.
const LINE = 100;

/** An item with the comments that belong to it; the last group may have no item. */
interface Group {
  readonly above: RuleComment[];
  item: RuleItem | null;
  readonly behind: RuleComment[];
}

export function layOutRules(text: string, limits: DocumentLimits): string {
  const parts = scanRules(new SourceText(text, limits));
  const out: string[] = [];
  let tallBefore = false;
  for (const [i, { above, item, behind }] of groupsOf(parts).entries()) {
    const laidOut = item === null ? "" : layOutItem(item, limits);
    const tall = laidOut.includes("\n");
    const spaced = (above[0] ?? item)?.spaced === true;
    if (i > 0 && (spaced || tall || tallBefore)) out.push("");
    for (const [j, comment] of above.entries()) {
      if (j > 0 && comment.spaced) out.push("");
      out.push(comment.text);
    }
    if (item !== null) {
      if (above.length > 0 && item.spaced) out.push("");
      out.push([laidOut, ...behind.map((comment) => comment.text)].join(" "));
    }
    tallBefore = tall;
  }
  const printed = out.map((line) => `${line}\n`).join("");
  const again = scanRules(new SourceText(printed, limits));
  invariant(essence(again) === essence(parts), "a layout changes nothing but blanks");
  return printed;
}

function groupsOf(parts: readonly RulePart[]): Group[] {
  const groups: Group[] = [];
  let open: Group | null = null;
  for (const part of parts) {
    if (part.kind === "comment" && part.behind) {
      groups.at(-1)?.behind.push(part);
      continue;
    }
    if (open === null) groups.push((open = { above: [], item: null, behind: [] }));
    if (part.kind === "comment") open.above.push(part);
    else {
      open.item = part;
      open = null;
    }
  }
  return groups;
}

function layOutItem({ word, head, body }: RuleItem, limits: DocumentLimits): string {
  const first = layOutHead(head);
  const inner = body.trim();
  if (inner === "") return `${first}{}`;
  const line = `${first}{ ${inner} }`;
  if (!body.includes("\n") && line.length - line.lastIndexOf("\n") <= LINE) return line;
  // A text over several lines holds its line breaks and indentation: nothing inside may move.
  if (/"""|'''/.test(body)) return `${first}{\n${withoutOuterLines(body)}\n}`;
  const lines = word === "test" ? linesOfTest(inner, limits) : linesOfExpression(body);
  return [`${first}{`, ...lines.map((text) => (text === "" ? "" : `  ${text}`)), "}"].join("\n");
}

/** With the blank, or the line break, that the brace needs before it. */
function layOutHead(head: string): string {
  // The condition of `when` is an expression; on more than one line it is left as it is.
  const words = head.includes("\n")
    ? head
    : head.replace(HEAD_BLANKS, (found) => `${found.trim().split(/\s+/).join(" ")} `);
  return words + (MAY_END_IN_COMMENT.test(words) ? "\n" : " ");
}

// May, since it could stand in a text; a brace on a line of its own is never wrong.
const MAY_END_IN_COMMENT = /(?:#|\/\/)[^\n]*$/;
const HEAD_BLANKS = /^(?:rule|main\s+when|main|test)\s+/;

function withoutOuterLines(body: string): string {
  return body.replace(/^[^\S\n]*\n/, "").replace(/\n[^\S\n]*$/, "");
}

/** Moved as a whole: how its lines stand to each other is for whoever wrote it. */
function linesOfExpression(body: string): string[] {
  const [onBrace = "", ...below] = body.split("\n").map((line) => line.trimEnd());
  const indents = below.filter((line) => line !== "").map((line) => /^\s*/.exec(line)![0].length);
  const common = Math.min(...indents);
  const moved = [onBrace.trim(), ...below.map((line) => line.slice(common))];
  while (moved[0] === "") moved.shift();
  while (moved.at(-1) === "") moved.pop();
  return moved;
}

/** Data, not an expression: each line is as deep as the brackets around it. */
function linesOfTest(inner: string, limits: DocumentLimits): string[] {
  const depths = depthsOf(new SourceText(inner, limits));
  return inner.split("\n").map((line, i) => {
    const text = line.trim();
    const closing = /^[)\]}]*/.exec(text)?.[0].length ?? 0;
    return text && "  ".repeat(Math.max(0, (depths[i] ?? 0) - closing)) + text;
  });
}

/** Everything but blanks. */
function essence(parts: readonly RulePart[]): string {
  const pieces = parts.map((part) => {
    return part.kind === "comment" ? [part.text] : [part.head, part.body];
  });
  return JSON.stringify(pieces.map((some) => some.map((text) => text.replace(/\s+/g, ""))));
}
