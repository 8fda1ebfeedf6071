// An error in full, for programs that developers run. The server's own `describe` tells nothing of errors that
// are not its own; here there is no secret to keep, and the text is what one looks for.

export function errorText(error: unknown): string {
  const parts: string[] = [];
  let at = error;
  do {
    parts.push(at instanceof Error ? at.message : String(at));
    at = at instanceof Error ? at.cause : undefined;
  } while (at !== undefined && parts.length < 8);
  return parts.join(": ");
}
