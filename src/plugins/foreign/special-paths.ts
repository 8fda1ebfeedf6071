// What a plugin says of its own paths: who needs `sudo`, who needs nothing, and what it keeps in this cluster alone. An entry
// with a star at its end is a beginning, which may end inside a segment; a plus stands for one segment.

import type { JsonObject, JsonValue } from "@holdfast/shared/json/json";

export interface PlainPaths {
  readonly root: readonly string[];
  readonly unauthenticated: readonly string[];
  readonly localStorage: readonly string[];
}

export const NO_PATHS: PlainPaths = { root: [], unauthenticated: [], localStorage: [] };

/** Names of the sets of endpoints. */
export type PathSet = "open" | "ordinary" | "sudo";

/** More than any plugin has; each is looked at by every request that the ones before it do not match. */
const MAX_ENTRIES = 1000;
const MAX_ENTRY = 1024;

type Matcher = (path: string) => boolean;

export class SpecialPaths {
  readonly plain: PlainPaths;
  readonly #root: Matcher;
  readonly #open: Matcher;
  readonly #local: Matcher;

  constructor(plain: PlainPaths) {
    this.plain = {
      root: bounded(plain.root),
      unauthenticated: bounded(plain.unauthenticated),
      localStorage: bounded(plain.localStorage),
    };
    this.#root = anyOf(this.plain.root);
    this.#open = anyOf(this.plain.unauthenticated);
    this.#local = anyOf(this.plain.localStorage);
  }

  /** `path` as its requests have it: that of a list with a slash at its end. What is said to be both is for the fewer. */
  sort(path: string): PathSet {
    if (this.#root(path)) return "sudo";
    return this.#open(path) ? "open" : "ordinary";
  }

  /** Of a key of its storage. */
  isLocal(key: string): boolean {
    return this.plain.localStorage.length > 0 && this.#local(key);
  }

  /** Whether keys below the folder may be on both sides. */
  get hasLocal(): boolean {
    return this.plain.localStorage.length > 0;
  }

  toJson(): JsonObject {
    const { root, unauthenticated, localStorage } = this.plain;
    return { root, unauthenticated, localStorage };
  }

  /** Null: nothing was ever kept. */
  static fromJson(kept: JsonObject | null): SpecialPaths {
    return new SpecialPaths({
      root: texts(kept?.["root"]),
      unauthenticated: texts(kept?.["unauthenticated"]),
      localStorage: texts(kept?.["localStorage"]),
    });
  }
}

function texts(value: JsonValue | undefined): string[] {
  return Array.isArray(value) ? value.filter((one) => typeof one === "string") : [];
}

/** Without the slash that some write in front. */
function bounded(entries: readonly string[]): string[] {
  return entries
    .filter(({ length }) => length <= MAX_ENTRY)
    .slice(0, MAX_ENTRIES)
    .map((entry) => (entry.startsWith("/") ? entry.slice(1) : entry));
}

function anyOf(entries: readonly string[]): Matcher {
  const exact = new Set(entries.filter((entry) => !/[*+]/.test(entry)));
  const others = entries.filter((entry) => !exact.has(entry)).map(matcherOf);
  return (path) => exact.has(path) || others.some((matches) => matches(path));
}

function matcherOf(entry: string): Matcher {
  const isPrefix = entry.endsWith("*");
  const text = isPrefix ? entry.slice(0, -1) : entry;
  const parts = text.split("/");
  if (!parts.includes("+"))
    return isPrefix ? (path) => path.startsWith(text) : (path) => path === text;
  return (path) => {
    const segments = path.split("/");
    if (isPrefix ? segments.length < parts.length : segments.length !== parts.length) return false;
    return parts.every((part, at) => {
      const segment = segments[at] ?? "";
      if (part === "+") return segment !== "";
      return isPrefix && at === parts.length - 1 ? segment.startsWith(part) : segment === part;
    });
  };
}
