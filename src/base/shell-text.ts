// A text as one word of a POSIX shell: what is pasted must mean the same text and nothing else.

/** As it stands where that is safe. */
export function shellWord(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}
