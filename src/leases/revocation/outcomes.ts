// Writes down what came of revocations, several in one transaction: a hundred thousand leases that end
// together are a few thousand commits. A secret that is ended outside and not yet written down here is
// ended again after a crash, which has no effect.

import { Failure } from "@holdfast/shared/failure";
import type { Instant, Random, Nanos } from "@holdfast/shared/world";
import type { Tx } from "../../barrier/view.ts";
import type { Attempted } from "./attempt.ts";
import type { LeaseEnded, RevocationResult } from "../ports.ts";
import type { Lease, LeaseCause } from "../lease.ts";
import type { LeaseRows } from "../rows/lease-rows.ts";
import { DAY, SECOND } from "@holdfast/shared/text/duration";
import * as failures from "../failures.ts";

// Engines differ in how much one commit may change; a lease is at most six rows.
const BATCH = 16;
const MAX_AT_ONCE = 4; // commits

export type Outcome =
  | { readonly kind: "revoked" }
  /** `due`: when it is tried again. */
  | { readonly kind: "failed" | "throttled"; readonly failure: Failure; readonly due: Instant }
  /** The lease is as it was: nothing could be written down. */
  | { readonly kind: "unknown"; readonly failure: Failure };

interface Waiting {
  readonly lease: Lease;
  readonly attempted: Exclude<Attempted, { readonly kind: "cut-off" }>;
  /** Who asked for it; null: its time was over, or the lease says it. */
  readonly cause: LeaseCause | null;
  readonly settle: (outcome: Outcome) => void;
}

export interface OutcomesParts {
  readonly rows: LeaseRows;
  readonly now: () => Instant;
  readonly random: Random;
  readonly count: (result: RevocationResult) => void;
  readonly ended: LeaseEnded;
}

export class Outcomes {
  readonly #parts: OutcomesParts;
  #waiting: Waiting[] = [];
  #writing = 0;

  constructor(parts: OutcomesParts) {
    this.#parts = parts;
  }

  /** Resolves when it is durable. */
  record(lease: Lease, attempted: Attempted, cause: LeaseCause | null = null): Promise<Outcome> {
    if (attempted.kind === "cut-off") {
      return Promise.resolve({ kind: "unknown", failure: attempted.failure });
    }
    const { promise, resolve } = Promise.withResolvers<Outcome>();
    this.#waiting.push({ lease, attempted, cause, settle: resolve });
    if (this.#writing < MAX_AT_ONCE) void this.#write();
    return promise;
  }

  async #write(): Promise<void> {
    const { rows, count } = this.#parts;
    this.#writing++;
    try {
      await Promise.resolve(); // what ends in the same turn goes together
      for (let batch = this.#take(); batch.length > 0; batch = this.#take()) {
        const settled = batch;
        try {
          const write = (tx: Tx) => settled.map((one) => this.#settle(tx, one));
          const outcomes = await rows.local.write(write, { essential: true });
          for (const [i, { attempted, settle }] of settled.entries()) {
            count(attempted.kind === "revoked" ? "ok" : attempted.kind);
            settle(outcomes[i]!);
          }
        } catch (error) {
          const failure = error instanceof Failure ? error : failures.unexpected(error);
          for (const { settle } of settled) settle({ kind: "unknown", failure });
        }
      }
    } finally {
      this.#writing--;
    }
  }

  #take(): Waiting[] {
    return this.#waiting.splice(0, BATCH);
  }

  /** By the lease as it is now: it may have been changed meanwhile, or forgotten. */
  #settle(tx: Tx, { lease, attempted, cause }: Waiting): Outcome {
    const { rows, random, ended } = this.#parts;
    const now = this.#parts.now();
    const current = rows.at(lease, tx);
    if (current === null) return { kind: "revoked" };
    if (attempted.kind === "revoked") {
      rows.remove(tx, current, now);
      const { requestIds } = attempted;
      const why = cause ?? current.ending ?? null;
      ended(tx, current, { cause: why, result: "ended", requestIds, now });
      return { kind: "revoked" };
    }
    const tried = afterAttempt(current, attempted, { now, random });
    const after = cause === null ? tried : { ...tried, ending: cause };
    rows.change(tx, current, after, now);
    return { kind: attempted.kind, failure: attempted.failure, due: after.due };
  }
}

// --- schedule ---

// When a lease that could not be revoked is tried again: 20 to 320 s after
// the first five failures; after the sixth, or at once when the engine says that it never will, it is
// irrevocable and tried once a day. A provider that throttles is waited for; that is no failure.

const FIRST: Nanos = 10n * SECOND;
const MAX_ATTEMPTS = 6;
const JITTER = 0.25;
const MAX_ERROR = 240; // characters

export function afterAttempt(
  lease: Lease,
  attempted: Exclude<Attempted, { readonly kind: "revoked" | "cut-off" }>,
  { now, random }: { readonly now: Instant; readonly random: Random },
): Lease {
  const error = attempted.failure.message.slice(0, MAX_ERROR);
  // Whoever asked for it to end does not want it to live on because that did not work at once.
  const expires = lease.expires < now ? lease.expires : now;
  if (attempted.kind === "throttled") {
    const { retryAfter } = attempted.failure;
    const requested = retryAfter === null ? 0n : BigInt(Math.ceil(retryAfter * 1e9));
    const wait = requested > 0n ? requested : jittered(pauseAfter(lease.attempts + 1), random);
    return { ...lease, expires, error, due: now + wait };
  }
  const attempts = lease.attempts + 1;
  const irrevocable = lease.irrevocable || attempted.permanent || attempts >= MAX_ATTEMPTS;
  const wait = irrevocable ? DAY : jittered(pauseAfter(attempts), random);
  return { ...lease, expires, error, attempts, irrevocable, due: now + wait };
}

function pauseAfter(attempts: number): Nanos {
  return FIRST * 2n ** BigInt(Math.min(attempts, MAX_ATTEMPTS - 1));
}

/** So that leases that failed together are not tried together for ever. */
function jittered(pause: Nanos, random: Random): Nanos {
  const share = random.bytes(2).readUInt16BE(0) / 0xffff; // 0 to 1
  const factor = 1 - JITTER + 2 * JITTER * share;
  return BigInt(Math.round(Number(pause) * factor));
}
