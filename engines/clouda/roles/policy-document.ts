// A policy document as text: that it is a JSON object, without insignificant white space, and its parts. It
// is never parsed and written again: numbers, keys that stand twice and their order are the author's.

import { JsonFault, walkJson } from "./json-words.ts";

export interface CompactDocument {
  readonly text: string;
  /** What is wrong with it, and where; null for nothing. The text is then as it was given. */
  readonly fault: string | null;
}

export function compacted(text: string): CompactDocument {
  try {
    const first = text.trimStart().charAt(0);
    const compact = without(text, false);
    return first === "{" ? { text: compact, fault: null } : { text, fault: "is not a JSON object" };
  } catch (error) {
    if (!(error instanceof JsonFault)) throw error;
    const fault = `is not JSON: line ${error.line}, column ${error.column}`;
    return { text, fault };
  }
}

/** As rules and programs see it: an escape that nobody needs would hide a word from whoever looks for it. */
export function withoutEscapes(text: string): string {
  if (!text.includes("\\")) return text; // as nearly every document: it was walked along already
  try {
    return without(text, true);
  } catch (error) {
    if (!(error instanceof JsonFault)) throw error;
    return text;
  }
}

/** The text without white space, and without escapes if they are to go too. Throws JsonFault. */
function without(text: string, escapes: boolean): string {
  const kept: string[] = [];
  const escapedWords: string[] = [];
  const places: number[] = []; // of those words in what is kept
  let [from, to] = [0, 0]; // what is kept as it stands
  walkJson(text, (start, end, escaped) => {
    const changed = escapes && escaped;
    if (start === to && !changed) {
      to = end;
      return;
    }
    if (to > from) kept.push(text.slice(from, to));
    if (changed) {
      places.push(kept.length);
      escapedWords.push(text.slice(start, end));
      kept.push("");
    }
    from = changed ? end : start;
    to = end;
  });
  if (kept.length === 0 && from === 0 && to === text.length) return text;
  kept.push(text.slice(from, to));
  // All at once: there may be tens of thousands.
  const plain = JSON.parse(`[${escapedWords.join(",")}]`) as readonly string[]; // they were checked
  for (const [i, place] of places.entries()) kept[place] = JSON.stringify(plain[i]);
  return kept.join("");
}

/** The texts of an object's members; of a key that stands twice the last, as most readers take it. None
 *  for what is no object. White space inside a value stays. */
export function membersOf(document: string): ReadonlyMap<string, string> {
  const members = new Map<string, string>();
  if (!document.trimStart().startsWith("{")) return members;
  for (const { start, end, key } of partsOf(document)) {
    members.set(String(JSON.parse(key)), document.slice(start, end));
  }
  return members;
}

/** The texts of an array's elements. */
export function elementsOf(document: string): string[] {
  return partsOf(document).map(({ start, end }) => document.slice(start, end));
}

/** What stands between the commas of the outermost object or array: the places of its value, and in an object its
 *  key as it is written. */
interface Part {
  readonly key: string;
  readonly start: number;
  readonly end: number;
}

function partsOf(document: string): Part[] {
  const found: Part[] = [];
  let depth = 0;
  let key = "";
  let place: { readonly start: number; end: number } | null = null;
  const finish = () => {
    if (place !== null) found.push({ key, ...place });
    place = null;
    key = "";
  };
  walkJson(document, (start, end) => {
    const sign = end - start === 1 ? document.charAt(start) : "";
    const closes = sign === "}" || sign === "]";
    if (closes) depth--;
    if (depth === 0 && closes) finish();
    else if (depth === 1 && sign === ",") finish();
    else if (depth === 1 && sign === ":" && place !== null) {
      key = document.slice(place.start, place.end);
      place = null;
    } else if (depth > 0) {
      place ??= { start, end };
      place.end = end;
    }
    if (sign === "{" || sign === "[") depth++;
  });
  return found;
}
