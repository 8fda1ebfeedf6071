// The body of a test: `input = { … }` and `want = true`. Values are written as in JSON or as in HCL:
// keys with or without quotes, `=` or `:`, commas where one likes them.

import { isObject, type JsonObject, type JsonValue, rawNumber } from "@holdfast/shared/json/json";
import { reachesPrototype } from "@holdfast/shared/json/json-limits";
import { showName } from "../../document/document-failure.ts";
import type { SourceText } from "../../document/source-text.ts";
import { syntax, tooDeep, unknown } from "../failures.ts";
import { Lexer, type Token } from "./lexer.ts";
import { MAX_NESTING } from "../limits.ts";

export class TestReader {
  readonly #source: SourceText;
  readonly #lexer: Lexer;
  #word: Token;
  readonly #from: number;
  #nesting = 0;

  constructor(source: SourceText, from: number, to: number) {
    this.#source = source;
    this.#from = from;
    this.#lexer = new Lexer(source, from, to);
    this.#word = this.#lexer.next();
  }

  read(): { readonly input: JsonObject; readonly want: boolean } {
    const { input, want, ...others } = this.#members(null);
    const [other] = Object.keys(others);
    if (other !== undefined) {
      throw unknown(this.#source, this.#from, "key of a test", other, ["input", "want"]);
    }
    if (typeof want !== "boolean")
      throw this.#wrong(this.#from, "a test needs want = true or false");
    if (input !== undefined && !isObject(input)) {
      throw this.#wrong(this.#from, "the input of a test is a map, as in input = { … }");
    }
    return { input: input ?? {}, want };
  }

  #members(close: string | null): JsonObject {
    const members: Record<string, JsonValue> = {};
    for (;;) {
      if (close === null ? this.#word.kind === "end" : this.#skip(close)) return members;
      const { kind, text, value, at } = this.#word;
      const key = kind === "name" ? text : typeof value === "string" ? value : null;
      if (key === null) throw this.#wrong(at, "expected a key");
      if (reachesPrototype(key)) throw this.#wrong(at, `${showName(key)} is no name for a key`);
      if (Object.hasOwn(members, key)) {
        throw this.#wrong(at, `key ${showName(key)} was already given`);
      }
      this.#step();
      if (!this.#skip("=") && !this.#skip(":")) {
        throw this.#wrong(this.#word.at, `expected "=" after the key ${showName(key)}`);
      }
      members[key] = this.#value();
      this.#skip(",");
    }
  }

  #value(): JsonValue {
    const { kind, value, at } = this.#word;
    if (kind === "constant") {
      this.#step();
      if (typeof value === "bigint") return number(value);
      if (value === null || typeof value !== "object") return value;
      throw this.#wrong(at, "expected text, a number, true, false, null, a list or a map");
    }
    if (this.#skip("-")) {
      const { value: positive } = this.#word;
      this.#step();
      if (typeof positive === "bigint") return number(-positive);
      if (typeof positive === "number") return -positive;
    } else if (this.#skip("{")) {
      this.#enter(at);
      const members = this.#members("}");
      this.#nesting -= 1;
      return members;
    } else if (this.#skip("[")) return this.#list(at);
    throw this.#wrong(at, "expected text, a number, true, false, null, a list or a map");
  }

  #list(at: number): JsonValue[] {
    const elements: JsonValue[] = [];
    this.#enter(at);
    while (!this.#skip("]")) {
      if (this.#word.kind === "end") throw this.#wrong(at, 'expected "]"');
      elements.push(this.#value());
      this.#skip(",");
    }
    this.#nesting -= 1;
    return elements;
  }

  #enter(at: number): void {
    this.#nesting += 1;
    if (this.#nesting > MAX_NESTING) throw tooDeep(this.#source, at, MAX_NESTING);
  }

  #step(): void {
    this.#word = this.#lexer.next();
  }

  #skip(mark: string): boolean {
    if (this.#word.kind !== "mark" || this.#word.text !== mark) return false;
    this.#step();
    return true;
  }

  #wrong(at: number, problem: string): Error {
    return syntax(this.#source, at, problem);
  }
}

function number(value: bigint): JsonValue {
  const double = Number(value);
  return Number.isSafeInteger(double) ? double : rawNumber(value.toString());
}
