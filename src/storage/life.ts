// The life of a store, from before its creation to its end, as a pure state machine: which step may
// follow which, what each of them gives up, and how everything else is refused. `H` is what is held
// only while the key of the trees is there; who holds it wipes it when a step has let it go.
//
//   absent ─▶ creating ─▶ unlocked ─▶ locking ─▶ locked ─▶ unlocked …
//   any of them ─▶ closed, and ─▶ lost, which nothing leaves

import { invariant } from "../base/invariant.ts";
import { alreadyInitialised, storageFailed, storeClosed, storeUninitialised } from "./failures.ts";

export type State<H> =
  /** Nobody has created it yet. */
  | { readonly at: "absent" }
  /** Its first transaction is on its way. */
  | { readonly at: "creating"; readonly held: H }
  /** It reads, and writes rows of class ignored only. */
  | { readonly at: "locked" }
  | { readonly at: "unlocked"; readonly held: H }
  /** Takes nothing more that needs the key; what was accepted is on its way. */
  | { readonly at: "locking"; readonly held: H; readonly done: Promise<void> }
  /** The storage failed: nothing is acknowledged any more. */
  | Ended<H, "lost", { readonly cause: unknown }>
  /** An orderly end: nothing more is taken, what was accepted is on its way. */
  | Ended<H, "closed", object>;

type Ended<H, At, More> = More & {
  readonly at: At;
  readonly initialised: boolean;
  readonly held: H | null; // until it is forgotten
};

export type Event<H> =
  | { readonly do: "create"; readonly held: H }
  /** The first transaction is durable. */
  | { readonly do: "created" }
  /** The first transaction was refused: nothing is there. */
  | { readonly do: "abandon" }
  /** Somebody else has created it. */
  | { readonly do: "find" }
  | { readonly do: "unlock"; readonly held: H }
  | { readonly do: "lock"; readonly done: Promise<void> }
  /** What was accepted is durable or refused: the key goes. */
  | { readonly do: "forget" }
  | { readonly do: "lose"; readonly cause: unknown }
  | { readonly do: "close" };

export function begin(initialised: boolean): State<never> {
  return initialised ? { at: "locked" } : { at: "absent" };
}

/** The state after the event. Throws where the event is refused, and then nothing has changed. */
export function step<H>(state: State<H>, event: Event<H>): State<H> {
  switch (event.do) {
    case "create":
      assertUp(state);
      if (state.at !== "absent") throw alreadyInitialised();
      return { at: "creating", held: event.held };
    case "created":
      if (state.at === "creating") return { at: "unlocked", held: state.held };
      invariant(hasEnded(state), "only what is being created is created");
      return { ...state, initialised: true };
    case "abandon":
      if (state.at === "creating") return { at: "absent" };
      return hasEnded(state) ? { ...state, held: null } : state;
    case "find":
      if (state.at === "absent" || state.at === "creating") return { at: "locked" };
      return hasEnded(state) ? { ...state, initialised: true } : state;
    case "unlock":
      assertUnlockable(state);
      return { at: "unlocked", held: event.held };
    case "lock":
      if (state.at !== "unlocked") return state;
      return { at: "locking", held: state.held, done: event.done };
    case "forget":
      if (state.at === "locking") return { at: "locked" };
      return hasEnded(state) ? { ...state, held: null } : state;
    case "lose":
      return state.at === "lost" ? state : { at: "lost", cause: event.cause, ...leftOf(state) };
    case "close":
      return hasEnded(state) ? state : { at: "closed", ...leftOf(state) };
  }
}

function leftOf<H>(state: State<H>): { initialised: boolean; held: H | null } {
  return { initialised: isInitialised(state), held: heldOf(state) };
}

function hasEnded<H>(state: State<H>): state is State<H> & { at: "lost" | "closed" } {
  return state.at === "lost" || state.at === "closed";
}

/** What is held, also while it is about to go. */
export function heldOf<H>(state: State<H>): H | null {
  return state.at === "absent" || state.at === "locked" ? null : state.held;
}

/** Whether the store is known to exist; a creation that is not durable may still come to nothing. */
export function isInitialised<H>(state: State<H>): boolean {
  if (state.at === "lost" || state.at === "closed") return state.initialised;
  return state.at !== "absent" && state.at !== "creating";
}

export function isLocked<H>(state: State<H>): boolean {
  return state.at !== "unlocked" && !(hasEnded(state) && state.held !== null);
}

/** Throws unless the store is in use: neither lost nor closed. */
export function assertUp<H>(state: State<H>): void {
  if (state.at === "lost") throw storageFailed(state.cause);
  if (state.at === "closed") throw storeClosed();
}

/** Throws unless the store can be unlocked now. */
export function assertUnlockable<H>(state: State<H>): void {
  assertUp(state);
  if (!isInitialised(state)) throw storeUninitialised();
  invariant(state.at === "locked", "the store is unlocked already");
}

/** A life that goes on. */
export class Life<H> {
  #state: State<H>;

  constructor(initialised: boolean) {
    this.#state = begin(initialised);
  }

  get state(): State<H> {
    return this.#state;
  }

  step(event: Event<H>): void {
    this.#state = step(this.#state, event);
  }
}
