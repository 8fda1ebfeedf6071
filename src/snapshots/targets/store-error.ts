// What kept a store from doing what it was asked: in its own words, without the secrets that went with the call.

import { OwnError } from "@holdfast/shared/failure";
import { scrubbed } from "@holdfast/shared/text/scrubbed";

export interface StoreErrorFacts {
  /** What was being done: "writing a part of the snapshot". */
  readonly step: string;
  /** As the store spells it; empty where it said nothing. */
  readonly code?: string;
  readonly message: string;
  /** Of HTTP; 0 where no answer came. */
  readonly status?: number;
  readonly requestId?: string;
  /** Whether another try may help. */
  readonly passes: boolean;
  /** When the store wants to be asked again, in seconds. */
  readonly retryAfter?: number | null;
  readonly secrets?: readonly string[];
}

const MAX_MESSAGE = 500;
const MAX_WORD = 128;

export class StoreError extends OwnError {
  readonly code: string;
  readonly status: number;
  readonly passes: boolean;
  readonly retryAfter: number | null;

  constructor(facts: StoreErrorFacts) {
    const { step, status = 0, secrets = [], retryAfter = null } = facts;
    const code = scrubbed(facts.code ?? "", secrets, MAX_WORD);
    const said = scrubbed(facts.message, secrets, MAX_MESSAGE);
    const requestId = scrubbed(facts.requestId ?? "", secrets, MAX_WORD);
    const answered = status === 0 ? "" : `the store answered ${status}`;
    // What it answered is quoted: nobody shall take it for words of ours.
    const message = status === 0 || said === "" ? said : JSON.stringify(said);
    const parts = [step, answered, asWord(code), message].filter((part) => part !== "").join(": ");
    super(requestId === "" ? parts : `${parts} (request id ${asWord(requestId)})`);
    this.name = "StoreError";
    this.code = code;
    this.status = status;
    this.passes = facts.passes;
    this.retryAfter = retryAfter;
  }

  /** Whether what was asked for is not there. */
  get gone(): boolean {
    return this.status === 404;
  }
}

/** As it is where it is one word; quoted where it could be read as more. */
function asWord(text: string): string {
  return /^[\w.:+/=-]*$/.test(text) ? text : JSON.stringify(text);
}

/** What no second try mends. */
export function storeRefuses(step: string, message: string): StoreError {
  return new StoreError({ step, message, passes: false });
}
