// One attempt at making a token from key shares: a root token, or the operation token of a DR
// secondary. How the token will be covered is fixed when the attempt starts and shares carry its
// nonce, so that nobody can put in their own key between two shares (T-F03). Pure.

import type { Failure } from "../base/failure.ts";
import type { Secret } from "../base/secret.ts";
import type { PublicKey } from "../crypto/pgp.ts";
import { type Cancelling, refuseCancel, refuseNonce } from "./attempt.ts";
import * as collection from "./collection.ts";
import * as failures from "./failures.ts";

/** What hides the token from everybody but the one who started the attempt. */
export type Cover =
  | { readonly by: "otp"; readonly otp: Secret<string> }
  | { readonly by: "pgp"; readonly key: PublicKey; readonly fingerprint: string };

export interface Running {
  readonly at: "running";
  readonly nonce: string;
  readonly cover: Cover;
  readonly collection: collection.Collection;
}

export type State = { readonly at: "none" } | Running;

export type Event =
  | {
      readonly do: "start";
      readonly freshNonce: string;
      readonly cover: Cover;
      readonly required: number;
    }
  | { readonly do: "give"; readonly nonce: string; readonly share: Buffer }
  /** The shares were wrong, or the token could not be made: collect again. */
  | { readonly do: "reject" }
  | ({ readonly do: "cancel" } & Cancelling)
  /** Done, or the node seals. */
  | { readonly do: "end" };

export interface Step {
  readonly state: State;
  readonly refusal: Failure | null;
  /** The attempt, when its shares are complete. They stay in the state until it goes on. */
  readonly complete: Running | null;
  readonly dropped: readonly Buffer[];
}

export const NONE: State = { at: "none" };

export function step(state: State, event: Event): Step {
  switch (event.do) {
    case "start": {
      if (state.at === "running") return refuse(state, failures.ceremonyRunning());
      const { freshNonce: nonce, cover, required } = event;
      return move({ at: "running", nonce, cover, collection: collection.collect(required) });
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
      const after: Running = { ...state, collection: taken.collection };
      return { ...move(after), complete: taken.outcome === "complete" ? after : null };
    }
    case "reject": {
      if (state.at === "none") return move(state);
      const cleared = collection.step(state.collection, { do: "clear" });
      return move({ ...state, collection: cleared.collection }, cleared.dropped);
    }
    case "cancel": {
      if (state.at === "none") return move(state);
      const refusal = refuseCancel(state.nonce, event);
      if (refusal !== null) return refuse(state, refusal);
      return move(NONE, state.collection.shares);
    }
    case "end":
      return move(NONE, state.at === "none" ? [] : state.collection.shares);
  }
}

function move(state: State, dropped: readonly Buffer[] = []): Step {
  return { state, refusal: null, complete: null, dropped };
}

function refuse(state: State, refusal: Failure, dropped: readonly Buffer[] = []): Step {
  return { state, refusal, complete: null, dropped };
}
