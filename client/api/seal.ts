// Endpoints of seal as functions.
// Written by scripts/gen.ts out of the declarations: do not edit. Inputs and answers have the names of
// the wire.

import type { Answer, Caller, CallOptions } from "../client.ts";

export type InitStatusAnswer = {
  /** Whether the server was initialised */
  readonly initialized: boolean;
};

/** Tell whether the server was initialised */
export async function initStatus(
  client: Caller,
  options?: CallOptions,
): Promise<Answer<InitStatusAnswer>> {
  return client.call({ method: "GET", path: "sys/init", answer: "bare" }, options);
}

export type InitInput = {
  /** Number of unseal shares; 5 if not given */
  readonly secret_shares?: number | undefined;
  /** Shares needed to unseal; 3, or all when there are fewer */
  readonly secret_threshold?: number | undefined;
  /** PGP public keys in base64, one for each share, to encrypt them to */
  readonly pgp_keys?: readonly string[] | undefined;
  /** PGP public key in base64 to encrypt the root token to */
  readonly root_token_pgp_key?: string | undefined;
  /** Number of recovery shares (auto seal) */
  readonly recovery_shares?: number | undefined;
  /** Recovery shares needed (auto seal) */
  readonly recovery_threshold?: number | undefined;
  /** PGP public keys for the recovery shares (auto seal) */
  readonly recovery_pgp_keys?: readonly string[] | undefined;
  /** Whether recovery shares can unseal when the auto seal's key is gone */
  readonly recovery_unseal?: boolean | undefined;
  /** open: make no root token and leave /acl/bootstrap to its first caller */
  readonly acl_bootstrap?: "open" | "closed" | undefined;
};

export type InitAnswer = {
  /** Unseal shares in hex */
  readonly keys: readonly string[];
  /** The same in base64 */
  readonly keys_base64: readonly string[];
  /** Recovery shares in hex */
  readonly recovery_keys?: readonly string[];
  /** The same in base64 */
  readonly recovery_keys_base64?: readonly string[];
  /** The first management token */
  readonly root_token?: string;
  /** Fingerprint of the key that evidence is signed with: what an auditor notes */
  readonly evidence_key?: string;
};

/** Initialise the server */
export async function init(
  client: Caller,
  body: InitInput = {},
  options?: CallOptions,
): Promise<Answer<InitAnswer>> {
  return client.call({ method: "POST", path: "sys/init", body, answer: "bare" }, options);
}

export type StatusAnswer = {
  /** Kind of seal */
  readonly type: string;
  /** Whether the server was initialised */
  readonly initialized: boolean;
  /** Whether the node has no keys */
  readonly sealed: boolean;
  /** Shares needed to unseal */
  readonly t: number;
  /** Shares there are */
  readonly n: number;
  /** Distinct shares given in the running attempt */
  readonly progress: number;
  /** Names the running attempt; empty when none runs */
  readonly nonce: string;
  /** Version of the server */
  readonly version: string;
  /** When it was built */
  readonly build_date: string;
  /** Whether the seal is being changed for another */
  readonly migration: boolean;
  /** Whether shares recover instead of unseal */
  readonly recovery_seal: boolean;
  /** Whether recovery shares can unseal */
  readonly recovery_can_unseal: boolean;
  /** Kind of storage */
  readonly storage_type: string;
  /** Name of the cluster; only while unsealed */
  readonly cluster_name?: string;
  /** Id of the cluster; only while unsealed */
  readonly cluster_id?: string;
  /** Fingerprint of the key that evidence is signed with; only while unsealed */
  readonly evidence_key?: string;
  /** What an operator should know */
  readonly warnings: readonly string[];
};

/** Tell the state of the seal */
export async function status(client: Caller, options?: CallOptions): Promise<Answer<StatusAnswer>> {
  return client.call({ method: "GET", path: "sys/seal-status", answer: "bare" }, options);
}

export type UnsealInput = {
  /** A share, in hex or base64 */
  readonly key?: string | undefined;
  /** Drop the shares given so far; taken from the server's own machine */
  readonly reset?: boolean | undefined;
  /** Not supported */
  readonly migrate?: boolean | undefined;
  /** Whose share: empty for the seal's own, "recovery" for a recovery share */
  readonly seal?: string | undefined;
};

export type UnsealAnswer = StatusAnswer;

/** Give one share of the unseal key */
export async function unseal(
  client: Caller,
  body: UnsealInput = {},
  options?: CallOptions,
): Promise<Answer<UnsealAnswer>> {
  return client.call({ method: "POST", path: "sys/unseal", body, answer: "bare" }, options);
}

export type SealInput = {
  /** On a disaster-recovery secondary: an operation token or operator ticket */
  readonly dr_operation_token?: string | undefined;
};

/** Seal the node */
export async function seal(
  client: Caller,
  body: SealInput = {},
  options?: CallOptions,
): Promise<Answer<undefined>> {
  return client.call({ method: "POST", path: "sys/seal", body, answer: "nothing" }, options);
}

export type KeyStatusAnswer = {
  /** Number of the key */
  readonly term: number;
  /** When it was installed */
  readonly install_time: string;
  /** How often it has encrypted, at least */
  readonly encryptions: number;
};

/** Tell about the data key in use */
export async function keyStatus(
  client: Caller,
  options?: CallOptions,
): Promise<Answer<KeyStatusAnswer>> {
  return client.call({ method: "GET", path: "sys/key-status", answer: "data" }, options);
}

/** Install a new data key */
export async function rotate(client: Caller, options?: CallOptions): Promise<Answer<undefined>> {
  return client.call({ method: "POST", path: "sys/rotate", answer: "nothing" }, options);
}

export type ReadRotationAnswer = {
  /** Whether keys are rotated by themselves */
  readonly enabled: boolean;
  /** Encryptions after which a key is replaced */
  readonly max_operations: number;
  /** Age at which a key is replaced; 0s for none */
  readonly interval: string;
};

/** Tell when data keys are rotated */
export async function readRotation(
  client: Caller,
  options?: CallOptions,
): Promise<Answer<ReadRotationAnswer>> {
  return client.call({ method: "GET", path: "sys/rotate/config", answer: "data" }, options);
}

export type ConfigureRotationInput = {
  /** Whether keys are rotated by themselves */
  readonly enabled?: boolean | undefined;
  /** Encryptions after which a key is replaced: 1000000 to 3865470566 */
  readonly max_operations?: number | undefined;
  /** Age at which a key is replaced: 0 for none, or at least 24h */
  readonly interval?: string | number | undefined;
};

/** Set when data keys are rotated */
export async function configureRotation(
  client: Caller,
  body: ConfigureRotationInput = {},
  options?: CallOptions,
): Promise<Answer<undefined>> {
  return client.call(
    { method: "POST", path: "sys/rotate/config", body, answer: "nothing" },
    options,
  );
}

/** Install a new data key */
export async function rotateKeyring(
  client: Caller,
  options?: CallOptions,
): Promise<Answer<undefined>> {
  return client.call({ method: "POST", path: "sys/rotate/keyring", answer: "nothing" }, options);
}

export type ReadRotationKeyringAnswer = ReadRotationAnswer;

/** Tell when data keys are rotated */
export async function readRotationKeyring(
  client: Caller,
  options?: CallOptions,
): Promise<Answer<ReadRotationKeyringAnswer>> {
  return client.call({ method: "GET", path: "sys/rotate/keyring/config", answer: "data" }, options);
}

export type ConfigureRotationKeyringInput = ConfigureRotationInput;

/** Set when data keys are rotated */
export async function configureRotationKeyring(
  client: Caller,
  body: ConfigureRotationKeyringInput = {},
  options?: CallOptions,
): Promise<Answer<undefined>> {
  return client.call(
    { method: "POST", path: "sys/rotate/keyring/config", body, answer: "nothing" },
    options,
  );
}

export type HealthInput = {
  /** Count a standby as healthy */
  readonly standbyok?: boolean | undefined;
  /** Count a standby that serves reads as healthy */
  readonly perfstandbyok?: boolean | undefined;
  /** Status when the node is removed from its cluster */
  readonly removedcode?: number | undefined;
  /** Status when the node is not initialised */
  readonly uninitcode?: number | undefined;
  /** Status when the node is sealed */
  readonly sealedcode?: number | undefined;
  /** Status when the node is a member of a disaster-recovery secondary */
  readonly drsecondarycode?: number | undefined;
  /** Status when the node is a standby without word of the active node */
  readonly haunhealthycode?: number | undefined;
  /** Status when the node is a standby that serves reads, or a primary that does nothing else: superseded, or without word of its secondaries */
  readonly performancestandbycode?: number | undefined;
  /** Status when the node is a standby */
  readonly standbycode?: number | undefined;
  /** Status when the node is active */
  readonly activecode?: number | undefined;
};

export type HealthAnswer = {
  /** Whether the server was initialised */
  readonly initialized: boolean;
  /** Whether the node has no keys */
  readonly sealed: boolean;
  /** Whether another node is active */
  readonly standby: boolean;
  /** Whether it is a standby that serves reads */
  readonly performance_standby: boolean;
  /** disabled, bootstrapping, primary or secondary; unknown while sealed */
  readonly replication_dr_mode: string;
  /** Whether it is a primary that writes nothing: another was promoted, or primary_lease has lapsed */
  readonly replication_dr_fenced: boolean;
  /** disabled, bootstrapping, primary or secondary; unknown while sealed */
  readonly replication_performance_mode: string;
  /** Whether it is a primary that writes nothing of what is shared: another was promoted */
  readonly replication_performance_fenced: boolean;
  /** The server's clock, in seconds since 1970 */
  readonly server_time_utc: number;
  /** Version of the server */
  readonly version: string;
  /** Name of the cluster; only while unsealed */
  readonly cluster_name?: string;
  /** Id of the cluster; only while unsealed */
  readonly cluster_id?: string;
  /** Name of the region */
  readonly region: string;
  /** Index of the last durable write */
  readonly last_wal: number;
  /** Whether the active node was heard of lately */
  readonly ha_connection_healthy: boolean;
  /** Age of the last heartbeat */
  readonly last_request_forwarding_heartbeat_ms: number;
  /** How far the clock of the replication primary is ahead */
  readonly clock_skew_ms: number;
  /** Time of a round trip to it */
  readonly echo_duration_ms: number;
  /** Lag behind the replication primary */
  readonly replication_primary_canary_age_ms: number;
  /** Whether the node was removed from its cluster */
  readonly removed_from_cluster: boolean;
  /** Whether anybody may still take the first management token */
  readonly acl_bootstrap_open: boolean;
  /** When a stored snapshot was last proven to restore; null before, and while sealed */
  readonly last_proven_restore: string | null;
};

/** Tell the health of the node, by status and body */
export async function health(
  client: Caller,
  query: HealthInput = {},
  options?: CallOptions,
): Promise<Answer<HealthAnswer>> {
  return client.call(
    { method: "GET", path: "sys/health", query, answer: "bare", anyStatus: true },
    options,
  );
}

export type LeaderAnswer = {
  /** Whether there are several nodes */
  readonly ha_enabled: boolean;
  /** Whether it is this one */
  readonly is_self: boolean;
};

/** Tell which node is active */
export async function leader(client: Caller, options?: CallOptions): Promise<Answer<LeaderAnswer>> {
  return client.call({ method: "GET", path: "sys/leader", answer: "bare" }, options);
}

/** Give up leadership */
export async function stepDown(client: Caller, options?: CallOptions): Promise<Answer<undefined>> {
  return client.call({ method: "POST", path: "sys/step-down", answer: "nothing" }, options);
}

export type GenerateRootStatusAnswer = {
  /** Whether an attempt runs */
  readonly started: boolean;
  /** Names the attempt */
  readonly nonce: string;
  /** Shares given */
  readonly progress: number;
  /** Shares needed */
  readonly required: number;
  /** Whether the token was made */
  readonly complete: boolean;
  /** The token under the one-time password or the PGP key; empty before */
  readonly encoded_token: string;
  /** The same */
  readonly encoded_root_token: string;
  /** Of the key that the token will be encrypted to */
  readonly pgp_fingerprint: string;
  /** A one-time password made here: shown once, when the attempt starts */
  readonly otp: string;
  /** Length of the one-time password */
  readonly otp_length: number;
  /** Lets whoever has it cancel the attempt: shown once, when the attempt starts */
  readonly cancel_nonce?: string;
};

/** Tell about the running root generation */
export async function generateRootStatus(
  client: Caller,
  options?: CallOptions,
): Promise<Answer<GenerateRootStatusAnswer>> {
  return client.call({ method: "GET", path: "sys/generate-root/attempt", answer: "bare" }, options);
}

export type GenerateRootStartInput = {
  /** A one-time password as long as the token */
  readonly otp?: string | undefined;
  /** PGP public key in base64 to encrypt the token to */
  readonly pgp_key?: string | undefined;
};

export type GenerateRootStartAnswer = GenerateRootStatusAnswer;

/** Start generating a management token from key shares */
export async function generateRootStart(
  client: Caller,
  body: GenerateRootStartInput = {},
  options?: CallOptions,
): Promise<Answer<GenerateRootStartAnswer>> {
  return client.call(
    { method: "POST", path: "sys/generate-root/attempt", body, answer: "bare" },
    options,
  );
}

export type GenerateRootCancelInput = {
  /** As the answer to the start gave it; without it a token with update and sudo is needed */
  readonly cancel_nonce?: string | undefined;
  /** Makes sure that it is this attempt; the cancel nonce is taken here as well */
  readonly nonce?: string | undefined;
};

/** Cancel the running root generation */
export async function generateRootCancel(
  client: Caller,
  body: GenerateRootCancelInput = {},
  options?: CallOptions,
): Promise<Answer<undefined>> {
  return client.call(
    { method: "DELETE", path: "sys/generate-root/attempt", body, answer: "nothing" },
    options,
  );
}

export type GenerateRootUpdateInput = {
  /** A share of the present key, in hex or base64 */
  readonly key: string;
  /** Nonce of the attempt, as its start gave it */
  readonly nonce: string;
};

export type GenerateRootUpdateAnswer = GenerateRootStatusAnswer;

/** Give one share to the running root generation */
export async function generateRootUpdate(
  client: Caller,
  body: GenerateRootUpdateInput,
  options?: CallOptions,
): Promise<Answer<GenerateRootUpdateAnswer>> {
  return client.call(
    { method: "POST", path: "sys/generate-root/update", body, answer: "bare" },
    options,
  );
}

export type GenerateRootStatusTokenAnswer = GenerateRootStatusAnswer;

/** Tell about the running root generation */
export async function generateRootStatusToken(
  client: Caller,
  options?: CallOptions,
): Promise<Answer<GenerateRootStatusTokenAnswer>> {
  return client.call(
    { method: "GET", path: "sys/generate-root-token/attempt", answer: "data" },
    options,
  );
}

export type GenerateRootStartTokenInput = GenerateRootStartInput;

export type GenerateRootStartTokenAnswer = GenerateRootStatusAnswer;

/** Start generating a management token from key shares */
export async function generateRootStartToken(
  client: Caller,
  body: GenerateRootStartTokenInput = {},
  options?: CallOptions,
): Promise<Answer<GenerateRootStartTokenAnswer>> {
  return client.call(
    { method: "POST", path: "sys/generate-root-token/attempt", body, answer: "data" },
    options,
  );
}

export type GenerateRootCancelTokenInput = GenerateRootCancelInput;

/** Cancel the running root generation */
export async function generateRootCancelToken(
  client: Caller,
  body: GenerateRootCancelTokenInput = {},
  options?: CallOptions,
): Promise<Answer<undefined>> {
  return client.call(
    { method: "DELETE", path: "sys/generate-root-token/attempt", body, answer: "nothing" },
    options,
  );
}

export type GenerateRootUpdateTokenInput = GenerateRootUpdateInput;

export type GenerateRootUpdateTokenAnswer = GenerateRootStatusAnswer;

/** Give one share to the running root generation */
export async function generateRootUpdateToken(
  client: Caller,
  body: GenerateRootUpdateTokenInput,
  options?: CallOptions,
): Promise<Answer<GenerateRootUpdateTokenAnswer>> {
  return client.call(
    { method: "POST", path: "sys/generate-root-token/update", body, answer: "data" },
    options,
  );
}

export type RekeyStatusAnswer = {
  /** Whether a rekey runs */
  readonly started?: boolean;
  /** Whether the new shares were made */
  readonly complete?: boolean;
  /** Names the attempt */
  readonly nonce: string;
  /** Threshold of the new shares */
  readonly t?: number;
  /** Number of the new shares */
  readonly n?: number;
  /** Present shares given */
  readonly progress?: number;
  /** Present shares needed */
  readonly required?: number;
  /** The new shares in hex */
  readonly keys?: readonly string[];
  /** The same in base64 */
  readonly keys_base64?: readonly string[];
  /** Of the keys for the new shares */
  readonly pgp_fingerprints: readonly string[] | null;
  /** Whether the encrypted new shares are kept until deleted */
  readonly backup: boolean;
  /** Whether the new shares must be entered before they count */
  readonly verification_required: boolean;
  /** Names the verification */
  readonly verification_nonce: string;
  /** Lets whoever has it cancel the rekey: shown once, when the rekey starts */
  readonly cancel_nonce?: string;
  /** What an operator should know */
  readonly warnings?: readonly string[];
};

/** Tell about the running rekey of the unseal key */
export async function rekeyStatus(
  client: Caller,
  options?: CallOptions,
): Promise<Answer<RekeyStatusAnswer>> {
  return client.call({ method: "GET", path: "sys/rekey/init", answer: "bare" }, options);
}

export type RekeyStartInput = {
  /** Number of new shares; 5 if not given */
  readonly secret_shares?: number | undefined;
  /** New shares needed; 3, or all when there are fewer */
  readonly secret_threshold?: number | undefined;
  /** PGP public keys in base64, one for each new share */
  readonly pgp_keys?: readonly string[] | undefined;
  /** Keep the encrypted new shares until deleted */
  readonly backup?: boolean | undefined;
  /** Change nothing until enough new shares were entered */
  readonly require_verification?: boolean | undefined;
};

export type RekeyStartAnswer = RekeyStatusAnswer;

/** Start replacing the shares of the unseal key */
export async function rekeyStart(
  client: Caller,
  body: RekeyStartInput = {},
  options?: CallOptions,
): Promise<Answer<RekeyStartAnswer>> {
  return client.call({ method: "POST", path: "sys/rekey/init", body, answer: "bare" }, options);
}

export type RekeyCancelInput = GenerateRootCancelInput;

/** Cancel the running rekey of the unseal key */
export async function rekeyCancel(
  client: Caller,
  body: RekeyCancelInput = {},
  options?: CallOptions,
): Promise<Answer<undefined>> {
  return client.call(
    { method: "DELETE", path: "sys/rekey/init", body, answer: "nothing" },
    options,
  );
}

export type RekeyUpdateInput = GenerateRootUpdateInput;

export type RekeyUpdateAnswer = RekeyStatusAnswer;

/** Give one present share; with the last one needed the new shares are made */
export async function rekeyUpdate(
  client: Caller,
  body: RekeyUpdateInput,
  options?: CallOptions,
): Promise<Answer<RekeyUpdateAnswer>> {
  return client.call({ method: "POST", path: "sys/rekey/update", body, answer: "bare" }, options);
}

export type RekeyVerificationAnswer = {
  /** Names the verification */
  readonly nonce: string;
  /** Threshold of the new shares */
  readonly t: number;
  /** Number of the new shares */
  readonly n: number;
  /** New shares given */
  readonly progress: number;
  /** Whether the new shares count from now on */
  readonly complete: boolean;
};

/** Tell about the running verification */
export async function rekeyVerification(
  client: Caller,
  options?: CallOptions,
): Promise<Answer<RekeyVerificationAnswer>> {
  return client.call({ method: "GET", path: "sys/rekey/verify", answer: "bare" }, options);
}

export type RekeyVerifyInput = {
  /** A new share, in hex or base64 */
  readonly key: string;
  /** Nonce of the verification */
  readonly nonce: string;
};

export type RekeyVerifyAnswer = RekeyVerificationAnswer;

/** Give one new share; with the last one needed the new shares count */
export async function rekeyVerify(
  client: Caller,
  body: RekeyVerifyInput,
  options?: CallOptions,
): Promise<Answer<RekeyVerifyAnswer>> {
  return client.call({ method: "POST", path: "sys/rekey/verify", body, answer: "bare" }, options);
}

export type RekeyVerifyCancelInput = GenerateRootCancelInput;

export type RekeyVerifyCancelAnswer = RekeyVerificationAnswer;

/** Drop the new shares entered so far; the rekey stays */
export async function rekeyVerifyCancel(
  client: Caller,
  body: RekeyVerifyCancelInput = {},
  options?: CallOptions,
): Promise<Answer<RekeyVerifyCancelAnswer>> {
  return client.call({ method: "DELETE", path: "sys/rekey/verify", body, answer: "bare" }, options);
}

export type ReadRekeyBackupAnswer = {
  /** Of the rekey that made them */
  readonly nonce: string;
  /** By fingerprint */
  readonly keys: Readonly<Record<string, readonly string[]>>;
  /** By fingerprint */
  readonly keys_base64: Readonly<Record<string, readonly string[]>>;
};

/** Read the encrypted new shares that a rekey kept */
export async function readRekeyBackup(
  client: Caller,
  options?: CallOptions,
): Promise<Answer<ReadRekeyBackupAnswer>> {
  return client.call({ method: "GET", path: "sys/rekey/backup", answer: "bare" }, options);
}

/** Delete the encrypted new shares that a rekey kept */
export async function deleteRekeyBackup(
  client: Caller,
  options?: CallOptions,
): Promise<Answer<undefined>> {
  return client.call({ method: "DELETE", path: "sys/rekey/backup", answer: "nothing" }, options);
}

export type RekeyStatusRotationAnswer = RekeyStatusAnswer;

/** Tell about the running rekey of the unseal key */
export async function rekeyStatusRotation(
  client: Caller,
  options?: CallOptions,
): Promise<Answer<RekeyStatusRotationAnswer>> {
  return client.call({ method: "GET", path: "sys/rotate/root/init", answer: "data" }, options);
}

export type RekeyStartRotationInput = RekeyStartInput;

export type RekeyStartRotationAnswer = RekeyStatusAnswer;

/** Start replacing the shares of the unseal key */
export async function rekeyStartRotation(
  client: Caller,
  body: RekeyStartRotationInput = {},
  options?: CallOptions,
): Promise<Answer<RekeyStartRotationAnswer>> {
  return client.call(
    { method: "POST", path: "sys/rotate/root/init", body, answer: "data" },
    options,
  );
}

export type RekeyCancelRotationInput = GenerateRootCancelInput;

/** Cancel the running rekey of the unseal key */
export async function rekeyCancelRotation(
  client: Caller,
  body: RekeyCancelRotationInput = {},
  options?: CallOptions,
): Promise<Answer<undefined>> {
  return client.call(
    { method: "DELETE", path: "sys/rotate/root/init", body, answer: "nothing" },
    options,
  );
}

export type RekeyUpdateRotationInput = GenerateRootUpdateInput;

export type RekeyUpdateRotationAnswer = RekeyStatusAnswer;

/** Give one present share; with the last one needed the new shares are made */
export async function rekeyUpdateRotation(
  client: Caller,
  body: RekeyUpdateRotationInput,
  options?: CallOptions,
): Promise<Answer<RekeyUpdateRotationAnswer>> {
  return client.call(
    { method: "POST", path: "sys/rotate/root/update", body, answer: "data" },
    options,
  );
}

export type RekeyVerificationRotationAnswer = RekeyVerificationAnswer;

/** Tell about the running verification */
export async function rekeyVerificationRotation(
  client: Caller,
  options?: CallOptions,
): Promise<Answer<RekeyVerificationRotationAnswer>> {
  return client.call({ method: "GET", path: "sys/rotate/root/verify", answer: "data" }, options);
}

export type RekeyVerifyRotationInput = RekeyVerifyInput;

export type RekeyVerifyRotationAnswer = RekeyVerificationAnswer;

/** Give one new share; with the last one needed the new shares count */
export async function rekeyVerifyRotation(
  client: Caller,
  body: RekeyVerifyRotationInput,
  options?: CallOptions,
): Promise<Answer<RekeyVerifyRotationAnswer>> {
  return client.call(
    { method: "POST", path: "sys/rotate/root/verify", body, answer: "data" },
    options,
  );
}

export type RekeyVerifyCancelRotationInput = GenerateRootCancelInput;

export type RekeyVerifyCancelRotationAnswer = RekeyVerificationAnswer;

/** Drop the new shares entered so far; the rekey stays */
export async function rekeyVerifyCancelRotation(
  client: Caller,
  body: RekeyVerifyCancelRotationInput = {},
  options?: CallOptions,
): Promise<Answer<RekeyVerifyCancelRotationAnswer>> {
  return client.call(
    { method: "DELETE", path: "sys/rotate/root/verify", body, answer: "data" },
    options,
  );
}

export type ReadRekeyBackupRotationAnswer = ReadRekeyBackupAnswer;

/** Read the encrypted new shares that a rekey kept */
export async function readRekeyBackupRotation(
  client: Caller,
  options?: CallOptions,
): Promise<Answer<ReadRekeyBackupRotationAnswer>> {
  return client.call({ method: "GET", path: "sys/rotate/root/backup", answer: "data" }, options);
}

/** Delete the encrypted new shares that a rekey kept */
export async function deleteRekeyBackupRotation(
  client: Caller,
  options?: CallOptions,
): Promise<Answer<undefined>> {
  return client.call(
    { method: "DELETE", path: "sys/rotate/root/backup", answer: "nothing" },
    options,
  );
}

export type RekeyStatusRecoveryAnswer = RekeyStatusAnswer;

/** Tell about the running rekey of the recovery key */
export async function rekeyStatusRecovery(
  client: Caller,
  options?: CallOptions,
): Promise<Answer<RekeyStatusRecoveryAnswer>> {
  return client.call(
    { method: "GET", path: "sys/rekey-recovery-key/init", answer: "bare" },
    options,
  );
}

export type RekeyStartRecoveryInput = RekeyStartInput;

export type RekeyStartRecoveryAnswer = RekeyStatusAnswer;

/** Start replacing the shares of the recovery key */
export async function rekeyStartRecovery(
  client: Caller,
  body: RekeyStartRecoveryInput = {},
  options?: CallOptions,
): Promise<Answer<RekeyStartRecoveryAnswer>> {
  return client.call(
    { method: "POST", path: "sys/rekey-recovery-key/init", body, answer: "bare" },
    options,
  );
}

export type RekeyCancelRecoveryInput = GenerateRootCancelInput;

/** Cancel the running rekey of the recovery key */
export async function rekeyCancelRecovery(
  client: Caller,
  body: RekeyCancelRecoveryInput = {},
  options?: CallOptions,
): Promise<Answer<undefined>> {
  return client.call(
    { method: "DELETE", path: "sys/rekey-recovery-key/init", body, answer: "nothing" },
    options,
  );
}

export type RekeyUpdateRecoveryInput = GenerateRootUpdateInput;

export type RekeyUpdateRecoveryAnswer = RekeyStatusAnswer;

/** Give one present share; with the last one needed the new shares are made */
export async function rekeyUpdateRecovery(
  client: Caller,
  body: RekeyUpdateRecoveryInput,
  options?: CallOptions,
): Promise<Answer<RekeyUpdateRecoveryAnswer>> {
  return client.call(
    { method: "POST", path: "sys/rekey-recovery-key/update", body, answer: "bare" },
    options,
  );
}

export type RekeyVerificationRecoveryAnswer = RekeyVerificationAnswer;

/** Tell about the running verification */
export async function rekeyVerificationRecovery(
  client: Caller,
  options?: CallOptions,
): Promise<Answer<RekeyVerificationRecoveryAnswer>> {
  return client.call(
    { method: "GET", path: "sys/rekey-recovery-key/verify", answer: "bare" },
    options,
  );
}

export type RekeyVerifyRecoveryInput = RekeyVerifyInput;

export type RekeyVerifyRecoveryAnswer = RekeyVerificationAnswer;

/** Give one new share; with the last one needed the new shares count */
export async function rekeyVerifyRecovery(
  client: Caller,
  body: RekeyVerifyRecoveryInput,
  options?: CallOptions,
): Promise<Answer<RekeyVerifyRecoveryAnswer>> {
  return client.call(
    { method: "POST", path: "sys/rekey-recovery-key/verify", body, answer: "bare" },
    options,
  );
}

export type RekeyVerifyCancelRecoveryInput = GenerateRootCancelInput;

export type RekeyVerifyCancelRecoveryAnswer = RekeyVerificationAnswer;

/** Drop the new shares entered so far; the rekey stays */
export async function rekeyVerifyCancelRecovery(
  client: Caller,
  body: RekeyVerifyCancelRecoveryInput = {},
  options?: CallOptions,
): Promise<Answer<RekeyVerifyCancelRecoveryAnswer>> {
  return client.call(
    { method: "DELETE", path: "sys/rekey-recovery-key/verify", body, answer: "bare" },
    options,
  );
}

export type ReadRekeyBackupRecoveryAnswer = ReadRekeyBackupAnswer;

/** Read the encrypted new shares that a rekey kept */
export async function readRekeyBackupRecovery(
  client: Caller,
  options?: CallOptions,
): Promise<Answer<ReadRekeyBackupRecoveryAnswer>> {
  return client.call(
    { method: "GET", path: "sys/rekey-recovery-key/backup", answer: "bare" },
    options,
  );
}

/** Delete the encrypted new shares that a rekey kept */
export async function deleteRekeyBackupRecovery(
  client: Caller,
  options?: CallOptions,
): Promise<Answer<undefined>> {
  return client.call(
    { method: "DELETE", path: "sys/rekey-recovery-key/backup", answer: "nothing" },
    options,
  );
}

export type RekeyStatusRecoveryRotationAnswer = RekeyStatusAnswer;

/** Tell about the running rekey of the recovery key */
export async function rekeyStatusRecoveryRotation(
  client: Caller,
  options?: CallOptions,
): Promise<Answer<RekeyStatusRecoveryRotationAnswer>> {
  return client.call({ method: "GET", path: "sys/rotate/recovery/init", answer: "data" }, options);
}

export type RekeyStartRecoveryRotationInput = RekeyStartInput;

export type RekeyStartRecoveryRotationAnswer = RekeyStatusAnswer;

/** Start replacing the shares of the recovery key */
export async function rekeyStartRecoveryRotation(
  client: Caller,
  body: RekeyStartRecoveryRotationInput = {},
  options?: CallOptions,
): Promise<Answer<RekeyStartRecoveryRotationAnswer>> {
  return client.call(
    { method: "POST", path: "sys/rotate/recovery/init", body, answer: "data" },
    options,
  );
}

export type RekeyCancelRecoveryRotationInput = GenerateRootCancelInput;

/** Cancel the running rekey of the recovery key */
export async function rekeyCancelRecoveryRotation(
  client: Caller,
  body: RekeyCancelRecoveryRotationInput = {},
  options?: CallOptions,
): Promise<Answer<undefined>> {
  return client.call(
    { method: "DELETE", path: "sys/rotate/recovery/init", body, answer: "nothing" },
    options,
  );
}

export type RekeyUpdateRecoveryRotationInput = GenerateRootUpdateInput;

export type RekeyUpdateRecoveryRotationAnswer = RekeyStatusAnswer;

/** Give one present share; with the last one needed the new shares are made */
export async function rekeyUpdateRecoveryRotation(
  client: Caller,
  body: RekeyUpdateRecoveryRotationInput,
  options?: CallOptions,
): Promise<Answer<RekeyUpdateRecoveryRotationAnswer>> {
  return client.call(
    { method: "POST", path: "sys/rotate/recovery/update", body, answer: "data" },
    options,
  );
}

export type RekeyVerificationRecoveryRotationAnswer = RekeyVerificationAnswer;

/** Tell about the running verification */
export async function rekeyVerificationRecoveryRotation(
  client: Caller,
  options?: CallOptions,
): Promise<Answer<RekeyVerificationRecoveryRotationAnswer>> {
  return client.call(
    { method: "GET", path: "sys/rotate/recovery/verify", answer: "data" },
    options,
  );
}

export type RekeyVerifyRecoveryRotationInput = RekeyVerifyInput;

export type RekeyVerifyRecoveryRotationAnswer = RekeyVerificationAnswer;

/** Give one new share; with the last one needed the new shares count */
export async function rekeyVerifyRecoveryRotation(
  client: Caller,
  body: RekeyVerifyRecoveryRotationInput,
  options?: CallOptions,
): Promise<Answer<RekeyVerifyRecoveryRotationAnswer>> {
  return client.call(
    { method: "POST", path: "sys/rotate/recovery/verify", body, answer: "data" },
    options,
  );
}

export type RekeyVerifyCancelRecoveryRotationInput = GenerateRootCancelInput;

export type RekeyVerifyCancelRecoveryRotationAnswer = RekeyVerificationAnswer;

/** Drop the new shares entered so far; the rekey stays */
export async function rekeyVerifyCancelRecoveryRotation(
  client: Caller,
  body: RekeyVerifyCancelRecoveryRotationInput = {},
  options?: CallOptions,
): Promise<Answer<RekeyVerifyCancelRecoveryRotationAnswer>> {
  return client.call(
    { method: "DELETE", path: "sys/rotate/recovery/verify", body, answer: "data" },
    options,
  );
}

export type ReadRekeyBackupRecoveryRotationAnswer = ReadRekeyBackupAnswer;

/** Read the encrypted new shares that a rekey kept */
export async function readRekeyBackupRecoveryRotation(
  client: Caller,
  options?: CallOptions,
): Promise<Answer<ReadRekeyBackupRecoveryRotationAnswer>> {
  return client.call(
    { method: "GET", path: "sys/rotate/recovery/backup", answer: "data" },
    options,
  );
}

/** Delete the encrypted new shares that a rekey kept */
export async function deleteRekeyBackupRecoveryRotation(
  client: Caller,
  options?: CallOptions,
): Promise<Answer<undefined>> {
  return client.call(
    { method: "DELETE", path: "sys/rotate/recovery/backup", answer: "nothing" },
    options,
  );
}
