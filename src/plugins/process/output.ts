// What plugins print: read no faster than it may be logged, and then left in the pipe, so that one that floods waits for
// itself. Lines of its own format are logged at their level under the plugin's name.

import type { Readable } from "node:stream";
import { concat } from "@holdfast/shared/bytes";
import { isObject } from "@holdfast/shared/json/json";
import type { Fields, Log, LogLevel } from "@holdfast/shared/log";
import { SECOND } from "@holdfast/shared/text/duration";
import type { Clock, Nanos, Timer, Timers } from "@holdfast/shared/world";

export const MAX_BYTES_A_SECOND = 1024 * 1024;
export const MAX_LINES_A_SECOND = 1000;
export const MAX_LINE = 64 * 1024;
export const LAST_LINES = 20;
/** Of the bytes of a second: what a message costs, however little it carries. */
const A_MESSAGE = 1024;
const MAX_LAST_LINE = 512;
const MAX_FIELDS = 32;
const MAX_FIELD = 2048;
const MAX_NAME = 128;
const TELL_DROPPED: Nanos = 10n * SECOND;

export interface OutputWorld {
  readonly clock: Pick<Clock, "elapsed">;
  readonly timers: Pick<Timers, "after">;
}

/** What one process may print in a second, by whatever way. */
export class OutputPace {
  readonly #world: OutputWorld;
  readonly #waiting = new Set<() => void>();
  #began: Nanos;
  #bytes = 0;
  #lines = 0;
  #timer: Timer | null = null;

  constructor(world: OutputWorld) {
    this.#world = world;
    this.#began = world.clock.elapsed();
  }

  /** Whether more may be read in this second. */
  read(bytes: number): boolean {
    this.#turn();
    this.#bytes += bytes;
    return this.#bytes < MAX_BYTES_A_SECOND;
  }

  /** Resolves when another message may be read after this one: at once, or in the next second. */
  async message(bytes: number): Promise<void> {
    if (!this.read(Math.max(bytes, A_MESSAGE))) {
      await new Promise<void>((resolve) => this.later(resolve));
    }
  }

  /** Whether another line may be logged in this second. */
  line(): boolean {
    this.#turn();
    return ++this.#lines <= MAX_LINES_A_SECOND;
  }

  /** Whether no other may. */
  get isOutOfLines(): boolean {
    this.#turn();
    return this.#lines >= MAX_LINES_A_SECOND;
  }

  /** Calls in the next second. */
  later(call: () => void): void {
    this.#waiting.add(call);
    if (this.#timer !== null) return;
    const left = this.#began + SECOND - this.#world.clock.elapsed();
    this.#timer = this.#world.timers.after(left > 0n ? left : 0n, () => {
      this.#timer = null;
      this.#release();
    });
  }

  /** The process is gone: what is left in its pipes is little, and read. */
  close(): void {
    this.#timer?.cancel();
    this.#timer = null;
    this.#release();
  }

  #release(): void {
    const calls = [...this.#waiting];
    this.#waiting.clear();
    for (const call of calls) call();
  }

  #turn(): void {
    const now = this.#world.clock.elapsed();
    if (now - this.#began < SECOND) return;
    this.#began = now;
    this.#bytes = 0;
    this.#lines = 0;
  }
}

/** Hands on what comes, as fast as it may. */
export function readPaced(stream: Readable, pace: OutputPace, take: (bytes: Buffer) => void): void {
  stream.on("data", (bytes: Buffer) => {
    take(bytes);
    if (pace.read(bytes.length)) return;
    stream.pause();
    pace.later(() => stream.resume());
  });
}

export interface LineTaker {
  line(text: string): void;
  /** Whether lines are not logged any more for now, so that of many the last are enough. */
  readonly isSpent: boolean;
  /** So many were not even made into lines. */
  passedOver(lines: number): void;
}

const LINE_END = 0x0a;

/** Bytes into lines. A line that is too long is cut, and the rest of it passed over; so are lines that nobody would log. */
export class Lines {
  readonly #taker: LineTaker;
  #parts: Buffer[] = [];
  #length = 0;

  constructor(taker: LineTaker) {
    this.#taker = taker;
  }

  add(bytes: Buffer): void {
    let isPassed = false;
    for (let from = 0; from < bytes.length;) {
      if (this.#length === 0 && bytes[from] === LINE_END) {
        from++; // an empty line is none
        continue;
      }
      if (!isPassed && this.#taker.isSpent) {
        isPassed = true;
        from = this.#passOver(bytes, from);
      }
      const end = bytes.indexOf(LINE_END, from);
      this.#keep(bytes.subarray(from, end < 0 ? bytes.length : end));
      if (end < 0) return;
      this.flush();
      from = end + 1;
    }
  }

  /** What stands without its end of line. */
  flush(): void {
    if (this.#length === 0) return;
    const line = concat(...this.#parts).toString("utf8");
    this.#parts = [];
    this.#length = 0;
    this.#taker.line(line.endsWith("\r") ? line.slice(0, -1) : line);
  }

  /** Where the last lines begin, which may tell why it ended. Those before are counted: a flood of short ones is half a million
   *  in a second. */
  #passOver(bytes: Buffer, from: number): number {
    let last = bytes.length;
    for (let kept = 0; kept <= LAST_LINES; kept++) {
      last = last === 0 ? -1 : bytes.lastIndexOf(LINE_END, last - 1);
      if (last < from) return from;
    }
    let lines = 0;
    for (let at = from; at <= last; at++) if (bytes[at] === LINE_END) lines++;
    this.#parts = [];
    this.#length = 0;
    this.#taker.passedOver(lines);
    return last + 1;
  }

  #keep(part: Buffer): void {
    const room = MAX_LINE - this.#length;
    if (room <= 0 || part.length === 0) return;
    const kept = Buffer.from(part.subarray(0, room)); // a slice would keep all that came with it
    this.#parts.push(kept);
    this.#length += kept.length;
  }
}

export interface PluginLogOptions {
  /** Of all plugins; the name is added. */
  readonly log: Log;
  readonly name: string;
  readonly pace: OutputPace;
  readonly clock: Pick<Clock, "elapsed">;
  /** One that was only asked what it is: what it says below an error is of no interest to anybody. */
  readonly isProbe: boolean;
  readonly dropped: (lines: number) => void;
}

/** Lines of standard error, in the log. */
export class PluginLog implements LineTaker {
  readonly #options: PluginLogOptions;
  readonly #log: Log;
  #last: string[] = [];
  /** It has broken down: what follows is its trace. */
  #isBroken = false;
  #dropped = 0;
  #lastWarning: Nanos | null = null;

  constructor(options: PluginLogOptions) {
    this.#options = options;
    this.#log = options.log.child(options.name);
  }

  line(text: string): void {
    this.#last.push(text.slice(0, MAX_LAST_LINE));
    if (this.#last.length > LAST_LINES) this.#last.shift();
    if (!this.#options.pace.line()) return this.passedOver(1);
    this.#tellDropped();
    this.#write(text);
  }

  get isSpent(): boolean {
    return this.#options.pace.isOutOfLines;
  }

  passedOver(lines: number): void {
    this.#dropped += lines;
    this.#options.dropped(lines);
  }

  /** As one text for one line of a log, its end where it is long. */
  last(max = 3500): string {
    const text = this.#last.join(" | ");
    return text.length <= max ? text : `…${text.slice(text.length - max)}`;
  }

  close(): void {
    this.#lastWarning = null;
    this.#tellDropped();
  }

  #tellDropped(): void {
    if (this.#dropped === 0) return;
    const now = this.#options.clock.elapsed();
    if (this.#lastWarning !== null && now - this.#lastWarning < TELL_DROPPED) return;
    this.#log.warn("it prints more than is logged", { lines_dropped: this.#dropped });
    this.#dropped = 0;
    this.#lastWarning = now;
  }

  #write(text: string): void {
    const { level, message, fields } = this.#read(text);
    if (this.#options.isProbe && level !== "error") return;
    this.#log[level](message, fields);
  }

  #read(text: string): PluginLine {
    if (/^(?:panic|fatal error):/.test(text)) this.#isBroken = true;
    if (this.#isBroken) return { level: "error", message: text, fields: {} };
    return ofJson(text) ?? ofText(text);
  }
}

interface PluginLine {
  readonly level: LogLevel;
  readonly message: string;
  readonly fields: Fields;
}

const LEVELS: ReadonlyMap<string, LogLevel> = new Map([
  ["trace", "debug"],
  ["debug", "debug"],
  ["info", "info"],
  ["warn", "warn"],
  ["warning", "warn"],
  ["error", "error"],
]);

const NOT_FIELDS: ReadonlySet<string> = new Set([
  "@level",
  "@message",
  "@timestamp",
  "@module",
  "@caller",
]);

function ofJson(text: string): PluginLine | null {
  if (!text.startsWith("{")) return null;
  try {
    const line: unknown = JSON.parse(text);
    if (!isObject(line)) return null;
    const { "@level": level, "@message": message } = line;
    const known = typeof level === "string" ? LEVELS.get(level.toLowerCase()) : undefined;
    if (known === undefined || typeof message !== "string") return null;
    const fields = Object.entries(line)
      .filter(([name]) => !NOT_FIELDS.has(name))
      .slice(0, MAX_FIELDS)
      .map(([name, value]) => [name.slice(0, MAX_NAME), plainOf(value)] as const);
    return { level: known, message, fields: Object.fromEntries(fields) };
  } catch {
    return null; // no JSON, or nested deeper than anybody reads
  }
}

function plainOf(value: unknown): string | number | boolean | null {
  if (value === null || typeof value === "number" || typeof value === "boolean") return value;
  const text = typeof value === "string" ? value : JSON.stringify(value);
  return text.length <= MAX_FIELD ? text : `${text.slice(0, MAX_FIELD)}…`;
}

function ofText(text: string): PluginLine {
  const [, word = "", rest] = /^\[(TRACE|DEBUG|INFO|WARN|ERROR)\]\s*(.*)$/s.exec(text) ?? [];
  const level = LEVELS.get(word.toLowerCase()) ?? "debug";
  return { level, message: rest ?? text, fields: {} };
}
