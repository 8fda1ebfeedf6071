// Every way the roles of replication refuse.

import { Failure } from "@holdfast/shared/failure";
import type { ReplicationKind } from "../cluster/names.ts";

/** As people read them. */
export const NAMES: Readonly<Record<ReplicationKind, string>> = {
  dr: "disaster-recovery",
  performance: "performance",
};

/**
 * @code replication-primary-already This cluster is a primary already.
 * @remedy Nothing needs to be done; its status shows the set.
 */
export function primaryAlready(kind: ReplicationKind = "dr"): Failure {
  return new Failure(
    "invalid",
    "replication-primary-already",
    `this cluster is a primary already; sys/replication/${kind}/status shows its set`,
  );
}

/**
 * @code replication-promote-instead A secondary does not become a primary by being enabled as one.
 * @remedy Promote it with sys/replication/dr/secondary/promote.
 */
export function promoteInstead(kind: ReplicationKind = "dr"): Failure {
  return new Failure(
    "invalid",
    "replication-promote-instead",
    `this cluster is a secondary: promote it instead (sys/replication/${kind}/secondary/promote)`,
  );
}

/**
 * @code replication-not-primary Only a primary does that.
 * @remedy Send it to the primary; the status of each cluster says what it is.
 */
export function notPrimary(kind: ReplicationKind = "dr"): Failure {
  return new Failure(
    "invalid",
    "replication-not-primary",
    `this cluster is not a primary of ${NAMES[kind]} replication`,
  );
}

/**
 * @code replication-secondary-already A secondary was asked for what a primary does, or to join once more.
 * @remedy Send it to the primary; to follow another one use `update-primary`, to join another set disable the role first.
 */
export function secondaryAlready(kind: ReplicationKind = "dr"): Failure {
  return new Failure(
    "invalid",
    "replication-secondary-already",
    `this cluster is a secondary, which does not do that: its primary does, or a cluster of its own (sys/replication/${kind}/secondary/disable)`,
  );
}

/**
 * @code replication-not-secondary Only a secondary does that.
 * @remedy Send it to the secondary; the status of each cluster says what it is.
 */
export function notSecondary(kind: ReplicationKind = "dr"): Failure {
  return new Failure(
    "invalid",
    "replication-not-secondary",
    `this cluster is not a secondary of ${NAMES[kind]} replication`,
  );
}

/**
 * @code replication-role-taken A cluster that replicates cannot join another one.
 * @remedy Disable its role first. Joining takes the place of all of its data.
 */
export function roleTaken(mode: string, kind: ReplicationKind | null = null): Failure {
  const what = kind === null ? "" : ` of ${NAMES[kind]} replication`;
  return new Failure(
    "invalid",
    "replication-role-taken",
    `this cluster is ${mode === "secondary" ? "a secondary" : "a primary"}${what} already: disable that first`,
  );
}

/**
 * @code replication-role-changing The role of this cluster changes at this moment.
 * @remedy Try again in a second.
 */
export function roleChanging(): Failure {
  return new Failure(
    "unavailable",
    "replication-role-changing",
    "the role of this cluster changes at this moment; try again in a second",
    { retryAfter: 1 },
  );
}

/**
 * @code replication-epoch-superseded A primary of an earlier epoch was named, after a later one was known.
 * @remedy Take a token of the primary that was promoted last. Where nobody leads in that epoch, `update-primary` with `force` gives
 * it up.
 */
export function epochSuperseded(found: number, known: number): Failure {
  return new Failure(
    "invalid",
    "replication-epoch-superseded",
    `that primary is superseded: its epoch is ${found}, and one of epoch ${known} is known here`,
  );
}

/**
 * @code replication-other-set The primary that was named is of another replication set.
 * @remedy Take a token of the set that this cluster belongs to, or join the other one with secondary/enable, which
 * takes the place of all data.
 */
export function otherSet(): Failure {
  return new Failure(
    "invalid",
    "replication-other-set",
    "that primary is of another replication set; only secondary/enable joins another one, and replaces all data",
  );
}

/**
 * @code replication-primary-unknown A secondary without a primary cannot be moved to another address.
 * @remedy Name the primary by a token (update-primary with `token`).
 */
export function primaryUnknown(): Failure {
  return new Failure(
    "invalid",
    "replication-primary-unknown",
    "this cluster has no credentials of a primary: name it by a token of its own",
  );
}

/**
 * @code replication-address-unusable An address of a cluster port is not one.
 * @remedy Write it as https://host:port; the port is that of `cluster_address`.
 */
export function addressUnusable(): Failure {
  return new Failure(
    "invalid",
    "replication-address-unusable",
    "that is no address of a cluster port; expected https://host:port",
  );
}

/**
 * @code replication-address-uncalled The address that secondaries are to come to is one that no cluster calls.
 * @remedy Name an address of this cluster's own port: link-local addresses, and those that stand for no single host, are called by nobody.
 */
export function addressUncalled(): Failure {
  return new Failure(
    "invalid",
    "replication-address-uncalled",
    "primary_cluster_addr: no cluster calls link-local or metadata addresses, or those of no single host; expected the address of this cluster's own port",
  );
}

/**
 * @code replication-port-uncalled Secondaries would be sent to the address of the listener, which no cluster calls.
 * @remedy Set `cluster_addr` to an address at which others reach the cluster port: 0.0.0.0 and [::] stand for no single host.
 */
export function portUncalled(): Failure {
  return new Failure(
    "invalid",
    "replication-port-uncalled",
    "secondaries would be sent to the address of the listener, which no cluster calls; expected cluster_addr in the configuration, or primary_cluster_addr",
  );
}

/**
 * @code replication-own-address The address that was named for the primary is that of this cluster itself.
 * @remedy Name the address of the other cluster: its status has it. Send the command to the other cluster where the two were mixed up.
 */
export function ownAddress(field: string): Failure {
  return new Failure(
    "invalid",
    "replication-own-address",
    `${field}: that is the address of this cluster itself; expected that of its primary, which is another cluster`,
  );
}

/**
 * @code replication-peer-unproven A primary has not proved what it says.
 * @remedy Look whether the address is that of the primary of this set; take a new token of it where it was promoted.
 */
export function peerUnproven(message: string): Failure {
  return new Failure("unavailable", "replication-peer-unproven", message);
}

/**
 * @code replication-no-cluster-port A primary needs a cluster port, and the configuration has none.
 * @remedy Add `cluster_address` to a listener, and start the server anew.
 */
export function noClusterPort(): Failure {
  return new Failure(
    "invalid",
    "replication-no-cluster-port",
    'this server has no cluster port: add cluster_address = "host:port" to a tcp listener and restart it',
  );
}

/**
 * @code replication-primary-refuses The primary was reached, and does not take this cluster: the text has its reason.
 * @remedy Do what the reason says. A token that was used by another cluster, has ended or was revoked needs another one: revoke the id
 * on the primary where it is taken, and make a new token. Nothing was changed.
 */
export function primaryRefuses(reason: string): Failure {
  return new Failure(
    "upstream",
    "replication-primary-refuses",
    `the primary refuses this cluster, and nothing was changed: ${reason}`,
  );
}

/**
 * @code replication-primary-unreachable The primary could not be reached.
 * @remedy Look at the address of its cluster port, whether it runs, and the network to it. Nothing was changed.
 */
export function primaryUnreachable(cause: string): Failure {
  return new Failure(
    "upstream",
    "replication-primary-unreachable",
    `the primary could not be reached, and nothing was changed: ${cause}`,
  );
}

/**
 * @code replication-fenced Another cluster of the set was promoted: this one writes nothing any more.
 * @remedy Demote this cluster and point it to the primary with a token (update-primary), or disable its role.
 */
export function fenced(kind: ReplicationKind = "dr"): Failure {
  const nothing = kind === "dr" ? "nothing" : "nothing that is shared";
  return new Failure(
    "unavailable",
    "replication-fenced",
    `this cluster is fenced: another one of its set leads, and ${nothing} is written here any more; demote it (sys/replication/${kind}/primary/demote) and let it follow that one (update-primary), or disable its role`,
  );
}

/**
 * @code replication-fenced-altogether A cluster in whose place another stands with all of its data is demoted as a whole.
 * @remedy Demote it in disaster recovery (`holdfast replication demote`), and let it follow that one; nothing is to be done in the performance set.
 */
export function fencedAltogether(): Failure {
  return new Failure(
    "invalid",
    "replication-fenced-altogether",
    "another cluster stands in the place of this one with all of its data: demote it in disaster recovery (sys/replication/dr/primary/demote), its place in the performance set has gone with it",
  );
}

/**
 * @code replication-fenced-revocation A primary that is fenced revokes nobody: others would not hear of it.
 * @remedy Revoke the secondary at the cluster that leads (`conflicting_primary` of the status), by the same id: it tells this cluster and the
 * other secondaries.
 */
export function fencedRevocation(): Failure {
  return new Failure(
    "unavailable",
    "replication-fenced-revocation",
    "this cluster is fenced and revokes nobody: revoke it at the cluster that leads (conflicting_primary of the status), by the same id; that one tells this cluster and the others",
  );
}

/**
 * @code replication-lease-lapsed This primary has reached no secondary for the time of `primary_lease`, and writes nothing until it
 * does: another cluster may have been promoted.
 * @remedy Look at the secondaries and the network to them. Where another cluster was promoted, demote this one; where the
 * secondaries are lost, revoke them, or take `primary_lease` out of the configuration.
 */
export function leaseLapsed(): Failure {
  return new Failure(
    "unavailable",
    "replication-lease-lapsed",
    "this primary reaches no secondary and writes nothing until it does (primary_lease)",
    { retryAfter: 5 },
  );
}

/**
 * @code replication-other-region A snapshot of another region is to be restored on a cluster that is in a performance set.
 * @remedy Restore it where the set has that region, or a snapshot of this one. Where this cluster is to take that region's place, it leaves the set first (performance disable).
 */
export function otherRegion(there: string, here: string): Failure {
  const message = `the snapshot is of the region ${JSON.stringify(there)}, and this cluster is ${JSON.stringify(here)} in a performance set: it would take a name that another cluster of the set may have; restore a snapshot of this region, or leave the set first`;
  return new Failure("invalid", "replication-other-region", message);
}

/**
 * @code replication-half-copied A secondary whose data is between two states cannot stand on its own.
 * @remedy Wait until it streams, or let it follow a primary of the set (update-primary). Where none is left, begin anew with an empty data directory.
 */
export function halfCopied(): Failure {
  return new Failure(
    "invalid",
    "replication-half-copied",
    "the data of this secondary is between two states: wait until it streams, or name a primary of the set (update-primary)",
  );
}

/**
 * @code replication-rows-ahead A secondary with rows that are newer than its log cannot stand on its own unasked.
 * @remedy Wait until it streams, or let it follow a primary of the set (update-primary). Where none is left, promote it with force, which names what is skipped, and disable it then.
 */
export function rowsAhead(): Failure {
  return new Failure(
    "invalid",
    "replication-rows-ahead",
    "rows here are newer than the log, and some that belong to them may be missing: wait until it streams, or name a primary of the set (update-primary); where none is left, promote it with force, and disable it as a primary",
  );
}

/**
 * @code replication-former-unreachable The primary of before was not reached to hear that another cluster leads.
 * @remedy Nothing needs to be done: it is tried again. Keep that cluster off the network until it has heard.
 */
export function formerUnreachable(): Failure {
  return new Failure(
    "upstream",
    "replication-former-unreachable",
    "the primary of before does not answer at any of its addresses",
  );
}

/**
 * @code replication-primary-named-twice A primary was named by a token and by addresses.
 * @remedy Name it by one of them: a token of another primary, or addresses of the one that is followed.
 */
export function primaryNamedTwice(): Failure {
  return new Failure(
    "invalid",
    "replication-primary-named-twice",
    "token and update_primary_addrs exclude each other",
  );
}

/**
 * @code replication-nothing-to-force `force` of `update-primary` gives up an epoch for a primary that a token names.
 * @remedy Send it with `token`, or leave `force` out.
 */
export function nothingToForce(): Failure {
  return new Failure(
    "invalid",
    "replication-nothing-to-force",
    "force goes with a token of the primary that is to be followed, and with nothing else",
  );
}

/**
 * @code replication-primary-unnamed No primary was named.
 * @remedy Name it by `token`, or by `update_primary_addrs`; an empty token leaves the cluster without one.
 */
export function primaryUnnamed(): Failure {
  return new Failure(
    "invalid",
    "replication-primary-unnamed",
    "name the primary: token, or update_primary_addrs; an empty token follows none",
  );
}

/**
 * @code replication-promotion-refused A secondary is not promoted, for the reason that the text names.
 * @remedy Do what the text says; dry_run shows all checks. With force it goes on without those that may be left out, and
 * loses what they tell.
 */
export function promotionRefused(message: string): Failure {
  return new Failure("invalid", "replication-promotion-refused", message);
}

/**
 * @code replication-promotion-early A secondary is not promoted yet: it lacks entries.
 * @remedy Wait and try again; with force what is missing is lost.
 */
export function promotionTooEarly(message: string): Failure {
  return new Failure("unavailable", "replication-promotion-early", message);
}

/**
 * @code replication-reindex-running The trees are being made anew already.
 * @remedy Wait; the status shows how far it is.
 */
export function reindexRunning(): Failure {
  return new Failure(
    "invalid",
    "replication-reindex-running",
    "the trees are being made anew already; the status shows it",
  );
}

/**
 * @code replication-reindex-drops Stored records are damaged or have vanished, and other clusters may still have them.
 * @remedy Check while a secondary is connected, which heals what it has; promote a secondary that has them; or reindex with
 * force, which loses them everywhere.
 */
export function wouldLose(count: number): Failure {
  return new Failure(
    "conflict",
    "replication-reindex-drops",
    `${count} stored records are damaged or gone here, and could not be healed: force would lose them everywhere`,
  );
}

/**
 * @code replication-divergent-unknown No tail of that name was given up here.
 * @remedy List them at sys/replication/divergent.
 */
export function noSuchTail(): Failure {
  return new Failure(
    "not-found",
    "replication-divergent-unknown",
    "no such tail was given up here",
  );
}

/**
 * @code replication-status-needs-token Status of replication is for callers with a token on this server.
 * @remedy Read `sys/replication/status` with a token, or set `replication.status_access`.
 */
export function statusNeedsToken(): Failure {
  return new Failure(
    "denied",
    "replication-status-needs-token",
    "the status of replication needs a token here; read sys/replication/status with one",
  );
}

/**
 * @code replication-secondary-ambiguous The id is not that of one secondary alone.
 * @remedy Name it by the id of its token, which `known_secondaries` in the status shows.
 */
export function ambiguousSecondary(): Failure {
  return new Failure(
    "invalid",
    "replication-secondary-ambiguous",
    "that id is of several secondaries: name one of known_secondaries",
  );
}
