// Times by the five fields that cron has: minute, hour, day of month, month, day of week, in UTC. A day
// fits when both of its fields fit; where both name days, when one of them does.

import { MINUTE } from "@holdfast/shared/text/duration";
import type { Instant } from "@holdfast/shared/world";

export class CronFault extends Error {}

interface FieldRule {
  readonly name: string;
  readonly min: number;
  readonly max: number;
  /** Names from `min` on. */
  readonly names: readonly string[];
}

const MONTHS = "JAN FEB MAR APR MAY JUN JUL AUG SEP OCT NOV DEC".split(" ");
const DAYS = "SUN MON TUE WED THU FRI SAT".split(" ");
const RULES: readonly FieldRule[] = [
  { name: "minute", min: 0, max: 59, names: [] },
  { name: "hour", min: 0, max: 23, names: [] },
  { name: "day of month", min: 1, max: 31, names: [] },
  { name: "month", min: 1, max: 12, names: MONTHS },
  { name: "day of week", min: 0, max: 7, names: DAYS }, // 7 is Sunday too
];
const MAX_CHARACTERS = 256;
const PART = /^(\*|\?|[0-9A-Za-z]+)(?:-([0-9A-Za-z]+))?(?:\/([0-9]+))?$/;
/** A 29th of February may be eight years away. */
const MAX_DAYS = 8 * 366 + 1;
const MILLISECONDS = 1_000_000n;

interface Field {
  readonly values: ReadonlySet<number>;
  /** Whether it names any at all: `*` and `?` do not. */
  readonly chosen: boolean;
}

export class Cron {
  readonly #minutes: readonly number[];
  readonly #hours: readonly number[];
  readonly #days: Field;
  readonly #months: Field;
  readonly #weekdays: Field;

  /** Throws a CronFault. */
  constructor(text: string) {
    if (text.length > MAX_CHARACTERS) throw new CronFault(`over ${MAX_CHARACTERS} characters`);
    const words = text.trim().split(/\s+/);
    if (words.length !== RULES.length) {
      throw new CronFault(`it has ${text.trim() === "" ? 0 : words.length} fields`);
    }
    const [minutes, hours, days, months, weekdays] = words.map((word, i) =>
      fieldOf(word, RULES[i]),
    );
    this.#minutes = sorted(minutes);
    this.#hours = sorted(hours);
    this.#days = days ?? EVERY;
    this.#months = months ?? EVERY;
    this.#weekdays = weekdays ?? EVERY;
  }

  /** The first whole minute after this time; null where none comes. */
  next(after: Instant): Instant | null {
    const from = new Date(Number(((after / MINUTE + 1n) * MINUTE) / MILLISECONDS));
    const day = new Date(from);
    day.setUTCHours(0, 0, 0, 0);
    for (let days = 0; days < MAX_DAYS; days++) {
      if (this.#fits(day)) {
        const time = this.#timeOn(day, days === 0 ? from : day);
        if (time !== null) return BigInt(time) * MILLISECONDS;
      }
      day.setUTCDate(day.getUTCDate() + 1);
    }
    return null;
  }

  #fits(day: Date): boolean {
    if (!this.#months.values.has(day.getUTCMonth() + 1)) return false;
    const date = this.#days.values.has(day.getUTCDate());
    const weekday = this.#weekdays.values.has(day.getUTCDay());
    return this.#days.chosen && this.#weekdays.chosen ? date || weekday : date && weekday;
  }

  #timeOn(day: Date, from: Date): number | null {
    for (const hour of this.#hours) {
      for (const minute of this.#minutes) {
        const time = day.getTime() + (hour * 60 + minute) * 60_000;
        if (time >= from.getTime()) return time;
      }
    }
    return null;
  }
}

const EVERY: Field = { values: new Set(), chosen: false };

function sorted(field: Field | undefined): number[] {
  return [...(field ?? EVERY).values].toSorted((a, b) => a - b);
}

function fieldOf(word: string, rule: FieldRule | undefined): Field {
  if (rule === undefined) return EVERY;
  const values = new Set<number>();
  for (const part of word.split(",")) addPart(values, part, rule);
  if (rule.names === DAYS && values.delete(7)) values.add(0);
  return { values, chosen: !/^[*?]/.test(word) };
}

function addPart(values: Set<number>, part: string, rule: FieldRule): void {
  const { name, min, max } = rule;
  const [, first = "", last, every] = PART.exec(part) ?? [];
  const refuse = (): never => {
    throw new CronFault(`${name} cannot be ${JSON.stringify(part.slice(0, 32))}`);
  };
  const all = first === "*" || first === "?";
  if (first === "" || (all && last !== undefined)) refuse();
  const from = all ? min : valueOf(first, rule);
  const open = all || (last === undefined && every !== undefined);
  const to = open ? Math.min(max, rule.names === DAYS ? 6 : max) : valueOf(last ?? first, rule);
  const step = every === undefined ? 1 : Number(every);
  if (from === null || to === null || from < min || to > max || from > to || step < 1) refuse();
  for (let value = from ?? min; value <= (to ?? max); value += step) values.add(value);
}

function valueOf(word: string, { min, names }: FieldRule): number | null {
  if (/^\d{1,2}$/.test(word)) return Number(word);
  const at = names.indexOf(word.toUpperCase());
  return at < 0 ? null : at + min;
}
