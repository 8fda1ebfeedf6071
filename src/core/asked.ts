// What a handler is told of its request: the passage without its credential, headers and body.

import type { CanonicalPath } from "../base/canonical-path.ts";
import type { Nanos } from "../base/world.ts";
import type {
  Asked,
  Caller,
  ListenerTraits,
  NamespaceRef,
  Operation,
  Remote,
} from "../endpoint/request.ts";
import { ROOT_NAMESPACE } from "../endpoint/request.ts";
import { invariant } from "../base/invariant.ts";
import type { Passage } from "./passage.ts";
import { decisionOn } from "./decision.ts";
import type { Running, RunningRequest } from "./running.ts";
import { reaches } from "./need.ts";
import type { Decisions, NodeState, TokenLookup } from "./seams.ts";

interface Parts {
  readonly decisions: Decisions;
  readonly running: Running;
  readonly tokens: TokenLookup;
  readonly node: NodeState;
}

/** By RGPs and EGPs, as of now; null where none applies. */
type JudgeAgain = (passage: Passage, asked: Asked) => Promise<void> | null;

export class AskedRequest implements Asked {
  readonly #passage: Passage;
  readonly #parts: Parts;
  readonly #entry: RunningRequest;
  readonly #judge: JudgeAgain;

  constructor(passage: Passage, parts: Parts, entry: RunningRequest, judge: JudgeAgain) {
    this.#passage = passage;
    this.#parts = parts;
    this.#entry = entry;
    this.#judge = judge;
  }

  get id(): string {
    return this.#passage.incoming.id;
  }

  get operation(): Operation {
    return this.#passage.meant?.operation ?? "read";
  }

  get namespace(): NamespaceRef {
    return this.#passage.namespace ?? ROOT_NAMESPACE;
  }

  get path(): CanonicalPath {
    const { path } = this.#passage;
    invariant(path !== null, "no handler runs without a canonical path");
    return path;
  }

  get caller(): Caller | null {
    return this.#passage.caller;
  }

  get anonymous(): boolean {
    return this.#passage.incoming.credential === null;
  }

  async isPrivileged(): Promise<boolean> {
    return (await decisionOn(this.#passage, this.#parts.decisions, this, true)).allowed;
  }

  get remote(): Remote {
    return this.#passage.incoming.remote;
  }

  get listener(): ListenerTraits {
    return this.#passage.incoming.listener;
  }

  get signal(): AbortSignal {
    return this.#passage.incoming.signal;
  }

  allow(duration: Nanos): void {
    this.#passage.incoming.allow(duration);
  }

  recheck(): Caller | null | Promise<Caller | null> {
    const caller = this.#current();
    if (caller === null) return null;
    this.#passage.caller = caller;
    const judged = this.#judge(this.#passage, this);
    return judged === null ? caller : this.#after(judged);
  }

  /** Asked again: it may have changed while it was judged. */
  async #after(judged: Promise<void>): Promise<Caller | null> {
    const before = this.#passage.caller;
    await judged;
    const now = this.#current();
    return now === null || now === before ? now : this.recheck();
  }

  #current(): Caller | null {
    const { incoming, namespace } = this.#passage;
    if (incoming.credential === null || namespace === null || this.#parts.node.sealed) return null;
    const caller = this.#parts.tokens.find(incoming.credential);
    return caller !== null && reaches(caller, namespace) ? caller : null;
  }

  stepAside(): void {
    this.#passage.aside = true;
    this.#parts.running.end(this.#entry);
  }
}
