// A primary that is started: another cluster may lead by now, where this one was away, or is an older copy of what it was. Its
// secondaries are called before it writes.

import { SECOND } from "@holdfast/shared/text/duration";
import type { Nanos } from "@holdfast/shared/world";
import { storedSecondaries } from "../joining/primary-rows.ts";
import { type Epoch, isOlder, latestOf, type Primary } from "../roles/role.ts";
import { callOthers, type Said } from "./asking.ts";
import type { FencingWorld } from "./fencing.ts";
import { ownSecondaries, type OthersWorld } from "./others.ts";

/** For all of them: nobody is served meanwhile. Who is there answers in less, and who leads calls this cluster later as well. */
const COMES_UP_WITHIN: Nanos = 3n * SECOND;

export interface AtStart {
  /** It says itself that it leads. */
  readonly leader: Epoch | null;
  /** Others have heard that it does. */
  readonly rumour: Epoch | null;
}

/** Who leads instead of this primary, as far as its secondaries say. At once where there are none. */
export async function leaderAtStart(
  { set, epoch }: Primary,
  world: FencingWorld & OthersWorld,
): Promise<AtStart> {
  const isReachable = storedSecondaries(world.view).some(({ addresses }) => addresses.length > 0);
  const others = isReachable ? await ownSecondaries(set, world) : null;
  if (others === null) return { leader: null, rumour: null };
  const { said } = await callOthers([others], epoch, "asks", world, COMES_UP_WITHIN);
  return leaderBy(epoch, said);
}

/** As while it runs, a primary stops for nobody but who says itself that it leads: what another has heard may be long over, or a lie,
 *  and nobody would lead then. */
export function leaderBy(own: Epoch, said: readonly Said[]): AtStart {
  const of = (counts: (one: Said) => boolean) =>
    latestOf(
      own,
      said.filter(counts).map(({ leading }) => leading),
    );
  const isFollowed = said.some(({ leading }) => !isOlder(own, leading) && !isOlder(leading, own));
  return {
    leader: of(({ isItself }) => isItself),
    rumour: isFollowed ? null : of(({ isItself }) => !isItself),
  };
}
