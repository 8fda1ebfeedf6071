// When the other side counts as gone: a secondary for its primary, and a primary for its secondary.

import { SECOND } from "@holdfast/shared/text/duration";
import type { Nanos, Timer, Timers } from "@holdfast/shared/world";
import type { PeerLink } from "../cluster/peer-link.ts";

/** After so long without a word. */
export const SILENCE: Nanos = 15n * SECOND;

/** For somebody that is called before a promotion to say how it is; for all of them, also those that others name. Where it takes some
 *  turns to and fro a link across the world takes seconds; who is taken for silent may lead, or be promoted at the same moment. */
export const ANSWERS_WITHIN: Nanos = 5n * SECOND;
/** For anything at all to come back, and for a connection to stand, at each address: nobody is served while a promotion waits for one
 *  that is dead. */
const REACHED_WITHIN: Nanos = SECOND;
const MET_WITHIN: Nanos = 2n * SECOND;

/** Gives up a link that is being opened where nobody is there. To be cancelled when it is open, or has failed. */
export function unlessSilent(
  timers: Pick<Timers, "after">,
  link: () => Pick<PeerLink, "isReached" | "hasMet"> | null,
  giveUp: () => void,
): Timer {
  let timer = timers.after(REACHED_WITHIN, () => {
    if (link()?.isReached !== true) return giveUp();
    timer = timers.after(MET_WITHIN - REACHED_WITHIN, () => {
      if (link()?.hasMet !== true) giveUp();
    });
  });
  return { cancel: () => timer.cancel() };
}
