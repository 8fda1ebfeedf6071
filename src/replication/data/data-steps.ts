// What becomes of the data, and of the rooms around it, when the role of the cluster changes. By kind: a disaster-recovery secondary
// writes nothing of it, and one of the other kind nothing that is shared.

import type { Failure } from "@holdfast/shared/failure";
import type { Instant } from "@holdfast/shared/world";
import type { Tx } from "../../barrier/view.ts";
import type { Following } from "../following.ts";
import type { TookOver } from "./log-times.ts";
import type { LinkedOptions } from "../options.ts";
import type { Changes } from "../roles/changes.ts";
import type { Promoting, Role } from "../roles/role.ts";
import type { StoredRole } from "../roles/stored-role.ts";

export interface DataParts {
  readonly options: LinkedOptions;
  readonly role: StoredRole;
  readonly changes: Changes;
  readonly following: Following;
}

export interface Entered {
  /** The data is another cluster's, or is not to be changed. */
  readonly following: boolean;
  /** Nothing opens but what runs the node. */
  readonly secondary: boolean;
}

export interface DataSteps {
  /** When this cluster took the place of another, as far as its log tells; null where it never has. */
  readonly tookOver: TookOver | null;
  /** When this cluster began to write what is shared in the place of another one; null where it has not. */
  readonly sharedSince: Instant | null;
  /** How late it is by the log of whom it takes the place of; null but while it does. */
  readonly goesOnAt: Instant | null;
  /** Whether nothing of it may be written here. */
  readonly isStopped: boolean;
  /** Whether what is here is half of what the primary has. */
  readonly isHalf: boolean;
  /** With the keys, and before any room. `stopped`: there for a primary that may not write now, for whoever tries. */
  enter(role: Role, stopped: (() => Failure) | null): Promise<Entered>;
  /** Whether a promotion or a leave that a crash has interrupted came so far. */
  hasBegun(role: Role): boolean;
  /** From here on the data is this cluster's own; where that fails, it is a secondary as before. Gives the time of the log; null where
   *  that is this cluster's own. */
  begin(what: Omit<Promoting, "logEpoch">): Promise<Instant | null>;
  /** The first index of the epoch that has begun, and who has led before; `own`: the same index in the log here, where that is another. */
  begun(): { readonly first: string; readonly before: string; readonly own?: string };
  /** With the role that says so: since when it is. */
  mark(tx: Tx): void;
  /** The rooms open with it. */
  take(time: Instant | null): Promise<void>;
  /** It will not be changed here any more: the rooms rest. */
  yield(): Promise<void>;
  /** After that, and with the role: it is another cluster's, or nobody's, from here on. */
  follow(): Promise<void>;
  /** After that: the rooms go on as they do at a secondary. */
  stay(): Promise<void>;
  /** Somebody else leads, as was just heard: reads go on. */
  stop(): Promise<void>;
  /** It is this cluster's again, and nobody else has led since. */
  leadAgain(): Promise<void>;
}
