// Who waits: every line and every lock asks for this, and waits by it. A request that has waited is looked at
// again before its turn begins, so that nobody does with a turn what was forbidden meanwhile.

export interface Waiting {
  /** Resolves with `turn`, where whoever waits may still do what it waits for, and rejects where not: also before
   *  the turn comes, when there is nothing left to wait for. Nothing is looked at where nothing has changed. */
  waitFor<T>(turn: Promise<T>): Promise<T>;
}

/** Work of the server's own, or of a request that has begun what must be brought to its end: whatever becomes
 *  of its caller, the turn is used. */
export const OWN_WORK: Waiting = { waitFor: (turn) => turn };
