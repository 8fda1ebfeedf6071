// What clients of a replication set did and were told, with times: each operation on one register (a secret of a versioned
// key/value mount), and which cluster led when. From that, the histories that must be linearizable: the one that everybody
// sees in the end, and for each forced failover the one of the cluster that was left, with what it gave up. Who asked a cluster
// that never leads has written where that sends it on to, and has read what was there: soak/regions/region-reads.ts.

import { linearized, type Step } from "./linear.ts";

export interface Register {
  /** 0: nothing was ever written. */
  readonly version: number;
  readonly value: string;
}

export const UNWRITTEN: Register = { version: 0, value: "" };

/** As its client knows it. */
export interface Operation {
  readonly client: string;
  readonly register: string;
  /** Who was asked. */
  readonly site: string;
  readonly kind: "read" | "write";
  /** Of a write: only on this version; null: on any. */
  readonly expected: number | null;
  /** Of a write; no other one has it. */
  readonly value: string;
  readonly began: number;
  readonly ended: number;
  /** ok: done; fail: refused, and nothing has happened; info: nobody told. */
  readonly type: "ok" | "fail" | "info";
  /** Of `ok`: what was written or read. Of `fail`: what was there in place of `expected`; null: nothing was told. */
  readonly found: Register | null;
  /** The word by which it was refused; empty for none. */
  readonly refusal: string;
  /** Of a client that shows what it has seen with each of its requests: what these are numbered by. Null: it shows nothing. */
  readonly session: number | null;
  /** Of a write: whether it is to be seen where it was asked for. */
  readonly isSeen: boolean;
  /** Of the primary of the set, as whoever answered knows it; 0: nobody has said so. */
  readonly epoch: number;
}

/** What a cluster that was left has reported: of each register the last version that both have. */
export type Kept = ReadonlyMap<string, number>;

/** A cluster leads, from when its promotion was begun. */
export interface Reign {
  readonly site: string;
  readonly from: number;
  /** From when nobody came to the one before by way of others. Default: from then on. */
  readonly unreached?: number;
  /** From when those followed this one. Default: nobody has looked. */
  readonly followed?: number;
  /** Of a forced failover. Null: a planned one, or the first of all. */
  readonly forced: { readonly kept: Kept } | null;
}

export class ClientHistory {
  readonly operations: Operation[] = [];
  readonly reigns: Reign[] = [];
  /** Which reign each epoch is, as of so many operations. */
  #epochs: { readonly length: number; readonly reigns: Map<number, number> } = {
    length: -1,
    reigns: new Map(),
  };

  /** What is not linearizable, in words. */
  problems(): string[] {
    const registers = [...new Set(this.operations.map(({ register }) => register))].toSorted();
    const sides = this.reigns.flatMap(({ forced }, at) => (forced === null ? [] : [at - 1]));
    return registers.flatMap((register) => [
      ...problemOf(`${register}, as it is in the end`, this.#main(register)),
      ...sides.flatMap((at) =>
        problemOf(`${register}, as reign ${at} left it`, this.#side(register, at)),
      ),
    ]);
  }

  /** Writes that were acknowledged, and that a forced failover has given up. */
  get lost(): number {
    return this.operations.filter(
      (one) => one.kind === "write" && this.lossOf(one, one.found) !== null,
    ).length;
  }

  /** The reign before which a write was given up that has made this of its register; null: it was not. */
  lossOf(write: Operation, made: Register | null): number | null {
    const next = this.reignOf(write) + 1;
    const kept = this.reigns[next]?.forced?.kept;
    return kept !== undefined && isBeyond({ ...write, found: made }, kept) ? next : null;
  }

  /** Whether the cluster that was asked leads in one of the reigns. */
  leads({ site }: Pick<Operation, "site">): boolean {
    return this.reigns.some((reign) => reign.site === site);
  }

  #main(register: string): Operation[] {
    return this.reigns.flatMap((_, at) => this.#survivors(register, at));
  }

  /** With the tail that nobody else has. */
  #side(register: string, last: number): Operation[] {
    const before = this.reigns.slice(0, last).flatMap((_, at) => this.#survivors(register, at));
    return [...before, ...this.#of(register, last)];
  }

  #survivors(register: string, at: number): Operation[] {
    const own = this.#of(register, at);
    const next = this.reigns[at + 1];
    if (next === undefined) return own;
    // Whatever nobody was told of has happened by now, or never does.
    const bounded = own
      .filter(({ type, began }) => type !== "info" || began <= next.from)
      .map((one) => (one.type === "info" ? { ...one, ended: next.from } : one));
    const { forced } = next;
    if (forced === null) return bounded;
    // What the other one answered after that is of a cluster on its own.
    const isApart = ({ kind, type, ended }: Operation) =>
      type !== "info" && ended > next.from && !(kind === "write" && type === "ok");
    return bounded.filter((one) => !isBeyond(one, forced.kept) && !isApart(one));
  }

  /** A write that nobody was told of may still be under way when its client gives it up. */
  #of(register: string, at: number): Operation[] {
    return this.operations
      .filter((one) => one.register === register && tells(one) && this.reignOf(one) === at)
      .filter((one) => one.kind === "write" || this.leads(one))
      .map((one) => (one.type === "info" ? { ...one, ended: Infinity } : one));
  }

  /** The last of its cluster that had begun when the answer came; by way of another one, the last that it could come to when it was asked,
   *  or a later one that has answered: what is sent on waits for whoever leads next. */
  reignOf(operation: Pick<Operation, "site" | "began" | "ended" | "epoch">): number {
    const { site, began, ended, epoch } = operation;
    if (!this.leads(operation)) {
      const first = this.reigns.findLastIndex(({ from, unreached = from }) => unreached <= began);
      const last = this.reigns.findLastIndex(({ from }) => from <= ended);
      const answered = this.#reignByEpoch(epoch) ?? first;
      return answered > first && answered <= last ? answered : first;
    }
    return this.reigns.findLastIndex((reign) => reign.site === site && reign.from <= ended);
  }

  /** By what was written at those who lead; null where nobody has written by that epoch there. */
  #reignByEpoch(epoch: number): number | null {
    if (this.#epochs.length !== this.operations.length) {
      this.#epochs = { length: this.operations.length, reigns: new Map() };
      for (const one of this.operations) {
        const isWritten = one.kind === "write" && one.type === "ok" && one.epoch > 0;
        if (isWritten && this.leads(one)) this.#epochs.reigns.set(one.epoch, this.reignOf(one));
      }
    }
    return this.#epochs.reigns.get(epoch) ?? null;
  }
}

function isBeyond({ register, found }: Pick<Operation, "register" | "found">, kept: Kept): boolean {
  return found !== null && found.version > (kept.get(register) ?? 0);
}

/** What was refused before anybody looked tells nothing, and nor does a read that nobody answered. */
function tells({ kind, type, found }: Operation): boolean {
  return type === "ok" || (type === "fail" ? found !== null : kind === "write");
}

function problemOf(what: string, operations: readonly Operation[]): string[] {
  const steps = operations.map((one) => ({ ...stepOf(one), one }));
  const stuck = linearized<Register, (typeof steps)[number]>(steps, UNWRITTEN, nameOf);
  if (stuck === null) return [];
  const { state, done, left } = stuck;
  const next = left.map(({ one }) => `  ${show(one)}`).join("\n");
  return [
    `${what}: after ${done} of ${steps.length} operations, at version ${state.version} (${state.value}), none of these can be next:\n${next}`,
  ];
}

function stepOf({ kind, type, began, ended, expected, value, found }: Operation): Step<Register> {
  const next = (state: Register): readonly Register[] => {
    const { version } = state;
    if (kind === "read") return nameOf(state) === nameOf(found!) ? [state] : [];
    if (type === "fail") return version === found!.version && version !== expected ? [state] : [];
    const written = { version: version + 1, value };
    const isPossible = expected === null || expected === version;
    if (type === "ok") return isPossible && found!.version === written.version ? [written] : [];
    return isPossible ? [state, written] : [state];
  };
  return { began, ended, next };
}

function nameOf({ version, value }: Register): string {
  return `${version} ${value}`;
}

export function show(one: Operation): string {
  const { client, site, kind, expected, value, type, found, began, ended } = one;
  const times = `${began.toFixed(1)} to ${ended.toFixed(1)}`;
  const sent = kind === "read" ? "" : ` ${value}${expected === null ? "" : ` on ${expected}`}`;
  const came = found === null ? "" : ` ${nameOf(found)}`;
  return `${times} ${client} at ${site}: ${kind}${sent}: ${type}${came}`;
}
