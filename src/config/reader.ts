// One document against the declared settings. Every key that does not fit is noted with its place,
// and reading goes on.

import { showName } from "../document/document-failure.ts";
import type { Block, Body, Item, Position } from "../document/hcl-node.ts";
import type { FoundBlock, FoundBody, FoundValue } from "./merge.ts";
import { NOTHING, merge } from "./merge.ts";
import { nearest } from "../base/nearest.ts";
import { type Place, type Problem, Refusal } from "./problem.ts";
import { type Blocks, entryOf, type Field, type Fields, type Section } from "./schema.ts";
import type { Texts } from "./substitution.ts";

export interface Reading {
  readonly file: string;
  readonly texts: Texts;
  /** An unknown key is a warning. A key for something that this version lacks stays a problem. */
  readonly lenient: boolean;
  readonly problems: Problem[];
  readonly warnings: Problem[];
}

export function readBody(fields: Fields, body: Body, reading: Reading): FoundBody {
  const values = new Map<string, FoundValue>();
  const sections = new Map<string, FoundBody>();
  const blocks = new Map<string, FoundBlock[]>();
  for (const item of body.items) {
    const key = (item.kind === "block" ? item.type : item.key).text;
    const entry = entryOf(fields, key);
    if (entry === undefined) {
      unknownKey(key, fields, item, reading);
    } else if (entry.kind === "absent") {
      notHere(key, entry.why, item.position, reading);
    } else if (entry.kind === "field") {
      const found = readField(key, entry, item, reading);
      if (found !== null) values.set(key, found);
    } else if (item.kind !== "block") {
      refuse(reading, item.position, `${showName(key)} is a block: expected ${key} { … }`);
    } else if (entry.kind === "section") {
      sections.set(key, readSection(entry, item, sections.get(key), reading));
    } else {
      const found = readBlock(key, entry, item, reading);
      if (found !== null) blocks.set(key, addedTo(blocks.get(key) ?? [], found, entry, reading));
    }
  }
  return { values, sections, blocks };
}

function readField(
  key: string,
  field: Field<unknown>,
  item: Item,
  reading: Reading,
): FoundValue | null {
  if (item.kind === "block") {
    refuse(reading, item.position, `${showName(key)} takes no labels`);
    return null;
  }
  const place = placeAt(reading, item.position);
  try {
    const value = field.read(item.value, reading.texts);
    return { value, hidden: reading.texts.takeHidden() || field.hides, place };
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    reading.texts.takeHidden();
    refuse(reading, error.position, `${showName(key)}: ${error.message}`);
    return null;
  }
}

/** A section may be given in parts, also within one file. */
function readSection(
  { fields }: Section,
  block: Block,
  before: FoundBody | undefined,
  reading: Reading,
): FoundBody {
  return merge(fields, before ?? NOTHING, readBody(fields, block.body, reading));
}

function readBlock(
  key: string,
  { kinds }: Blocks,
  block: Block,
  reading: Reading,
): FoundBlock | null {
  const [type, name] = block.labels;
  const kind = type !== undefined && Object.hasOwn(kinds, type.text) ? kinds[type.text] : undefined;
  if (type === undefined) return null;
  if (kind === undefined) {
    const known = Object.keys(kinds).filter((one) => kinds[one]?.kind === "section");
    const choices = known.map(showName).join(", ");
    const problem = `${key} ${showName(type.text)} is not known; accepted are ${choices}`;
    refuse(reading, type.position, problem);
    return null;
  }
  if (kind.kind === "absent") {
    notHere(`${key} ${type.text}`, kind.why, type.position, reading);
    return null;
  }
  const body = readBody(kind.fields, block.body, reading);
  return { type: type.text, name: name?.text ?? "", body, place: placeAt(reading, block.position) };
}

/** Within one file two storages or two devices of one name are a mistake; between files they are not. */
function addedTo(
  before: readonly FoundBlock[],
  found: FoundBlock,
  { repeat }: Blocks,
  reading: Reading,
): FoundBlock[] {
  const same = before.find((block) => repeat === "last" || block.name === found.name);
  if (repeat !== "each" && same !== undefined) {
    const line = same.place.position?.line ?? 0;
    const problem = `there is one already on line ${line}; in one file it stands once`;
    reading.problems.push({ place: found.place, text: problem });
  }
  return [...before, found];
}

function unknownKey(key: string, fields: Fields, item: Item, reading: Reading): void {
  const known = Object.keys(fields).filter((one) => fields[one]?.kind !== "absent");
  const guess = nearest(key, known);
  const hint = guess === null ? "" : `; did you mean ${showName(guess)}?`;
  const problem = { place: placeAt(reading, item.position), text: "" };
  const text = `there is no setting ${showName(key)} here${hint}`;
  (reading.lenient ? reading.warnings : reading.problems).push({ ...problem, text });
}

function notHere(key: string, why: string, position: Position, reading: Reading): void {
  refuse(reading, position, `${showName(key)} is not in this version: ${why}`);
}

function refuse(reading: Reading, position: Position, text: string): void {
  reading.problems.push({ place: placeAt(reading, position), text });
}

function placeAt({ file }: Reading, { line, column }: Position): Place {
  return { name: file, position: { line, column } };
}
