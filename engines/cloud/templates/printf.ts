// printf of templates: %s %v %d %q %x %X %t %% with width, "-", "0" and precision.
// Where Go would write a fault into the text ("%!d(string=a)"), this refuses: nobody wants such a name.

import { CallError, LimitError, type Value } from "./tree.ts";

const VERB = /%(?:%|([-0]*)(\d*)(?:\.(\d*))?(.?))/gsu;
const MAX_WIDTH = 1024;
const VERBS_BY_KIND = {
  text: "a text; %s, %v, %q, %x and %X can",
  number: "a number; %d, %v, %x and %X can",
  truth: "a truth value; %t and %v can",
};

export function printf(format: string, args: readonly Value[]): string {
  let used = 0;
  const line = format.replace(
    VERB,
    (whole, flags: string = "", width: string = "", precision: string | undefined, verb = "") => {
      if (whole === "%%") return "%";
      const value = args[used++];
      if (value === undefined) throw new CallError(`${whole} has no argument`);
      const places = { width: number(width), precision: number(precision) };
      const text = formatted(String(verb), value, places.precision ?? null);
      return padded(text, places.width ?? 0, flags, typeof value === "number" ? precision : "");
    },
  );
  if (used < args.length) throw new CallError(`it has ${args.length - used} arguments too many`);
  return line;
}

/** Refuses a width or precision that no run would take. */
export function checkFormat(format: string): void {
  for (const [, , width, precision] of format.matchAll(VERB)) {
    number(width);
    number(precision);
  }
}

function formatted(verb: string, value: Value, precision: number | null): string {
  if (typeof value === "object") throw new CallError("the data as a whole is no text");
  if (typeof value === "number" && /^[vdxX]$/.test(verb)) return digits(verb, value, precision);
  if (typeof value === "boolean" && /^[vt]$/.test(verb)) return String(value);
  if (typeof value === "string" && /^[svqxX]$/.test(verb)) return letters(verb, value, precision);
  throw new CallError(`%${verb} cannot show ${VERBS_BY_KIND[kindOf(value)]}`);
}

function kindOf(value: string | number | boolean): keyof typeof VERBS_BY_KIND {
  return typeof value === "string" ? "text" : typeof value === "number" ? "number" : "truth";
}

function digits(verb: string, value: number, precision: number | null): string {
  const plain = Math.abs(value).toString(verb === "x" || verb === "X" ? 16 : 10);
  const text = (verb === "X" ? plain.toUpperCase() : plain).padStart(precision ?? 0, "0");
  return value < 0 ? `-${text}` : text;
}

/** The precision counts characters; of %x, bytes. */
function letters(verb: string, value: string, precision: number | null): string {
  if (verb === "x" || verb === "X") {
    const hex = Buffer.from(value, "utf8")
      .subarray(0, precision ?? undefined)
      .toString("hex");
    return verb === "X" ? hex.toUpperCase() : hex;
  }
  const text = precision === null ? value : Array.from(value).slice(0, precision).join("");
  return verb === "q" ? JSON.stringify(text) : text;
}

/** Zeros in front of numbers only, behind the sign, and not where a precision says how many digits. */
function padded(text: string, width: number, flags: string, precision: string | undefined): string {
  const missing = width - Array.from(text).length;
  if (missing <= 0) return text;
  if (flags.includes("-")) return text + " ".repeat(missing);
  if (!flags.includes("0") || precision !== undefined) return " ".repeat(missing) + text;
  const sign = text.startsWith("-") ? "-" : "";
  return `${sign}${"0".repeat(missing)}${text.slice(sign.length)}`;
}

function number(text: string | undefined): number | null {
  if (text === undefined) return null;
  const value = text === "" ? 0 : Number(text);
  if (value > MAX_WIDTH) throw new LimitError(`a width or precision above ${MAX_WIDTH}`);
  return value;
}
