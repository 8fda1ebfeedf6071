// What the other members of a set know before one of them is promoted: who leads by now, and who is about to be promoted as well.
// Each may name others that are not known here: those are called too, unless they were revoked.

import type { FormerPlace } from "../../cluster/hello.ts";
import { SECOND } from "@holdfast/shared/text/duration";
import type { Nanos } from "@holdfast/shared/world";
import type { Candidacy, Word } from "../roles/candidates.ts";
import { type Epoch, isNext } from "../roles/role.ts";
import { type Sibling, SIBLINGS } from "../stream/messages.ts";
import type { DialledMember } from "./dialing.ts";
import { type Answered, exchange, type FencingWorld } from "./fencing.ts";
import type { Upstream } from "./upstream.ts";

/** For all of them, also those that others name. Where it takes some turns to and fro a link across the world takes seconds; who is
 *  taken for silent may be promoted at the same moment. */
const ASKED_WITHIN: Nanos = 5n * SECOND;
/** At each address: nobody is served while a promotion waits for one that is dead. */
const MET_WITHIN: Nanos = 2n * SECOND;

/** Whom to call, and by what they know this cluster. */
export interface Others {
  readonly member: Upstream["member"];
  /** Where that certificate says nothing to them: what shows whose it is. */
  readonly formers?: readonly FormerPlace[];
  readonly siblings: readonly Sibling[];
  /** Serials that the primary has revoked, as far as is known here: others may not have heard of it. */
  readonly revoked: readonly string[];
  /** Where the primary is, if it was demoted: its operators may promote it again. */
  readonly primary: readonly string[];
}

export interface Found {
  /** The last epoch that one of them knows of, where it is later than the own. */
  readonly later: Epoch | null;
  /** Who is about to be promoted, as they say; and who of them is not. */
  readonly named: readonly Word[];
  readonly deniers: readonly string[];
  /** Where those are that did not answer; empty where nobody knows that. */
  readonly unreached: readonly string[];
  /** Where the primary is, if it was demoted and did not answer; else null. */
  readonly demoted: string | null;
}

/** Who answers may name whom it likes. */
const MAX_CALLED = 2 * SIBLINGS;
const PRIMARY: Sibling = { id: "", cluster: "", serials: [], addresses: [] };

/** `epoch`: the last that is known here. */
export async function callOthers(
  all: readonly Others[],
  epoch: Epoch,
  candidacy: Candidacy,
  world: FencingWorld,
): Promise<Found> {
  return await within(world, ASKED_WITHIN, async (signal) => {
    const found = all.map(async (others) => {
      const { formers = [] } = others;
      const asking = new Asking(others, (addresses, member) =>
        exchange(addresses, member, epoch, world, {
          candidacy,
          signal,
          formers,
          metWithin: MET_WITHIN,
        }),
      );
      await asking.callAll();
      return asking.found(epoch);
    });
    return together(epoch, await Promise.all(found));
  });
}

function together(epoch: Epoch, all: readonly Found[]): Found {
  return {
    later: latestOf(
      epoch,
      all.flatMap(({ later }) => later ?? []),
    ),
    named: all.flatMap(({ named }) => named),
    deniers: all.flatMap(({ deniers }) => deniers),
    unreached: all.flatMap(({ unreached }) => unreached),
    demoted: all.find(({ demoted }) => demoted !== null)?.demoted ?? null,
  };
}

type Exchange = (addresses: readonly string[], member: DialledMember) => Promise<Answered | null>;

interface Called {
  readonly sibling: Sibling;
  answer: Answered | null;
}

/** All at once; whom an answer names, and nobody has called, is called when it comes. */
class Asking {
  readonly #others: Others;
  readonly #exchange: Exchange;
  readonly #called: Called[] = [];
  readonly #primary: Called = { sibling: PRIMARY, answer: null };

  constructor(others: Others, call: Exchange) {
    this.#others = others;
    this.#exchange = call;
  }

  async callAll(): Promise<void> {
    const { member, siblings, primary } = this.#others;
    await Promise.all([
      this.#answered(this.#primary, this.#exchange(primary, member)),
      ...siblings.map((one) => this.#call(one)),
    ]);
  }

  async #call(sibling: Sibling): Promise<void> {
    const { addresses, serials } = sibling;
    const called: Called = { sibling, answer: null };
    this.#called.push(called);
    const beside = { ...this.#others.member, beside: true, serials } as const;
    await this.#answered(called, this.#exchange(addresses, beside));
  }

  async #answered(called: Called, answer: Promise<Answered | null>): Promise<void> {
    called.answer = await answer;
    const named = called.answer?.siblings ?? [];
    await Promise.all(named.flatMap((one) => (this.#isNew(one) ? [this.#call(one)] : [])));
  }

  /** Also one that has not answered, where another knows of a certificate or a place of it that is not known here. */
  #isNew(named: Sibling): boolean {
    if (this.#called.length >= MAX_CALLED) return false;
    if (named.serials.includes(this.#others.member.serial) || this.#isRevoked(named)) return false;
    const isMet = this.#called.some((one) => one.answer !== null && isOne(one.sibling, named));
    const known = this.#called.flatMap(({ sibling }) => [...sibling.serials, ...sibling.addresses]);
    return !isMet && [...named.serials, ...named.addresses].some((one) => !known.includes(one));
  }

  /** Whoever names it may not have heard of it. A member that is known here has other certificates beside that. */
  #isRevoked(named: Sibling): boolean {
    const { revoked, siblings } = this.#others;
    const isKnown = siblings.some((one) => isOne(one, named));
    return !isKnown && named.serials.some((serial) => revoked.includes(serial));
  }

  found(epoch: Epoch): Found {
    const all = [this.#primary, ...this.#called].flatMap(({ sibling, answer }) =>
      answer === null ? [] : [{ sibling, answer, revoked: this.#revokedIn(answer) }],
    );
    return {
      later: latestOf(
        epoch,
        all.flatMap(({ answer: { leading }, revoked }) =>
          revoked.has(leading.cluster) ? [] : [leading],
        ),
      ),
      named: all.flatMap(({ sibling, answer, revoked }) =>
        answer.candidates
          .filter((cluster) => !revoked.has(cluster))
          .map((cluster) => ({ by: sibling.serials.join(), cluster })),
      ),
      deniers: all.flatMap(({ sibling, answer: { cluster, candidates } }) => {
        const isItself = sibling.cluster === "" || sibling.cluster === cluster;
        return candidates.includes(cluster) || !isItself ? [] : [cluster];
      }),
      unreached: this.#silent(),
      demoted: this.#primary.answer === null ? (this.#others.primary[0] ?? null) : null,
    };
  }

  /** Clusters that whoever answers knows by certificates that were revoked. */
  #revokedIn({ siblings }: Answered): ReadonlySet<string> {
    const revoked = siblings.filter((one) => one.cluster !== "" && this.#isRevoked(one));
    return new Set(revoked.map(({ cluster }) => cluster));
  }

  /** Each once, and none that has answered elsewhere. */
  #silent(): string[] {
    const over = this.#called.flatMap((one) => (one.answer === null ? [] : [one.sibling]));
    return this.#called.flatMap(({ sibling }) => {
      if (over.some((one) => isOne(one, sibling))) return [];
      over.push(sibling);
      return [sibling.addresses[0] ?? ""];
    });
  }
}

function isOne(one: Sibling, other: Sibling): boolean {
  return one.serials.some((serial) => other.serials.includes(serial));
}

function latestOf(own: Epoch, known: readonly Epoch[]): Epoch | null {
  return known.reduce<Epoch | null>(
    (last, leading) => (isNext(last ?? own, leading) ? leading : last),
    null,
  );
}

/** Whoever takes longer does not answer. */
export async function within<T>(
  { timers }: Pick<FencingWorld, "timers">,
  time: Nanos,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const late = new AbortController();
  const timer = timers.after(time, () => late.abort());
  try {
    return await work(late.signal);
  } finally {
    timer.cancel();
  }
}
