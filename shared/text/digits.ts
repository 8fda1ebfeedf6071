// Digits behind a decimal point.

const ZERO = 0x30;

/** By hand: an expression that replaces costs a microsecond where the prototypes are sealed, and times are
 *  in nearly every answer. */
export function withoutEndingZeros(digits: string): string {
  let end = digits.length;
  while (end > 0 && digits.charCodeAt(end - 1) === ZERO) end--;
  return digits.slice(0, end);
}
