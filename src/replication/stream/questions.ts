// What a primary asks of secondaries that follow it, when something is damaged here. The question goes by the stream of the
// log, so that it is answered after the entries before it; the answer comes by calls. It is bounded and must be of what was asked;
// whether it is true is found out by whoever uses it.

import { concat } from "@holdfast/shared/bytes";
import { SECOND } from "@holdfast/shared/text/duration";
import type { Nanos, Timers } from "@holdfast/shared/world";
import { Status, StatusError } from "@holdfast/shared/grpc/status";
import type { Replica } from "../../storage/repair/heal.ts";
import { SILENCE } from "../silence.ts";
import { u32 } from "../../storage/rows/row-bytes.ts";
import type { AdoptedRow } from "../../storage/store.ts";
import { memberSilent } from "./failures.ts";
import type { LogSession } from "./log-session.ts";
import { type Heal, HEALED_BYTES, type Healed, MAX_KEYS, type SentRow } from "./messages.ts";

const NO_SLOTS = new Uint8Array(0);
/** A record may go beyond the bound, and keys are few bytes. */
const SLACK = 9 * 1024 * 1024;
/** What a key or a row takes besides its bytes. */
const EACH = 64;
/** However steadily its parts come. */
const LONGEST: Nanos = 600n * SECOND;

interface Answer {
  readonly rows: AdoptedRow[];
  readonly keys: string[];
}

interface Question {
  readonly member: string;
  readonly wanted: ReadonlySet<string>;
  readonly answer: Answer;
  left: number; // bytes
  part: () => void;
  end: (error?: unknown) => void;
}

export class Questions {
  readonly #timers: Timers;
  readonly #open = new Map<bigint, Question>();
  #last = 0n;

  constructor(timers: Timers) {
    this.#timers = timers;
  }

  /** One that can be asked. `after`: the index that it must have. */
  replica(member: string, session: LogSession, after: () => bigint): Replica {
    const ask = (heal: Omit<Heal, "id">) => this.#ask(member, session, heal, after());
    return {
      name: member,
      keys: async (slots) => (await ask({ keys: [], slots: numbers(slots) })).keys,
      rows: async (keys) => {
        const rows: AdoptedRow[] = [];
        for (let at = 0; at < keys.length; at += MAX_KEYS) {
          const some = keys.slice(at, at + MAX_KEYS);
          rows.push(...(await ask({ keys: some, slots: NO_SLOTS })).rows);
        }
        return rows;
      },
    };
  }

  /** A part of an answer. What nobody waits for any more is passed over. */
  take(member: string, { id, rows, keys, isDone }: Healed): void {
    const question = this.#open.get(id);
    if (question === undefined || question.member !== member) return;
    for (const { key, value } of rows) question.left -= EACH + key.length + value.length;
    for (const key of keys) question.left -= EACH + key.length;
    const isWanted = rows.every(({ key }) => question.wanted.has(key));
    if (!isWanted || question.left < 0) {
      question.end(memberSilent(member));
      throw new StatusError(Status.invalidArgument, "this is not what it was asked for");
    }
    question.answer.rows.push(...rows.map(adopted));
    question.answer.keys.push(...keys);
    if (isDone) question.end();
    else question.part();
  }

  async #ask(
    member: string,
    session: LogSession,
    heal: Omit<Heal, "id">,
    after: bigint,
  ): Promise<Answer> {
    const id = ++this.#last;
    const answer: Answer = { rows: [], keys: [] };
    const { promise, resolve, reject } = Promise.withResolvers<Answer>();
    const late = () => reject(memberSilent(member));
    const longest = this.#timers.after(LONGEST, late);
    let timer = this.#timers.after(SILENCE, late);
    this.#open.set(id, {
      member,
      wanted: new Set(heal.keys),
      answer,
      left: HEALED_BYTES + SLACK,
      part: () => {
        timer.cancel();
        timer = this.#timers.after(SILENCE, late);
      },
      end: (error) => (error === undefined ? resolve(answer) : reject(error as Error)),
    });
    void session.ended.then(late);
    session.ask({ heal: { id, ...heal } }, after);
    try {
      return await promise;
    } finally {
      timer.cancel();
      longest.cancel();
      this.#open.delete(id);
    }
  }
}

function numbers(slots: readonly number[]): Uint8Array {
  return concat(...slots.map((slot) => u32(slot)));
}

function adopted({ key, scope, value, isAbsent }: SentRow): AdoptedRow {
  return { key, scope, value: isAbsent ? null : value };
}
