// One attempt at making a token from key shares: a root token, or the operation token of a DR
// secondary. How the token will be covered is fixed when the attempt starts and shares carry its
// nonce, so that nobody can put in their own key between two shares (T-F03). Pure.

import type { Failure } from "@holdfast/shared/failure";
import type { Secret } from "@holdfast/shared/secret";
import type { PublicKey } from "../../crypto/pgp.ts";
import type { Nanos } from "@holdfast/shared/world";
import { type Cancelling, type Nonces, refuseCancel, refuseNonce } from "./attempt.ts";
import * as collection from "./collection.ts";
import * as failures from "../failures.ts";

/** What hides the token from everybody but the one who started the attempt. */
export type Cover =
  | { readonly by: "otp"; readonly otp: Secret<string> }
  | { readonly by: "pgp"; readonly key: PublicKey; readonly fingerprint: string };

export interface Running extends Nonces {
  readonly at: "running";
  readonly touched: Nanos;
  readonly cover: Cover;
  readonly collection: collection.Collection;
}

export type State = { readonly at: "none" } | Running;

export type Event =
  | {
      readonly do: "start";
      readonly nonces: Nonces;
      readonly now: Nanos;
      readonly cover: Cover;
      readonly required: number;
    }
  | { readonly do: "give"; readonly nonce: string; readonly share: Buffer; readonly now: Nanos }
  /** No set of the shares was right: after three sets, that is the end of the attempt. */
  | { readonly do: "fail" }
  /** They were, and the token could not be made: collect again. */
  | { readonly do: "reject"; readonly now: Nanos }
  | ({ readonly do: "cancel" } & Cancelling)
  /** Done, or the node seals. */
  | { readonly do: "end" };

export interface Step {
  readonly state: State;
  readonly refusal: Failure | null;
  /** The attempt, when it has enough shares to try. They stay in the state until it goes on. */
  readonly enough: Running | null;
  readonly dropped: readonly Buffer[];
}

export const NONE: State = { at: "none" };

export function step(state: State, event: Event): Step {
  switch (event.do) {
    case "start": {
      if (state.at === "running") return refuse(state, failures.ceremonyRunning());
      const { nonces, now: touched, cover, required } = event;
      const fresh = collection.collect(required);
      return move({ at: "running", ...nonces, touched, cover, collection: fresh });
    }
    case "give": {
      const { share } = event;
      if (state.at === "none") return refuse(state, failures.ceremonyNotRunning(), [share]);
      const refusal = refuseNonce(state.nonce, event.nonce);
      if (refusal !== null) return refuse(state, refusal, [share]);
      const taken = collection.step(state.collection, { do: "give", share });
      if (taken.outcome === "repeated") {
        return refuse(state, failures.shareRepeated(), taken.dropped);
      }
      const after: Running = { ...state, touched: event.now, collection: taken.collection };
      return { ...move(after), enough: taken.outcome === "enough" ? after : null };
    }
    case "fail": {
      if (state.at === "none") return move(state);
      const failed = collection.step(state.collection, { do: "fail" });
      if (failed.outcome === "spent") return move(NONE, failed.dropped);
      return move({ ...state, collection: failed.collection });
    }
    case "reject": {
      if (state.at === "none") return move(state);
      const { required, shares } = state.collection;
      const fresh = collection.collect(required);
      return move({ ...state, touched: event.now, collection: fresh }, shares);
    }
    case "cancel": {
      if (state.at === "none") return move(state);
      const refusal = refuseCancel(state, event);
      if (refusal !== null) return refuse(state, refusal);
      return move(NONE, state.collection.shares);
    }
    case "end":
      return move(NONE, state.at === "none" ? [] : state.collection.shares);
  }
}

function move(state: State, dropped: readonly Buffer[] = []): Step {
  return { state, refusal: null, enough: null, dropped };
}

function refuse(state: State, refusal: Failure, dropped: readonly Buffer[] = []): Step {
  return { state, refusal, enough: null, dropped };
}
