// How far the last restore is. It outlives the house that began it: what is restored has none of it.

import type { Failure } from "@holdfast/shared/failure";
import type { Log } from "@holdfast/shared/log";
import type { Clock, Instant } from "@holdfast/shared/world";
import type { OutsideCounts } from "../../carried/carried.ts";
import type { Left } from "../../carried/counts.ts";
import type { ArchiveMeta } from "../archive/meta.ts";
import { restoreRunning } from "./failures.ts";
import { leftWarning } from "./left-outside.ts";

export type RestoreState = "idle" | "receiving" | "filling" | "exchanging" | "done" | "failed";

export interface RestoreStatus {
  readonly state: RestoreState;
  readonly force: boolean;
  readonly started: Instant | null;
  readonly ended: Instant | null;
  /** Of the archive: how many there are (0: not known), and how many the present step has behind it. */
  readonly bytes: number;
  readonly bytesDone: number;
  readonly entries: number;
  readonly snapshot: ArchiveMeta | null;
  /** Leases and write-ahead records that the archive does not know. */
  readonly adopted: number;
  readonly left: number;
  readonly warnings: readonly string[];
  readonly error: string;
}

const IDLE: RestoreStatus = {
  state: "idle",
  force: false,
  started: null,
  ended: null,
  bytes: 0,
  bytesDone: 0,
  entries: 0,
  snapshot: null,
  adopted: 0,
  left: 0,
  warnings: [],
  error: "",
};

export class RestoreBook {
  readonly #clock: Clock;
  #status: RestoreStatus = IDLE;
  /** There while what is received makes way for an operator. */
  #giveUp: AbortController | null = null;
  #over = Promise.withResolvers<void>();
  /** Of what is left. */
  #warning: string | null = null;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get status(): RestoreStatus {
    return this.#status;
  }

  get isRunning(): boolean {
    return this.#status.started !== null && this.#status.ended === null;
  }

  /** One at a time. */
  begin(force: boolean, bytes: number): void {
    if (this.isRunning) throw restoreRunning();
    this.#over = Promise.withResolvers();
    this.#status = { ...IDLE, state: "receiving", force, bytes, started: this.#clock.now() };
  }

  /** For what comes from somebody without a token: until it is received, the signal may end it. */
  makesWay(): AbortSignal {
    this.#giveUp = new AbortController();
    return this.#giveUp.signal;
  }

  /** Ends what makes way, and resolves when it is over. What does not make way goes on. */
  async clear(reason: Failure): Promise<void> {
    if (this.#giveUp === null) return;
    this.#giveUp.abort(reason);
    await this.#over.promise;
  }

  /** It is there: from here on it makes way for nobody, and the next step has nothing behind it. */
  received(): void {
    this.#giveUp = null;
    this.tell({ state: "filling", bytesDone: 0 });
  }

  tell(more: Partial<Omit<RestoreStatus, "started" | "ended">>): void {
    this.#status = { ...this.#status, ...more };
  }

  /** How many nobody takes over. Also when no restore is known of: it was one of a process before. */
  left(left: Pick<Left, "count" | "isKnown">): void {
    const warnings = this.#status.warnings.filter((warning) => warning !== this.#warning);
    this.#warning = leftWarning(left);
    if (this.#warning !== null) warnings.push(this.#warning);
    this.tell({ left: left.count, warnings });
  }

  end(state: "done" | "failed", error = ""): void {
    this.#status = { ...this.#status, state, error, ended: this.#clock.now() };
    this.#giveUp = null;
    this.#over.resolve();
  }
}

/** How it went with what had gone along to data of other keys. */
export function tellOutside(
  { adopted, left, lost }: OutsideCounts,
  book: RestoreBook,
  log: Log,
): void {
  book.tell({ adopted });
  book.left(left);
  const warning = leftWarning(left);
  if (warning !== null) {
    log.error(warning, { event: "restore.left", adopted, left: left.count, lost });
  } else if (adopted > 0) {
    log.info("what the snapshot did not know ends now", { event: "restore.adopted", adopted });
  }
}
