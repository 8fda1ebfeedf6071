// When the other side counts as gone: a secondary for its primary, and a primary for its secondary.

import { SECOND } from "@holdfast/shared/text/duration";
import type { Nanos, Timer, Timers } from "@holdfast/shared/world";
import type { PeerLink } from "../cluster/peer-link.ts";
import { sleep } from "./stream/receiving.ts";

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

/** Without a byte where an answer is due. */
const QUIET: Nanos = SECOND;
/** For a ping to come back, between two calls beside it, and after such a call was answered: that has gone to and fro more often than a ping. */
const MOMENT: Nanos = SECOND / 2n;

/** Resolves when a connection is dead while its peer is there. Packets that were dropped come again ever later, or never, so whoever waits for them hears nothing
 *  for as long as it was cut off once the way is whole again; and what forgets a connection on the way, as firewalls do, drops what is sent by it for ever.
 *  It is dead where nothing comes by a link on which an answer is due, not even for a ping, and its peer answers beside it. A peer that answers nowhere
 *  is waited for: then no other connection is better. Rejects with the signal's reason. */
export async function deadWay(
  timers: Timers,
  link: Pick<PeerLink, "came" | "ping">,
  answersBeside: (signal: AbortSignal) => Promise<boolean>,
  signal: AbortSignal,
): Promise<void> {
  for (let came = link.came; ; came = link.came) {
    await sleep(timers, QUIET, signal);
    if (link.came !== came) continue;
    link.ping();
    await sleep(timers, MOMENT, signal);
    while (link.came === came) {
      const isThere = await answersBeside(signal);
      await sleep(timers, MOMENT, signal);
      if (isThere && link.came === came) return;
    }
  }
}
