// What files say, file by file, and several files as one: later single values win, lists are joined,
// blocks are added, replaced, or replaced by name, as their declaration says.

import { invariant } from "@holdfast/shared/invariant";
import type { Place } from "./problem.ts";
import { entryOf, type Fields } from "./schema.ts";

export interface FoundBody {
  readonly values: ReadonlyMap<string, FoundValue>;
  readonly sections: ReadonlyMap<string, FoundBody>;
  readonly blocks: ReadonlyMap<string, readonly FoundBlock[]>;
}

export interface FoundValue {
  readonly value: unknown; // what the field's read() gave
  /** Came from the environment or a file: not shown. */
  readonly hidden: boolean;
  readonly place: Place;
}

export interface FoundBlock {
  readonly type: string;
  readonly name: string;
  readonly body: FoundBody;
  readonly place: Place;
}

export const NOTHING: FoundBody = { values: new Map(), sections: new Map(), blocks: new Map() };

export function merge(fields: Fields, earlier: FoundBody, later: FoundBody): FoundBody {
  const values = new Map(earlier.values);
  for (const [key, found] of later.values) {
    const before = values.get(key);
    const entry = entryOf(fields, key);
    invariant(entry?.kind === "field", "values belong to fields");
    values.set(key, entry.appends && before !== undefined ? joined(before, found) : found);
  }
  const sections = new Map(earlier.sections);
  for (const [key, found] of later.sections) {
    const entry = entryOf(fields, key);
    invariant(entry?.kind === "section", "sections belong to sections");
    sections.set(key, merge(entry.fields, sections.get(key) ?? NOTHING, found));
  }
  const blocks = new Map(earlier.blocks);
  for (const [key, found] of later.blocks) {
    const entry = entryOf(fields, key);
    invariant(entry?.kind === "blocks", "blocks belong to blocks");
    const before = blocks.get(key) ?? [];
    if (entry.repeat === "last") blocks.set(key, found.slice(-1));
    else if (entry.repeat === "each") blocks.set(key, [...before, ...found]);
    else blocks.set(key, byName(before, found));
  }
  return { values, sections, blocks };
}

function joined(before: FoundValue, found: FoundValue): FoundValue {
  invariant(Array.isArray(before.value) && Array.isArray(found.value), "lists are joined");
  const value: unknown[] = [...before.value, ...found.value];
  return { value, hidden: before.hidden || found.hidden, place: found.place };
}

/** A path is one device, whatever its type: the later block replaces the earlier in its place. */
function byName(before: readonly FoundBlock[], found: readonly FoundBlock[]): FoundBlock[] {
  const blocks = new Map(before.map((block) => [block.name, block]));
  for (const block of found) blocks.set(block.name, block);
  return [...blocks.values()];
}
