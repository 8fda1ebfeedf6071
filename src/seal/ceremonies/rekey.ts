// One rekey: shares of the present key, then, if asked for, shares of the new one as proof that they
// arrived. Until the last of those nothing has changed outside this state, so losing it at any point
// leaves the present shares valid. Pure; the performer makes keys and stores them.

import type { KeyObject } from "node:crypto";
import type { Failure } from "@holdfast/shared/failure";
import type { PublicKey } from "../../crypto/pgp.ts";
import type { Nanos } from "@holdfast/shared/world";
import { type Cancelling, type Nonces, refuseCancel, refuseNonce } from "./attempt.ts";
import * as collection from "./collection.ts";
import type { Scheme } from "../config.ts";
import * as failures from "../failures.ts";

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

interface Attempt extends Nonces {
  readonly touched: Nanos;
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

interface Giving {
  readonly nonce: string;
  readonly share: Buffer;
  readonly now: Nanos;
}

export type Event =
  | {
      readonly do: "start";
      readonly nonces: Nonces;
      readonly now: Nanos;
      readonly plan: Plan;
      readonly required: number;
    }
  | ({ readonly do: "give" } & Giving)
  /** The shares were right, and the new ones are going out to be verified. */
  | { readonly do: "hand-out"; readonly freshNonce: string; readonly fresh: Fresh }
  | ({ readonly do: "give-new" } & Giving)
  /** No set of the shares was right. After three sets that is the end: of the rekey, or of what was
   *  entered for its verification, since the new shares are out and may be entered again. */
  | { readonly do: "fail" }
  /** They were right, and the new key could not be made or stored: collect them again. */
  | { readonly do: "reject"; readonly now: Nanos }
  | ({ readonly do: "restart-verification"; readonly freshNonce: string } & Cancelling)
  | ({ readonly do: "cancel" } & Cancelling)
  /** Done, or the node seals. */
  | { readonly do: "end" };

export interface Step {
  readonly state: State;
  readonly refusal: Failure | null;
  /** Whether there are shares enough to try. They stay in the state until it goes on. */
  readonly enough: boolean;
  readonly dropped: readonly Buffer[];
}

export const NONE: State = { at: "none" };

export function step(state: State, event: Event): Step {
  switch (event.do) {
    case "start": {
      if (state.at !== "none") return refuse(state, failures.ceremonyRunning());
      const { nonces, now: touched, plan, required } = event;
      const fresh = collection.collect(required);
      return move({ at: "collecting", ...nonces, touched, plan, collection: fresh });
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
      const { freshNonce: verificationNonce, fresh } = event;
      const next = collection.collect(state.plan.scheme.threshold);
      const after = { ...state, verificationNonce, fresh, collection: next };
      return move({ ...after, at: "verifying" }, state.collection.shares);
    }
    case "fail": {
      if (state.at === "none") return move(state);
      const failed = collection.step(state.collection, { do: "fail" });
      const over = failed.outcome === "spent" && state.at === "collecting";
      return move(over ? NONE : { ...state, collection: failed.collection }, failed.dropped);
    }
    case "reject":
      return state.at === "none" ? move(state) : clear({ ...state, touched: event.now });
    case "restart-verification": {
      if (state.at !== "verifying") return refuse(state, failures.ceremonyNotRunning());
      const refusal = refuseCancel({ ...state, nonce: state.verificationNonce }, event);
      if (refusal !== null) return refuse(state, refusal);
      return clear({ ...state, verificationNonce: event.freshNonce });
    }
    case "cancel": {
      if (state.at === "none") return move(state);
      const refusal = refuseCancel(state, event);
      return refusal === null ? end(state) : refuse(state, refusal);
    }
    case "end":
      return end(state);
  }
}

function give(state: Collecting | Verifying, nonce: string, event: Giving): Step {
  const refusal = refuseNonce(nonce, event.nonce);
  if (refusal !== null) return refuse(state, refusal, event.share);
  const taken = collection.step(state.collection, { do: "give", share: event.share });
  if (taken.outcome === "repeated") return refuse(state, failures.shareRepeated(), event.share);
  const after = { ...state, touched: event.now, collection: taken.collection };
  return { ...move(after), enough: taken.outcome === "enough" };
}

function clear(state: Collecting | Verifying): Step {
  const { required, shares } = state.collection;
  return move({ ...state, collection: collection.collect(required) }, shares);
}

function end(state: State): Step {
  return move(NONE, state.at === "none" ? [] : state.collection.shares);
}

function move(state: State, dropped: readonly Buffer[] = []): Step {
  return { state, refusal: null, enough: false, dropped };
}

function refuse(state: State, refusal: Failure, share?: Buffer): Step {
  return { state, refusal, enough: false, dropped: share === undefined ? [] : [share] };
}
