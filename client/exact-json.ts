// JSON both ways without loss: numbers that a double cannot hold keep their digits.

import { isRawNumber, rawNumber, type JsonValue } from "@holdfast/shared/json/json";

// The third argument of a reviver is part of the runtime, not yet of the type library.
interface JsonWithSource {
  parse(
    text: string,
    reviver: (key: string, value: unknown, context: { readonly source?: string }) => unknown,
  ): JsonValue;
}
const runtime = JSON as unknown as JsonWithSource;

/** Throws SyntaxError. Its text quotes the input: it must not be shown where that may be a secret. */
export function parseExact(text: string): JsonValue {
  return runtime.parse(text, (_key, value, { source }) => {
    if (typeof value !== "number" || source === undefined) return value;
    return isExact(value, source) ? value : rawNumber(source);
  });
}

/** Whether a number says the same as its digits; its form (1e3, 1.0) may differ. */
function isExact(value: number, source: string): boolean {
  if (!Number.isFinite(value)) return false;
  if (/^-?\d+$/.test(source)) return Number.isSafeInteger(value);
  return /^-?\d+(\.\d+)?([eE][+-]?\d+)?$/.test(source) && digitsOf(source) <= 15;
}

function digitsOf(source: string): number {
  const [mantissa = ""] = source.split(/[eE]/);
  return mantissa.replace(/[-.]/g, "").replace(/^0+|0+$/g, "").length;
}

/** Text of a number as it arrived, or undefined for any other value. */
export function rawText(value: unknown): string | undefined {
  return isRawNumber(value) ? value.rawJSON : undefined;
}
