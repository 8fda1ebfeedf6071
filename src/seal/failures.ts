// Every way this room refuses. Texts never hold what was given: it may be a share in the wrong field.

import { Failure } from "../base/failure.ts";

// --- state of the node ---

/** 400, not 503, where shares are given: the caller is early, the server is not out of order. */
export function notInitialised(): Failure {
  return new Failure("invalid", "seal-not-initialised", "service is not initialized");
}

export function nodeSealed(): Failure {
  return new Failure("sealed", "seal-sealed", "service is sealed");
}

export function configDamaged(): Failure {
  const message = "the stored seal configuration is damaged; restore it from a snapshot";
  return new Failure("damaged", "seal-config-damaged", message);
}

export function rowMissing(path: string): Failure {
  const message = `the stored row ${path} is missing; restore it from a snapshot`;
  return new Failure("damaged", "seal-row-missing", message);
}

/** The key was right, and what it opened does not open the keyring. */
export function keyringMismatch(): Failure {
  const message = "the stored root key does not open the stored keyring; restore a snapshot";
  return new Failure("damaged", "seal-keyring-mismatch", message);
}

// --- numbers of shares ---

export function sharesOutOfRange(field: string, most: number): Failure {
  const message = `${field} must be a whole number from 1 to ${most}`;
  return new Failure("invalid", "seal-shares-out-of-range", message);
}

export function thresholdOutOfRange(field: string, shares: number): Failure {
  const accepted = shares === 1 ? "1" : `a whole number from 2 to ${shares}`;
  const message = `${field} must be ${accepted} when the number of shares is ${shares}`;
  return new Failure("invalid", "seal-threshold-out-of-range", message);
}

export function pgpCountMismatch(field: string, given: number, shares: number): Failure {
  const message = `${field} has ${given} keys; give none, or one for each of the ${shares} shares`;
  return new Failure("invalid", "seal-pgp-count", message);
}

export function foreignFields(fields: readonly string[], type: string): Failure {
  const family = type === "shamir" ? "an auto seal" : "the shamir seal";
  const message = `${fields.join(", ")}: for ${family} only; this server has the ${type} seal`;
  return new Failure("invalid", "seal-foreign-fields", message);
}

export function noTokenToEncrypt(): Failure {
  const message =
    'root_token_pgp_key has no use with acl_bootstrap "open", which makes no root token; give one of the two';
  return new Failure("invalid", "seal-no-token-to-encrypt", message);
}

// --- shares as given ---

export function keyMissing(): Failure {
  const message = "key is missing; give a share in hex or base64, or reset";
  return new Failure("invalid", "seal-key-missing", message);
}

export function shareUnreadable(): Failure {
  const message = "key must be a share of 32 or 33 bytes in hex or base64";
  return new Failure("invalid", "seal-share-unreadable", message);
}

/** One text for every wrong set of shares: which of them was wrong stays unsaid. */
export function invalidKey(kept: boolean): Failure {
  const rest = kept
    ? "no combination of the shares given opens this server; they are kept: give another share"
    : "the shares given so far are dropped: start again with the first one";
  const texts = ["invalid key", rest];
  return new Failure("invalid", "seal-invalid-key", "invalid key", { texts });
}

export function shareRepeated(): Failure {
  const message = "this share was given already; give another one";
  return new Failure("invalid", "seal-share-repeated", message);
}

// --- unsealing ---

export function resetWhileUnsealed(): Failure {
  const message = "reset drops the progress of unsealing, and this node is unsealed";
  return new Failure("invalid", "seal-reset-while-unsealed", message);
}

/** A sealed node knows no tokens: being on its machine is the only authority there is. */
export function resetFromAfar(): Failure {
  const message =
    "reset is taken from the server's own machine only, without a proxy in between; " +
    "wrong shares need none: give the right ones, they are tried together";
  return new Failure("denied", "seal-reset-from-afar", message);
}

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

export function migrateUnsupported(): Failure {
  const message = "migrate is not supported: a seal keeps its type; leave it out or give false";
  return new Failure("invalid", "seal-migrate-unsupported", message);
}

export function sealUnknown(): Failure {
  const message = 'seal must be empty or "recovery"';
  return new Failure("invalid", "seal-unknown", message);
}

export function noRecoveryShares(): Failure {
  const message = "this server has the shamir seal and no recovery shares; give its unseal shares";
  return new Failure("invalid", "seal-no-recovery-shares", message);
}

export function noUnsealShares(type: string): Failure {
  const message =
    `this server has the ${type} seal and no unseal shares: it unseals by itself when it starts; ` +
    'recovery shares are given with seal "recovery", where they may unseal';
  return new Failure("invalid", "seal-no-unseal-shares", message);
}

export function recoveryCannotUnseal(): Failure {
  const message =
    "recovery shares cannot unseal this server: it was initialised with recovery_unseal false";
  return new Failure("invalid", "seal-recovery-cannot-unseal", message);
}

// --- auto seal ---

export function staticKeyUnreadable(): Failure {
  const message = "the key of a static seal must be 32 bytes: as they are, in hex, or in base64";
  return new Failure("invalid", "seal-static-key-unreadable", message);
}

export function autoSealMissing(type: string): Failure {
  const message = `this server was initialised with the ${type} seal, and none is configured`;
  return new Failure("unavailable", "seal-auto-seal-missing", message);
}

export function autoSealWrongKey(type: string): Failure {
  const message = `the key of the ${type} seal is not the one this server was initialised with`;
  return new Failure("unavailable", "seal-auto-seal-wrong-key", message);
}

// --- ceremonies ---

export function ceremonyRunning(): Failure {
  const message = "an attempt is running already; finish or cancel it first";
  return new Failure("invalid", "ceremony-running", message);
}

export function ceremonyNotRunning(): Failure {
  const message = "no attempt is running; start one first";
  return new Failure("invalid", "ceremony-not-running", message);
}

/** Names no nonce: neither the one given nor the one that would be right. */
export function wrongNonce(): Failure {
  const message = "nonce must be the one that the answer to the start of this attempt gave";
  return new Failure("invalid", "ceremony-wrong-nonce", message);
}

export function wrongCancelNonce(): Failure {
  const message = "cancel_nonce must be the one that the answer to the start of this attempt gave";
  return new Failure("invalid", "ceremony-wrong-cancel-nonce", message);
}

export function cancelDenied(): Failure {
  const message =
    "cancelling needs the cancel_nonce that the answer to the start of this attempt gave, " +
    "or a token with update and sudo";
  return new Failure("denied", "ceremony-cancel-denied", message);
}

export function otpAndPgp(): Failure {
  return new Failure("invalid", "ceremony-otp-and-pgp", "give otp or pgp_key, not both");
}

export function otpLength(needed: number): Failure {
  const message = `otp must have ${needed} bytes, as many as the token it will cover`;
  return new Failure("invalid", "ceremony-otp-length", message);
}

export function backupNeedsPgp(): Failure {
  const message = "backup stores PGP-encrypted shares only: give pgp_keys with it";
  return new Failure("invalid", "rekey-backup-needs-pgp", message);
}

export function rekeyNeedsUnsealShares(type: string): Failure {
  const message = `this server has the ${type} seal and no unseal shares; rekey its recovery key instead`;
  return new Failure("invalid", "rekey-no-unseal-shares", message);
}

export function rekeyNeedsRecoveryShares(): Failure {
  const message = "this server has the shamir seal and no recovery shares; rekey its unseal key";
  return new Failure("invalid", "rekey-no-recovery-shares", message);
}

export function verifyingNow(): Failure {
  const message =
    "enough shares were given and the new ones are out; give those to the verification";
  return new Failure("invalid", "rekey-verifying", message);
}

export function noBackup(): Failure {
  return new Failure("not-found", "rekey-no-backup", "no rekey left a backup", { texts: [] });
}

// --- the node ---

export function sealStandby(): Failure {
  const message = "cannot seal a standby; step it out of the cluster or stop it";
  return new Failure("invalid", "seal-standby", message);
}
