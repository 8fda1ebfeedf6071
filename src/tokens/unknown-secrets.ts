// Secrets that nobody has here, where another cluster writes global tokens: one that was made a moment ago may be on its way.
// The cluster that writes them is asked by the salted hash, so that no secret leaves for a guess, and says up to which of its
// indexes to wait.

import { RecentMap } from "@holdfast/shared/recent-map";
import { Failure } from "@holdfast/shared/failure";
import { SECOND } from "@holdfast/shared/text/duration";
import type { Clock, Nanos, Timers } from "@holdfast/shared/world";
import { AddressLimit } from "./address-limit.ts";
import type { Salt } from "./rows/salt.ts";
import { isUsableSecret } from "./token.ts";

/** The cluster that writes global tokens. */
export interface SecretSource {
  /** Up to which of its indexes a token with that hash has come where all is; null: it knows none. Throws a Failure where it cannot be asked. */
  knows(hash: string, address: string, signal: AbortSignal): Promise<bigint | null>;
  /** Whether it is applied up to there, as soon as it is, and false when the time is over. */
  appliedUpTo(index: bigint, within: Nanos, signal: AbortSignal): Promise<boolean>;
}

export interface UnknownSecretsOptions {
  /** Null while this cluster writes them itself. */
  readonly source: () => SecretSource | null;
  readonly salt: () => Salt;
  readonly clock: Clock;
  readonly timers: Pick<Timers, "after">;
  /** For the answer, and once more for what it names. */
  readonly wait: Nanos;
}

/** For how long an answer counts, also one that there is none. */
const KEPT: Nanos = SECOND;
/** Made-up secrets leave no more behind than this, and not for longer (T-B25). */
const MAX_KEPT = 1024;
/** Questions of an address: whoever has a new token asks once. */
const PER_SECOND = 5;
const BURST = 20;

interface Question {
  readonly index: Promise<bigint | null>;
  /** Null: it is under way. */
  until: Nanos | null;
}

export class UnknownSecrets {
  readonly #options: UnknownSecretsOptions;
  readonly #limit: AddressLimit;
  /** By the hash of the secret. */
  readonly #questions = new RecentMap<string, Question>();

  constructor(options: UnknownSecretsOptions) {
    this.#options = options;
    this.#limit = new AddressLimit({ clock: options.clock, perSecond: PER_SECOND, burst: BURST });
  }

  /** Resolves when its token has come, or is known to be none, or the time is over. Null where nobody is asked: then it is nobody's. */
  awaited(secret: string, address: string, signal: AbortSignal): Promise<void> | null {
    const source = this.#options.source();
    if (source === null || !isUsableSecret(secret)) return null;
    const hash = this.#options.salt().hashOf(secret);
    const question = this.#known(hash) ?? this.#ask(source, hash, address);
    return question === null ? null : this.#come(source, question, signal);
  }

  async #come(source: SecretSource, { index }: Question, signal: AbortSignal): Promise<void> {
    const upTo = await index;
    if (upTo !== null) await source.appliedUpTo(upTo, this.#options.wait, signal);
  }

  #known(hash: string): Question | null {
    const question = this.#questions.get(hash);
    if (question === undefined) return null;
    if (question.until === null || question.until > this.#options.clock.elapsed()) return question;
    this.#questions.delete(hash);
    return null;
  }

  /** Null where the address has asked too often. */
  #ask(source: SecretSource, hash: string, address: string): Question | null {
    try {
      this.#limit.take(address);
    } catch (error) {
      if (error instanceof Failure) return null;
      throw error;
    }
    const question: Question = { index: this.#answer(source, hash, address), until: null };
    const settle = () => {
      question.until = this.#options.clock.elapsed() + KEPT;
    };
    question.index.then(settle, settle);
    this.#questions.set(hash, question);
    const { oldest } = this.#questions;
    if (oldest !== null && this.#questions.size > MAX_KEPT) this.#questions.delete(oldest.key);
    return question;
  }

  /** A primary that does not answer knows none. */
  async #answer(source: SecretSource, hash: string, address: string): Promise<bigint | null> {
    const { timers, wait } = this.#options;
    const over = new AbortController();
    const timer = timers.after(wait, () => over.abort());
    try {
      return await source.knows(hash, address, over.signal);
    } catch (error) {
      if (error instanceof Failure || over.signal.aborted) return null;
      throw error;
    } finally {
      timer.cancel();
    }
  }
}
