// Keys as a plugin may choose them, below those of its mount.

export const MAX_KEY = 2048; // bytes, below what storage takes with what stands before it

/** Whether it could be part of a key, from its beginning on. */
export function isPrefix(text: string): boolean {
  // oxlint-disable-next-line no-control-regex -- refusing them is the point
  const isPlain = !/[\u0000-\u001f\u007f]/.test(text) && text.isWellFormed();
  return isPlain && !text.startsWith("/") && !text.includes("//");
}

/** Words with "/" between them. */
export function isKey(text: string): boolean {
  return isPrefix(text) && text !== "" && !text.endsWith("/") && !isTooLong(text);
}

export function isTooLong(text: string): boolean {
  return Buffer.byteLength(text) > MAX_KEY;
}
