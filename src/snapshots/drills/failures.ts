// Every way in which drills of the server refuse.

import { Failure } from "@holdfast/shared/failure";

/**
 * @code snapshot-drill-busy Another drill is under way.
 * @remedy Wait until it has ended.
 */
export function drillBusy(): Failure {
  const message = "a drill of another configuration is under way; wait until it has ended";
  return new Failure("unavailable", "snapshot-drill-busy", message, { retryAfter: 10 });
}

/**
 * @code snapshot-drill-not-made A snapshot could not be read back from where it is stored, so nothing was found out.
 * @remedy Mend what the text says; it is tried again by itself where the configuration has drills.
 */
export function drillNotMade(why: string): Failure {
  return new Failure("upstream", "snapshot-drill-not-made", `the drill could not be made: ${why}`);
}
