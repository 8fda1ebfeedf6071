// A policy document as text: that it is a JSON object, without insignificant white space, and its parts. It
// is never parsed and written again: numbers, keys that stand twice and their order are the author's.

import { JsonFault, jsonWords } from "./json-words.ts";

export interface CompactDocument {
  readonly text: string;
  /** What is wrong with it, and where; null for nothing. The text is then as it was given. */
  readonly fault: string | null;
}

export function compacted(text: string): CompactDocument {
  try {
    const words = jsonWords(text);
    const fault = words[0] === "{" ? null : "is not a JSON object";
    return { text: fault === null ? words.join("") : text, fault };
  } catch (error) {
    if (!(error instanceof JsonFault)) throw error;
    const fault = `is not JSON: line ${error.line}, column ${error.column}`;
    return { text, fault };
  }
}

/** As rules and programs see it: an escape that nobody needs would hide a word from whoever looks for it. */
export function withoutEscapes(text: string): string {
  try {
    return jsonWords(text).map(plain).join("");
  } catch (error) {
    if (!(error instanceof JsonFault)) throw error;
    return text;
  }
}

function plain(word: string): string {
  return word.startsWith('"') && word.includes("\\") ? JSON.stringify(JSON.parse(word)) : word;
}

/** The texts of an object's members; of a key that stands twice the last, as most readers take it. None
 *  for what is no object. */
export function membersOf(document: string): ReadonlyMap<string, string> {
  const members = new Map<string, string>();
  const words = jsonWords(document);
  if (words[0] !== "{") return members;
  for (const [key = '""', , ...value] of parts(words)) {
    members.set(String(JSON.parse(key)), value.join(""));
  }
  return members;
}

/** The texts of an array's elements. */
export function elementsOf(document: string): string[] {
  return parts(jsonWords(document)).map((part) => part.join(""));
}

/** What stands between the commas of the outermost object or array. */
function parts(words: readonly string[]): string[][] {
  const found: string[][] = [];
  let part: string[] = [];
  let depth = 0;
  for (const word of words) {
    const opens = word === "{" || word === "[";
    const closes = word === "}" || word === "]";
    if (closes) depth--;
    const outermost = depth === 0 && (opens || closes);
    if (depth === 1 && word === ",") {
      found.push(part);
      part = [];
    } else if (!outermost) {
      part.push(word);
    }
    if (opens) depth++;
  }
  return part.length === 0 ? found : [...found, part];
}
