// Paths that callers name in bodies and queries: a slash at an end is no part of them. Two are, and are
// refused where the path is read.

export function withoutFirstSlash(path: string): string {
  return path.startsWith("/") && !path.startsWith("//") ? path.slice(1) : path;
}

/** However many stand at the end: looked at once each, from there, since a caller chooses how many there are. */
export function withoutLastSlashes(path: string): string {
  let end = path.length;
  while (end > 0 && path.charAt(end - 1) === "/") end--;
  return path.slice(0, end);
}

/** One at each end. */
export function withoutSlashes(path: string): string {
  const text = withoutFirstSlash(path);
  return text.endsWith("/") && !text.endsWith("//") ? text.slice(0, -1) : text;
}
