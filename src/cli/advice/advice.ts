// What to do next, for each way in which a request fails. One sentence with the command to type.

import { Failure } from "@holdfast/shared/failure";
import { ApiError } from "@holdfast/client/api-error";
import type { Setting } from "@holdfast/client/node/environment";
import { ConnectionFailure, type ConnectionProblem } from "@holdfast/client/connection-failure";
import { AdvisedFailure } from "./advised-failure.ts";
import { onEngineRefusal } from "./engine-advice.ts";
import { onPluginRefusal } from "./plugin-advice.ts";
import { governedDenial, onGovernedDenial, onPolicyRefusal } from "./policy-advice.ts";
import { UsageError } from "../line/usage-error.ts";
import { NOT_CALLED, ofKind, UNREACHED, WHOLE_TOKEN } from "../replication/secondary-advice.ts";

/** How the server begins where a snapshot is named that is not loaded. */
const NOT_LOADED = "no snapshot with that id is loaded";

interface Situation {
  /** Words of the command that ran; empty when none was found. */
  readonly command: string;
  /** Where the token came from; null without one. */
  readonly tokenFrom: string | null;
  /** The command that logs in at the server's address. */
  readonly login: string;
  /** The namespace of the request and where that came from; null for the root namespace. */
  readonly namespace: Setting<string> | null;
  /** The path in the server's address, in front of /v1, and where that came from; null without one. */
  readonly base: Setting<string> | null;
}

export function adviceFor(error: unknown, situation: Situation): string | null {
  if (error instanceof UsageError) return error.next ?? helpOn(situation.command);
  if (situation.base !== null && isAstray(error)) return onAstray(situation.base);
  if (error instanceof AdvisedFailure) return error.next;
  if (error instanceof ApiError) return onRefusal(error, situation);
  if (error instanceof ConnectionFailure) return onConnection(error);
  if (!(error instanceof Failure)) return null;
  return ON_CODE.get(error.code) ?? ON_ARCHIVE.get(error.code.replaceAll("-", "_")) ?? null;
}

/** Nothing is known at a path: where the address has one of its own, that is the first thing to look at. */
function isAstray(error: unknown): boolean {
  if (error instanceof ApiError) {
    return error.kind === "not-found" && error.says("unsupported path");
  }
  return (
    error instanceof Failure &&
    (error.code === "kv-mount-absent" || error.code === "answer-malformed")
  );
}

function onAstray({ value, from }: Setting<string>): string {
  return (
    `${from} has the path ${value} behind host and port: leave it out (https://HOST:PORT), unless a ` +
    "proxy has the server's API there"
  );
}

function helpOn(command: string): string {
  return `see \`holdfast ${command === "" ? "help" : `${command} -help`}\``;
}

function onConnection({ problem, address }: ConnectionFailure): string {
  // A server for trying things out is no stand-in for one with a certificate.
  return problem === "refused" && address.startsWith("https:")
    ? "start the server, or check host and port in HOLDFAST_ADDR or -address"
    : ON_CONNECTION[problem];
}

const ON_CONNECTION: Readonly<Record<ConnectionProblem, string>> = {
  refused: "start the server (`holdfast server -dev` to try it), or point HOLDFAST_ADDR at it",
  "unknown-host": "check the name in HOLDFAST_ADDR or -address",
  unreachable: "check the address, the network and the firewall; `holdfast doctor` looks closer",
  broken: "try again; if it stays so, look at the server's log",
  "timed-out": "try again, or wait longer with -timeout; `holdfast doctor` looks closer",
  "no-socket": "check the path of the socket and who may use it",
  untrusted: "name the authority's certificate with -ca-cert FILE or HOLDFAST_CACERT",
  expired: "renew the server's certificate, or set this machine's clock; `holdfast doctor` tells",
  "wrong-name": "use a name from the certificate in the address, or -tls-server-name",
  "client-certificate": "give -client-cert and -client-key, issued by an authority it trusts",
  "bad-tls-file": "check -ca-cert, -client-cert and -client-key: PEM, and the key fits",
  "speaks-http": "use http:// in HOLDFAST_ADDR or -address, if that is what you mean",
  "speaks-tls":
    "use https:// in HOLDFAST_ADDR or -address; -ca-cert names its authority, if that is your own",
  "not-http": "check host and port in HOLDFAST_ADDR or -address: something else listens there",
  "too-large": "ask for less at a time",
  other: "run `holdfast doctor`",
};

const ON_CODE: ReadonlyMap<string, string> = new Map([
  [
    "address-invalid",
    "set HOLDFAST_ADDR or -address to the server's address: https://HOST:PORT, http://HOST:PORT or " +
      "unix:///PATH of a socket",
  ],
  ["token-file-unsafe", "run `chmod 600 ~/.holdfast-token`, or remove it and log in again"],
  ["token-unsendable", "set HOLDFAST_TOKEN, or run `holdfast login`"],
  ["redirected", "address that server with -address, if you trust it"],
  ["path-segment", "check the path: names between single slashes, without . and .."],
  ["answer-malformed", "check that the address is that of a Holdfast server: `holdfast doctor`"],
]);

const OPERATION_TOKEN =
  "give an operation token or a ticket with -dr-token FILE or in HOLDFAST_DR_OPERATION_TOKEN: `holdfast replication operation-token` makes one from " +
  "key shares, `holdfast replication ticket` on the primary another, for the operations that it names and until the next demotion";

/** For a command that has no flag for it. */
const IN_PLACE_OF_TOKEN = OPERATION_TOKEN.replace(
  "with -dr-token FILE or in HOLDFAST_DR_OPERATION_TOKEN",
  "in HOLDFAST_TOKEN, in the place of another token",
);
const TAKES_OPERATION_TOKEN = /^(?:replication|attention)(?: |$)/;

const ANOTHER_TOKEN =
  "make another one: `holdfast replication revoke ID` on the primary where the id is taken, then `holdfast replication token " +
  "-public-key KEY ID` there, with the key of `holdfast replication public-key` here";

const WHOLE_OR_ANOTHER = `${WHOLE_TOKEN}. Where that is lost, ${ANOTHER_TOKEN}`;

const WHERE_UNWRAPPED =
  "look whether the primary runs, and at the network to its API: -primary-address URL names where that is reached from the server here, -primary-ca-cert FILE whom to trust there. A token for a key needs no such call: ";

/** The API is known from the primary itself; the cluster port to whoever follows it. */
const WHERE_PRIMARY =
  "`holdfast replication status` here says where that is, by its cluster port alone until it was heard of";

/** By the code that the server names: what a cluster among others refuses. */
const ON_CLUSTERS: ReadonlyMap<string, string> = new Map([
  ["dr_secondary", `send it to the primary; ${WHERE_PRIMARY}`],
  ["replication_secondary_already", "`holdfast replication status` here says where its primary is"],
  ["replication_role_changing", "try again in a second"],
  [
    "replication_not_primary",
    "send it to the primary: `holdfast replication status` here says where that is; where this cluster is in no set, and is to lead one, " +
      "`holdfast replication enable` begins it",
  ],
  [
    "filter_unknown",
    "`holdfast replication status` here lists the secondaries, which are sent everything without one; `holdfast replication filter set` makes one",
  ],
  [
    "filter_unknown_secondary",
    "`holdfast replication status` here lists the secondaries, and what each is not sent",
  ],
  [
    "replication_not_secondary",
    "send it to the secondary; `holdfast replication status` says what a cluster is",
  ],
  // Also typed again after it was promoted.
  [
    "not_dr_secondary",
    "`holdfast replication status` here says what this cluster is: one that was promoted is the primary, and has nothing left to do here",
  ],
  ["missing_operation_token", OPERATION_TOKEN],
  ["invalid_operation_token", OPERATION_TOKEN],
  [
    "replication_fenced",
    "send it to the cluster that leads, which `holdfast replication status` here names; trying again here does not help. Then " +
      "`holdfast replication demote` here, and `holdfast replication update-primary -dr-token FILE @TOKEN` here with a token of that one",
  ],
  [
    "replication_fenced_altogether",
    "`holdfast replication demote` here, of disaster recovery (without -kind): its place in the performance set has gone to the cluster that leads. " +
      `Then a ticket and a token of that one, and \`holdfast replication update-primary -dr-token FILE @TOKEN\` here`,
  ],
  [
    "policy_not_attested",
    "use a global token (`holdfast acl token create -global` with a management token, or a login at an auth method that was enabled with -option token_scope=global); or have the operators of the primary let this region vouch " +
      "for the policy: -attest-policies of `holdfast replication token -kind performance` on the primary, after a revocation there",
  ],
  [
    "local_management",
    "use a global management token: the root token of the primary, or one of `holdfast acl token create -type management -global` there; a token that `holdfast operator generate-root` makes in this region is local to it",
  ],
  [
    "no_primary",
    "nothing was done, and trying again does not help before somebody leads: `holdfast replication status -kind performance` here says who does, or how this cluster follows or is promoted",
  ],
  [
    "primary_superseded",
    "nothing was done, and trying again does not help: let this cluster follow the one that leads, which `holdfast replication status -kind performance` here names, by `holdfast replication update-primary -kind performance @TOKEN` with a token of it",
  ],
  [
    "primary_refuses",
    "nothing was done, and trying again does not help: `holdfast replication status -kind performance` here says what the matter is, and what to do",
  ],
  [
    "primary_not_serving",
    "nothing was done: the primary is sealed, or its role changes. `holdfast replication status -kind performance` here says where it is; `holdfast status` there, and try again when it serves",
  ],
  [
    "global_tokens_stale",
    "use a token of this region (`holdfast operator generate-root` makes one from key shares), or bring the link to the primary back: `holdfast replication status -kind performance` here says what keeps it",
  ],
  [
    "global_tokens_unapplied",
    "make room on the disk where the server of this region keeps its data (`df -h` there): it goes on by itself. Until then use a token of this region, or ask another region",
  ],
  [
    "shared_half",
    "try again in some seconds; where it stays so, `holdfast replication status -kind performance` here says what keeps the comparison. What is local to this region is answered meanwhile",
  ],
  [
    "replication_own_address",
    "name the other cluster: `holdfast replication status` there, with a management token, shows its Cluster Address; where the two were mixed up, send this to the other one with -address",
  ],
  [
    "replication_fenced_revocation",
    "`holdfast replication status` here names the cluster that leads: `holdfast replication revoke -address` of that one, with the same id",
  ],
  [
    "replication_lease_lapsed",
    "`holdfast replication status` here shows which secondaries are away; where one of them was promoted, send it there",
  ],
  [
    "replication_primary_refuses",
    `do what the reason says; where the token was used, has ended or was revoked, ${ANOTHER_TOKEN}`,
  ],
  [
    "replication_primary_unreachable",
    `${UNREACHED}; -dry-run shows the address, and how far it comes`,
  ],
  ["joining_token_expired", `${ANOTHER_TOKEN}; and look at the clocks of both machines`],
  ["joining_address_forbidden", NOT_CALLED],
  ["joining_token_refused", ANOTHER_TOKEN],
  ["joining_token_other_key", ANOTHER_TOKEN],
  ["joining_token_unreadable", WHOLE_OR_ANOTHER],
  ["joining_activation_damaged", WHOLE_OR_ANOTHER],
  ["joining_no_activation_key", ANOTHER_TOKEN],
  ["joining_activation_expired", ANOTHER_TOKEN],
  ["joining_other_key", ANOTHER_TOKEN],
  ["joining_address_missing", WHERE_UNWRAPPED + ANOTHER_TOKEN],
  ["joining_primary_unreachable", WHERE_UNWRAPPED + ANOTHER_TOKEN],
  ["joining_primary_answer", WHERE_UNWRAPPED + ANOTHER_TOKEN],
  [
    "replication_other_set",
    "give a token of the cluster that leads the set of this one, which `holdfast replication status` here names; where this cluster is to go over to the other set, in place of all of its data, `holdfast replication disable -dr-token FILE` " +
      "here first, then `holdfast replication join`",
  ],
  [
    "joining_key_unusable",
    "give the whole line that `holdfast replication public-key` on the other cluster prints: -public-key KEY",
  ],
  [
    "joining_api_address_plain",
    "`holdfast replication public-key` on the other cluster, then -public-key KEY here",
  ],
  [
    "replication_epoch_superseded",
    "take a token of the cluster that leads in the later epoch, which `holdfast replication status` here names; where nobody leads in it, " +
      "as after a promotion by mistake, `holdfast replication update-primary -dr-token FILE -force @TOKEN` with this token gives it up",
  ],
  ["replication_promotion_refused", "see `holdfast replication failover -plan -dr-token FILE`"],
  ["replication_promotion_early", "see `holdfast replication failover -plan -dr-token FILE`"],
  [
    "first_copy",
    "wait until it has everything: `holdfast replication status` here says how far it is, and what keeps it",
  ],
  [
    "primary_unreachable",
    `nothing was done: try again when the primary is reached, or send it there; ${WHERE_PRIMARY}`,
  ],
  [
    "primary_lost",
    `look at the primary whether it was done before you send it again; ${WHERE_PRIMARY}`,
  ],
  [
    "replication_divergent_unknown",
    "`holdfast replication divergent list` names those there are (on a disaster-recovery secondary with -dr-token FILE)",
  ],
]);

/** With which a secondary says that it is one. */
const OF_SECONDARY: ReadonlySet<string> = new Set([
  "dr_secondary",
  "replication_promote_instead",
  "replication_secondary_already",
]);

/** What a secondary does instead, by the words of the command: it is not the primary that does it. */
const ON_SECONDARY: ReadonlyMap<string, string> = new Map([
  [
    "replication enable",
    "this cluster is a secondary: `holdfast replication failover -plan -dr-token FILE` shows whether it can take over, `holdfast replication promote -dr-token FILE` " +
      "makes it the primary",
  ],
  [
    "replication demote",
    "this cluster is a secondary already: `holdfast replication update-primary -dr-token FILE @TOKEN` lets it follow another primary, `holdfast replication " +
      "promote -dr-token FILE` makes it one",
  ],
  [
    "replication join",
    "this cluster is a secondary already: `holdfast replication update-primary -dr-token FILE @TOKEN` with that token lets it follow another primary of its " +
      "set; `holdfast replication disable -dr-token FILE` first where it is to join another set",
  ],
]);

/** What a primary does before it can do that, by the words of the command. */
const ON_PRIMARY: ReadonlyMap<string, string> = new Map([
  [
    "replication update-primary",
    "`holdfast replication status` here says what this cluster is: a primary that is to follow another one is demoted first, by " +
      "`holdfast replication demote`; where the secondary is meant, send it there",
  ],
]);
const NOT_SECONDARY = "replication_not_secondary";

/** Where one is the other kind of replication is not named by a flag. */
const OTHER_KIND: ReadonlySet<string> = new Set([
  "not_dr_secondary",
  "replication_not_primary",
  "replication_not_secondary",
]);

/** A token says by itself of which kind it is. */
const TOKEN_OF_OTHER_KIND = "joining_token_kind";

export function otherKindAdvice(isPerformance: boolean): string {
  return isPerformance
    ? "leave -kind performance out: the token is for disaster recovery"
    : "add -kind performance: the token is for performance replication";
}

function onClusters(error: ApiError, command: string): string | null {
  const code = error.code ?? "";
  const onSecondary = OF_SECONDARY.has(code) ? ON_SECONDARY.get(command) : undefined;
  const onPrimary = code === NOT_SECONDARY ? ON_PRIMARY.get(command) : undefined;
  const found = ofSender(onSecondary ?? onPrimary ?? ON_CLUSTERS.get(code) ?? null, error, command);
  const isPerformance = error.path.startsWith("sys/replication/performance/");
  if (code === TOKEN_OF_OTHER_KIND) return otherKindAdvice(isPerformance);
  if (code === "replication_fenced" && error.message.includes("performance")) {
    return ofKind(found ?? "", "performance");
  }
  if (found === null || !error.path.startsWith("sys/replication/")) return found;
  if (isPerformance && code !== "replication_fenced_altogether") {
    return ofKind(found, "performance");
  }
  return OTHER_KIND.has(code) ? `${found}. Add -kind performance where that is meant` : found;
}

/** As whoever has sent it types it: with an operation token, where the command takes one and the cluster is a secondary already. */
function ofSender(found: string | null, { path }: ApiError, command: string): string | null {
  if (found === OPERATION_TOKEN && !TAKES_OPERATION_TOKEN.test(command)) return IN_PLACE_OF_TOKEN;
  return path.endsWith("/update-primary") && found !== null
    ? found.replace("replication public-key` here", "replication public-key -dr-token FILE` here")
    : found;
}

function onRefusal(error: ApiError, situation: Situation): string | null {
  const { command } = situation;
  if (error.code === METRICS_ONLY) {
    return "use the address or port of another listener of this server, in HOLDFAST_ADDR or -address";
  }
  const amongClusters = onClusters(error, command);
  if (amongClusters !== null) return amongClusters;
  if (error.errors.some((text) => text.startsWith(NOT_LOADED))) {
    return "`holdfast snapshot loaded` shows which are; `holdfast snapshot load FILE` loads one";
  }
  const ofSnapshot = onSnapshot(error);
  if (ofSnapshot !== null) return ofSnapshot;
  const namespace = situation.namespace?.value ?? "";
  const special =
    onPolicyRefusal(error, namespace) ??
    onPluginRefusal(error, namespace) ??
    onEngineRefusal(error, command);
  if (special !== null) return special;
  switch (error.kind) {
    case "sealed":
      return "the server is sealed: run `holdfast operator unseal`";
    case "uninitialised":
      return ON_UNINITIALISED;
    case "denied":
      return onDenial(error, situation);
    case "not-found":
      return onNotFound(error);
    case "unsupported":
      return `see what is supported: \`holdfast path-help ${error.path}\``;
    case "rate-limited":
      return error.retryAfter === null ? "try again later" : `try again in ${error.retryAfter} s`;
    case "misdirected":
      return "the server does not go by this name: add it to allowed_hosts in its configuration";
    case "headers-too-large":
      return "check the token and the namespace: one of them is far too long";
    case "unavailable":
      if (error.message.includes("storage is nearly full")) {
        return error.path === "sys/unseal" ? `${ON_FULL_SEALED}, then ${UNSEAL_AGAIN}` : ON_FULL;
      }
      if (error.path === "sys/unseal") return ON_UNOPENED;
      return "try again in a moment; `holdfast status` and `holdfast doctor` say more";
    case "late":
      return "look at the network between here and the server, or send it from a machine nearer to it";
    case "looping":
    case "behind":
      return "try again in a moment; `holdfast status` and `holdfast doctor` say more";
    case "internal":
      return onInternal(error);
    case "invalid":
      return onInvalid(error);
    case "conflict":
    case "too-large":
    case "damaged":
    case "media-type":
    case "timed-out":
    case "upstream":
      return null;
  }
}

const NO_SNAPSHOT =
  "check the file: it must be as `holdfast snapshot save` or an automated snapshot wrote it";
const NOT_LOADABLE =
  "load one that this server made since its last rekey, or restore this one on an empty machine: " +
  "`holdfast snapshot restore FILE`";
/** Of one that is whole, and of another cluster or another root key. */
export const BY_FORCE =
  "`holdfast snapshot restore -force FILE` puts it in the place of everything here; then unseal with the shares of " +
  "its day";
/** Codes of the server have underscores. */
const ON_ARCHIVE: ReadonlyMap<string, string> = new Map([
  ["snapshot_foreign", NO_SNAPSHOT],
  ["snapshot_truncated", NO_SNAPSHOT],
  ["snapshot_damaged", NO_SNAPSHOT],
  ["snapshot_members", NO_SNAPSHOT],
  ["snapshot_changed", NO_SNAPSHOT],
  ["snapshot_not_opened", NO_SNAPSHOT],
]);
const ON_OTHER_KEYS: ReadonlySet<string> = new Set([
  "snapshot_other_cluster",
  "snapshot_before_rekey",
  "restore_other_keys",
]);

/** Of a file that was sent, to be loaded, restored or looked at. */
function onSnapshot({ code, path }: Pick<ApiError, "code" | "path">): string | null {
  if (!path.startsWith("sys/storage/raft/snapshot")) return null;
  if (!ON_OTHER_KEYS.has(code)) return ON_ARCHIVE.get(code) ?? null;
  return path.endsWith("/snapshot-load") ? NOT_LOADABLE : BY_FORCE;
}

/** Code of a listener that is for monitoring alone: nothing was looked for. */
export const METRICS_ONLY = "metrics_only";

/** An empty data directory is that of a new server, or the place where a disk is not mounted, or is lost. */
export const ON_UNINITIALISED =
  "run `holdfast operator init` once if it is new; if it was initialised before, its disk is not " +
  "mounted: mount it and do not initialise, or bring a backup back with `holdfast snapshot restore FILE`";

const UNSEAL_AGAIN =
  "run `holdfast operator unseal` again: shares that were right are kept and need not be given again";
const ON_UNOPENED = `mend what is named above (the server's log says more), then ${UNSEAL_AGAIN}`;
const ON_FULL =
  "make room on the disk where the server keeps its data; `holdfast read -field disk sys/host-info` " +
  "shows what is free";
/** Sealed it answers nothing of that. */
const ON_FULL_SEALED =
  "make room on the disk where the server keeps its data (`df -h` on its machine shows what is free)";
const ON_WRONG_SHARES =
  "check that every share is of the newest set: a rekey voids older ones, and a cluster that has joined as a secondary is opened by " +
  "the shares of its primary, its own of before are void; `holdfast status` shows how many count";

/** Where more is needed than the refusal says. */
function onInvalid(error: ApiError): string | null {
  if (error.says("invalid key")) return ON_WRONG_SHARES;
  if (error.path === "sys/init" && error.message.includes("already initialized")) {
    return "`holdfast status` shows its state; `holdfast operator unseal` opens it with shares";
  }
  const [, ceremony] = /^sys\/(generate-root|rekey)\b/.exec(error.path) ?? [];
  if (ceremony !== undefined && error.message.includes("is running already")) {
    return `\`holdfast operator ${ceremony} -status\` shows it, -cancel ends it`;
  }
  if (error.path === "acl/token" && error.message.includes("missing policies")) {
    return "give -policy NAME (`holdfast policy list` shows the names), or -type management";
  }
  if (
    error.path.startsWith("sys/namespaces/") &&
    error.message.startsWith("the parent namespace")
  ) {
    const parent = decodeURI(error.path).replace(/^sys\/namespaces\/|\/[^/]*$/g, "");
    return `\`holdfast namespace create ${parent}\` makes it`;
  }
  if (error.path.startsWith("auth/token/renew")) {
    return "`holdfast token lookup` shows when it ends; `holdfast login` gets another";
  }
  if (error.path.startsWith("sys/audit/") && error.message.startsWith("file_path must")) {
    return "`holdfast read sys/config/state/sanitized` shows audit_file_roots";
  }
  if (/ a duration such as /.test(error.message)) return "write it like 90s, 30m or 12h";
  const [, index] = /\(reset index: (\d+)\)$/.exec(error.message) ?? [];
  if (index === undefined) return null;
  return (
    `if every management token is lost: write ${index} to server/acl-bootstrap-reset in the server's ` +
    "data directory (`holdfast acl bootstrap reset` helps) and run `holdfast acl bootstrap` again; " +
    "older tokens stay valid"
  );
}

function onDenial(error: ApiError, { tokenFrom, login, namespace }: Situation): string {
  const withoutToken = NO_TOKEN_NEEDED.get(error.path);
  if (withoutToken !== undefined) return withoutToken;
  if (tokenFrom === null || error.says("missing client token")) {
    return `run \`${login}\`, or set HOLDFAST_TOKEN`;
  }
  if (error.says("invalid token")) {
    return `${unknownToken(tokenFrom)}: ${another(tokenFrom, login)}`;
  }
  if (governedDenial(error) !== null) return onGovernedDenial();
  if (error.says("restricted endpoint")) {
    return namespace === null
      ? "leave out the namespace: this is for root only"
      : `this is for the root namespace only, and ${namespace.from} says ${namespace.value}: give -namespace /`;
  }
  if (error.path.startsWith("acl/")) return onTokenDenial(error, tokenFrom, login);
  const allow = `the token from ${tokenFrom} may not do this: a policy must allow it on ${error.path}`;
  if (namespace === null) return allow;
  return (
    `${allow} in the namespace ${namespace.value} (from ${namespace.from}), if there is one of that name. ` +
    onNamespaceBelow(`${namespace.value.replace(/^\/+|\/+$/g, "")}/${error.path}`)
  );
}

/** `path`: as a policy of the root namespace names it. */
function onNamespaceBelow(path: string): string {
  return (
    `In a policy of the root namespace that is ${path}, and "*" does not reach it; in this order: make the ` +
    "namespace, write the policy, log in with it"
  );
}

/** Refusals where no token was sent, so that another would not help. */
const NO_TOKEN_NEEDED: ReadonlyMap<string, string> = new Map([
  ["acl/bootstrap", "the server's setting acl.bootstrap does not allow it from here"],
  [
    "acl/token/onetime/exchange",
    "it is unknown, used or expired: make another with `holdfast acl token one-time create`",
  ],
]);

/** Policies decide nothing there: a token is unknown, expired, or not one of management. */
function onTokenDenial(error: ApiError, tokenFrom: string, login: string): string {
  if (error.says("ACL token expired")) {
    return `the token from ${tokenFrom} is expired: ${another(tokenFrom, login)}`;
  }
  if (error.path === "acl/token" && error.method === "POST") {
    return (
      `the token from ${tokenFrom} is unknown, expired, or no management token; with a client token give ` +
      "-policy NAME, and none of -type management, -global, -expires-at"
    );
  }
  return error.path === "acl/token/self" || error.path === "acl/token/onetime"
    ? `${unknownToken(tokenFrom)}: ${another(tokenFrom, login)}`
    : `the token from ${tokenFrom} is unknown, expired, or no management token`;
}

function unknownToken(tokenFrom: string): string {
  return `the token from ${tokenFrom} is unknown or expired`;
}

/** A variable goes before what `login` keeps. */
export function another(tokenFrom: string, login: string): string {
  return /^[A-Z]+_TOKEN$/.test(tokenFrom)
    ? `set ${tokenFrom} to another, or unset it and run \`${login}\``
    : `run \`${login}\``;
}

function onNotFound(error: ApiError): string {
  if (error.says("No path to region")) {
    return "check -region and HOLDFAST_REGION: this server answers for its own region and for that of the primary of performance replication, which `holdfast replication status -kind performance` names; for any other ask a server there, with -address";
  }
  if (error.path.startsWith("acl/token/") && error.says("ACL token not found")) {
    return "check the accessor: `holdfast acl token list` shows them";
  }
  if (/^sys\/audit(?:-hash)?\//.test(error.path)) return "`holdfast audit list` shows the devices";
  if (/^sys\/evidence\/(?!receipts\/)/.test(error.path)) {
    return "`holdfast evidence list` shows what was signed; check -namespace too";
  }
  if (error.path.startsWith("sys/namespaces/")) {
    return "`holdfast namespace list` shows what is there; check -namespace too";
  }
  if (error.says("unsupported path")) {
    const group = error.path.startsWith("auth/") ? "auth" : "secrets";
    return `check the path and -namespace; \`holdfast ${group} list\` shows the mounts, \`holdfast path-help MOUNT\` what one serves`;
  }
  return `check the path and -namespace; ${lookAbove(error.path)}`;
}

/** A list that shows what there is instead: of the place above, as far as that can be one. */
function lookAbove(path: string): string {
  const whole = decodeURI(path);
  const above = whole.replace(/\/?[^/]*\/?$/, "");
  if (above === "") return "`holdfast secrets list` shows the mounts";
  const [, listed] = LISTED.exec(whole) ?? [];
  if (listed === undefined && /^(?:sys|acl|auth)(?:\/|$)/.test(whole)) {
    return `\`holdfast path-help ${whole}\` shows what it is for`;
  }
  // Of secrets with versions it is the metadata that is listed.
  const folder = listed ?? above.replace(/^([^/]+)\/data(?=\/|$)/, "$1/metadata");
  return `\`holdfast list ${folder}\` shows what is there`;
}

/** Places of the server's own parts and of logins whose names can be listed: few of them can. */
const LISTED =
  /^(sys\/quotas\/(?:rate-limit|lease-count)|sys\/config\/ui\/headers|auth\/.+?\/(?:role|users))\/./;

function onInternal(error: ApiError): string {
  if (error.errors.some((text) => text.includes("audit device"))) {
    // The device itself cannot be disabled then, since that is a request too.
    return (
      "on the server's machine: `df -h` tells whether the disk of the audit files is full, the server's " +
      "log names the cause. When it is mended, requests go on by themselves"
    );
  }
  return error.requestId === ""
    ? "look at the server's log"
    : `look for request ${error.requestId} in the server's log`;
}
