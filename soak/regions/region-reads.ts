// What clients may be told by a region that is sent what others write: what was there up to some moment, at an earlier one
// never after a later one; not from before what was to be seen there when it was answered; and for whoever shows what it has
// seen, in whatever cluster, not from before that. What a forced failover has given up is seen in nobody's place that has gone
// over, and who has seen it and says so is told that it is lost.
//
// Registers have no order among each other that clients know of. But what a state has of one write says that it has every one
// that was answered before that one began: so a moment stands for all that must be there.

import {
  type ClientHistory,
  type Operation,
  type Register,
  show,
} from "../replication/client-history.ts";

/** A cluster answers for the region, from when its promotion was begun. */
export interface Term {
  readonly site: string;
  readonly from: number;
  /** It may lack what the one before has answered with. */
  readonly isForced: boolean;
}

export function regionProblems(history: ClientHistory, terms: readonly Term[]): string[] {
  return new RegionReads(history, terms).problems();
}

/** What somebody has seen, and sees for good. */
class Sight {
  /** All that was answered until then. */
  until = -1;
  /** The last reign of which something was seen. */
  reign = 0;
  /** By register, of what there is in the end. */
  readonly versions = new Map<string, number>();
  /** By register, of what was given up before a reign. */
  readonly lost = new Map<number, Map<string, number>>();
  lostBefore(reign: number): Map<string, number> {
    const versions = this.lost.get(reign) ?? new Map<string, number>();
    this.lost.set(reign, versions);
    return versions;
  }

  /** The reigns and the lines that have answered. */
  readonly reigns = new Set<number>();
  readonly lines = new Set<number>();
  /** Since when it is one. */
  began = Infinity;
}

type Known = Operation & { readonly found: Register };

class RegionReads {
  readonly #history: ClientHistory;
  readonly #terms: readonly Term[];
  readonly #writes: ReadonlyMap<string, Operation>;
  /** By register, of what was answered and not given up: when, and the last version by then. */
  readonly #answered = new Map<string, { readonly ended: number; readonly version: number }[]>();
  /** By register, version and the reign before which it was given up. */
  readonly #values = new Map<string, string>();

  constructor(history: ClientHistory, terms: readonly Term[]) {
    this.#history = history;
    this.#terms = terms;
    const writes = history.operations.filter(({ kind }) => kind === "write");
    this.#writes = new Map(writes.map((one) => [one.value, one]));
    for (const one of writes.filter(isKnown).toSorted((a, b) => a.ended - b.ended)) {
      const { register, found, ended, type } = one;
      if (type !== "ok") continue;
      const lost = history.lossOf(one, found);
      this.#values.set(nameOf(register, found.version, lost), found.value);
      if (lost !== null) continue;
      const all = this.#answered.get(register) ?? [];
      all.push({ ended, version: Math.max(found.version, all.at(-1)?.version ?? 0) });
      this.#answered.set(register, all);
    }
  }

  problems(): string[] {
    const { operations } = this.#history;
    const found: string[] = [];
    const say = (what: string, one: Operation) => void found.push(`${what}: ${show(one)}`);
    for (const one of operations.filter(isRead)) this.#checkValue(one, say);
    const sessions = Map.groupBy(operations, ({ session }) => session);
    sessions.delete(null);
    for (const own of sessions.values()) this.#checkSession(own, say);
    const lines = Map.groupBy(operations, (one) => this.#lineOf(one));
    lines.delete(null);
    for (const own of lines.values()) this.#checkLine(own, say);
    return found;
  }

  /** One that somebody has written, by then, and the same as for everybody else. */
  #checkValue(read: Known, say: Say): void {
    const { register, found, ended } = read;
    if (found.version === 0) return;
    const write = this.#writes.get(found.value);
    if (write === undefined || write.register !== register || write.began > ended) {
      say("nobody had written this", read);
      return;
    }
    const name = nameOf(register, found.version, this.#lostAt(read));
    const other = this.#values.get(name);
    if (other === undefined) this.#values.set(name, found.value);
    else if (other !== found.value) say(`this version is ${other}`, read);
  }

  /** It shows with each request what it has seen with those before. */
  #checkSession(own: readonly Operation[], say: Say): void {
    const sight = new Sight();
    for (const one of own) {
      if (isKnown(one)) {
        if (isRead(one)) this.#checkRead(one, sight, { shows: true, say });
        this.#add(sight, one, { isAnswered: true });
      } else if (one.refusal === "state_lost" && !this.#mayBeLost(sight, one)) {
        say("nothing was given up that it has seen", one);
      }
    }
  }

  /** Whatever was to be seen before a read began. */
  #checkLine(own: readonly Operation[], say: Say): void {
    const known = own.filter(isKnown).filter((one) => one.kind === "read" || one.isSeen);
    const before = known.toSorted((a, b) => a.ended - b.ended);
    const sight = new Sight();
    let at = 0;
    for (const one of known.toSorted((a, b) => a.began - b.began)) {
      for (; at < before.length && before[at]!.ended < one.began; at++) {
        this.#add(sight, before[at]!, { isAnswered: false });
      }
      if (isRead(one)) this.#checkRead(one, sight, { shows: false, say });
    }
  }

  #checkRead(read: Known, sight: Sight, { shows, say }: { shows: boolean; say: Say }): void {
    const { register, found, began } = read;
    const lost = this.#lostAt(read);
    if (lost !== null) {
      const { followed = Infinity } = this.#history.reigns[lost]!;
      const isGone = sight.reign >= lost || (began > followed && !this.#history.leads(read));
      if (isGone) say("it was given up, and that was known here", read);
      if ((sight.lost.get(lost)?.get(register) ?? 0) > found.version) {
        say("older than what was seen before, and both were given up", read);
      }
      return;
    }
    const least = Math.max(
      sight.versions.get(register) ?? 0,
      this.#answeredUntil(register, sight.until),
    );
    if (found.version < least) say(`older than version ${least}, which was seen before`, read);
    if (!shows) return;
    const reign = this.#reignOfRead(read);
    for (const [at, versions] of sight.lost) {
      // Where it has gone over that is lost; where it has not it is there.
      if (reign >= at || versions.has(register)) say("what was seen before was given up", read);
    }
  }

  /** `isAnswered`: whoever has asked knows more than what it was told, since who writes has answered. */
  #add(sight: Sight, one: Known, { isAnswered }: { isAnswered: boolean }): void {
    sight.began = Math.min(sight.began, one.began);
    const line = this.#lineOf(one);
    if (line !== null) sight.lines.add(line);
    if (this.#history.leads(one)) sight.reigns.add(this.#history.reignOf(one));
    const write = this.#writes.get(one.found.value);
    if (write !== undefined) {
      const lost = this.#history.lossOf(write, one.found);
      const versions = lost === null ? sight.versions : sight.lostBefore(lost);
      const { register, found } = one;
      versions.set(register, Math.max(versions.get(register) ?? 0, found.version));
      this.#addUntil(sight, write);
    }
    if (isAnswered && (isWritten(one) || this.#history.leads(one))) this.#addUntil(sight, one);
  }

  /** Of what comes after it the cluster that it was done by has only what that one has done. */
  #addUntil(sight: Sight, done: Operation): void {
    const reign = this.#history.reignOf(done);
    const end = this.#history.reigns[reign + 1]?.from ?? Infinity;
    sight.until = Math.max(sight.until, Math.min(done.began, end));
    sight.reign = Math.max(sight.reign, reign);
  }

  #answeredUntil(register: string, moment: number): number {
    return this.#answered.get(register)?.findLast(({ ended }) => ended <= moment)?.version ?? 0;
  }

  #lostAt({ found }: Known): number | null {
    const write = this.#writes.get(found.value);
    return write === undefined ? null : this.#history.lossOf(write, found);
  }

  /** The last of which it can be told that it was answered from. */
  #reignOfRead(read: Known): number {
    const { reigns } = this.#history;
    if (this.#history.leads(read)) return this.#history.reignOf(read);
    const write = this.#writes.get(read.found.value);
    const followed = reigns.findLastIndex(({ followed: since = Infinity }) => since < read.began);
    return Math.max(followed, write === undefined ? 0 : this.#history.reignOf(write));
  }

  /** Something was given up, by a cluster that it has had answers of. */
  #mayBeLost({ began, reigns, lines }: Sight, { ended }: Operation): boolean {
    const isOfReign = this.#history.reigns.some(
      ({ forced, from, followed = Infinity }, at) =>
        forced !== null && from <= ended && (began <= followed || reigns.has(at - 1)),
    );
    const isOfTerm = this.#terms.some(
      (term) => term.isForced && term.from <= ended && lines.has(this.#lineUpTo(term) - 1),
    );
    return isOfReign || isOfTerm;
  }

  /** Who answers after another one to which it was handed over goes on with what that had. Null: no cluster of the region. */
  #lineOf({ site, ended }: Operation): number | null {
    const term = this.#terms.findLast((one) => one.site === site && one.from <= ended);
    return term === undefined ? null : this.#lineUpTo(term);
  }

  #lineUpTo(term: Term): number {
    return this.#terms.slice(0, this.#terms.indexOf(term) + 1).filter(({ isForced }) => isForced)
      .length;
  }
}

type Say = (what: string, one: Operation) => void;

function isKnown(one: Operation): one is Known {
  return one.found !== null;
}

function isRead(one: Operation): one is Known {
  return one.kind === "read" && isKnown(one);
}

function isWritten({ kind, type }: Operation): boolean {
  return kind === "write" && type === "ok";
}

function nameOf(register: string, version: number, lost: number | null): string {
  return `${register} ${version} ${lost ?? ""}`;
}
