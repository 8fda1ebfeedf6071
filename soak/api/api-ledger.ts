// What the clients of a server know about it, as registers: each has the values it may have. A change
// that was begun may or may not have happened; one that was acknowledged has, and so has what was
// seen after a restart. The ledger is also a text, a line for each event, so that it can be kept in
// the order of a trace.

export interface LedgerEvent {
  readonly what: "begin" | "done";
  readonly register: string;
  readonly value: string;
}

export class ApiLedger {
  readonly #possible = new Map<string, ReadonlySet<string>>();

  /** From now on the register may have this value as well. */
  begin(register: string, value: string): void {
    const before = this.#possible.get(register) ?? new Set([UNSET]);
    this.#possible.set(register, new Set([...before, value]));
  }

  /** From now on it has this value and no other. */
  done(register: string, value: string): void {
    this.#possible.set(register, new Set([value]));
  }

  take({ what, register, value }: LedgerEvent): void {
    if (what === "begin") this.begin(register, value);
    else this.done(register, value);
  }

  /** The one value it must have, or null when several are possible. */
  known(register: string): string | null {
    const [first = UNSET, ...others] = this.#possible.get(register) ?? [];
    return others.length === 0 ? first : null;
  }

  /** Compares with what was found, which is from then on the only possible value. */
  found(register: string, value: string): string[] {
    const possible = this.#possible.get(register) ?? new Set([UNSET]);
    this.done(register, value);
    if (possible.has(value)) return [];
    const known = [...possible].map((text) => text || "nothing").join(" or ");
    return [`${register}: ${known} was acknowledged, ${value || "nothing"} is there`];
  }

  registers(prefix: string): string[] {
    return [...this.#possible.keys()].filter((name) => name.startsWith(prefix)).toSorted();
  }
}

/** The value of a register that nothing was ever written to. */
export const UNSET = "";

export function showEvent({ what, register, value }: LedgerEvent): string {
  return `${what} ${register} ${value}`;
}

export function parseEvent(line: string): LedgerEvent {
  const match = /^(begin|done) (\S+) (.*)$/.exec(line);
  if (match === null) throw new Error(`not an event of the ledger: ${JSON.stringify(line)}`);
  const [, what, register = "", value = ""] = match;
  return { what: what === "begin" ? "begin" : "done", register, value };
}
