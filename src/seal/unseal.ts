// One attempt at unsealing: begins with the first share and ends with the right ones, or after as many as
// three sets have that opened nothing. Shares that were right stay while the house behind the barrier does not open, so
// that nobody has to call their holders again. Pure; the keeper combines the shares and tries the key.

import * as collection from "./ceremonies/collection.ts";

export type State =
  | { readonly at: "idle" }
  | {
      readonly at: "collecting";
      readonly nonce: string;
      readonly collection: collection.Collection;
    }
  /** These are right, and what is wrong is mended elsewhere. */
  | { readonly at: "waiting"; readonly nonce: string; readonly shares: readonly Buffer[] };

export type Event =
  | {
      readonly do: "give";
      readonly share: Buffer;
      readonly required: number;
      readonly freshNonce: string; // used when this share begins the attempt
    }
  /** No set with the newest share was right. */
  | { readonly do: "fail" }
  /** These were, and the house did not open. */
  | { readonly do: "wait"; readonly shares: readonly Buffer[] }
  /** Reset by an operator, done, or the node was unsealed otherwise. */
  | { readonly do: "drop" };

export interface Step {
  readonly state: State;
  /** All the shares, when sets of them are to be tried. They stay in the state until it goes on. */
  readonly enough: collection.Collection | null;
  /** After a failure: whether the shares were kept. */
  readonly kept: boolean;
  readonly dropped: readonly Buffer[];
}

export const IDLE: State = { at: "idle" };

export function step(state: State, event: Event): Step {
  switch (event.do) {
    case "give": {
      const { share, required, freshNonce } = event;
      if (state.at === "waiting") return move(state, [share]); // enough are there
      const nonce = state.at === "idle" ? freshNonce : state.nonce;
      const before = state.at === "idle" ? collection.collect(required) : state.collection;
      // A share given twice changes nothing here: operators repeat themselves over bad lines.
      const taken = collection.step(before, { do: "give", share });
      const after: State = { at: "collecting", nonce, collection: taken.collection };
      const enough = taken.outcome === "enough" ? taken.collection : null;
      return { ...move(after, taken.dropped), enough };
    }
    case "fail": {
      if (state.at !== "collecting") return move(state);
      const failed = collection.step(state.collection, { do: "fail" });
      if (failed.outcome === "spent") return move(IDLE, failed.dropped);
      return { ...move({ ...state, collection: failed.collection }), kept: true };
    }
    case "wait": {
      if (state.at !== "collecting") return move(state);
      const { shares } = event;
      const others = state.collection.shares.filter((share) => !shares.includes(share));
      return move({ at: "waiting", nonce: state.nonce, shares }, others);
    }
    case "drop":
      if (state.at === "idle") return move(state);
      return move(IDLE, state.at === "waiting" ? state.shares : state.collection.shares);
  }
}

export function progressOf(state: State): { readonly progress: number; readonly nonce: string } {
  if (state.at === "idle") return { progress: 0, nonce: "" };
  const progress =
    state.at === "waiting" ? state.shares.length : collection.progressOf(state.collection);
  return { progress, nonce: state.nonce };
}

function move(state: State, dropped: readonly Buffer[] = []): Step {
  return { state, enough: null, kept: false, dropped };
}
