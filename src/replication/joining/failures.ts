// Every way this folder refuses.

import { counted } from "@holdfast/shared/text/counted";
import { ACCEPTED_NAMES } from "@holdfast/shared/text/policy-name";
import { Failure } from "@holdfast/shared/failure";
import { REPLACED } from "../../cluster/hello.ts";
import type { ReplicationKind } from "../../cluster/names.ts";

/**
 * @code joining-key-unusable A public key is none that anything can be encrypted to.
 * @remedy Take the secondary_public_key that generate-public-key has answered on the secondary.
 */
export function publicKeyUnusable(): Failure {
  return new Failure(
    "invalid",
    "joining-key-unusable",
    "secondary_public_key must be the base64 text that generate-public-key answers",
  );
}

/**
 * @code joining-keys-unreadable The keys that a primary has sent do not open here, or are none.
 * @remedy Look whether both clusters run the same version; make a new activation token otherwise.
 */
export function keysUnreadable(): Failure {
  const message = "the keys that the primary has sent cannot be read here";
  return new Failure("upstream", "joining-keys-unreadable", message);
}

// --- at the primary ---

/**
 * @code joining-no-authority This cluster has no authority of a replication set.
 * @remedy Enable it as a primary first.
 */
export function noAuthority(): Failure {
  const message = "this cluster is not a primary and admits no secondaries";
  return new Failure("invalid", "joining-no-authority", message);
}

/**
 * @code joining-id-invalid The id of a secondary has a form that does not fit into a certificate.
 * @remedy Use 1 to 64 letters, digits, "_", and inside also "-" and ".".
 */
export function idInvalid(): Failure {
  const message =
    'id must have 1 to 64 characters: letters, digits and "_", inside also "-" and "."';
  return new Failure("invalid", "joining-id-invalid", message);
}

/**
 * @code joining-id-taken There is a secondary with that id, or a token for one.
 * @remedy Take another id, or revoke that one first.
 */
export function idTaken(): Failure {
  const message = "id belongs to a secondary that is known already; take another, or revoke it";
  return new Failure("invalid", "joining-id-taken", message);
}

/**
 * @code joining-ttl-out-of-range An activation token is valid for one second to 24 hours.
 * @remedy Give a ttl in that range, or none for 30 minutes.
 */
export function ttlOutOfRange(): Failure {
  return new Failure("invalid", "joining-ttl-out-of-range", "ttl must be from 1s to 24h");
}

/**
 * @code joining-too-many A primary has as many secondaries as it takes.
 * @remedy Revoke those that are not needed any more.
 */
export function tooManySecondaries(max: number): Failure {
  const message = `a primary has at most ${max} secondaries, unused tokens included; revoke one`;
  return new Failure("invalid", "joining-too-many", message);
}

/**
 * @code joining-not-known A secondary is not known to the primary, or was revoked.
 * @remedy Make a token for it, and use it there with update-primary.
 */
export function notKnown(): Failure {
  const message = "this primary does not know the secondary, or has revoked it";
  return new Failure("denied", "joining-not-known", message);
}

/**
 * @code joining-cluster-id-invalid A secondary does not say which cluster it is.
 * @remedy Look whether both clusters run the same version.
 */
export function clusterIdInvalid(): Failure {
  const message = "the id of a cluster is a UUID in lower case";
  return new Failure("invalid", "joining-cluster-id-invalid", message);
}

/**
 * @code joining-activation-expired A secondary came for the first time after its token had ended.
 * @remedy Revoke its id and make another token.
 */
export function activationExpired(): Failure {
  const message = "the activation token ended before it was used; make another one";
  return new Failure("denied", "joining-activation-expired", message);
}

/**
 * @code joining-other-cluster Two clusters use the activation token of one.
 * @remedy Find out how the other one came by it; revoke the id, and make a token for each.
 */
export function otherCluster(): Failure {
  const message =
    "another cluster has come with the same activation token before: each needs one of its own; where that was none of yours, revoke the id as well";
  return new Failure("denied", "joining-other-cluster", message);
}

/**
 * @code joining-place-taken Another cluster was promoted in the place of this secondary, and comes to the primary with its credentials.
 * @remedy Demote this one in disaster recovery, and have it follow the other one there; or disable it.
 */
export function placeTaken(): Failure {
  return new Failure("denied", "joining-place-taken", REPLACED);
}

/**
 * @code joining-cluster-known A secondary comes under a new id, with the id of a cluster that the primary knows under another one, and does not prove to be that cluster.
 * @remedy Where it is the same cluster, revoke the other id on the primary; the token is as good as before.
 */
export function clusterKnown(id: string): Failure {
  const message = `a cluster of this id is known here as ${id}, and this one does not prove to be it; where it is the same, revoke ${id} on the primary first, and use this token again`;
  return new Failure("denied", "joining-cluster-known", message);
}

/**
 * @code joining-cluster-known-before A secondary comes as a cluster that was known to the primary of before, or was that one, and does not prove to be it.
 * @remedy Where it is the same cluster, revoke it on the primary by its cluster_id (sys/health); a token that is sealed to a key stays good, in the place of a wrapped one make another.
 */
export function clusterKnownBefore(id: string): Failure {
  const name = id === "" ? "" : `, as ${id}`;
  const message = `a cluster of this id is known here from before this primary led${name}, and this one does not prove to be it; where it is the same, revoke it on the primary first, by its cluster_id, and use this token again`;
  return new Failure("denied", "joining-cluster-known-before", message);
}

/**
 * @code replication-region-taken The cluster that comes to follow has the name of the primary's region, or of another secondary's.
 * @remedy Set region in its configuration to a name that no other cluster of the set has, restart it, and join again by secondary/enable: a name stays with the data, and one that has taken the data of another cluster over has its name too until then. Where the other one is gone for good, revoke it.
 */
export function regionTaken(by: { readonly id: string } | null = null): Failure {
  const whose =
    by === null ? "the primary's" : `the secondary ${by.id}, which is to be revoked if it is gone`;
  return new Failure(
    "invalid",
    "replication-region-taken",
    `its region has the name of ${whose}: set region in its configuration to a name of its own, restart it, and let it join anew (secondary/enable), since a name stays with the data`,
  );
}

/**
 * @code joining-primary-itself A secondary comes with the id of the cluster that its primary is.
 * @remedy Do not start a copy of the primary's storage as another cluster: initialise one of its own.
 */
export function primaryItself(): Failure {
  const message =
    "this is the id of the primary itself; a secondary is a cluster that was initialised by itself";
  return new Failure("denied", "joining-primary-itself", message);
}

/**
 * @code joining-other-key A secondary wants the keys of the set for another key than it has registered.
 * @remedy Revoke its id, and let it come with a new token.
 */
export function otherKey(): Failure {
  const message =
    "this token was used before, and counts once: make another one on the primary, for another id";
  return new Failure("denied", "joining-other-key", message);
}

/**
 * @code joining-key-missing A secondary that has registered no key asks for those of the set.
 * @remedy Let it come with a new token.
 */
export function keyMissing(): Failure {
  const message = "the secondary has registered no key that others could be sealed to";
  return new Failure("denied", "joining-key-missing", message);
}

/**
 * @code joining-renewal-early A certificate is renewed when two thirds of its life are over.
 * @remedy Nothing needs to be done: the secondary renews it by itself.
 */
export function renewalEarly(): Failure {
  const message = "the certificate is renewed when two thirds of its life are over";
  return new Failure("invalid", "joining-renewal-early", message);
}

/**
 * @code joining-renewal-often A secondary asks for certificates faster than it can need them.
 * @remedy Look at that secondary, and revoke it where it is not in good hands; it may ask again after a minute, and after a day where it has had six in one.
 */
export function renewalOften(retryAfter: number): Failure {
  const message = "this member has had several certificates lately; it has one that is good";
  return new Failure("rate-limited", "joining-renewal-often", message, { retryAfter });
}

/**
 * @code joining-api-address-plain A wrapped token names the address where it is unwrapped, and that of this server is not https://.
 * @remedy Make the token with secondary_public_key (`holdfast replication public-key` on the other cluster), or set api_addr to an
 * https:// address.
 */
export function plainApiAddress(): Failure {
  const message =
    "a wrapped token is unwrapped by https alone, and api_addr of this server is http://: give secondary_public_key, which needs no such call, or set api_addr to an https:// address";
  return new Failure("invalid", "joining-api-address-plain", message);
}

// --- at the secondary ---

const ANOTHER = "make another one on the primary, by the last public key of this cluster";

/**
 * @code joining-token-unreadable What was given is no activation token, or not the whole of one.
 * @remedy Give the whole text that secondary-token has answered on the primary, as one line: without spaces, line breaks or quotes. Where it is lost, make another one there.
 */
export function tokenUnreadable(token = ""): Failure {
  const what = /\s/.test(token)
    ? "token holds spaces or line breaks, and an activation token has none"
    : "token is no activation token, or not the whole of one";
  return new Failure(
    "invalid",
    "joining-token-unreadable",
    `${what}: give the whole of the token that the primary has answered, as one line; where that is lost, ${ANOTHER}`,
  );
}

/**
 * @code joining-token-expired An activation token has ended.
 * @remedy Make another one on the primary; check the clocks of both machines.
 */
export function tokenExpired(seconds: number): Failure {
  return new Failure(
    "invalid",
    "joining-token-expired",
    `the activation token has expired, ${counted(seconds, "second")} ago by the clock of this server: make another one, or set this clock ` +
      "right if it is ahead of the primary's",
  );
}

/**
 * @code joining-token-kind An activation token is for the other kind of replication.
 * @remedy Use it at the paths of its kind, or make one for this kind.
 */
export function tokenOfOtherKind(kind: ReplicationKind): Failure {
  const other = kind === "dr" ? "performance" : "dr";
  const message = `the activation token is not one for ${kind} replication: use it below sys/replication/${other}/, or make one for this kind`;
  return new Failure("invalid", "joining-token-kind", message);
}

/**
 * @code joining-token-other-key An activation token was encrypted to another key than the last one of this cluster.
 * @remedy Make the token for the key that generate-public-key has answered last.
 */
export function tokenOfOtherKey(): Failure {
  const message =
    "the activation token does not open: it was changed, or made for another key than the last of this cluster; make another public key here, and another token on the primary for it";
  return new Failure("invalid", "joining-token-other-key", message);
}

/**
 * @code joining-no-activation-key This cluster has made no key that a token could be encrypted to.
 * @remedy Call generate-public-key here, and make the token for what it answers.
 */
export function noActivationKey(): Failure {
  const message =
    "this cluster has no key for the activation token: make a public key here, and another token on the primary for it";
  return new Failure("invalid", "joining-no-activation-key", message);
}

/**
 * @code joining-activation-damaged What an activation token holds is not what a primary puts in.
 * @remedy Make another one; if it stays, look whether both clusters run the same version.
 */
export function activationDamaged(what: string): Failure {
  const message = `what the activation token holds cannot be used: ${what}; ${ANOTHER}`;
  return new Failure("invalid", "joining-activation-damaged", message);
}

/**
 * @code joining-primary-newer The primary is of a later version than this cluster.
 * @remedy Upgrade this cluster first, then the primary.
 */
export function primaryNewer(): Failure {
  const message = "the primary is newer than this secondary; upgrade this cluster first";
  return new Failure("invalid", "joining-primary-newer", message);
}

// --- calling the primary ---

/**
 * @code joining-address-missing Neither the activation token nor the request says where the primary's API is.
 * @remedy Give primary_api_addr, or set api_addr on the primary and make another token.
 */
export function addressMissing(): Failure {
  const message = "the activation token names no address of the primary: give primary_api_addr";
  return new Failure("invalid", "joining-address-missing", message);
}

/**
 * @code joining-address-forbidden The address of a primary is one where no other cluster is called.
 * @remedy Give another address in the field that is named; see docs/operations/outbound.md for addresses of this machine.
 */
export function addressForbidden(field: string, why: string): Failure {
  return new Failure("invalid", "joining-address-forbidden", `${field}: ${why}`);
}

/**
 * @code joining-primary-unreachable The primary's API did not answer.
 * @remedy Look at the address, the network and the certificate; ca_file, ca_path or ca_pem say whom to trust.
 */
export function primaryUnreachable(why: string): Failure {
  return new Failure("upstream", "joining-primary-unreachable", `the primary: ${why}`);
}

/**
 * @code joining-primary-answer The primary's API gave an answer that is none.
 * @remedy Look whether the address is that of the primary's API.
 */
export function primaryAnswers(status: number): Failure {
  const message = `the primary did not hand over what the token stands for (status ${status})`;
  return new Failure("upstream", "joining-primary-answer", message);
}

/**
 * @code joining-token-refused The primary does not take the activation token: it was used, has ended, was changed or cut, or is not its own.
 * @remedy Make another token. If nobody of yours has used this one, revoke its id.
 */
export function tokenRefused(): Failure {
  const message =
    "the primary refuses the activation token: it was used, has ended, is not whole, or is not its own; revoke its id there, and make another one";
  return new Failure("invalid", "joining-token-refused", message);
}

/**
 * @code joining-trust-unreadable What says whom to trust holds no certificates.
 * @remedy Give certificates in PEM; files must be readable by the server and no links.
 */
export function trustUnreadable(field: string): Failure {
  const message = `${field} must name certificates in PEM that this server can read`;
  return new Failure("invalid", "joining-trust-unreadable", message);
}

/**
 * @code joining-identity-unreadable The certificate that the call shows does not go with its key, or is none.
 * @remedy Give client_cert_pem and client_key_pem together, of one pair.
 */
export function identityUnreadable(): Failure {
  const message = "client_cert_pem and client_key_pem must be a certificate and its key, in PEM";
  return new Failure("invalid", "joining-identity-unreadable", message);
}

// --- between members ---

/**
 * @code joining-certificate-unusable The certificate that a primary has made for this member is not one for it.
 * @remedy Look whether both clusters run the same version. The present certificate stays in use until it ends.
 */
export function certificateUnusable(): Failure {
  const message = "the certificate that the primary has made is not one for this secondary";
  return new Failure("upstream", "joining-certificate-unusable", message);
}

/**
 * @code joining-orphans-unreadable What a member hands over of things outside is not sealed with the keys of the set.
 * @remedy Nothing, after a rekey: it fetches the new keys and tries again. Else look at the certificate that it came with.
 */
export function orphansUnreadable(): Failure {
  const message = "what was handed over is not sealed with the present keys of the set";
  return new Failure("denied", "joining-orphans-unreadable", message);
}

/**
 * @code joining-fence-unproved Somebody says to lead by now, and cannot prove to have the keys of the set.
 * @remedy Look at the certificate that it came with. After a rekey the two clusters have other keys: demote this one by hand.
 */
export function fenceUnproved(): Failure {
  const message = "whoever says to lead by now does not prove to have the keys of the set";
  return new Failure("denied", "joining-fence-unproved", message);
}

/**
 * @code replication-policy-name A name of a policy that a secondary may vouch for is none.
 * @remedy Name policies as `sys/policies/acl` lists them.
 */
export function policyNameInvalid(): Failure {
  const message = `attest_policies must name policies: each has ${ACCEPTED_NAMES}`;
  return new Failure("invalid", "replication-policy-name", message);
}
