// One attempt at unsealing: begins with the first share, ends when there are enough, whatever comes
// of them. Pure; the keeper combines the shares and tries the key.

import * as collection from "./collection.ts";

export type State =
  | { readonly at: "idle" }
  | {
      readonly at: "collecting";
      readonly nonce: string;
      readonly collection: collection.Collection;
    };

export type Event =
  | {
      readonly do: "give";
      readonly share: Buffer;
      readonly required: number;
      readonly freshNonce: string; // used when this share begins the attempt
    }
  /** Reset by an operator, tried with or without success, or the node was unsealed otherwise. */
  | { readonly do: "drop" };

export interface Step {
  readonly state: State;
  /** All the shares, when there are enough. They stay in the state until they are dropped. */
  readonly complete: readonly Buffer[] | null;
  readonly dropped: readonly Buffer[];
}

export const IDLE: State = { at: "idle" };

export function step(state: State, event: Event): Step {
  switch (event.do) {
    case "give": {
      const { share, required, freshNonce } = event;
      const nonce = state.at === "idle" ? freshNonce : state.nonce;
      const before = state.at === "idle" ? collection.collect(required) : state.collection;
      // A share given twice changes nothing here: operators repeat themselves over bad lines.
      const taken = collection.step(before, { do: "give", share });
      return {
        state: { at: "collecting", nonce, collection: taken.collection },
        complete: taken.outcome === "complete" ? taken.collection.shares : null,
        dropped: taken.dropped,
      };
    }
    case "drop":
      if (state.at === "idle") return { state, complete: null, dropped: [] };
      return { state: IDLE, complete: null, dropped: state.collection.shares };
  }
}

export function progressOf(state: State): { readonly progress: number; readonly nonce: string } {
  if (state.at === "idle") return { progress: 0, nonce: "" };
  return { progress: state.collection.shares.length, nonce: state.nonce };
}
