// The place of a fault of ours, for the log: the kind of error and the functions it came through.
// Never its message: a parser's error quotes what it could not parse, and that may be a secret.

const FRAMES = 6;

export function traceOf(error: unknown): string {
  if (!(error instanceof Error)) return "something that is no error was thrown";
  const frames = (error.stack ?? "")
    .split("\n")
    .filter((line) => /^\s+at /.test(line))
    .slice(0, FRAMES)
    .map((line) => line.trim().replace(/\(?file:\/\/\S*?\/(src|node_modules)\//, "($1/"));
  return [error.name, ...frames].join(" ");
}
