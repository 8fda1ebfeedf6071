// What the other members of a set know before one of them is promoted: who leads by now, and who is about to be promoted as well.
// Each may name others that are not known here: those are called too, unless they were revoked.

import type { FormerPlace } from "../../cluster/hello.ts";
import type { Nanos } from "@holdfast/shared/world";
import type { Candidacy, Word } from "../roles/candidates.ts";
import { type Epoch, latestOf } from "../roles/role.ts";
import { ANSWERS_WITHIN } from "../silence.ts";
import { type Sibling, SIBLINGS } from "../stream/messages.ts";
import { hasCode } from "../stream/receiving.ts";
import type { DialledMember } from "./dialing.ts";
import { type Answered, exchange, type FencingWorld } from "./fencing.ts";
import type { Upstream } from "./upstream.ts";

/** Whom to call, and by what they know this cluster. */
export interface Others {
  readonly member: Upstream["member"];
  /** Where that certificate says nothing to them: what shows whose it is. */
  readonly formers?: readonly FormerPlace[];
  readonly siblings: readonly Sibling[];
  /** Serials that the primary has revoked, as far as is known here: others may not have heard of it. */
  readonly revoked: readonly string[];
  /** Their clusters, as far as they are known: others may take one of them for the primary, and not say by which certificate. */
  readonly revokedClusters: readonly string[];
  /** Where the primary is, if it was demoted: its operators may promote it again. */
  readonly primary: readonly string[];
}

/** What one of them has answered. */
export interface Said {
  readonly leading: Epoch;
  /** Whether it is the one that leads, or shows what that one's authority has signed, which is trusted here. */
  readonly isItself: boolean;
}

export interface Found {
  /** Without what is said of clusters that were revoked. */
  readonly said: readonly Said[];
  /** The last epoch that one of them knows of, where it is later than the own. */
  readonly later: Epoch | null;
  /** Who is about to be promoted, as they say; and who of them is not. */
  readonly named: readonly Word[];
  readonly deniers: readonly string[];
  /** Where those are that did not answer; empty where nobody knows that. */
  readonly unreached: readonly string[];
  /** The same of those that are not known here, and were only named by others. */
  readonly unreachedNamed: readonly string[];
  /** Where the primary is, if it was demoted and did not answer; else null. */
  readonly demoted: string | null;
  /** Where of all these somebody is there, and sealed. */
  readonly sealed: readonly string[];
}

/** Who answers may name whom it likes: so many of those that nobody has named before count. */
const MAX_NAMED = 16;
const MAX_CALLED = 2 * SIBLINGS;
const PRIMARY: Sibling = { id: "", cluster: "", serials: [], addresses: [], digests: [] };

/** `epoch`: the last that is known here. `time`: for all of them. */
export async function callOthers(
  all: readonly Others[],
  epoch: Epoch,
  candidacy: Candidacy,
  world: FencingWorld,
  time: Nanos = ANSWERS_WITHIN,
): Promise<Found> {
  return await within(world, time, async (signal) => {
    const found = all.map(async (others) => {
      const { formers = [] } = others;
      const sealed = new Set<string>();
      const failed = (address: string, error: unknown) => {
        if (hasCode(error, "peer-sealed")) sealed.add(address);
      };
      const asking = new Asking(others, (addresses, member) =>
        exchange(addresses, member, epoch, world, {
          candidacy,
          signal,
          formers,
          isHurried: true,
          failed,
        }),
      );
      await asking.callAll();
      return { ...asking.found(epoch), sealed: [...sealed] };
    });
    return together(epoch, await Promise.all(found));
  });
}

function together(epoch: Epoch, all: readonly Found[]): Found {
  return {
    said: all.flatMap(({ said }) => said),
    later: latestOf(
      epoch,
      all.flatMap(({ later }) => later ?? []),
    ),
    named: all.flatMap(({ named }) => named),
    deniers: all.flatMap(({ deniers }) => deniers),
    unreached: all.flatMap(({ unreached }) => unreached),
    unreachedNamed: all.flatMap(({ unreachedNamed }) => unreachedNamed),
    demoted: all.find(({ demoted }) => demoted !== null)?.demoted ?? null,
    sealed: all.flatMap(({ sealed }) => sealed),
  };
}

type Exchange = (addresses: readonly string[], member: DialledMember) => Promise<Answered | null>;

interface Called {
  readonly sibling: Sibling;
  /** Only others have named it. */
  readonly isNamed: boolean;
  answer: Answered | null;
}

/** All at once; whom an answer names, and nobody has called, is called when it comes. */
class Asking {
  readonly #others: Others;
  readonly #exchange: Exchange;
  readonly #called: Called[] = [];
  readonly #primary: Called = { sibling: PRIMARY, isNamed: false, answer: null };

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

  async #call(sibling: Sibling, { isNamed = false } = {}): Promise<void> {
    const { addresses, serials, digests } = sibling;
    const called: Called = { sibling, isNamed, answer: null };
    this.#called.push(called);
    const beside = { ...this.#others.member, beside: true, serials, digests } as const;
    await this.#answered(called, this.#exchange(addresses, beside));
  }

  async #answered(called: Called, answer: Promise<Answered | null>): Promise<void> {
    called.answer = await answer;
    const named = called.answer?.siblings ?? [];
    const calls: Promise<void>[] = [];
    for (const one of named) {
      if (calls.length < MAX_NAMED && this.#isNew(one))
        calls.push(this.#call(one, { isNamed: true }));
    }
    await Promise.all(calls);
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
    const { revoked, revokedClusters, siblings } = this.#others;
    const isKnown = siblings.some((one) => isOne(one, named));
    const isSaid = named.serials.some((serial) => revoked.includes(serial));
    return !isKnown && (isSaid || revokedClusters.includes(named.cluster));
  }

  found(epoch: Epoch): Omit<Found, "sealed"> {
    const all = [this.#primary, ...this.#called].flatMap(({ sibling, answer }) =>
      answer === null ? [] : [{ sibling, answer, revoked: this.#revokedIn(answer) }],
    );
    const said = all.flatMap(({ sibling, answer, revoked }) => {
      const { leading, leads, cluster, isProved } = answer;
      if (revoked.has(leading.cluster)) return [];
      const isItself = leads && cluster === leading.cluster && isCluster(sibling, cluster);
      return [{ leading, isItself: isItself || isProved }];
    });
    return {
      said,
      later: latestOf(
        epoch,
        said.map(({ leading }) => leading),
      ),
      named: all.flatMap(({ sibling, answer, revoked }) =>
        answer.candidates
          .filter((cluster) => !revoked.has(cluster))
          .map((cluster) => ({ by: sibling.serials.join(), cluster })),
      ),
      deniers: deniersOf(all, epoch),
      ...this.#silent(),
      demoted: this.#primary.answer === null ? (this.#others.primary[0] ?? null) : null,
    };
  }

  /** Those, and clusters that whoever answers knows by certificates that were revoked. */
  #revokedIn({ siblings }: Answered): ReadonlySet<string> {
    const revoked = siblings.filter((one) => one.cluster !== "" && this.#isRevoked(one));
    return new Set([...this.#others.revokedClusters, ...revoked.map(({ cluster }) => cluster)]);
  }

  /** Each once, and none that has answered elsewhere. */
  #silent(): Pick<Found, "unreached" | "unreachedNamed"> {
    const over = this.#called.flatMap((one) => (one.answer === null ? [] : [one.sibling]));
    const silent = this.#called.filter(({ sibling }) => {
      if (over.some((one) => isOne(one, sibling))) return false;
      over.push(sibling);
      return true;
    });
    const placesOf = (isNamed: boolean) =>
      silent
        .filter((one) => one.isNamed === isNamed)
        .map(({ sibling }) => sibling.addresses[0] ?? "");
    return { unreached: placesOf(false), unreachedNamed: placesOf(true) };
  }
}

/** Who says of itself that it does not stand. One whose cluster is not known speaks for none, and one that stands by another answer is not
 *  denied: whoever greets with its name would take it out of the way. */
function deniersOf(
  all: readonly { readonly sibling: Sibling; readonly answer: Answered }[],
  { cluster: primary }: Epoch,
): string[] {
  const own = all.flatMap(({ sibling, answer }) => {
    const known = sibling === PRIMARY ? primary : sibling.cluster;
    return known === answer.cluster ? [answer] : [];
  });
  const stands = ({ cluster, candidates }: Answered) => candidates.includes(cluster);
  const standing = new Set(own.filter(stands).map(({ cluster }) => cluster));
  return own.map(({ cluster }) => cluster).filter((cluster) => !standing.has(cluster));
}

/** Whether it may say so, by what is known of it. */
function isCluster(sibling: Sibling, cluster: string): boolean {
  return sibling.cluster === "" || sibling.cluster === cluster;
}

function isOne(one: Sibling, other: Sibling): boolean {
  return one.serials.some((serial) => other.serials.includes(serial));
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
