// Every way the pipeline refuses. Texts that clients match on are kept.

import { Failure, type FailureKind, type FailureOptions } from "@holdfast/shared/failure";

/**
 * @code not-initialised The server is not initialised.
 * @remedy Run `holdfast operator init` once if it is new; if not, mount its disk.
 */
export function uninitialised(): Failure {
  return new Failure("uninitialised", "not-initialised", "service is not initialized");
}

/**
 * A ceremony before initialisation: the caller is early, the server is not out of order.
 * @code seal-not-initialised A ceremony was asked for before the server was initialised.
 * @remedy Run `holdfast operator init` once if it is new; if not, mount its disk.
 */
export function tooEarly(): Failure {
  return new Failure("invalid", "seal-not-initialised", "service is not initialized");
}

/**
 * @code sealed The server is sealed.
 * @remedy Unseal it.
 */
export function sealed(): Failure {
  return new Failure("sealed", "sealed", "service is sealed", { retryAfter: 5 });
}

/**
 * @code dr-secondary This cluster is a disaster-recovery secondary and takes no such requests.
 * @remedy Ask the primary.
 */
export function drSecondary(): Failure {
  const message = "this cluster is a disaster-recovery secondary";
  return new Failure("unavailable", "dr-secondary", message);
}

/**
 * @code first-copy This cluster is a performance secondary, and the first copy of its primary's data is under way.
 * @remedy Wait until it is whole: sys/replication/performance/status shows how far it is; or ask the primary.
 */
export function firstCopy(): Failure {
  const message =
    "the first copy of the primary's data is under way; sys/replication/performance/status shows how far it is";
  return new Failure("unavailable", "first-copy", message, { retryAfter: 5 });
}

/**
 * @code shared-half What the primary has written is being compared, and is here in part.
 * @remedy Try again after the time that Retry-After says: sys/replication/performance/status shows how far it is; or ask the primary.
 */
export function sharedHalf(): Failure {
  const message =
    "what is shared is being compared with the primary's and is here in part; sys/replication/performance/status shows how far it is";
  return new Failure("unavailable", "shared-half", message, { retryAfter: 5 });
}

/**
 * @code global-tokens-stale This region has not heard of its primary for longer than `max_global_token_staleness`, so that it takes no global tokens.
 * @remedy Bring the link to the primary back, or use a token of this region; `generate-root` makes one from key shares.
 */
export function globalTokensStale(): Failure {
  const message =
    "global tokens are not taken here until the primary of the shared data is heard of again: they may have been revoked there";
  return new Failure("unavailable", "global-tokens-stale", message, { retryAfter: 30 });
}

/**
 * @code global-tokens-unapplied The disk of this region is nearly full: what the primary writes is not applied here, revocations neither, so that no global tokens are taken.
 * @remedy Make room on the disk of this region's server, and it goes on by itself. Tokens of this region are taken.
 */
export function globalTokensUnapplied(): Failure {
  const message =
    "global tokens are not taken here until there is room on the disk of this server: what the primary of the shared data writes is not applied, and they may have been revoked there";
  return new Failure("unavailable", "global-tokens-unapplied", message, { retryAfter: 10 });
}

/**
 * @code not-dr-secondary The operation is one of disaster-recovery secondaries, and this cluster is none.
 * @remedy Ask the secondary, or use the endpoint without `secondary` in its path.
 */
export function notDrSecondary(): Failure {
  const message = "this cluster is not a disaster-recovery secondary";
  return new Failure("invalid", "not-dr-secondary", message);
}

/**
 * @code missing-operation-token The request needs an operation token or an operator ticket, and has none.
 * @remedy Send one in dr_operation_token or in X-Service-Token; `generate-operation-token` makes one from key shares.
 */
export function missingOperationToken(): Failure {
  const message = "missing operation token: a disaster-recovery secondary knows no other";
  return new Failure("denied", "missing-operation-token", message);
}

/**
 * Unknown, revoked and expired ones alike; why, only of a ticket that the set has made.
 * @code invalid-operation-token The operation token is unknown or was revoked, or the ticket is not for this.
 * @remedy Make a new one from key shares, or ask for a ticket on the primary.
 */
export function invalidOperationToken(reason: string | null = null): Failure {
  const what = `invalid operation token${reason === null ? "" : `: ${reason}`}`;
  const texts = ["permission denied", what];
  const message = `permission denied: ${what}`;
  return new Failure("denied", "invalid-operation-token", message, { texts });
}

/**
 * @code not-active This node is not the active one of its cluster, and knows none to hand the request to.
 * @remedy Ask the active node; sys/leader names it. If there is none, wait until one is elected.
 */
export function notActive(): Failure {
  const message = "no active node: this node is a standby and cannot answer this itself";
  return new Failure("unavailable", "not-active", message, { retryAfter: 1 });
}

/**
 * @code missing-token The request has no token.
 * @remedy Send one, in X-Service-Token or as a bearer token.
 */
export function missingToken(): Failure {
  return new Failure("denied", "missing-token", "missing client token");
}

/**
 * Unknown, deleted and expired tokens alike.
 * @code invalid-token The token is unknown, was revoked or has expired, or may not be used from
 *   this address.
 * @remedy Log in again, or ask for a new token.
 */
export function invalidToken(): Failure {
  const texts = ["permission denied", "invalid token"];
  return new Failure("denied", "invalid-token", "permission denied: invalid token", { texts });
}

/**
 * @code permission-denied No policy of the token allows this.
 * @remedy Ask for a policy that allows it; `holdfast policy why` shows which rule decides.
 */
export function denied(): Failure {
  return new Failure("denied", "permission-denied", "permission denied");
}

/**
 * A write was judged as one that creates, but there is something now, or the other way round: it is judged
 * again, and told only where that goes on.
 * @code changed-meanwhile While the request was handled, others kept creating and deleting what it writes.
 * @remedy Try again.
 */
export class ChangedMeanwhile extends Failure {
  readonly exists: boolean;

  constructor(exists: boolean) {
    const done = exists ? "created" : "deleted";
    const message = `somebody else ${done} it at the same moment and nothing was changed; try again`;
    super("conflict", "changed-meanwhile", message, { retryAfter: 1 });
    this.exists = exists;
  }
}

/**
 * @code place-changed While the request waited for its turn, what it was sent to became something else.
 * @remedy Try again.
 */
export function placeChanged(): Failure {
  const message =
    "what is at this path was replaced while the request waited, and nothing was changed; try again";
  return new Failure("conflict", "place-changed", message, { retryAfter: 1 });
}

/**
 * @code vouched-rights-changed The policies of the token were changed while its request was with the primary, which takes the word of this cluster for them.
 * @remedy Look whether it was done, and try again if not.
 */
export function vouchedRightsChanged(): Failure {
  const message =
    "the policies of the token were changed while the request was with the primary of the shared data: look whether it was done before you try again";
  return new Failure("conflict", "vouched-rights-changed", message);
}

/**
 * @code last-use The token's last use would get credentials that end with it, at once.
 * @remedy Use a token with two uses left at least, or one without a number.
 */
export function lastUse(): Failure {
  const message =
    "this is the last use of the token: what is leased to it would be revoked at once, so nothing was made";
  return new Failure("invalid", "last-use", message);
}

/**
 * By RGPs and EGPs. The text says which and why; records and the log name it in short.
 * @code policy-denied A governing policy (RGP or EGP) denied the request.
 * @remedy Read in the text which policy and rule it was; change the request, or ask its owner.
 */
export function governed(text: string): Failure {
  const message = "permission denied by a governing policy";
  return new Failure("denied", "policy-denied", message, { texts: [text] });
}

/**
 * @code restricted-endpoint This path is for the root namespace only.
 * @remedy Send the request without a namespace.
 */
export function restricted(): Failure {
  return new Failure("denied", "restricted-endpoint", "restricted endpoint");
}

/**
 * @code ceremonies-off Key ceremonies are switched off on this listener.
 * @remedy Use a listener that has key_ceremonies on, such as the local socket.
 */
export function ceremoniesOff(): Failure {
  const message = "key ceremonies are switched off on this listener (key_ceremonies)";
  return new Failure("denied", "ceremonies-off", message);
}

/**
 * @code metrics-only This listener answers sys/metrics and sys/health, and nothing else.
 * @remedy Use another listener.
 */
export function metricsOnly(): Failure {
  return new Failure(
    "not-found",
    "metrics-only",
    "this listener answers sys/metrics and sys/health only",
  );
}

/**
 * @code unsupported-path There is nothing at this path.
 * @remedy Check the path, the namespace and that the mount exists.
 */
export function unsupportedPath(): Failure {
  return new Failure("not-found", "unsupported-path", "unsupported path");
}

/**
 * @code unsupported-operation The path is there, but not for this method.
 * @remedy See docs/endpoints.md for the methods of a path.
 */
export function unsupportedOperation(): Failure {
  return new Failure("unsupported", "unsupported-operation", "unsupported operation");
}

/**
 * @code trailing-slash A path ends in a slash and is no list.
 * @remedy Leave the slash out, or use LIST.
 */
export function trailingSlash(): Failure {
  const message = "only lists end in a slash; leave it out, or use LIST or ?list=true";
  return new Failure("invalid", "trailing-slash", message);
}

/**
 * Its answer is no JSON, or is made while nothing can be kept, or may be written down nowhere.
 * @code not-wrapped The answer to this request cannot be wrapped.
 * @remedy Leave X-Service-Wrap-TTL out, or send a token where there was none.
 */
export function notWrapped(): Failure {
  const message = "answers of this path cannot be wrapped; leave X-Service-Wrap-TTL out";
  return new Failure("invalid", "not-wrapped", message);
}

export function keptForNobody(): Failure {
  const message =
    "the answer of another region is wrapped here, for who is known here, and the token is not: ask that region itself, or leave " +
    "X-Service-Wrap-TTL out";
  return new Failure("invalid", "not-wrapped", message);
}

export function wrappedAlready(): Failure {
  const message =
    "what a wrapping token holds is not wrapped for another time; leave X-Service-Wrap-TTL out, and use " +
    "sys/wrapping/rewrap to put it behind a new token for as long as before";
  return new Failure("invalid", "not-wrapped", message);
}

/**
 * @code namespace-malformed The namespace of the request cannot be read.
 * @remedy Use names joined by single slashes.
 */
export function namespaceMalformed(): Failure {
  const message = "the namespace header must be names joined by single slashes";
  return new Failure("invalid", "namespace-malformed", message);
}

/**
 * Our own fault. The cause is in the log, under the request's id.
 * @code internal-error The server failed by its own fault.
 * @remedy Find the request id in the server's log and report what it says.
 */
export function internal(id: string, cause: unknown): Failure {
  return new Failure("internal", "internal-error", `internal error; request ${id}`, { cause });
}

/**
 * @code body-missing The request needs a body and has none.
 * @remedy Send the JSON object that the text describes.
 */
export function bodyMissing(text: string): Failure {
  return new Failure("invalid", "body-missing", text);
}

export function bodyUnreadable(text: string, cause: Failure): Failure {
  return new Failure(cause.kind, cause.code, `${text}: ${cause.message}`, { cause });
}

export function folderNamed(text: string): Failure {
  return new Failure("invalid", "trailing-slash", text);
}

/**
 * @code large-waiting Too many large bodies and answers of this address wait for their turn.
 * @remedy Try again in a moment, with fewer of them at a time.
 */
export function largeWaiting(): Failure {
  const message = "too many large bodies and answers wait for their turn; try again";
  return new Failure("unavailable", "large-waiting", message, { retryAfter: 1 });
}

/**
 * @code permission_denied The token may not do this.
 * @remedy Ask for a policy that allows it; `holdfast policy why` shows which rule decides.
 */
export function permissionDenied(message: string, options?: FailureOptions): Failure {
  return new Failure("denied", "permission_denied", message, options);
}

/**
 * @code token_expired The token has expired.
 * @remedy Log in again, or ask for a new token.
 */
export function tokenExpired(message: string, options?: FailureOptions): Failure {
  return new Failure("denied", "token_expired", message, options);
}

/**
 * @code method_not_allowed The path is there, but not for this method.
 * @remedy See docs/endpoints.md for the methods of a path.
 */
export function methodNotAllowed(message: string, options?: FailureOptions): Failure {
  return new Failure("unsupported", "method_not_allowed", message, options);
}

/**
 * @code no_leader The server cannot take requests to the ACL API now.
 * @status 503
 * @remedy Wait for the time that Retry-After says, then try again.
 * @code internal The server failed by its own fault, or stored data is damaged.
 * @status 500
 * @remedy Find the request id in the server's log.
 */
const WORDS: Partial<Record<FailureKind, string>> = {
  invalid: "invalid_parameter",
  "too-large": "invalid_parameter",
  "media-type": "invalid_parameter",
  unavailable: "no_leader",
  internal: "internal",
  damaged: "internal",
};

/** On /acl/, where a kind has one word for all that it may be. */
export function broaderWord(failure: Failure, options: FailureOptions): Failure {
  const { kind, code, message, texts } = failure;
  return new Failure(kind, WORDS[kind] ?? code.replaceAll("-", "_"), message, {
    ...options,
    texts,
  });
}

/**
 * @code snapshot-not-read-here The path cannot be answered from a loaded snapshot.
 * @remedy Leave read_snapshot_id out. It goes with reads and lists of key/value secrets, policies and roles of engines.
 */
export function notFromSnapshot(): Failure {
  const message =
    "nothing is answered from a snapshot here: read_snapshot_id goes with reads and lists of key/value secrets, " +
    "policies and roles of engines";
  return new Failure("invalid", "snapshot-not-read-here", message);
}

/**
 * @code snapshot-not-recovered-here Nothing on the path can be recovered from a loaded snapshot.
 * @remedy Leave X-Service-Recover-Snapshot-Id out. It goes with writes of key/value secrets, policies and roles of engines.
 */
export function nothingRecovered(): Failure {
  const message =
    "nothing is recovered from a snapshot here: X-Service-Recover-Snapshot-Id goes with POST and PUT on key/value " +
    "secrets, policies and roles of engines";
  return new Failure("invalid", "snapshot-not-recovered-here", message);
}

/**
 * @code snapshot-named-twice A request names a snapshot to read from and one to recover from.
 * @remedy Send read_snapshot_id with a read, or X-Service-Recover-Snapshot-Id with a write.
 */
export function snapshotTwice(): Failure {
  const message =
    "read_snapshot_id goes with a read, and X-Service-Recover-Snapshot-Id with a write; send one of them";
  return new Failure("invalid", "snapshot-named-twice", message);
}

/**
 * @code snapshot-recover-body A request that recovers something has a body of its own.
 * @remedy Send no body: what is written is what the snapshot held.
 */
export function recoverWithBody(): Failure {
  const message =
    "send no body with X-Service-Recover-Snapshot-Id: what the snapshot held is written";
  return new Failure("invalid", "snapshot-recover-body", message);
}

/**
 * @code snapshot-nothing-held The loaded snapshot held nothing at that path that could be recovered.
 * @remedy List the path with read_snapshot_id, or load another snapshot.
 */
export function notInSnapshot(): Failure {
  return new Failure(
    "not-found",
    "snapshot-nothing-held",
    "the snapshot holds nothing at this path",
  );
}

/**
 * @code forwarded-twice A request that another cluster has sent on came to one that would have to send it on again.
 * @remedy Wait until the clusters agree on which of them is the primary, and try again; `sys/replication/status` of each says what it is.
 */
export function forwardedTwice(): Failure {
  const message =
    "this cluster is not the primary of the shared data, and a request is sent on once: ask again when a primary is known";
  return new Failure("looping", "forwarded-twice", message);
}

/**
 * @code local-management A management token of this cluster alone was used for what all clusters share.
 * @remedy Use a global management token, or a token of the primary there.
 */
export function localManagement(): Failure {
  const message =
    "a management token that is local to this cluster does not reach what all clusters share: use a global token";
  return new Failure("denied", "local-management", message);
}

/**
 * @code not-in-region What the request would change is not in the region where it was made: a filter of the primary withholds it from that one.
 * @remedy Make the request in a region that has it. sys/replication/performance/secondary/dynamic-filter/:id shows what a region is not sent.
 */
export function notInRegion(): Failure {
  const message = "nothing of that name is in this region";
  return new Failure("not-found", "not-in-region", message);
}

/**
 * @code not-shared A request that another cluster has sent on is for something that this cluster has alone.
 * @remedy Send the request to the cluster itself.
 */
export function notShared(): Failure {
  const message =
    "the primary has something of its own under that name: through another cluster only what all share is written";
  return new Failure("denied", "not-shared", message);
}

/**
 * @code not-attested Another cluster has vouched for a caller in a request that is not for shared data.
 * @remedy Send the request to the primary, with a token that it knows.
 */
export function notAttested(): Failure {
  const message = "whom another cluster vouches for can write shared data alone";
  return new Failure("denied", "not-attested", message);
}

/**
 * @code policy-not-attested A secondary has vouched for a token with a policy that it may not vouch for.
 * @remedy Use a global token, or have the operators of the primary make a token for the secondary with more `attest_policies`.
 */
export function policyNotAttested(): Failure {
  const message =
    "the token has a policy that its cluster may not vouch for (attest_policies): use a global token";
  return new Failure("denied", "policy-not-attested", message);
}

/**
 * @code state-not-reached What the request refers to with X-Service-State is not to be seen here yet.
 * @remedy Try again after the time that Retry-After says, or send X-Service-Inconsistent with await-state.
 */
export function stateNotReached(): Failure {
  const message =
    "what X-Service-State stands for is not to be seen here yet: try again, or send X-Service-Inconsistent: await-state";
  return new Failure("behind", "state-not-reached", message, { retryAfter: 1 });
}

/**
 * @code state-lost What the request refers to with X-Service-State was written by a primary that another one has taken over from, and not taken over.
 * @remedy Leave X-Service-State out, and look at what there is: what was written then is lost, or kept as divergent.
 */
export function stateLost(): Failure {
  const message =
    "what X-Service-State stands for will not be seen any more: the primary that wrote it was replaced before that was taken over";
  return new Failure("behind", "state-lost", message, { retryAfter: Infinity });
}

/**
 * @code state-unknown X-Service-State is no mark of this server, or of one that it shares data with.
 * @remedy Send what an answer of this server, or of another one of its set, had in X-Service-State, or leave it out.
 */
export function stateUnknown(): Failure {
  const message =
    "X-Service-State must be as an answer of this server, or of one that it shares data with, has had it";
  return new Failure("invalid", "state-unknown", message);
}
