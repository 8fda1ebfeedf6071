// What the other members of a set know before one of them is promoted: who leads by now, and who is about to be promoted as well.
// Each may name others that are not known here: those are called too.

import { SECOND } from "@holdfast/shared/text/duration";
import type { Nanos } from "@holdfast/shared/world";
import type { Candidacy } from "../roles/candidates.ts";
import { type Epoch, isNext } from "../roles/role.ts";
import type { Sibling } from "../stream/messages.ts";
import { type Answered, exchange, type FencingWorld } from "./fencing.ts";
import type { Upstream } from "./upstream.ts";

/** For those that are known, and again for those that they name. */
const WITHIN: Nanos = 3n * SECOND;

/** Whom to call. */
export interface Others {
  readonly member: Upstream["member"];
  readonly siblings: readonly Sibling[];
  /** Where the primary is, if it was demoted: its operators may promote it again. */
  readonly primary: readonly string[];
}

export interface Found {
  /** The last epoch that one of them knows of, where it is later than the own. */
  readonly later: Epoch | null;
  /** Who is about to be promoted, as they say; and who of them is not. */
  readonly named: readonly string[];
  readonly deniers: readonly string[];
  /** Where those are that did not answer; empty where nobody knows that. */
  readonly unreached: readonly string[];
  /** Where the primary is, if it was demoted and did not answer; else null. */
  readonly demoted: string | null;
}

/** `epoch`: the last that is known here. */
export async function callOthers(
  { member, siblings, primary }: Others,
  epoch: Epoch,
  candidacy: Candidacy,
  world: FencingWorld,
): Promise<Found> {
  const all = async (called: readonly Sibling[], also: readonly Promise<Answered | null>[]) => {
    const calls = called.map((one) => within(world, (signal) => call(one, signal)));
    return await Promise.all([...calls, ...also]);
  };
  const call = ({ addresses, serials }: Sibling, signal: AbortSignal) => {
    const beside = { ...member, beside: true, serials } as const;
    return exchange(addresses, beside, epoch, world, { candidacy, signal });
  };
  const former = within(world, (signal) =>
    exchange(primary, member, epoch, world, { candidacy, signal }),
  );
  const first = await all(siblings, [former]);
  const further = unknown(siblings, member.serial, first);
  const second = await all(further, []);
  const answers = [...first, ...second].filter((one) => one !== null);
  return {
    later: latestOf(epoch, answers),
    named: [...new Set(answers.flatMap(({ candidates }) => candidates))],
    deniers: answers.flatMap(({ cluster, candidates }) =>
      candidates.includes(cluster) ? [] : [cluster],
    ),
    unreached: silent([...siblings, ...further], [...first.slice(0, siblings.length), ...second]),
    demoted: first[siblings.length] === null ? (primary[0] ?? null) : null,
  };
}

/** Those that the others name, each once; also one that has not answered, where another knows of a certificate or a place of it that
 *  is not known here. */
function unknown(
  siblings: readonly Sibling[],
  own: string,
  answers: readonly (Answered | null)[],
): readonly Sibling[] {
  const met = siblings.filter((_, i) => answers[i] !== null);
  const over = new Set([own, ...met.flatMap(({ serials }) => serials)]);
  const tried = new Set(siblings.flatMap(({ serials, addresses }) => [...serials, ...addresses]));
  return answers.flatMap((answer) =>
    (answer?.siblings ?? []).filter(({ serials, addresses }) => {
      const isNew = [...serials, ...addresses].some((one) => !tried.has(one));
      if (!isNew || serials.some((serial) => over.has(serial))) return false;
      for (const serial of serials) over.add(serial);
      return true;
    }),
  );
}

/** Each once, and none that has answered elsewhere. */
function silent(called: readonly Sibling[], answers: readonly (Answered | null)[]): string[] {
  const over = new Set(called.flatMap(({ serials }, i) => (answers[i] === null ? [] : serials)));
  return called.flatMap(({ addresses, serials }) => {
    if (serials.some((serial) => over.has(serial))) return [];
    for (const serial of serials) over.add(serial);
    return [addresses[0] ?? ""];
  });
}

function latestOf(own: Epoch, answers: readonly Answered[]): Epoch | null {
  return answers.reduce<Epoch | null>(
    (last, { leading }) => (isNext(last ?? own, leading) ? leading : last),
    null,
  );
}

/** Whoever takes longer does not answer. */
export async function within<T>(
  { timers }: Pick<FencingWorld, "timers">,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const late = new AbortController();
  const timer = timers.after(WITHIN, () => late.abort());
  try {
    return await work(late.signal);
  } finally {
    timer.cancel();
  }
}
