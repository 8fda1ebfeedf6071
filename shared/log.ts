// The server's own log: one line per event, for people ("standard") or for machines ("json").
// Fields are plain values only, because an object printed whole is how secrets reach a log. Where
// lines go is decided by whoever makes the log. The audit trail is something else: audit/.

import { escapeUnseen, quote } from "./json/json-text.ts";
import { Secret } from "./secret.ts";
import { showTime } from "./text/time.ts";
import type { Clock, Instant } from "./world.ts";

export type LogLevel = "debug" | "info" | "warn" | "error";

type Field = string | number | bigint | boolean | null | Secret<unknown>;
export type Fields = Readonly<Record<string, Field>>;

export interface Log {
  debug(message: string, fields?: Fields): void;
  info(message: string, fields?: Fields): void;
  warn(message: string, fields?: Fields): void;
  error(message: string, fields?: Fields): void;
  /** The same log under a component's name, added to ours with a dot. */
  child(component: string): Log;
}

export type LogThreshold = LogLevel | "off";

/** Turned while the log is in use: the new level holds for the next line, of every child too. */
export interface LogDial {
  level: LogThreshold;
  /** Levels of single components, where they differ. */
  readonly components?: Map<string, LogThreshold>;
}

export interface LogOptions {
  /** The least level that is written. */
  readonly level: LogThreshold | LogDial;
  readonly format: "standard" | "json";
  /** Takes one whole line, its newline included, in order. It must not throw. */
  readonly write: (line: string) => void;
  readonly clock: Pick<Clock, "now">;
}

const RANK = { debug: 0, info: 1, warn: 2, error: 3, off: 4 } as const;

// Names and paths come from callers and may be as long as a request's body.
const MAX_TEXT = 4096;

export function makeLog(options: LogOptions): Log {
  return new LineLog(options, "");
}

class LineLog implements Log {
  readonly #options: LogOptions;
  readonly #component: string;

  constructor(options: LogOptions, component: string) {
    this.#options = options;
    this.#component = component;
  }

  debug(message: string, fields?: Fields): void {
    this.#log("debug", message, fields);
  }

  info(message: string, fields?: Fields): void {
    this.#log("info", message, fields);
  }

  warn(message: string, fields?: Fields): void {
    this.#log("warn", message, fields);
  }

  error(message: string, fields?: Fields): void {
    this.#log("error", message, fields);
  }

  child(component: string): Log {
    const name = this.#component === "" ? component : `${this.#component}.${component}`;
    return new LineLog(this.#options, name);
  }

  #log(level: LogLevel, message: string, fields: Fields = {}): void {
    const { format, write, clock, level: dial } = this.#options;
    if (RANK[level] < RANK[thresholdOf(dial, this.#component)]) return;
    const time = showMillis(clock.now());
    const line = format === "json" ? jsonLine : standardLine;
    write(line(time, level, this.#component, message, fields));
  }
}

function thresholdOf(dial: LogThreshold | LogDial, component: string): LogThreshold {
  if (typeof dial === "string") return dial;
  return dial.components?.get(component) ?? dial.level;
}

type Line = (
  time: string,
  level: LogLevel,
  name: string,
  message: string,
  fields: Fields,
) => string;

const standardLine: Line = (time, level, name, message, fields) => {
  let line = `${time} ${`[${level.toUpperCase()}]`.padEnd(7)} `;
  if (name !== "") line += `${name}: `;
  line += escapeUnseen(cut(message));
  let separator = ": ";
  for (const [key, value] of Object.entries(fields)) {
    const text = plain(value);
    line += `${separator}${bare(key)}=${typeof text === "string" ? bare(text) : String(text)}`;
    separator = " ";
  }
  return `${line}\n`;
};

const RESERVED: ReadonlySet<string> = new Set(["time", "level", "component", "message"]);

const jsonLine: Line = (time, level, name, message, fields) => {
  let line = `{"time":"${time}","level":"${level}"`;
  if (name !== "") line += `,"component":${quote(name)}`;
  line += `,"message":${quote(cut(message))}`;
  for (const [key, value] of Object.entries(fields)) {
    const text = plain(value);
    const numeric = typeof text !== "number" || Number.isFinite(text);
    const json = typeof text !== "string" && numeric ? String(text) : quote(String(text));
    // Of two members with one name readers keep either: a field must not stand in for ours.
    line += `,${quote(RESERVED.has(key) ? `${key}_` : key)}:${json}`;
  }
  return `${line}}\n`;
};

/** What may be printed of a value, whatever the types said: never an object's content. */
function plain(value: unknown): string | number | bigint | boolean | null {
  if (typeof value === "string") return cut(value);
  if (typeof value === "number" || typeof value === "bigint" || typeof value === "boolean") {
    return value;
  }
  if (value === null) return null;
  return value instanceof Secret ? String(value) : "[object]";
}

function cut(text: string): string {
  if (text.length <= MAX_TEXT) return text;
  return `${text.slice(0, MAX_TEXT)}... (${text.length - MAX_TEXT} more)`;
}

/** As it stands when it can be read in one way only, else quoted. */
function bare(text: string): string {
  return /^[\w./:@+,[\]-]+$/.test(text) ? text : quote(text);
}

function showMillis(now: Instant): string {
  const seconds = now / 1_000_000_000n;
  const millis = (now / 1_000_000n - seconds * 1000n).toString().padStart(3, "0");
  return `${showTime(seconds * 1_000_000_000n).slice(0, -1)}.${millis}Z`;
}
