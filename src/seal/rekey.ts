// One rekey: shares of the present key, then, if asked for, shares of the new one as proof that they
// arrived. Until the last of those nothing has changed outside this state, so losing it at any point
// leaves the present shares valid. Pure; the performer makes keys and stores them.

import type { KeyObject } from "node:crypto";
import type { Failure } from "../base/failure.ts";
import type { PublicKey } from "../crypto/pgp.ts";
import { type Cancelling, refuseCancel, refuseNonce } from "./attempt.ts";
import * as collection from "./collection.ts";
import type { Scheme } from "./config.ts";
import * as failures from "./failures.ts";

export interface Plan {
  readonly scheme: Scheme;
  readonly pgpKeys: readonly PublicKey[];
  /** Keep the PGP-encrypted shares in storage. */
  readonly backup: boolean;
  readonly verify: boolean;
}

/** What will be stored: made once enough present shares are given, and held here until then. */
export interface Fresh {
  readonly key: KeyObject; // the unseal or recovery key that was shared out
  readonly rootKey: KeyObject;
  /** As handed out; kept for the backup only. */
  readonly messages: readonly Buffer[];
}

interface Attempt {
  readonly nonce: string;
  readonly plan: Plan;
  readonly collection: collection.Collection;
}

/** Waits for shares of the present key. */
export type Collecting = Attempt & { readonly at: "collecting" };
/** Waits for shares of the new key. */
export type Verifying = Attempt & {
  readonly at: "verifying";
  readonly verificationNonce: string;
  readonly fresh: Fresh;
};

export type State = { readonly at: "none" } | Collecting | Verifying;

export type Event =
  | {
      readonly do: "start";
      readonly freshNonce: string;
      readonly plan: Plan;
      readonly required: number;
    }
  | { readonly do: "give"; readonly nonce: string; readonly share: Buffer }
  /** The shares were right, and the new ones are going out to be verified. */
  | { readonly do: "hand-out"; readonly freshNonce: string; readonly fresh: Fresh }
  | { readonly do: "give-new"; readonly nonce: string; readonly share: Buffer }
  /** The shares, present or new, were wrong: collect them again. */
  | { readonly do: "reject" }
  | ({ readonly do: "restart-verification"; readonly freshNonce: string } & Cancelling)
  | ({ readonly do: "cancel" } & Cancelling)
  /** Done, or the node seals. */
  | { readonly do: "end" };

export interface Step {
  readonly state: State;
  readonly refusal: Failure | null;
  /** Whether the shares waited for are complete. They stay in the state until it goes on. */
  readonly complete: boolean;
  readonly dropped: readonly Buffer[];
}

export const NONE: State = { at: "none" };

export function step(state: State, event: Event): Step {
  switch (event.do) {
    case "start": {
      if (state.at !== "none") return refuse(state, failures.ceremonyRunning());
      const { freshNonce: nonce, plan, required } = event;
      return move({ at: "collecting", nonce, plan, collection: collection.collect(required) });
    }
    case "give":
      if (state.at === "none") return refuse(state, failures.ceremonyNotRunning(), event.share);
      if (state.at === "verifying") return refuse(state, failures.verifyingNow(), event.share);
      return give(state, state.nonce, event);
    case "give-new":
      if (state.at !== "verifying") {
        return refuse(state, failures.ceremonyNotRunning(), event.share);
      }
      return give(state, state.verificationNonce, event);
    case "hand-out": {
      if (state.at !== "collecting") return refuse(state, failures.ceremonyNotRunning());
      const { nonce, plan } = state;
      const { freshNonce: verificationNonce, fresh } = event;
      const next = collection.collect(plan.scheme.threshold);
      const after = { nonce, plan, verificationNonce, fresh, collection: next };
      return move({ at: "verifying", ...after }, state.collection.shares);
    }
    case "reject":
      return state.at === "none" ? move(state) : clear(state);
    case "restart-verification": {
      if (state.at !== "verifying") return refuse(state, failures.ceremonyNotRunning());
      const refusal = refuseCancel(state.verificationNonce, event);
      if (refusal !== null) return refuse(state, refusal);
      return clear({ ...state, verificationNonce: event.freshNonce });
    }
    case "cancel": {
      if (state.at === "none") return move(state);
      const refusal = refuseCancel(state.nonce, event);
      return refusal === null ? end(state) : refuse(state, refusal);
    }
    case "end":
      return end(state);
  }
}

function give(
  state: Collecting | Verifying,
  nonce: string,
  event: { readonly nonce: string; readonly share: Buffer },
): Step {
  const refusal = refuseNonce(nonce, event.nonce);
  if (refusal !== null) return refuse(state, refusal, event.share);
  const taken = collection.step(state.collection, { do: "give", share: event.share });
  if (taken.outcome === "repeated") return refuse(state, failures.shareRepeated(), event.share);
  const after = { ...state, collection: taken.collection };
  return { ...move(after), complete: taken.outcome === "complete" };
}

function clear(state: Collecting | Verifying): Step {
  const cleared = collection.step(state.collection, { do: "clear" });
  return move({ ...state, collection: cleared.collection }, cleared.dropped);
}

function end(state: State): Step {
  return move(NONE, state.at === "none" ? [] : state.collection.shares);
}

function move(state: State, dropped: readonly Buffer[] = []): Step {
  return { state, refusal: null, complete: false, dropped };
}

function refuse(state: State, refusal: Failure, share?: Buffer): Step {
  return { state, refusal, complete: false, dropped: share === undefined ? [] : [share] };
}
