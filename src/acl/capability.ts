// The words that a rule grants, as bits: a rule's rights are one number, and asking costs one AND.

/** In the order of the alphabet, which is how answers list them. */
export const CAPABILITIES = [
  "create",
  "delete",
  "list",
  "patch",
  "read",
  "scan",
  "sudo",
  "update",
] as const;

export type AclCapability = (typeof CAPABILITIES)[number];

/** In its rule it beats every grant, `sudo` included. */
export const DENY = 1 << CAPABILITIES.length;

const BITS: ReadonlyMap<string, number> = new Map([
  ...CAPABILITIES.map((word, i): [string, number] => [word, 1 << i]),
  ["deny", DENY],
]);

/** Undefined for a word that is none. */
export function bitOf(word: string): number | undefined {
  return BITS.get(word);
}

export function bitsOf(...words: readonly AclCapability[]): number {
  return words.reduce((bits, word) => bits | (BITS.get(word) ?? 0), 0);
}

export function wordsOf(bits: number): AclCapability[] {
  return CAPABILITIES.filter((_, i) => (bits & (1 << i)) !== 0);
}

export const ACCEPTED_WORDS = [...CAPABILITIES, "deny"].join(", ");

const WRITE = bitsOf("create", "read", "update", "delete", "list");

/** The old `policy = "…"`. `patch` is younger than it and in none of them. */
export const SHORTHANDS: ReadonlyMap<string, number> = new Map([
  ["deny", DENY],
  ["read", bitsOf("read", "list")],
  ["write", WRITE],
  ["sudo", WRITE | bitsOf("sudo")],
]);

/** What is left when grants meet: a `deny` among them leaves nothing else. */
export function settled(bits: number): number {
  return (bits & DENY) === 0 ? bits : DENY;
}
