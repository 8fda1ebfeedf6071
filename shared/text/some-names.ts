// Names that a caller gave, told back: the first of them, and how many there are besides. Whole lists make
// headers that no client reads.

const MAX_NAMES = 8;
const LONGEST = 256; // characters of one

export function someNames(names: readonly string[]): string {
  const list = names.slice(0, MAX_NAMES).map(shortName).join(", ");
  return names.length > MAX_NAMES ? `${list} and ${names.length - MAX_NAMES} more` : list;
}

/** For what may be of any length. */
export function shortName(name: string): string {
  return name.length > LONGEST ? `${name.slice(0, LONGEST)}...` : name;
}
