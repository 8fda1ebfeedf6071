// What the log of a primary says of others that lead, say to lead, or do not take this cluster for the one that does.

import { describe } from "@holdfast/shared/failure";
import type { Log } from "@holdfast/shared/log";
import { formerUnreachable } from "../failures.ts";
import type { Standing } from "../status/informed.ts";
import type { Epoch } from "./role.ts";

export function tellRumour(log: Log, { number: epoch, cluster }: Epoch): void {
  log.warn("a secondary has heard that another cluster leads, which was not reached itself", {
    epoch,
    cluster,
    remedy:
      "where that one is to lead, demote this cluster; else have that secondary follow this one",
  });
}

/** Its operators have said that they decide. */
export function tellKeepsOn(log: Log, { number: epoch, cluster }: Epoch): void {
  log.error("another cluster of the set leads by now, and accept_fence is off", {
    epoch,
    cluster,
    remedy: "demote this cluster, or disable its role",
  });
}

/** The certificates of who says so are of a primary that was revoked here. */
export function tellUnproved(log: Log, { number: epoch, cluster }: Epoch): void {
  log.error("another cluster says to lead, and is known by a primary that was revoked", {
    epoch,
    cluster,
    remedy:
      "where that one is to lead, demote this cluster; else demote that one, and give it a token",
  });
}

/** It writes nothing any more, and does not follow this cluster by itself. */
export function tellMisled(log: Log, { number: epoch, cluster }: Epoch): void {
  log.error("the primary of before takes a cluster for its successor that was revoked here", {
    epoch,
    cluster,
    remedy: "demote that primary, and have it follow this one: update-primary with force",
  });
}

/** It goes on writing where it runs. */
export function tellUnreached(log: Log): void {
  const cause = describe(formerUnreachable());
  log.error("the primary of before has not heard yet that this cluster leads", { cause });
}

/** The primary of before answers, and takes no word of this cluster. */
export function tellRefused(log: Log, cluster: string): void {
  log.error("the primary of before refuses this cluster: it was revoked there", {
    event: "replication.former-refuses",
    cluster,
    remedy:
      "look there who has done it, its operators or another cluster that says to lead; demote that primary, and have it follow this one",
  });
}

/** It had heard that this cluster leads. */
export function tellLost(
  log: Log,
  { id: name, cluster }: { readonly id: string; readonly cluster: string },
  { follows, refuses }: Standing,
): void {
  log.error("a member that had heard that this cluster leads takes another one for the primary", {
    event: "replication.member-lost",
    name,
    cluster,
    ...(follows === "" ? {} : { follows }),
    refuses,
    remedy:
      "revoke the primary of before here, by the id of its cluster, where it is not to be believed; then have that member follow this one: update-primary with force",
  });
}
