// What a cluster that leaves shared data to another one has of that one. Whoever holds the link and takes the rows
// offers it.

import type { Failure } from "@holdfast/shared/failure";
import type { JsonObject } from "@holdfast/shared/json/json";
import { SECOND } from "@holdfast/shared/text/duration";
import type { Instant, Nanos } from "@holdfast/shared/world";
import { orAborted } from "../base/or-aborted.ts";
import type { PeerLink } from "../cluster/peer-link.ts";
import { Status, StatusError } from "@holdfast/shared/grpc/status";
import { FairLine } from "@holdfast/shared/fair-line";
import { primaryBusy, primaryLost, primaryUnreachable } from "./failures.ts";
import {
  ask,
  findToken,
  forward,
  type ForwardAnswer,
  type ForwardedRequest,
  takeUse,
} from "./messages.ts";

export interface Primary {
  /** Name of its region; empty while it is not known. */
  readonly region: string;
  /** Throws a Failure: `primaryUnreachable` where nothing can have been done there, else `primaryLost`. Asks once. `isNamed`: the client
   *  has named that region, which may wait with its answer. */
  call(request: ForwardedRequest, signal: AbortSignal, isNamed: boolean): Promise<ForwardAnswer>;
  /** Has the engine of a mount there take a use of what it counts. Throws as `call` does, and asks once. */
  takeUse(mount: string, what: JsonObject): Promise<boolean>;
  /** Up to which of its indexes what it has written must be here for a global token with that salted hash of its secret; null: it has none.
   *  Throws as `call` does. `address`: of whoever shows it, for taking turns. */
  knows(hash: string, address: string, signal: AbortSignal): Promise<bigint | null>;
  /** Whether what it writes comes here now. */
  readonly isRunning: boolean;
  /** When something came last; null: never. */
  readonly lastSuccess: Instant | null;
  /** When that failed last, and why; null: never. */
  readonly lastError: { readonly at: Instant; readonly message: string } | null;
  /** Whether its rows here are of different indexes: some of a comparison are there, and others are not. */
  readonly isTorn: boolean;
  /** Whether they are of one, as soon as they are, and false when the time is over. */
  whole(within: Nanos, signal: AbortSignal): Promise<boolean>;
  /** How old what it has written may be here; null where nobody knows. */
  readonly age: Nanos | null;
  /** Whether something that it has written has come, and is not applied for want of room on the disk. */
  readonly lacksRoom: boolean;
  /** Its last index that is applied here. */
  readonly applied: bigint;
  /** Which primary of the set it is. */
  readonly epoch: number;
  /** Whether it is applied up to there, as soon as it is, and false when the time is over. */
  appliedUpTo(index: bigint, within: Nanos, signal: AbortSignal): Promise<boolean>;
}

/** For whom there is no place at once. */
const USES = { waiting: 1024, waitingPerAddress: 1024 };
/** Nobody waits longer for a login. */
const USE_WITHIN: Nanos = 10n * SECOND;

/** Questions after a token that wait for a place. */
const FINDS = { waiting: 256, waitingPerAddress: 64 };

/** Where the primary says these it has not looked at the request. An answer that is too long, or none, ends a call with some of them too: then
 *  nobody has said so. */
const NOT_TAKEN: ReadonlySet<number> = new Set([
  Status.unimplemented, // by a primary of an earlier version, which has no such method
  Status.permissionDenied,
  Status.unauthenticated,
  Status.resourceExhausted,
  Status.invalidArgument,
  Status.failedPrecondition,
]);

/** Over the link that there is at that moment; null where there is none. `why`: what is wrong there, where more is known than that. */
export function callsOver(
  link: () => PeerLink | null,
  why: () => Failure | null = () => null,
): Pick<Primary, "call" | "takeUse" | "knows"> {
  const { atOnce } = takeUse;
  const line = new FairLine({ ...USES, atOnce, atOncePerAddress: atOnce }, primaryBusy);
  const finds = { ...FINDS, atOnce: findToken.atOnce, atOncePerAddress: findToken.atOnce - 1 };
  const finding = new FairLine(finds, primaryBusy);
  const opened = () => {
    const open = link();
    if (open === null || open.closed === null) throw why() ?? primaryUnreachable();
    return open;
  };
  return {
    call: async (request, signal, isNamed) => {
      const open = opened();
      try {
        return await open.call(isNamed ? ask : forward, request, { signal });
      } catch (error) {
        signal.throwIfAborted(); // who asked has gone
        throw notAnswered(error);
      }
    },
    takeUse: (mount, what) =>
      line.run({ waitFor: (turn) => turn }, "", async () => {
        const open = opened();
        const request = { mount, what: JSON.stringify(what) };
        try {
          return (await open.call(takeUse, request, { timeout: USE_WITHIN })).isTaken;
        } catch (error) {
          throw notAnswered(error);
        }
      }),
    knows: (hash, address, signal) =>
      finding.run({ waitFor: (turn) => orAborted(turn, signal) }, address, async () => {
        const open = opened();
        try {
          const { isKnown, shared } = await open.call(findToken, { hash }, { signal });
          return isKnown ? shared : null;
        } catch (error) {
          throw notAnswered(error);
        }
      }),
  };
}

function notAnswered(error: unknown): Failure {
  const isSaid = error instanceof StatusError && error.isSaid;
  return isSaid && NOT_TAKEN.has(error.status) ? primaryUnreachable(error) : primaryLost(error);
}
