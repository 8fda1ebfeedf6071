// What a JSON body may be made of: how much of it, and which names it may not give.

/** Far above what a client sends, far below what takes time. Strings may be as long as the body. */
export interface JsonLimits {
  readonly depth: number;
  readonly keys: number; // in one object
  readonly elements: number; // in one array
  readonly tokens: number; // keys and values of every kind, in all
  readonly keyBytes: number;
  /** Digits that somebody may later turn into an integer, which takes the square of their number. */
  readonly numberBytes: number;
}

export const JSON_LIMITS: JsonLimits = {
  depth: 32,
  keys: 1000,
  elements: 5000,
  tokens: 50_000,
  keyBytes: 256,
  numberBytes: 1024,
};

// Assigned to an object by name, as many a copy is made, these reach its prototype.
const FORBIDDEN: ReadonlySet<string> = new Set(["__proto__", "constructor", "prototype"]);

/** The same of data that is copied and stored, and never merged into something: the one name by which even that would reach it. */
export function replacesPrototype(name: string): boolean {
  return name === "__proto__";
}

/** Whether a caller's name must not become the name of a property. */
export function reachesPrototype(name: string): boolean {
  return FORBIDDEN.has(name);
}
