// What is the matter with a secondary, and what to do, a sentence or two each. Pure.

import type { JsonObject } from "@holdfast/shared/json/json";
import type { Kind } from "./kinds.ts";
import { isSuperseded, leaderName, STREAMING, textOf } from "./status-fields.ts";

/** A disaster-recovery secondary takes no other token: who leads makes one for the two steps by which it follows. */
const TICKET =
  "`holdfast replication ticket -field ticket generate-public-key update-primary > FILE`";
export const TICKET_HERE = `${TICKET} here`;

/** Of a cluster that is, or was, in the set. */
export const FOLLOW =
  `${TICKET} on the cluster that leads, \`holdfast replication public-key -dr-token FILE\` here, \`holdfast replication token -public-key KEY ID\` on the cluster that leads, then ` +
  "`holdfast replication update-primary -dr-token FILE @TOKEN` here";

export const WHOLE_TOKEN =
  "give the whole of it, one line as `holdfast replication token` on the primary has printed it, and nothing else: `-field token` prints it alone, @FILE and - (standard input) take it from there";

/** A primary that was called; a token names where it says to be reached. */
export const UNREACHED =
  "look whether the primary runs, and at the network to its cluster port; where a token names another address than that, " +
  "mend the Cluster Address that `holdfast replication status` shows there (`cluster_addr` of its configuration, where `enable` and `promote` were given none), and make another token there";

/** Of an address that other clusters are not called at. */
export const NOT_CALLED =
  "name the address at which other machines reach the primary; where it is on the machine of this server, that is opened in the configuration here, followed by a restart: " +
  'outbound_allow = ["127.0.0.1"], with the address or name that was given. An address that is followed already (`holdfast replication status`) needs nothing';

/** `how`: what its commands take here besides. */
export function surplusAdvice(how: "" | " -dr-token FILE"): string {
  return (
    "What was given up is merged nowhere: it is kept aside for 30 days, goes by itself then, and nobody has to discard it. Next: " +
    `\`holdfast replication divergent list${how}\`, then \`holdfast replication divergent export${how} TAIL > lost.jsonl\` for each says which keys it had changed; ` +
    "what is missed of them is written anew at the primary."
  );
}

const ENDED =
  "The primary goes on by itself, and sends nothing any more. Next: where this region is to go on by itself with what it has, `holdfast replication disable` here; where it is to " +
  "join again, that first, and then `holdfast replication join` in place of all of its data.";

/** As a secondary says it that cannot write what comes. */
const NO_ROOM = /nearly full, and what the primary writes is not applied/;

const FULL: Readonly<Record<Kind, string>> = {
  dr:
    "The disk of this cluster is nearly full, and nothing that the primary writes is applied: taking over now would lose it. Next: make room where the server keeps its data (`df -h` on its machine); it " +
    "goes on by itself.",
  performance:
    "The disk of this cluster is nearly full, and nothing that the primary writes is applied, also what it revokes: so no global tokens are taken here (503 global_tokens_unapplied), those of this region are. Next: make room " +
    "where the server keeps its data (`df -h` on its machine); it goes on by itself.",
};

/** Whether a cluster that stands in for this one, or for this one's place, was promoted with all of its data. */
export function isReplaced(status: JsonObject): boolean {
  const error = textOf(status["last_sync_error"]);
  return status["replaced"] === true || /was promoted in the place of this/.test(error);
}

/** Its place in a performance set went with the data: only disaster recovery has something to be done. */
export const REPLACED_NEXT =
  "Another cluster was promoted in the place of this one by disaster recovery, and has its place here too: nothing is to be done in the performance set. Next: `holdfast replication demote` here " +
  `(disaster recovery, without -kind), then ${FOLLOW}.`;

/** Whether clusters are known that stand in for the primary. */
function hasStandIns(status: JsonObject): boolean {
  const known = status["failover_cluster_addrs"];
  return Array.isArray(known) && known.length > 0;
}

const STANDS_IN =
  "The primary is not reached, or leads no longer, and clusters are known that stand in for it (failover_cluster_addrs). Next: `holdfast replication status` there; when one of them is promoted (disaster recovery) this " +
  "cluster finds it by itself within seconds, or by `holdfast replication update-primary -at URL` with its cluster port. Where the primary is to stay, look whether it runs and is unsealed. Where it is lost with all that stand in for it: " +
  "`holdfast replication failover -plan` here.";

/** Whether the first copy of what is shared is under way. */
export function isCopying(status: JsonObject): boolean {
  const reasons = status["promotable_reasons"];
  return Array.isArray(reasons) && reasons.includes("copied");
}

const TAKES_KIND: ReadonlySet<string> = new Set([
  "enable",
  "public-key",
  "token",
  "join",
  "demote",
  "promote",
  "failover",
  "update-primary",
  "revoke",
  "disable",
]);

/** Commands as they are typed for this kind: tokens of operations are of disaster recovery alone. */
export function ofKind(text: string, kind: Kind): string {
  if (kind === "dr") return text;
  const command = /`(holdfast replication )([a-z-]+)([^`]*)`/g;
  const withoutTickets = text.replaceAll(
    /`holdfast replication ticket [^`]*`(?: here| on the cluster that leads), (?:and )?/g,
    "",
  );
  return withoutTickets.replace(command, (_whole, head: string, word: string, rest: string) => {
    const named = TAKES_KIND.has(word) ? " -kind performance" : "";
    return `\`${head}${word}${named}${rest.replace(" -dr-token FILE", "")}\``;
  });
}

export function secondaryAdvice(
  status: JsonObject,
  {
    kind,
    hasPrimary,
    connected,
    damaged,
  }: {
    readonly kind: Kind;
    readonly hasPrimary: boolean;
    readonly connected: boolean;
    readonly damaged: boolean;
  },
): string[] {
  const state = textOf(status["state"]);
  const error = textOf(status["last_sync_error"]);
  if (kind === "performance" && isReplaced(status)) return [REPLACED_NEXT];
  if (isSuperseded(status)) {
    const who = hasPrimary
      ? `${leaderName(status)} was promoted, and nothing is taken from any other.`
      : `It follows nobody, and ${textOf(status["conflicting_primary_name"]) || "another cluster"} leads the set.`;
    return [`${who} Next: ${FOLLOW}.`];
  }
  if (!hasPrimary) {
    return [
      `It keeps its data and follows nobody. Next: ${FOLLOW}; or \`holdfast replication failover -plan -dr-token FILE\` where it is to be the ` +
        "primary itself.",
    ];
  }
  if (state !== STREAMING && NO_ROOM.test(error)) return [FULL[kind]];
  if (damaged) {
    return [
      "It was compared with the primary three times and still differs. Next: `holdfast replication recover -dr-token FILE`.",
    ];
  }
  if (kind === "performance" && isCopying(status)) {
    return [
      "Nothing is served here before the first copy is whole. Next: wait; the rows above say how far it is. Where it does not get on: look whether the primary runs, and at " +
        "the network to its cluster port. Where it is to follow another address, or is not wanted any more: `holdfast replication update-primary`, or `holdfast replication disable`, each with -dr-token FILE: an " +
        "operation token (`holdfast replication operation-token`, from key shares of the primary).",
    ];
  }
  if (state === "merkle-sync" || state === "merkle-diff") {
    return ["It cannot take over before it streams. Next: wait; the rows above say how far it is."];
  }
  if (state === STREAMING && connected) return [];
  if (/revoked/.test(error)) {
    return [`The primary has revoked it. Next, where that was a mistake: ${FOLLOW}.`];
  }
  if (/has disabled replication/.test(error)) {
    if (kind === "performance") return [ENDED];
    return [
      "The primary goes on by itself, and sends nothing any more. Next: where it is to stay, stop this server for good; it joins anew with an " +
        "empty data directory. Where this cluster is to go on in its place, stop that one for good first, then `holdfast replication promote " +
        "-force -dr-token FILE`. `holdfast replication disable -dr-token FILE` here makes two of them as well.",
    ];
  }
  if (/another stream has begun/.test(error)) {
    return [
      "Somebody else comes to the primary as this secondary. Where that stays so, a copy of its disk runs beside it: `holdfast replication " +
        "status` on the primary names both addresses. Next: stop the copy; where it is to be a secondary of its own, begin it with an " +
        "empty data directory, and `holdfast replication join` there with a token of its own.",
    ];
  }
  if (kind === "performance" && hasStandIns(status)) return [STANDS_IN];
  if (/cluster there is sealed/.test(error)) {
    return [
      "A sealed server is where the primary was. Next: `holdfast operator unseal` there, and where it is the primary it goes on. Where that cannot be done: `holdfast " +
        "replication failover -plan -dr-token FILE` here, and keep it sealed when this cluster takes over.",
    ];
  }
  if (/answers there/.test(error)) {
    return [
      "Something else answers where the primary was. Next: look what runs there, and whether the primary has another address by now (`holdfast " +
        "replication update-primary -dr-token FILE -at URL`). Where the primary is gone: `holdfast replication failover -plan -dr-token FILE` here.",
    ];
  }
  if (status["promotable"] === true) {
    return [
      "The primary was demoted or is not reached, and this cluster can take over. Next: `holdfast replication failover -plan -dr-token FILE` says " +
        "at what loss, `holdfast replication promote -dr-token FILE` does it. Where the primary is to stay, look whether it runs and is unsealed; it " +
        "is tried again every few seconds.",
    ];
  }
  return [
    "The primary is not reached. Next: look whether it runs and is unsealed, and at the network to its cluster port; it is tried again every " +
      "few seconds, and at once by `holdfast replication recover -dr-token FILE`. Where the primary is lost: `holdfast replication failover -plan -dr-token FILE`.",
  ];
}
