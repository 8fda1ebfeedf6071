// Every way this room refuses. Texts never hold what was given: it may be a share in the wrong field.

import { Failure } from "@holdfast/shared/failure";

// --- state of the node ---

/** 400, not 503, where shares are given: the caller is early, the server is not out of order. */
export function notInitialised(): Failure {
  return new Failure("invalid", "seal-not-initialised", "service is not initialized");
}

/**
 * @code seal-sealed The server is sealed.
 * @remedy Unseal it.
 */
export function nodeSealed(): Failure {
  return new Failure("sealed", "seal-sealed", "service is sealed");
}

/**
 * @code seal-config-damaged The stored configuration of the seal is damaged.
 * @remedy Restore a backup.
 */
export function configDamaged(): Failure {
  const message = "the stored seal configuration is damaged; restore it from a snapshot";
  return new Failure("damaged", "seal-config-damaged", message);
}

/**
 * @code seal-row-missing A stored row of the seal is missing.
 * @remedy Restore a backup.
 */
export function rowMissing(path: string): Failure {
  const message = `the stored row ${path} is missing; restore it from a snapshot`;
  return new Failure("damaged", "seal-row-missing", message);
}

/**
 * The key was right, and what it opened does not open the keyring.
 * @code seal-keyring-mismatch Root key and keyring are not of the same store.
 * @remedy Restore a whole backup: both come from one moment.
 */
export function keyringMismatch(): Failure {
  const message = "the stored root key does not open the stored keyring; restore a snapshot";
  return new Failure("damaged", "seal-keyring-mismatch", message);
}

// --- numbers of shares ---

/**
 * @code seal-shares-out-of-range The number of shares is out of range.
 * @remedy Use the range that the text gives.
 */
export function sharesOutOfRange(field: string, max: number): Failure {
  const message = `${field} must be a whole number from 1 to ${max}`;
  return new Failure("invalid", "seal-shares-out-of-range", message);
}

/**
 * @code seal-threshold-out-of-range The threshold does not go with the number of shares.
 * @remedy Use the range that the text gives.
 */
export function thresholdOutOfRange(field: string, shares: number): Failure {
  const accepted = shares === 1 ? "1" : `a whole number from 2 to ${shares}`;
  const message = `${field} must be ${accepted} when the number of shares is ${shares}`;
  return new Failure("invalid", "seal-threshold-out-of-range", message);
}

/**
 * @code seal-pgp-count There are not as many PGP keys as shares.
 * @remedy Give one for each share, or none.
 */
export function pgpCountMismatch(field: string, count: number, shares: number): Failure {
  const message = `${field} has ${count} keys; give none, or one for each of the ${shares} shares`;
  return new Failure("invalid", "seal-pgp-count", message);
}

/**
 * @code seal-foreign-fields Fields of another kind of seal were given.
 * @remedy Leave them out.
 */
export function foreignFields(fields: readonly string[], type: string): Failure {
  const family = type === "shamir" ? "an auto seal" : "the shamir seal";
  const message = `${fields.join(", ")}: for ${family} only; this server has the ${type} seal`;
  return new Failure("invalid", "seal-foreign-fields", message);
}

/**
 * @code seal-no-token-to-encrypt A PGP key was given for a root token that will not be made.
 * @remedy Give one of the two.
 */
export function noTokenToEncrypt(): Failure {
  const message =
    'root_token_pgp_key has no use with acl_bootstrap "open", which makes no root token; give one of the two';
  return new Failure("invalid", "seal-no-token-to-encrypt", message);
}

// --- shares as given ---

/**
 * @code seal-key-missing A share was expected and none was given.
 * @remedy Give key, or reset.
 */
export function keyMissing(): Failure {
  const message = "key is missing; give a share in hex or base64, or reset";
  return new Failure("invalid", "seal-key-missing", message);
}

/**
 * @code seal-share-unreadable What was given is no share.
 * @remedy Give the share in hex or base64, whole and without spaces.
 */
export function shareUnreadable(): Failure {
  const message = "key must be a share of 32 or 33 bytes in hex or base64";
  return new Failure("invalid", "seal-share-unreadable", message);
}

/**
 * One text for every wrong set of shares: which of them was wrong stays unsaid.
 * @code seal-invalid-key The shares do not open the server.
 * @remedy Check that all are of the newest set; a rekey voids older ones.
 */
export function invalidKey(kept: boolean): Failure {
  const rest = kept
    ? "no combination of the shares given opens this server; they are kept: give another share"
    : "the shares given so far are dropped: start again with the first one";
  const texts = ["invalid key", rest];
  return new Failure("invalid", "seal-invalid-key", "invalid key", { texts });
}

/**
 * @code seal-share-repeated This share was given already.
 * @remedy Give another one.
 */
export function shareRepeated(): Failure {
  const message = "this share was given already; give another one";
  return new Failure("invalid", "seal-share-repeated", message);
}

// --- unsealing ---

/**
 * @code seal-reset-while-unsealed There is nothing to reset: the server is unsealed.
 * @remedy Nothing.
 */
export function resetWhileUnsealed(): Failure {
  const message = "reset drops the progress of unsealing, and this node is unsealed";
  return new Failure("invalid", "seal-reset-while-unsealed", message);
}

/**
 * A sealed node knows no tokens: being on its machine is the only authority there is.
 * @code seal-reset-from-afar The progress of unsealing may be reset from the server's own machine
 *   only.
 * @remedy Give the right shares: they are tried together with the wrong ones.
 */
export function resetFromAfar(): Failure {
  const message =
    "reset is taken from the server's own machine only, without a proxy in between; " +
    "wrong shares need none: give the right ones, they are tried together";
  return new Failure("denied", "seal-reset-from-afar", message);
}

/**
 * @code seal-retried-too-soon Opening was tried a moment ago.
 * @remedy Try again in a second.
 */
export function retriedTooSoon(): Failure {
  const message = "opening was tried a moment ago; try again in a second";
  return new Failure("rate-limited", "seal-retried-too-soon", message, { retryAfter: 1 });
}

/** What keeps the node sealed is mended elsewhere, and the holders of the shares can sleep. */
export function sharesKept(hours: number): string {
  return (
    `the shares were right and are kept for ${hours} h: mend the cause, then run ` +
    "`holdfast operator unseal` again, or POST to sys/unseal without a key"
  );
}

/**
 * @code seal-migrate-unsupported A seal keeps its type.
 * @remedy Leave migrate out.
 */
export function migrateUnsupported(): Failure {
  const message = "migrate is not supported: a seal keeps its type; leave it out or give false";
  return new Failure("invalid", "seal-migrate-unsupported", message);
}

/**
 * @code seal-unknown There is no such seal to give shares to.
 * @remedy Leave seal out, or give recovery.
 */
export function sealUnknown(): Failure {
  const message = 'seal must be empty or "recovery"';
  return new Failure("invalid", "seal-unknown", message);
}

/**
 * @code seal-no-recovery-shares The server has no recovery shares.
 * @remedy Give its unseal shares.
 */
export function noRecoveryShares(): Failure {
  const message = "this server has the shamir seal and no recovery shares; give its unseal shares";
  return new Failure("invalid", "seal-no-recovery-shares", message);
}

/**
 * @code seal-no-unseal-shares The server unseals by itself and has no unseal shares.
 * @remedy Look in the log why it did not; give recovery shares where those may unseal.
 */
export function noUnsealShares(type: string): Failure {
  const message =
    `this server has the ${type} seal and no unseal shares: it unseals by itself when it starts; ` +
    'recovery shares are given with seal "recovery", where they may unseal';
  return new Failure("invalid", "seal-no-unseal-shares", message);
}

/**
 * @code seal-recovery-cannot-unseal Recovery shares may not unseal this server.
 * @remedy Make the key of its seal available again, then restart it.
 */
export function recoveryCannotUnseal(): Failure {
  const message =
    "recovery shares cannot unseal this server: it was initialised with recovery_unseal false";
  return new Failure("invalid", "seal-recovery-cannot-unseal", message);
}

// --- auto seal ---

/**
 * @code seal-static-key-unreadable The key of the static seal is not 32 bytes.
 * @remedy Put the right key in its file, raw, in hex or in base64.
 */
export function staticKeyUnreadable(): Failure {
  const message = "the key of a static seal must be 32 bytes: as they are, in hex, or in base64";
  return new Failure("invalid", "seal-static-key-unreadable", message);
}

/**
 * @code seal-auto-seal-missing The server was initialised with an auto seal and none is
 *   configured.
 * @remedy Put the seal back into the configuration.
 */
export function autoSealMissing(type: string): Failure {
  const message = `this server was initialised with the ${type} seal, and none is configured`;
  return new Failure("unavailable", "seal-auto-seal-missing", message);
}

/**
 * @code seal-auto-seal-wrong-key The key of the seal is not the one the server was initialised
 *   with.
 * @remedy Configure the key of that time.
 */
export function autoSealWrongKey(type: string): Failure {
  const message = `the key of the ${type} seal is not the one this server was initialised with`;
  return new Failure("unavailable", "seal-auto-seal-wrong-key", message);
}

// --- ceremonies ---

/**
 * @code ceremony-running Another attempt of this ceremony is running.
 * @remedy Finish or cancel it.
 */
export function ceremonyRunning(): Failure {
  const message = "an attempt is running already; finish or cancel it first";
  return new Failure("invalid", "ceremony-running", message);
}

/**
 * @code ceremony-not-running No attempt of this ceremony is running.
 * @remedy Start one; it may have ended for want of shares.
 */
export function ceremonyNotRunning(): Failure {
  const message = "no attempt is running; start one first";
  return new Failure("invalid", "ceremony-not-running", message);
}

/**
 * @code ceremony-other An attempt at another kind of token is running, and there is place for one.
 * @remedy Finish or cancel that one: root generation, or that of an operation token.
 */
export function otherCeremony(): Failure {
  const message =
    "the attempt that is running makes another kind of token; finish or cancel it first";
  return new Failure("invalid", "ceremony-other", message);
}

/**
 * Names no nonce: neither the one given nor the one that would be right.
 * @code ceremony-wrong-nonce The nonce is not that of the running attempt.
 * @remedy Use the one that its start answered.
 */
export function wrongNonce(): Failure {
  const message = "nonce must be the one that the answer to the start of this attempt gave";
  return new Failure("invalid", "ceremony-wrong-nonce", message);
}

/**
 * @code ceremony-wrong-cancel-nonce The cancel_nonce is not that of the running attempt.
 * @remedy Use the one that its start answered.
 */
export function wrongCancelNonce(): Failure {
  const message = "cancel_nonce must be the one that the answer to the start of this attempt gave";
  return new Failure("invalid", "ceremony-wrong-cancel-nonce", message);
}

/**
 * @code ceremony-cancel-denied Cancelling needs the cancel_nonce, or a token with update and sudo.
 * @remedy Give one of them.
 */
export function cancelDenied(): Failure {
  const message =
    "cancelling needs the cancel_nonce that the answer to the start of this attempt gave, " +
    "or a token with update and sudo";
  return new Failure("denied", "ceremony-cancel-denied", message);
}

/**
 * @code ceremony-otp-and-pgp A one-time password and a PGP key exclude each other.
 * @remedy Give one of them.
 */
export function otpAndPgp(): Failure {
  return new Failure("invalid", "ceremony-otp-and-pgp", "give otp or pgp_key, not both");
}

/**
 * @code ceremony-otp-length The one-time password is not as long as the token it will cover.
 * @remedy Use the length that the text gives, or let the server draw one.
 */
export function otpLength(needed: number): Failure {
  const message = `otp must have ${needed} bytes, as many as the token it will cover`;
  return new Failure("invalid", "ceremony-otp-length", message);
}

/**
 * @code rekey-backup-needs-pgp A backup of new shares is kept encrypted only.
 * @remedy Give pgp_keys with it.
 */
export function backupNeedsPgp(): Failure {
  const message = "backup stores PGP-encrypted shares only: give pgp_keys with it";
  return new Failure("invalid", "rekey-backup-needs-pgp", message);
}

/**
 * @code rekey-no-unseal-shares The server has no unseal shares to be changed.
 * @remedy Rekey its recovery key.
 */
export function rekeyNeedsUnsealShares(type: string): Failure {
  const message = `this server has the ${type} seal and no unseal shares; rekey its recovery key instead`;
  return new Failure("invalid", "rekey-no-unseal-shares", message);
}

/**
 * @code rekey-no-recovery-shares The server has no recovery shares to be changed.
 * @remedy Rekey its unseal key.
 */
export function rekeyNeedsRecoveryShares(): Failure {
  const message = "this server has the shamir seal and no recovery shares; rekey its unseal key";
  return new Failure("invalid", "rekey-no-recovery-shares", message);
}

/**
 * @code rekey-on-secondary The shares and the root key of a secondary are those of its primary.
 * @remedy Rekey the primary; its secondaries take the new keys over.
 */
export function rekeyOnSecondary(): Failure {
  const message = "this cluster has the keys of its primary; rekey the primary";
  return new Failure("invalid", "rekey-on-secondary", message);
}

/**
 * @code rekey-verifying The new shares are out and wait to be verified.
 * @remedy Give the new shares to the verification.
 */
export function verifyingNow(): Failure {
  const message =
    "enough shares were given and the new ones are out; give those to the verification";
  return new Failure("invalid", "rekey-verifying", message);
}

/**
 * @code rekey-no-backup No rekey has left a backup.
 * @remedy Nothing.
 */
export function noBackup(): Failure {
  return new Failure("not-found", "rekey-no-backup", "no rekey left a backup", { texts: [] });
}

// --- the node ---

/**
 * @code seal-standby A standby cannot be sealed through the cluster.
 * @remedy Stop it, or take it out of the cluster.
 */
export function sealStandby(): Failure {
  const message = "cannot seal a standby; step it out of the cluster or stop it";
  return new Failure("invalid", "seal-standby", message);
}
