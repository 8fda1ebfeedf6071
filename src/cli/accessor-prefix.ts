// Beginnings of accessors: hexadecimal digits, hyphens or none, in either case.

/** Whether the text can be the beginning of a UUID. */
export function isAccessorPrefix(text: string): boolean {
  return /^[0-9a-f-]{0,36}$/i.test(text) && (text.match(/-/g)?.length ?? 0) <= 4;
}

/** The server takes whole bytes; of an odd number of digits the last is looked at here. */
export function evenPrefix(prefix: string): string {
  const digits = digitsOf(prefix);
  return digits.slice(0, digits.length - (digits.length % 2));
}

export function beginsWith(accessor: string, prefix: string): boolean {
  return digitsOf(accessor).startsWith(digitsOf(prefix));
}

export function digitsOf(text: string): string {
  return text.toLowerCase().replaceAll("-", "");
}
