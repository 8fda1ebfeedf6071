// Tree to HCL text in the one canonical layout; parsing it gives the same tree, and printing that the
// same text. Kept of how it was written: every comment, at its item (one inside an item goes above it);
// blank lines between items, as one; quotes around keys; heredocs, except inside lists. Not kept:
// commas, breaks and indentation, `:`, how text was escaped. Goes as deep as the tree does, which the
// parsers have bounded.

import { invariant } from "@holdfast/shared/invariant";
import {
  type Body,
  type Comment,
  type HclDocument,
  type Item,
  isIdentifier,
  type Key,
  type ListValue,
  type Notes,
  type StringValue,
  type Value,
} from "./hcl-node.ts";
import { quoteHcl } from "./hcl-quote.ts";
import { isHeredocTag, leadingBlanks } from "./hcl-string.ts";

// A list that is no longer stands on one line.
const LINE_LIST = 80;
// Longer keys are not aligned: a single one would pad the lines of all its neighbours to its length.
const ALIGNED_KEY = 40;

export function printHcl(document: HclDocument): string {
  return new HclPrinter(document.notes).print(document.body);
}

/** Shared by the attributes of a run, and widened by each. */
interface Alignment {
  width: number;
}

class HclPrinter {
  readonly #notes: HclDocument["notes"];
  readonly #out: string[] = [];

  constructor(notes: HclDocument["notes"]) {
    this.#notes = notes;
  }

  print(body: Body): string {
    this.#inside(body, "");
    return this.#out.join("");
  }

  #inside(body: Body, indent: string): void {
    const { items } = body;
    const flats = items.map((item) => (item.kind === "block" ? null : this.#flat(item.value)));
    const alignments = this.#alignments(items, flats);
    for (const [i, item] of items.entries()) {
      const previous = items[i - 1];
      const apart = previous !== undefined && (this.#isTall(previous) || this.#isTall(item));
      this.#above(this.#notes.get(item), indent, { first: i === 0, apart });
      if (item.kind === "block") {
        const head = [showKey(item.type), ...item.labels.map(({ text }) => quoteHcl(text))];
        this.#out.push(indent, head.join(" "), " ");
        this.#braces(item.body, indent);
      } else {
        this.#out.push(indent, showKey(item.key).padEnd(alignments[i]?.width ?? 0), " = ");
        this.#value(item.value, flats[i] ?? null, indent);
      }
      this.#behind(this.#notes.get(item));
    }
    this.#closing(body, indent, items.length === 0);
  }

  /** The = of attributes that follow each other without a blank line or a comment are aligned. */
  #alignments(items: readonly Item[], flats: readonly (string | null)[]): Alignment[] {
    let run: Alignment = { width: 0 };
    return items.map((item, i) => {
      const notes = this.#notes.get(item);
      const width = item.kind === "block" ? 0 : showKey(item.key).length;
      const aligned = flats[i] !== null && width <= ALIGNED_KEY;
      const apart = notes !== undefined && (notes.spaced || notes.before.length > 0);
      if (apart || !aligned) run = { width: 0 };
      const own = run;
      if (aligned) own.width = Math.max(own.width, width);
      else run = { width: 0 }; // what follows does not join it
      return own;
    });
  }

  /** `flat` is the value on one line, where that can be. */
  #value(value: Value, flat: string | null, indent: string): void {
    if (flat !== null) this.#out.push(flat);
    else if (value.kind === "list") this.#list(value, indent);
    else if (value.kind === "object") this.#braces(value.body, indent);
    else if (value.kind === "string") this.#heredoc(value, indent);
  }

  #braces(body: Body, indent: string): void {
    if (this.#isEmpty(body)) {
      this.#out.push("{}");
      return;
    }
    this.#out.push("{\n");
    this.#inside(body, `${indent}  `);
    this.#out.push(indent, "}");
  }

  #list(list: ListValue, indent: string): void {
    const inner = `${indent}  `;
    this.#out.push("[\n");
    for (const [i, element] of list.elements.entries()) {
      const notes = this.#notes.get(element);
      this.#above(notes, inner, { first: i === 0, apart: false });
      this.#out.push(inner);
      this.#value(element, this.#flatElement(element), inner);
      this.#out.push(",");
      this.#behind(notes);
    }
    this.#closing(list, inner, list.elements.length === 0);
    this.#out.push(indent, "]");
  }

  #heredoc({ text, heredoc }: StringValue, indent: string): void {
    invariant(heredoc !== null, "only a heredoc is text that cannot stand on one line");
    const { tag, indented } = heredoc;
    const lines = linesOf(text);
    // An empty line has no indentation that could be taken off again.
    const hang = indented && lines.every((line) => line !== "") ? indent : "";
    this.#out.push(indented ? "<<-" : "<<", tag, "\n");
    for (const line of lines) this.#out.push(hang, line, "\n");
    this.#out.push(hang, tag);
  }

  #flat(value: Value): string | null {
    switch (value.kind) {
      case "string":
        return isPrintableHeredoc(value) ? null : quoteHcl(value.text);
      case "number":
        return value.text;
      case "bool":
        return String(value.value);
      case "list":
        return this.#flatList(value);
      case "object":
        return this.#isEmpty(value.body) ? "{}" : null;
    }
  }

  /** Behind a heredoc the comma would need a line of its own. */
  #flatElement(value: Value): string | null {
    return value.kind === "string" ? quoteHcl(value.text) : this.#flat(value);
  }

  #flatList(list: ListValue): string | null {
    if ((this.#notes.get(list)?.closing.length ?? 0) > 0) return null;
    const parts: string[] = [];
    let length = 2;
    for (const element of list.elements) {
      const notes = this.#notes.get(element);
      if (notes !== undefined && notes.before.length + notes.after.length > 0) return null;
      // Lists in lists are tried at every level; long text is not to be quoted at each.
      if (element.kind === "string" && element.text.length > LINE_LIST) return null;
      const part = this.#flatElement(element);
      if (part === null) return null;
      parts.push(part);
      length += part.length + 2;
      if (length > LINE_LIST) return null;
    }
    return `[${parts.join(", ")}]`;
  }

  #above(
    notes: Notes | undefined,
    indent: string,
    { first, apart }: { first: boolean; apart: boolean },
  ): void {
    const before = notes?.before ?? [];
    this.#comments(before, indent, { first, apart });
    const opens = first && before.length === 0;
    const spaced = notes?.spaced === true || (apart && before.length === 0);
    if (spaced && !opens) this.#out.push("\n");
  }

  #behind(notes: Notes | undefined): void {
    for (const { text } of notes?.after ?? []) this.#out.push(" ", text);
    this.#out.push("\n");
  }

  #closing(node: Body | ListValue, indent: string, first: boolean): void {
    this.#comments(this.#notes.get(node)?.closing ?? [], indent, { first, apart: false });
  }

  /** Each on its own line; the inner lines of a comment stay as they are. */
  #comments(
    comments: readonly Comment[],
    indent: string,
    { first, apart }: { first: boolean; apart: boolean },
  ): void {
    for (const [i, { text, spaced }] of comments.entries()) {
      if ((spaced || (apart && i === 0)) && !(first && i === 0)) this.#out.push("\n");
      this.#out.push(indent, text, "\n");
    }
  }

  /** Blocks that are more than a line stand between blank lines. */
  #isTall(item: Item): boolean {
    return item.kind === "block" && !this.#isEmpty(item.body);
  }

  #isEmpty(body: Body): boolean {
    return body.items.length === 0 && (this.#notes.get(body)?.closing.length ?? 0) === 0;
  }
}

function showKey({ text, quoted }: Key): string {
  return quoted || !isIdentifier(text) ? quoteHcl(text) : text;
}

function linesOf(text: string): string[] {
  return text.split("\n").slice(0, -1);
}

/** Whether it was a heredoc and can be read back as one. */
function isPrintableHeredoc({ text, heredoc }: StringValue): boolean {
  if (heredoc === null || !isHeredocTag(heredoc.tag)) return false;
  if (text !== "" && !text.endsWith("\n")) return false;
  if (NOT_IN_HEREDOC.test(text)) return false;
  return linesOf(text).every((line) => line.slice(leadingBlanks(line)) !== heredoc.tag);
}

// No source text holds them, and a heredoc has no escapes.
const NOT_IN_HEREDOC = /[^\P{Cc}\t\n\u007f-\u009f]/u;
