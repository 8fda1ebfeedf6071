// How a secondary calls its primary: at one address after the other until one answers, or at all of them to find out whether it is there.

import { explain } from "@holdfast/shared/failure";
import { type HelloAnswer, isReplacedThere, isRevokedThere } from "../../cluster/hello.ts";
import type { PeerLink, Self } from "../../cluster/peer-link.ts";
import { Status, StatusError } from "@holdfast/shared/grpc/status";
import { ANSWERS_WITHIN, unlessSilent } from "../silence.ts";
import { type Decision, readDecision } from "./decision.ts";
import {
  certificateOver,
  noAddress,
  refusedByPrimary,
  replacedByPrimary,
  revokedByPrimary,
} from "./failures.ts";
import { type CallOutcome, hasCode, type LinkParts } from "./receiving.ts";

export class PrimaryCalls {
  readonly #parts: LinkParts;
  readonly #self: () => Self;
  /** Thrown where the primary has said so. */
  readonly revoked = revokedByPrimary();
  readonly replaced = replacedByPrimary();
  #isAnswered = false;

  constructor(parts: LinkParts, self: () => Self) {
    this.#parts = parts;
    this.#self = self;
  }

  /** Whether it was there when it was last dialled, whatever it said. */
  get isAnswered(): boolean {
    return this.#isAnswered;
  }

  /** Whether the primary takes this cluster no more, as it has said itself. */
  isForGood(error: unknown): boolean {
    return error === this.revoked || error === this.replaced;
  }

  /** Calls the primary at all its addresses, and keeps nothing of it. True where it takes this cluster. */
  async look(open: AbortSignal): Promise<boolean> {
    const { ports, timers } = this.#parts;
    const late = new AbortController();
    const timer = timers.after(ANSWERS_WITHIN, () => late.abort(tooLate()));
    const signal = AbortSignal.any([open, late.signal]);
    const all = await Promise.all(ports.addresses().map((one) => this.#call(one, signal)));
    timer.cancel();
    if (open.aborted) return false;
    const takes = all.find(({ kind }) => kind === "takes");
    ports.called?.(takes ?? all.find(({ kind }) => kind === "refuses") ?? nobodyOf(all));
    return takes !== undefined;
  }

  /** Whether it takes this cluster at that address now. Nothing is kept of it, and nobody told. */
  async takesAt(address: string, signal: AbortSignal): Promise<boolean> {
    const late = new AbortController();
    const timer = this.#parts.timers.after(ANSWERS_WITHIN, () => late.abort(tooLate()));
    const { kind } = await this.#call(address, AbortSignal.any([signal, late.signal]));
    timer.cancel();
    return kind === "takes";
  }

  async #call(address: string, signal: AbortSignal): Promise<CallOutcome> {
    let link: PeerLink | null = null;
    const dead = new AbortController();
    const timer = unlessSilent(
      this.#parts.timers,
      () => link,
      () => dead.abort(tooLate()),
    );
    const over = AbortSignal.any([signal, dead.signal]);
    try {
      link = this.#parts.ports.open(address);
      const { decision } = await link.open({ ...this.#self(), isTrial: true }, over);
      return outcomeOf(readDecision(decision));
    } catch (error) {
      if (link?.hasMet === true) return refusal(this.named(error));
      return over.aborted ? { kind: "nobody", isLate: true } : nobodyAt(address, error);
    } finally {
      timer.cancel();
      await link?.close();
    }
  }

  /** The first that takes this cluster; where none does, the first that has answered. One that was superseded answers and refuses, and who has
   *  taken its place may be at the next address. */
  async dial(signal: AbortSignal): Promise<Dialled> {
    const answered: Dialled[] = [];
    try {
      return await this.#dial(signal, answered);
    } catch (error) {
      const [first] = answered;
      if (first === undefined || signal.aborted) throw error;
      answered.shift();
      return first;
    } finally {
      for (const { link } of answered) await link.close();
    }
  }

  /** `refusing`: filled with those that answer and refuse. */
  async #dial(signal: AbortSignal, refusing: Dialled[]): Promise<Dialled> {
    const { ports } = this.#parts;
    this.#isAnswered = false;
    let failed: unknown = noAddress();
    const outcomes: CallOutcome[] = [];
    for (const address of ports.addresses()) {
      signal.throwIfAborted();
      let link: PeerLink | null = null;
      try {
        link = ports.open(address); // one that cannot be dialled keeps nobody from the next
        const answer = await link.open(this.#self(), signal);
        this.#isAnswered = true;
        const dialled = { address, link, answer };
        if (readDecision(answer.decision)?.kind !== "refuse") return dialled;
        refusing.push(dialled);
      } catch (error) {
        const isAnswer = link?.hasMet === true;
        this.#isAnswered ||= isAnswer;
        // What one address has answered says more than that nobody is at the next.
        const isFirst = outcomes.every(({ kind }) => kind === "nobody");
        if (isAnswer || isFirst) failed = this.named(error);
        outcomes.push(isAnswer ? refusal(failed) : nobodyAt(address, error));
        await link?.close();
      }
    }
    const refuses = outcomes.findLast(({ kind }) => kind === "refuses");
    if (!signal.aborted && refusing.length === 0) ports.called?.(refuses ?? nobodyOf(outcomes));
    throw failed;
  }

  /** What the primary has said for good, in the one form of it; and why nobody takes this cluster, which a primary does not say. */
  named(error: unknown): unknown {
    if (isReplacedThere(error)) return this.replaced;
    if (isRevokedThere(error)) return this.revoked;
    const expires = this.#parts.ports.expires?.();
    const isOver = expires !== undefined && expires < this.#parts.clock.now();
    return isOver ? certificateOver(expires, { cause: error }) : error;
  }
}

interface Dialled {
  readonly address: string;
  readonly link: PeerLink;
  readonly answer: HelloAnswer;
}

function nobodyAt(address: string, error: unknown): CallOutcome {
  const kind = hasCode(error, "peer-sealed") ? "sealed" : "other";
  if (kind === "other" && !hasCode(error, "peer-other")) return { kind: "nobody" };
  return { kind: "nobody", seen: { kind, address, text: explain(error) } };
}

/** Of several addresses: a sealed cluster says more than another server, and that more than nobody. */
function nobodyOf(all: readonly CallOutcome[]): CallOutcome {
  const seen = all.flatMap((one) =>
    one.kind === "nobody" && one.seen !== undefined ? [one.seen] : [],
  );
  const [first] = [...seen.filter(({ kind }) => kind === "sealed"), ...seen];
  if (first !== undefined) return { kind: "nobody", seen: first };
  return all.find((one) => one.kind === "nobody" && one.isLate === true) ?? { kind: "nobody" };
}

function tooLate(): StatusError {
  return new StatusError(Status.deadlineExceeded, "the primary does not answer in time");
}

export function outcomeOf(decision: Decision | null): CallOutcome {
  return decision?.kind === "refuse"
    ? refusal(refusedByPrimary(decision.reason))
    : { kind: "takes" };
}

export function refusal(error: unknown) {
  return { kind: "refuses", reason: explain(error), forGood: false } as const;
}
