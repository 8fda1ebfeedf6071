// What a template can call: comparisons and texts as in Go's templates, and what names
// are made of. No function makes more than it was given room for; lengths count bytes of UTF-8, and a cut
// leaves whole characters.

import { createHash } from "node:crypto";
import { base64, text, utf8 } from "@holdfast/shared/bytes";
import type { Clock, Random } from "@holdfast/shared/world";
import { checkFormat, printf } from "./printf.ts";
import { formatTime } from "./time-layout.ts";
import { CallError, LimitError, TemplateData, type Value } from "./tree.ts";

export interface TemplateWorld {
  readonly clock: Clock;
  readonly random: Random;
}

/** Of any text on the way; the result has a limit of its own. */
export const MAX_BYTES = 100_000;
const ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
const MAX_RANDOM = 1024;
const HASHED = 8; // characters of truncate_sha256 that stand for what was cut off

type Call = (args: readonly Value[], world: TemplateWorld) => Value;

const FUNCTIONS: ReadonlyMap<string, Call> = new Map<string, Call>([
  ["eq", (args) => anyEqual(args)],
  ["ne", (args) => !equal(one(args, 0, 2), one(args, 1, 2))],
  ["lt", (args) => order(args) < 0],
  ["le", (args) => order(args) <= 0],
  ["gt", (args) => order(args) > 0],
  ["ge", (args) => order(args) >= 0],
  ["not", (args) => !isTrue(one(args, 0, 1))],
  ["len", (args) => size(textAt(args, 0, 1))],
  ["index", (args) => byteAt(textAt(args, 0, 2), integerAt(args, 1, 2))],
  ["slice", slice],
  ["print", (args) => sprint(args)],
  ["println", (args) => `${args.map(showValue).join(" ")}\n`],
  ["printf", (args) => printf(textAt(args, 0), args.slice(1))],
  ["random", (args, { random }) => randomText(integerAt(args, 0, 1), random)],
  ["truncate", (args) => cut(textAt(args, 1, 2), length(integerAt(args, 0, 2), 0))],
  ["truncate_sha256", (args) => cutWithHash(textAt(args, 1, 2), integerAt(args, 0, 2))],
  ["uppercase", (args) => textAt(args, 0, 1).toUpperCase()],
  ["lowercase", (args) => textAt(args, 0, 1).toLowerCase()],
  ["replace", replace],
  ["sha256", (args) => sha256(textAt(args, 0, 1))],
  ["base64", (args) => base64(utf8(textAt(args, 0, 1)))],
  ["unix_time", (args, { clock }) => none(args, () => String(clock.now() / 1_000_000_000n))],
  ["unix_time_millis", (args, { clock }) => none(args, () => String(clock.now() / 1_000_000n))],
  ["timestamp", (args, { clock }) => formatTime(clock.now(), textAt(args, 0, 1))],
  ["uuid", (args, { random }) => none(args, () => random.uuid())],
]);

/** Of those, `and` and `or` are the runner's: they look at no more than they need. */
export const FUNCTION_NAMES: ReadonlySet<string> = new Set([...FUNCTIONS.keys(), "and", "or"]);

export function callFunction(name: string, args: readonly Value[], world: TemplateWorld): Value {
  const call = FUNCTIONS.get(name);
  if (call === undefined) throw new CallError(`there is no function ${name}`);
  const value = call(args, world);
  if (typeof value === "string" && size(value) > MAX_BYTES) throw tooLong();
  return value;
}

/** What stands in a template and would be refused by every run: told when it is written. `literals` are the
 *  arguments as far as they are known; null: they are not. */
export function checkLiterals(name: string, literals: readonly (Value | null)[]): void {
  const [first] = literals;
  if (name === "random" && typeof first === "number") checkRandom(first);
  if (name === "printf" && typeof first === "string") checkFormat(first);
}

function checkRandom(count: number): void {
  if (count >= 1 && count <= MAX_RANDOM) return;
  throw new LimitError(`argument 1 must be from 1 to ${MAX_RANDOM}`);
}

/** As in Go: what is empty or 0 counts as false. */
export function isTrue(value: Value): boolean {
  return value instanceof TemplateData || (value !== "" && value !== 0 && value !== false);
}

export function showValue(value: Value): string {
  if (value instanceof TemplateData) throw new CallError("the data as a whole is no text");
  return String(value);
}

export function size(value: string): number {
  return Buffer.byteLength(value, "utf8");
}

function one(args: readonly Value[], at: number, count?: number): Value {
  if (count !== undefined && args.length !== count) {
    throw new CallError(`it takes ${count} argument${count === 1 ? "" : "s"}, not ${args.length}`);
  }
  const value = args[at];
  if (value === undefined) throw new CallError(`argument ${at + 1} is missing`);
  return value;
}

function textAt(args: readonly Value[], at: number, count?: number): string {
  const value = one(args, at, count);
  if (typeof value !== "string") throw new CallError(`argument ${at + 1} must be a text`);
  return value;
}

function integerAt(args: readonly Value[], at: number, count?: number): number {
  const value = one(args, at, count);
  if (typeof value !== "number") throw new CallError(`argument ${at + 1} must be a whole number`);
  return value;
}

function none(args: readonly Value[], give: () => string): string {
  if (args.length > 0) throw new CallError(`it takes no arguments, not ${args.length}`);
  return give();
}

function anyEqual(args: readonly Value[]): boolean {
  const first = one(args, 0);
  if (args.length < 2) throw new CallError("it takes at least 2 arguments, not 1");
  return args.slice(1).some((other) => equal(first, other));
}

function equal(a: Value, b: Value): boolean {
  if (a instanceof TemplateData || typeof a !== typeof b) throw incomparable();
  return a === b;
}

function order(args: readonly Value[]): number {
  const [a, b] = [one(args, 0, 2), one(args, 1, 2)];
  if (typeof a === "number" && typeof b === "number") return a - b;
  if (typeof a === "string" && typeof b === "string") return Buffer.compare(utf8(a), utf8(b));
  throw incomparable();
}

function slice(args: readonly Value[]): string {
  if (args.length > 3) throw new CallError(`it takes 1 to 3 arguments, not ${args.length}`);
  const bytes = utf8(textAt(args, 0));
  const from = args.length > 1 ? integerAt(args, 1) : 0;
  const to = args.length > 2 ? integerAt(args, 2) : bytes.length;
  if (from < 0 || from > to || to > bytes.length) {
    throw new CallError(`${from} to ${to} is out of the ${bytes.length} bytes that there are`);
  }
  return wholeCharacters(bytes.subarray(from, to));
}

function byteAt(value: string, at: number): number {
  const byte = utf8(value)[at];
  if (byte === undefined) throw new CallError(`there is no byte ${at}`);
  return byte;
}

/** Between two that are no texts stands a space. */
function sprint(args: readonly Value[]): string {
  let line = "";
  for (const [i, value] of args.entries()) {
    const apart = i > 0 && typeof value !== "string" && typeof args[i - 1] !== "string";
    line += `${apart ? " " : ""}${showValue(value)}`;
  }
  return line;
}

/** Each letter as likely as every other: bytes beyond the last whole round of the alphabet are left out. */
function randomText(count: number, random: Random): string {
  checkRandom(count);
  const fair = 256 - (256 % ALPHABET.length);
  let letters = "";
  while (letters.length < count) {
    for (const byte of random.bytes(count)) {
      if (byte < fair && letters.length < count) letters += ALPHABET.charAt(byte % ALPHABET.length);
    }
  }
  return letters;
}

function cut(value: string, max: number): string {
  const bytes = utf8(value);
  return bytes.length <= max ? value : wholeCharacters(bytes.subarray(0, max));
}

function cutWithHash(value: string, max: number): string {
  const kept = length(max, HASHED + 1) - HASHED;
  const bytes = utf8(value);
  if (bytes.length <= max) return value;
  const hash = createHash("sha256").update(bytes.subarray(kept)).digest("hex");
  return `${wholeCharacters(bytes.subarray(0, kept))}${hash.slice(0, HASHED)}`;
}

function length(value: number, min: number): number {
  if (value < min) throw new CallError(`argument 1 must be at least ${min}`);
  return value;
}

function replace(args: readonly Value[]): string {
  const [old, by, value] = [textAt(args, 0, 3), textAt(args, 1, 3), textAt(args, 2, 3)];
  const places = value.split(old); // of "": each unit, of which there is one more than characters
  if (size(value) + (places.length + 1) * size(by) > MAX_BYTES) throw tooLong();
  if (old !== "") return places.join(by);
  return [by, ...Array.from(value).flatMap((character) => [character, by])].join("");
}

function sha256(value: string): string {
  return createHash("sha256").update(value, "utf8").digest("hex");
}

/** Without what a cut has left of a character at either end. */
function wholeCharacters(bytes: Uint8Array): string {
  const continues = (at: number) => ((bytes[at] ?? 0) & 0xc0) === 0x80;
  let from = 0;
  while (from < bytes.length && continues(from)) from++;
  let last = bytes.length - 1;
  while (last > from && continues(last)) last--;
  const lead = bytes[last] ?? 0;
  const needs = lead < 0x80 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
  const to = last + needs <= bytes.length ? bytes.length : last;
  return text(bytes.subarray(from, Math.max(from, to)));
}

function incomparable(): CallError {
  return new CallError("only two texts, two numbers or two truth values can be compared");
}

function tooLong(): LimitError {
  return new LimitError(`it would make a text of more than ${MAX_BYTES} bytes`);
}
