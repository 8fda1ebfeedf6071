// Whether a history of one object is linearizable: whether there is an order of its operations, each at a moment between
// its beginning and its end, in which each does what its client was told. Pure; after Wing and Gong, with what was tried
// already kept in mind, as Lowe does.

export interface Step<S> {
  readonly began: number;
  /** When its client knew, or when it could not happen any more; Infinity: that never came. */
  readonly ended: number;
  /** The states that it may leave behind; none where its client was told something else. */
  next(state: S): readonly S[];
}

export interface Stuck<S, T> {
  /** What comes next in no order, after as many of them as possible. */
  readonly left: readonly T[];
  readonly state: S;
  readonly done: number;
}

interface Place<S> {
  /** All before it have their place. */
  readonly low: number;
  /** So have these, which come after it. */
  readonly beyond: ReadonlySet<number>;
  readonly state: S;
}

/** Null where it is; otherwise how far one comes. `nameOf`: equal for equal states. */
export function linearized<S, T extends Step<S>>(
  steps: readonly T[],
  initial: S,
  nameOf: (state: S) => string,
): Stuck<S, T> | null {
  const order = steps.toSorted((a, b) => a.began - b.began);
  const seen = new Set<string>();
  const stack: Place<S>[] = [{ low: 0, beyond: new Set(), state: initial }];
  let stuck: Stuck<S, T> = { left: [], state: initial, done: -1 };
  for (let place = stack.pop(); place !== undefined; place = stack.pop()) {
    const { low, beyond, state } = place;
    if (low === order.length) return null;
    const possible = candidates(order, place);
    const done = low + beyond.size;
    if (done > stuck.done) stuck = { left: possible.map((at) => order[at]!), state, done };
    // The last one is tried first: those that began early are what most histories go by.
    for (const at of possible.toReversed()) {
      for (const next of order[at]!.next(state)) {
        const after = { ...moved(low, new Set([...beyond, at])), state: next };
        const name = `${after.low} ${[...after.beyond].toSorted((a, b) => a - b).join()} ${nameOf(next)}`;
        if (seen.has(name)) continue;
        seen.add(name);
        stack.push(after);
      }
    }
  }
  return stuck;
}

/** Those that no other one has ended before. */
function candidates<S>(order: readonly Step<S>[], { low, beyond }: Place<S>): number[] {
  const found: number[] = [];
  let firstEnd = Infinity;
  for (let at = low; at < order.length; at++) {
    if (beyond.has(at)) continue;
    const { began, ended } = order[at]!;
    if (began > firstEnd) break;
    found.push(at);
    firstEnd = Math.min(firstEnd, ended);
  }
  return found.filter((at) => order[at]!.began <= firstEnd);
}

function moved(low: number, beyond: Set<number>): Pick<Place<unknown>, "low" | "beyond"> {
  let first = low;
  while (beyond.delete(first)) first++;
  return { low: first, beyond };
}
