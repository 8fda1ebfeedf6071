// What may stand in a header of an answer. A line break in a value would let whoever sets it write
// further headers, or a body.

/** Names with * + % are legal in HTTP but no path segments of ours: leave them out. */
export function isHeaderName(name: string): boolean {
  return /^[A-Za-z0-9!#$&'\-.^_`|~]{1,128}$/.test(name);
}

/** Printable ASCII, neither beginning nor ending with a space. */
export function isHeaderValue(value: string): boolean {
  return /^[!-~](?:[ -~]*[!-~])?$/.test(value);
}
