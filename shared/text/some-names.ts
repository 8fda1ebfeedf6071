// Names that a caller gave, told back: the first of them, and how many there are besides. Whole lists make
// headers that no client reads.

const MOST = 8;
const LONGEST = 256; // characters of one

export function someNames(names: readonly string[]): string {
  const shown = names.slice(0, MOST).map(shortName).join(", ");
  return names.length > MOST ? `${shown} and ${names.length - MOST} more` : shown;
}

/** For what may be of any length. */
export function shortName(name: string): string {
  return name.length > LONGEST ? `${name.slice(0, LONGEST)}...` : name;
}
