// What a file of evidence may hold: envelopes and lists of keys, one or many, as the server answers them or as this
// program prints them, one after another however they are laid out.

import { isObject, type JsonValue } from "@holdfast/shared/json/json";
import { type OpenEnvelope, openEnvelope } from "./envelope.ts";

export interface EvidenceFile {
  readonly envelopes: readonly OpenEnvelope[];
  /** Lists of keys, as they came. */
  readonly keyLists: readonly JsonValue[];
  /** What is neither. */
  readonly problems: readonly string[];
  /** What is no JSON: nothing is known of it, not even that it was evidence. */
  readonly unreadable: readonly string[];
}

export function readEvidenceFile(text: string): EvidenceFile {
  const envelopes: OpenEnvelope[] = [];
  const keyLists: JsonValue[] = [];
  const problems: string[] = [];
  const unreadable: string[] = [];
  for (const [where, value] of valuesOf(text)) {
    if (value === undefined)
      unreadable.push(`${where} cannot be read: it is not JSON, or not all of it`);
    else if (!collect(value, envelopes, keyLists)) {
      problems.push(`${where} is neither evidence nor a list of keys`);
    }
  }
  if (text.trim() === "") unreadable.push("it holds nothing");
  return { envelopes, keyLists, problems, unreadable };
}

type Found = readonly [where: string, value: JsonValue | undefined];

function valuesOf(text: string): Found[] {
  const whole = parsed(text);
  if (whole !== undefined) return [["it", whole]];
  const found: Found[] = [];
  const place = new LineCount(text);
  let at = 0;
  for (;;) {
    SPACE.lastIndex = at;
    at = SPACE.exec(text) === null ? at : SPACE.lastIndex;
    if (at === text.length) return found;
    const end = endOfDocument(text, at);
    const value = end === null ? undefined : parsed(text.slice(at, end));
    if (end === null || value === undefined) return [...found, ...piecesFrom(text, at, place)];
    found.push([place.of(at), value]);
    at = end;
  }
}

/** Past damage nobody knows where a document ends: what begins at the left edge is taken for the next one. */
function piecesFrom(text: string, from: number, place: LineCount): Found[] {
  const found: Found[] = [];
  for (let at = from; at < text.length;) {
    LEFT_EDGE.lastIndex = at;
    const end = LEFT_EDGE.exec(text) === null ? text.length : LEFT_EDGE.lastIndex;
    found.push([place.of(at), parsed(text.slice(at, end))]);
    at = end;
  }
  return found;
}

const SPACE = /[\s\uFEFF]*/y;
const LEFT_EDGE = /\n(?=[[{])/g;
const MARKS = /["[\]{}]/g;
const MARKS_IN_STRING = /["\\]/g;

/** Where the object or list ends that begins there; null where it does not, and where none begins. */
function endOfDocument(text: string, start: number): number | null {
  let depth = 0;
  let inString = false;
  for (let at = start; ;) {
    const marks = inString ? MARKS_IN_STRING : MARKS;
    marks.lastIndex = at;
    const mark = marks.exec(text)?.[0];
    if (mark === undefined) return null;
    at = marks.lastIndex;
    if (mark === "\\") at++;
    else if (mark === '"') inString = !inString;
    else depth += mark === "{" || mark === "[" ? 1 : -1;
    if (depth <= 0 && !inString) return at;
  }
}

/** Counts lines up to places that come one after another. */
class LineCount {
  readonly #text: string;
  #line = 1;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  of(at: number): string {
    for (;;) {
      const next = this.#text.indexOf("\n", this.#at);
      if (next === -1 || next >= at) return `what begins in line ${this.#line}`;
      this.#line++;
      this.#at = next + 1;
    }
  }
}

function collect(value: JsonValue, envelopes: OpenEnvelope[], keyLists: JsonValue[]): boolean {
  if (Array.isArray(value)) {
    return value.length > 0 && value.every((one: JsonValue) => collect(one, envelopes, keyLists));
  }
  if (!isObject(value)) return false;
  if (value["payloadType"] !== undefined) {
    const envelope = openEnvelope(value);
    if (envelope !== null) envelopes.push(envelope);
    return envelope !== null;
  }
  if (isObject(value["envelope"])) return collect(value["envelope"], envelopes, keyLists);
  if (isObject(value["data"])) return collect(value["data"], envelopes, keyLists);
  if (!Array.isArray(value["keys"]) || typeof value["fingerprint"] !== "string") return false;
  keyLists.push(value);
  return true;
}

function parsed(text: string): JsonValue | undefined {
  try {
    return JSON.parse(text) as JsonValue;
  } catch {
    return undefined;
  }
}
