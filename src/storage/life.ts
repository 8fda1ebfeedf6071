// The life of a store, from before its creation to its end, as a pure state machine: which step may
// follow which, what each of them gives up, and how everything else is refused. `H` is what is held
// only while the key of the trees is there; who holds it wipes it when a step has let it go.
//
//   absent ─▶ creating ─▶ unlocked ─▶ locking ─▶ locked ─▶ unlocked …
//   any of them ─▶ closed, and ─▶ lost, which nothing leaves
//
// Beside the state a store has a role: it leads, that is, makes log entries of its own, or it follows
// somebody who does, locked or unlocked, and of its own writes takes those of class ignored. One that leads may leave
// shared rows to another cluster: then it takes them from whoever applies what that has written, and from nobody else.

import { invariant } from "@holdfast/shared/invariant";
import type { Failure } from "@holdfast/shared/failure";
import {
  alreadyInitialised,
  storageFailed,
  storeClosed,
  storeFollowing,
  storeLocked,
  storeUninitialised,
} from "./failures.ts";
import { classOf } from "./key.ts";

export type Role = "leading" | "following";

export type State<H> =
  /** Nobody has created it yet. */
  | { readonly at: "absent" }
  /** Its first transaction is on its way. */
  | { readonly at: "creating"; readonly held: H }
  /** It reads, and writes rows of class ignored only. One that follows holds what it needs for that,
   *  without the key, once it has applied something. */
  | { readonly at: "locked"; readonly held: H | null }
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
  /** What is held was read anew; null: it is no longer right. */
  | { readonly do: "load"; readonly held: H | null }
  /** What was accepted is durable or refused: the key goes. */
  | { readonly do: "forget" }
  | { readonly do: "lose"; readonly cause: unknown }
  | { readonly do: "close" };

const LOCKED = { at: "locked", held: null } as const;

export function begin(initialised: boolean): State<never> {
  return initialised ? LOCKED : { at: "absent" };
}

/** The state after the event. Throws where the event is refused, and then nothing has changed. */
export function step<H>(state: State<H>, event: Event<H>, role: Role = "leading"): State<H> {
  switch (event.do) {
    case "create":
      assertUp(state);
      if (state.at !== "absent") throw alreadyInitialised();
      if (role === "following") throw storeFollowing();
      return { at: "creating", held: event.held };
    case "created":
      if (state.at === "creating") return { at: "unlocked", held: state.held };
      invariant(hasEnded(state), "only what is being created is created");
      return { ...state, initialised: true };
    case "abandon":
      if (state.at === "creating") return { at: "absent" };
      return hasEnded(state) ? { ...state, held: null } : state;
    case "find":
      if (state.at === "absent" || state.at === "creating") return LOCKED;
      return hasEnded(state) ? { ...state, initialised: true } : state;
    case "unlock":
      assertUnlockable(state);
      return { at: "unlocked", held: event.held };
    case "load":
      if (state.at === "locked") return { at: "locked", held: event.held };
      invariant(state.at === "unlocked" && event.held !== null, "what is unlocked holds something");
      return { at: "unlocked", held: event.held };
    case "lock":
      if (state.at !== "unlocked") return state;
      return { at: "locking", held: state.held, done: event.done };
    case "forget":
      if (state.at === "locking") return LOCKED;
      return hasEnded(state) ? { ...state, held: null } : state;
    case "lose":
      return state.at === "lost" ? state : { at: "lost", cause: event.cause, ...leftOf(state) };
    case "close":
      return hasEnded(state) ? state : { at: "closed", ...leftOf(state) };
  }
}

function leftOf<H>(state: State<H>): { initialised: boolean; held: H | null } {
  const held = state.at === "locked" ? null : heldOf(state); // without a key it is of no more use
  return { initialised: isInitialised(state), held };
}

function hasEnded<H>(state: State<H>): state is State<H> & { at: "lost" | "closed" } {
  return state.at === "lost" || state.at === "closed";
}

/** What is held, also while it is about to go. */
export function heldOf<H>(state: State<H>): H | null {
  return state.at === "absent" ? null : state.held;
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

/** The role after a change. Throws where it cannot change now. */
export function changeRole<H>(state: State<H>, role: Role): Role {
  assertUp(state);
  if (state.at === "creating") throw storeUninitialised(); // it is not known yet whose store it is
  return role;
}

/** Throws unless log entries of its own may be made; `refused` says why one that follows makes none. */
export function assertLeads<H>(state: State<H>, role: Role, refused = storeFollowing): void {
  if (state.at !== "unlocked" && state.at !== "creating") throw storeLocked();
  if (role === "following") throw refused();
}

interface Taken {
  readonly control: boolean;
  readonly applies: boolean;
}

/** A life that goes on. */
export class Life<H> {
  #state: State<H>;
  #role: Role;
  #refused = storeFollowing;
  #sharedRefused: ((key: string) => Failure) | null = null;

  constructor(initialised: boolean, role: Role = "leading") {
    this.#state = begin(initialised);
    this.#role = role;
  }

  get state(): State<H> {
    return this.#state;
  }

  get following(): boolean {
    return this.#role === "following";
  }

  get role(): Role {
    return this.#role;
  }

  change(role: Role, refused = storeFollowing): void {
    this.#role = changeRole(this.#state, role);
    this.#refused = refused;
  }

  /** Another cluster writes what is shared, and `refused` says so of a key; null: no other does. */
  leaveShared(refused: ((key: string) => Failure) | null): void {
    this.#sharedRefused = refused;
  }

  get leavesShared(): boolean {
    return this.#sharedRefused !== null;
  }

  /** Throws unless our own writes to these keys are taken, with a control record or without. `applies`: the cluster
   *  that writes shared rows has written them. */
  assertTakes(keys: Iterable<string>, { control, applies }: Taken): void {
    const refused = applies ? null : this.#sharedRefused;
    const { at } = this.#state;
    const leads = this.#role === "leading" && (at === "unlocked" || at === "creating");
    if (leads && refused === null) return;
    for (const key of keys) {
      const found = classOf(key);
      if (found === "ignored") continue;
      if (!leads) this.assertLeads();
      if (found === "shared" && refused !== null) throw refused(key);
    }
    if (control) this.assertLeads();
  }

  assertLeads(): void {
    assertLeads(this.#state, this.#role, this.#refused);
  }

  step(event: Event<H>): void {
    this.#state = step(this.#state, event, this.#role);
  }
}
