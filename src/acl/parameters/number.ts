// Numbers by value: 2, 2.0, 20e-1 and 0x2 are one number, however they are written, and digits
// beyond what a double holds still count. Loops instead of patterns with repetitions: the text comes
// from a request's body and may be a megabyte of zeros.

const FORM = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?)(\d+))?$/;
const HEX_FORM = /^(-?)0x([0-9a-fA-F]{1,64})$/;
const MAX_EXPONENT_TEXT = 32;
/** Most numbers: a list may have a hundred thousand of them. */
const PLAIN = /^[1-9]\d{0,14}$/;

/** One text for each value. Text that is no number, or beyond all measure, stands for itself. */
export function canonicalNumber(text: string): string {
  if (PLAIN.test(text) && !text.endsWith("0")) return `${text}e0`;
  const hex = HEX_FORM.exec(text);
  if (hex !== null) return canonicalNumber(`${hex[1] ?? ""}${BigInt(`0x${hex[2] ?? "0"}`)}`);
  const parts = FORM.exec(text);
  if (parts === null) return text;
  const [, sign = "", whole = "", fraction = "", direction = "", power = "0"] = parts;
  const digits = whole + fraction;
  const from = zerosOf(digits);
  let to = digits.length;
  while (to > from && digits[to - 1] === "0") to -= 1;
  if (from === to) return "0";
  const significant = power.slice(zerosOf(power));
  if (significant.length > MAX_EXPONENT_TEXT) return text;
  const exponent = BigInt(`${direction === "-" ? "-" : ""}${significant || "0"}`);
  const shifted = exponent - BigInt(fraction.length) + BigInt(digits.length - to);
  return `${sign}${digits.slice(from, to)}e${shifted}`;
}

/** How many stand in front. */
function zerosOf(digits: string): number {
  let count = 0;
  while (digits[count] === "0") count += 1;
  return count;
}
