// What a command prints. Data goes to standard output, in the form that was asked for; hints, warnings
// and errors go to standard error, so that a pipe carries data alone.

import { Failure } from "@holdfast/shared/failure";
import { isObject, type JsonValue } from "@holdfast/shared/json/json";
import { atSameServer, type Chosen } from "./same-server.ts";
import { pairs, PAIRS_GAP, table } from "./table.ts";
import { flow, harmless, oneLine, widthOf } from "./text.ts";
import { memberOf, showValue } from "./value.ts";

export interface OutputStream {
  write(text: string): unknown;
  readonly isTTY?: boolean;
  readonly columns?: number;
}

export interface OutputOptions {
  readonly stdout: OutputStream;
  readonly stderr: OutputStream;
  readonly format: "table" | "json" | "yaml";
  /** Of the answer, printed alone; null for all of it. */
  readonly field: string | null;
  readonly colours: { readonly stdout: boolean; readonly stderr: boolean };
  /** Commands that are named go there too. Default: nothing was chosen by a flag. */
  readonly chosen?: Chosen;
}

/** How people see data that programs get whole. */
export type View =
  | {
      readonly pairs: readonly (readonly [name: string, value: JsonValue | undefined])[];
      /** Names of those that are sentences: on a terminal their lines end between words. */
      readonly sentences?: readonly string[];
    }
  | {
      readonly columns: readonly string[];
      readonly rows: readonly (readonly (JsonValue | undefined)[])[];
      /** Columns not to be broken over lines: identifiers. */
      readonly whole?: readonly string[];
      /** Columns whose words are not broken: paths among a text. */
      readonly unbroken?: readonly string[];
    }
  | {
      readonly text: string;
      /** Lines that end between words on a terminal; without it none does. */
      readonly flows?: (line: string) => boolean;
    }
  /** One below the other. */
  | { readonly parts: readonly View[] };

type Colour = "bold" | "red" | "yellow" | "green" | "dim";
const CODES: Readonly<Record<Colour, number>> = { bold: 1, dim: 2, red: 31, green: 32, yellow: 33 };

export class Output {
  readonly #options: OutputOptions;

  constructor(options: OutputOptions) {
    this.#options = options;
  }

  get forPeople(): boolean {
    return this.#options.format === "table" && this.#options.field === null;
  }

  /** Where data goes. */
  get screen(): OutputStream {
    return this.#options.stdout;
  }

  /** Whether hints are read as they come. */
  get toTerminal(): boolean {
    return this.#options.stderr.isTTY === true;
  }

  /** Members of an object by their names on the wire. */
  async record(data: JsonValue | undefined): Promise<void> {
    await this.show(data, { pairs: isObject(data) ? Object.entries(data) : [["value", data]] });
  }

  /** `members` is where -field looks, where that is not the data itself. */
  async show(data: JsonValue | undefined, view: View, members = data): Promise<void> {
    const { stdout, format, field } = this.#options;
    if (field !== null) return this.#showField(members, field);
    if (format === "table") stdout.write(this.#table(view));
    else await this.#program(data ?? null);
  }

  /** Before each further document of a command that prints several. */
  separate(): void {
    const { format, field, stdout } = this.#options;
    if (format === "yaml" && field === null) stdout.write("---\n");
  }

  /** A sentence that tells of success; programs see that from the exit code. */
  done(sentence: string): void {
    const { stdout } = this.#options;
    if (this.forPeople) stdout.write(`${fitted(oneLine(sentence), stdout)}\n`);
  }

  /** Text as it is: help, scripts, what is not JSON. */
  text(text: string): void {
    const { stdout } = this.#options;
    // A file or a pipe gets the very bytes; only a terminal can be steered.
    const safe = stdout.isTTY === true ? harmless(text) : text;
    stdout.write(safe.endsWith("\n") || safe === "" ? safe : `${safe}\n`);
  }

  hint(text: string): void {
    this.#tell("", harmless(this.#atServer(text)));
  }

  warn(text: string): void {
    this.#tell("Warning:", oneLine(text), "yellow");
  }

  error(text: string, next: string | null, details: readonly string[] = []): void {
    this.#tell("Error:", oneLine(text), "red");
    for (const detail of details) this.#tell("", oneLine(detail));
    if (next !== null) this.#tell("Next:", oneLine(this.#atServer(next)), "bold");
  }

  #atServer(text: string): string {
    const { chosen } = this.#options;
    return chosen === undefined ? text : atSameServer(text, chosen);
  }

  async #showField(data: JsonValue | undefined, field: string): Promise<void> {
    const { stdout, format } = this.#options;
    const all = Array.isArray(data) ? data : [data];
    const values = all.map((one) => memberOf(one, field));
    if (values.every((value) => value === undefined)) throw noField(field, all[0]);
    if (format !== "table")
      return this.#program(Array.isArray(data) ? values.map((value) => value ?? null) : values[0]);
    for (const value of values) {
      const plain =
        typeof value === "string" ? value : isStructure(value) ? json(value) : showValue(value);
      // One value goes into a pipe byte for byte; several are lines of a list.
      const onScreen = stdout.isTTY === true;
      const end = onScreen || Array.isArray(data) ? "\n" : "";
      stdout.write(`${onScreen ? harmless(plain) : plain}${end}`);
    }
  }

  async #program(data: JsonValue | undefined): Promise<void> {
    const { stdout, format } = this.#options;
    if (format === "json") {
      stdout.write(`${json(data)}\n`);
      return;
    }
    const { stringify, parse } = await import("yaml");
    // By way of JSON's text: YAML is its superset, and exact numbers keep their digits as BigInt.
    const value: unknown = parse(JSON.stringify(data ?? null), { intAsBigInt: true });
    stdout.write(stringify(value, { lineWidth: 0 }));
  }

  #table(view: View): string {
    const { stdout, colours } = this.#options;
    const heading = (text: string) => (colours.stdout ? paint("bold", text) : text);
    const width = stdout.isTTY === true ? columnsOf(stdout) : null;
    if ("parts" in view) return view.parts.map((part) => this.#table(part)).join("\n");
    if ("text" in view) {
      const { flows } = view;
      const lines = view.text.replace(/\n$/, "").split("\n");
      const shaped =
        width === null || flows === undefined
          ? lines
          : lines.map((line) => (flows(line) ? flow(line, width) : line));
      return `${shaped.join("\n")}\n`;
    }
    if ("pairs" in view) {
      const names = Math.max(...view.pairs.map(([name]) => widthOf(name)), 0);
      const room = width === null ? null : width - names - PAIRS_GAP;
      const { sentences = [] } = view;
      const rows = view.pairs.map(([name, value]) => {
        const cell = cellOf(value, room);
        const flows = room !== null && sentences.includes(name);
        return [name, flows ? flow(cell, room) : cell] as const;
      });
      return pairs(rows, { width, heading });
    }
    const rows = view.rows.map((row) => row.map(showValue));
    const { columns, whole = [], unbroken = [] } = view;
    return table(columns, rows, { width, heading, whole, unbroken });
  }

  #tell(label: string, text: string, colour: Colour = "bold"): void {
    const { stderr } = this.#options;
    const plain = label === "" ? text : `${label} ${text}`;
    const rest = fitted(plain, stderr).slice(label.length);
    stderr.write(`${label === "" ? "" : this.#onStderr(colour, label)}${rest}\n`);
  }

  #onStderr(colour: Colour, text: string): string {
    return this.#options.colours.stderr ? paint(colour, text) : text;
  }
}

/** On a terminal lines end between words; anything else gets them as they are. */
export function fitted(text: string, stream: OutputStream): string {
  return stream.isTTY === true ? flow(text, columnsOf(stream)) : text;
}

/** A structure that is too wide for the terminal stands over several lines; a text is never broken, as it is
 *  there to be copied. */
function cellOf(value: JsonValue | undefined, room: number | null): string {
  const text = showValue(value);
  if (room === null || !isStructure(value) || widthOf(text) <= room) return text;
  return text.startsWith("[") && text !== JSON.stringify(value)
    ? flow(text, room)
    : JSON.stringify(value, null, 2);
}

/** A terminal that nobody has told its size says 0. */
function columnsOf({ columns = 0 }: OutputStream): number {
  return columns > 0 ? columns : 80;
}

function paint(colour: Colour, text: string): string {
  return `\u001b[${CODES[colour]}m${text}\u001b[0m`;
}

/** Indented by 4; C1 controls, legal in JSON, are escaped for terminals. */
function json(data: JsonValue | undefined): string {
  const text = JSON.stringify(data ?? null, null, 4);
  return text.replace(/[\u007f-\u009f\u2028-\u202e\u2066-\u2069]/g, (char) => {
    return `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`;
  });
}

function isStructure(value: JsonValue | undefined): boolean {
  return Array.isArray(value) || isObject(value);
}

/** With the names that there are, of the member that goes as far as `field` does. */
export function noField(field: string, data: JsonValue | undefined, prefix = ""): Failure {
  const names = namesNear(field, data);
  const known = names.length === 0 ? "" : `; there is ${names.slice(0, 20).join(", ")}`;
  return new Failure("not-found", "field-absent", `${prefix}the answer has no ${field}${known}`);
}

function namesNear(field: string, data: JsonValue | undefined): string[] {
  if (!isObject(data)) return [];
  const [head = "", ...rest] = field.split(".");
  const below = rest.length > 0 && Object.hasOwn(data, head) ? data[head] : undefined;
  const further = namesNear(rest.join("."), below).map((name) => `${head}.${name}`);
  return further.length > 0 ? further : Object.keys(data);
}
