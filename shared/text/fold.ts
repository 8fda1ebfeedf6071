// The one form of a name that has no case. Only ASCII letters fold: names that fold are made of them, and
// what Unicode calls the same letter differs from one table to the next.

export function fold(text: string): string {
  return /[A-Z]/.test(text) ? text.replace(/[A-Z]/g, (letter) => letter.toLowerCase()) : text;
}
