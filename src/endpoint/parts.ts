// The parts of the server that every namespace has by itself, beside its mounts, and the words that nothing else may
// be called by. One list: what is served, counted, recorded, warned of and reserved is told from it.

export interface Home {
  /** As the path of a mount would be. */
  readonly point: string;
  readonly type: string;
}

/** By the first segment of their paths. A test sees to it that whatever is declared begins with one. */
const PARTS: ReadonlyMap<string, Home> = new Map([
  ["sys", { point: "sys/", type: "system" }],
  ["acl", { point: "acl/", type: "acl" }],
  ["auth", { point: "auth/token/", type: "token" }], // the rest below auth/ is mounted
  ["identity", { point: "identity/", type: "identity" }],
]);
const NOWHERE: Home = { point: "", type: "" };

/** Neither a mount nor a namespace is called so: they would hide something, or seem to be it. */
export const RESERVED_NAMES: ReadonlySet<string> = new Set([
  ...PARTS.keys(),
  "audit",
  "cubbyhole",
  "root",
]);

export function isPart(first: string): boolean {
  return PARTS.has(first);
}

/** Which part of the server a path belongs to, in the words of mounts. */
export function homeOf([first = ""]: readonly string[]): Home {
  return PARTS.get(first) ?? NOWHERE;
}
