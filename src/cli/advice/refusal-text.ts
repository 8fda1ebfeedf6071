// Texts of refusals on one line. Several of them come as a list with a line for each problem.

export function onOneLine(message: string): string {
  return message
    .trim()
    .replace(/:\s*\n\s*\* /g, ": ")
    .replace(/\s*\n\s*\* /g, "; ");
}
