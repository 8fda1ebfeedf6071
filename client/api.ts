// Every endpoint of the API as a typed function. Written by scripts/gen.ts out of the declarations: do
// not edit. Inputs have the names of the declarations, answers those of the wire.

import type { JsonObject, JsonValue } from "@holdfast/shared/json/json";
import type { Caller } from "./client.ts";
import { oneSegment, restOfPath } from "./request-path.ts";

export type InitStatusAnswer = {
  /** Whether the server was initialised */
  readonly initialized: boolean;
};

/** Tell whether the server was initialised */
export function initStatus(client: Caller): Promise<InitStatusAnswer> {
  return client.call<InitStatusAnswer>({ method: "GET", path: "sys/init", answer: "bare" });
}

export interface InitInput {
  /** Number of unseal shares; 5 if not given */
  readonly secretShares?: number | undefined;
  /** Shares needed to unseal; 3, or all when there are fewer */
  readonly secretThreshold?: number | undefined;
  /** PGP public keys in base64, one for each share, to encrypt them to */
  readonly pgpKeys?: readonly string[] | undefined;
  /** PGP public key in base64 to encrypt the root token to */
  readonly rootTokenPgpKey?: string | undefined;
  /** Number of recovery shares (auto seal) */
  readonly recoveryShares?: number | undefined;
  /** Recovery shares needed (auto seal) */
  readonly recoveryThreshold?: number | undefined;
  /** PGP public keys for the recovery shares (auto seal) */
  readonly recoveryPgpKeys?: readonly string[] | undefined;
  /** Whether recovery shares can unseal when the auto seal's key is gone */
  readonly recoveryUnseal?: boolean | undefined;
  /** open: make no root token and leave /acl/bootstrap to its first caller */
  readonly aclBootstrap?: "open" | "closed" | undefined;
}

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
};

/** Initialise the server */
export function init(client: Caller, input: InitInput = {}): Promise<InitAnswer> {
  return client.call<InitAnswer>({
    method: "POST",
    path: "sys/init",
    body: {
      secret_shares: input.secretShares,
      secret_threshold: input.secretThreshold,
      pgp_keys: input.pgpKeys,
      root_token_pgp_key: input.rootTokenPgpKey,
      recovery_shares: input.recoveryShares,
      recovery_threshold: input.recoveryThreshold,
      recovery_pgp_keys: input.recoveryPgpKeys,
      recovery_unseal: input.recoveryUnseal,
      acl_bootstrap: input.aclBootstrap,
    },
    answer: "bare",
  });
}

export type SealStatusAnswer = {
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
  /** What an operator should know */
  readonly warnings: readonly string[];
};

/** Tell the state of the seal */
export function sealStatus(client: Caller): Promise<SealStatusAnswer> {
  return client.call<SealStatusAnswer>({ method: "GET", path: "sys/seal-status", answer: "bare" });
}

export interface UnsealInput {
  /** A share, in hex or base64 */
  readonly key?: string | undefined;
  /** Drop the shares given so far; taken from the server's own machine */
  readonly reset?: boolean | undefined;
  /** Not supported */
  readonly migrate?: boolean | undefined;
  /** Whose share: empty for the seal's own, "recovery" for a recovery share */
  readonly seal?: string | undefined;
}

export type UnsealAnswer = {
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
  /** What an operator should know */
  readonly warnings: readonly string[];
};

/** Give one share of the unseal key */
export function unseal(client: Caller, input: UnsealInput = {}): Promise<UnsealAnswer> {
  return client.call<UnsealAnswer>({
    method: "POST",
    path: "sys/unseal",
    body: { key: input.key, reset: input.reset, migrate: input.migrate, seal: input.seal },
    answer: "bare",
  });
}

/** Seal the node */
export function seal(client: Caller): Promise<undefined> {
  return client.call<undefined>({ method: "POST", path: "sys/seal", answer: "nothing" });
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
export function keyStatus(client: Caller): Promise<KeyStatusAnswer> {
  return client.call<KeyStatusAnswer>({ method: "GET", path: "sys/key-status", answer: "data" });
}

/** Install a new data key */
export function rotate(client: Caller): Promise<undefined> {
  return client.call<undefined>({ method: "POST", path: "sys/rotate", answer: "nothing" });
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
export function readRotation(client: Caller): Promise<ReadRotationAnswer> {
  return client.call<ReadRotationAnswer>({
    method: "GET",
    path: "sys/rotate/config",
    answer: "data",
  });
}

export interface ConfigureRotationInput {
  /** Whether keys are rotated by themselves */
  readonly enabled?: boolean | undefined;
  /** Encryptions after which a key is replaced: 1000000 to 3865470566 */
  readonly maxOperations?: number | undefined;
  /** Age at which a key is replaced: 0 for none, or at least 24h */
  readonly interval?: string | number | undefined;
}

/** Set when data keys are rotated */
export function configureRotation(
  client: Caller,
  input: ConfigureRotationInput = {},
): Promise<undefined> {
  return client.call<undefined>({
    method: "POST",
    path: "sys/rotate/config",
    body: { enabled: input.enabled, max_operations: input.maxOperations, interval: input.interval },
    answer: "nothing",
  });
}

/** Install a new data key */
export function rotateKeyring(client: Caller): Promise<undefined> {
  return client.call<undefined>({ method: "POST", path: "sys/rotate/keyring", answer: "nothing" });
}

export type ReadRotationKeyringAnswer = {
  /** Whether keys are rotated by themselves */
  readonly enabled: boolean;
  /** Encryptions after which a key is replaced */
  readonly max_operations: number;
  /** Age at which a key is replaced; 0s for none */
  readonly interval: string;
};

/** Tell when data keys are rotated */
export function readRotationKeyring(client: Caller): Promise<ReadRotationKeyringAnswer> {
  return client.call<ReadRotationKeyringAnswer>({
    method: "GET",
    path: "sys/rotate/keyring/config",
    answer: "data",
  });
}

export interface ConfigureRotationKeyringInput {
  /** Whether keys are rotated by themselves */
  readonly enabled?: boolean | undefined;
  /** Encryptions after which a key is replaced: 1000000 to 3865470566 */
  readonly maxOperations?: number | undefined;
  /** Age at which a key is replaced: 0 for none, or at least 24h */
  readonly interval?: string | number | undefined;
}

/** Set when data keys are rotated */
export function configureRotationKeyring(
  client: Caller,
  input: ConfigureRotationKeyringInput = {},
): Promise<undefined> {
  return client.call<undefined>({
    method: "POST",
    path: "sys/rotate/keyring/config",
    body: { enabled: input.enabled, max_operations: input.maxOperations, interval: input.interval },
    answer: "nothing",
  });
}

export interface HealthInput {
  /** Count a standby as healthy */
  readonly standbyOk?: boolean | undefined;
  /** Count a standby that serves reads as healthy */
  readonly perfStandbyOk?: boolean | undefined;
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
  /** Status when the node is a standby that serves reads */
  readonly performancestandbycode?: number | undefined;
  /** Status when the node is a standby */
  readonly standbycode?: number | undefined;
  /** Status when the node is active */
  readonly activecode?: number | undefined;
}

export type HealthAnswer = {
  /** Whether the server was initialised */
  readonly initialized: boolean;
  /** Whether the node has no keys */
  readonly sealed: boolean;
  /** Whether another node is active */
  readonly standby: boolean;
  /** Whether it is a standby that serves reads */
  readonly performance_standby: boolean;
  /** disabled, bootstrapping, primary or secondary */
  readonly replication_dr_mode: string;
  /** disabled, bootstrapping, primary or secondary */
  readonly replication_performance_mode: string;
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
  /** Difference to the active node's clock */
  readonly clock_skew_ms: number;
  /** Time of a round trip to the active node */
  readonly echo_duration_ms: number;
  /** Lag behind the replication primary */
  readonly replication_primary_canary_age_ms: number;
  /** Whether the node was removed from its cluster */
  readonly removed_from_cluster: boolean;
  /** Whether anybody may still take the first management token */
  readonly acl_bootstrap_open: boolean;
};

/** Tell the health of the node, by status and body */
export function health(client: Caller, input: HealthInput = {}): Promise<HealthAnswer> {
  return client.call<HealthAnswer>({
    method: "GET",
    path: "sys/health",
    query: {
      standbyok: input.standbyOk,
      perfstandbyok: input.perfStandbyOk,
      removedcode: input.removedcode,
      uninitcode: input.uninitcode,
      sealedcode: input.sealedcode,
      drsecondarycode: input.drsecondarycode,
      haunhealthycode: input.haunhealthycode,
      performancestandbycode: input.performancestandbycode,
      standbycode: input.standbycode,
      activecode: input.activecode,
    },
    answer: "bare",
  });
}

export type LeaderAnswer = {
  /** Whether there are several nodes */
  readonly ha_enabled: boolean;
  /** Whether it is this one */
  readonly is_self: boolean;
};

/** Tell which node is active */
export function leader(client: Caller): Promise<LeaderAnswer> {
  return client.call<LeaderAnswer>({ method: "GET", path: "sys/leader", answer: "bare" });
}

/** Give up leadership */
export function stepDown(client: Caller): Promise<undefined> {
  return client.call<undefined>({ method: "POST", path: "sys/step-down", answer: "nothing" });
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
export function generateRootStatus(client: Caller): Promise<GenerateRootStatusAnswer> {
  return client.call<GenerateRootStatusAnswer>({
    method: "GET",
    path: "sys/generate-root/attempt",
    answer: "bare",
  });
}

export interface GenerateRootStartInput {
  /** A one-time password as long as the token */
  readonly otp?: string | undefined;
  /** PGP public key in base64 to encrypt the token to */
  readonly pgpKey?: string | undefined;
}

export type GenerateRootStartAnswer = {
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

/** Start generating a management token from key shares */
export function generateRootStart(
  client: Caller,
  input: GenerateRootStartInput = {},
): Promise<GenerateRootStartAnswer> {
  return client.call<GenerateRootStartAnswer>({
    method: "POST",
    path: "sys/generate-root/attempt",
    body: { otp: input.otp, pgp_key: input.pgpKey },
    answer: "bare",
  });
}

export interface GenerateRootCancelInput {
  /** As the answer to the start gave it; without it a token with update and sudo is needed */
  readonly cancelNonce?: string | undefined;
  /** Makes sure that it is this attempt; the cancel nonce is taken here as well */
  readonly nonce?: string | undefined;
}

/** Cancel the running root generation */
export function generateRootCancel(
  client: Caller,
  input: GenerateRootCancelInput = {},
): Promise<undefined> {
  return client.call<undefined>({
    method: "DELETE",
    path: "sys/generate-root/attempt",
    query: { cancel_nonce: input.cancelNonce, nonce: input.nonce },
    answer: "nothing",
  });
}

export interface GenerateRootUpdateInput {
  /** A share of the present key, in hex or base64 */
  readonly key: string;
  /** Nonce of the attempt, as its start gave it */
  readonly nonce: string;
}

export type GenerateRootUpdateAnswer = {
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

/** Give one share to the running root generation */
export function generateRootUpdate(
  client: Caller,
  input: GenerateRootUpdateInput,
): Promise<GenerateRootUpdateAnswer> {
  return client.call<GenerateRootUpdateAnswer>({
    method: "POST",
    path: "sys/generate-root/update",
    body: { key: input.key, nonce: input.nonce },
    answer: "bare",
  });
}

export type GenerateRootStatusTokenAnswer = {
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
export function generateRootStatusToken(client: Caller): Promise<GenerateRootStatusTokenAnswer> {
  return client.call<GenerateRootStatusTokenAnswer>({
    method: "GET",
    path: "sys/generate-root-token/attempt",
    answer: "data",
  });
}

export interface GenerateRootStartTokenInput {
  /** A one-time password as long as the token */
  readonly otp?: string | undefined;
  /** PGP public key in base64 to encrypt the token to */
  readonly pgpKey?: string | undefined;
}

export type GenerateRootStartTokenAnswer = {
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

/** Start generating a management token from key shares */
export function generateRootStartToken(
  client: Caller,
  input: GenerateRootStartTokenInput = {},
): Promise<GenerateRootStartTokenAnswer> {
  return client.call<GenerateRootStartTokenAnswer>({
    method: "POST",
    path: "sys/generate-root-token/attempt",
    body: { otp: input.otp, pgp_key: input.pgpKey },
    answer: "data",
  });
}

export interface GenerateRootCancelTokenInput {
  /** As the answer to the start gave it; without it a token with update and sudo is needed */
  readonly cancelNonce?: string | undefined;
  /** Makes sure that it is this attempt; the cancel nonce is taken here as well */
  readonly nonce?: string | undefined;
}

/** Cancel the running root generation */
export function generateRootCancelToken(
  client: Caller,
  input: GenerateRootCancelTokenInput = {},
): Promise<undefined> {
  return client.call<undefined>({
    method: "DELETE",
    path: "sys/generate-root-token/attempt",
    query: { cancel_nonce: input.cancelNonce, nonce: input.nonce },
    answer: "nothing",
  });
}

export interface GenerateRootUpdateTokenInput {
  /** A share of the present key, in hex or base64 */
  readonly key: string;
  /** Nonce of the attempt, as its start gave it */
  readonly nonce: string;
}

export type GenerateRootUpdateTokenAnswer = {
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

/** Give one share to the running root generation */
export function generateRootUpdateToken(
  client: Caller,
  input: GenerateRootUpdateTokenInput,
): Promise<GenerateRootUpdateTokenAnswer> {
  return client.call<GenerateRootUpdateTokenAnswer>({
    method: "POST",
    path: "sys/generate-root-token/update",
    body: { key: input.key, nonce: input.nonce },
    answer: "data",
  });
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
export function rekeyStatus(client: Caller): Promise<RekeyStatusAnswer> {
  return client.call<RekeyStatusAnswer>({ method: "GET", path: "sys/rekey/init", answer: "bare" });
}

export interface RekeyStartInput {
  /** Number of new shares; 5 if not given */
  readonly secretShares?: number | undefined;
  /** New shares needed; 3, or all when there are fewer */
  readonly secretThreshold?: number | undefined;
  /** PGP public keys in base64, one for each new share */
  readonly pgpKeys?: readonly string[] | undefined;
  /** Keep the encrypted new shares until deleted */
  readonly backup?: boolean | undefined;
  /** Change nothing until enough new shares were entered */
  readonly requireVerification?: boolean | undefined;
}

export type RekeyStartAnswer = {
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

/** Start replacing the shares of the unseal key */
export function rekeyStart(client: Caller, input: RekeyStartInput = {}): Promise<RekeyStartAnswer> {
  return client.call<RekeyStartAnswer>({
    method: "POST",
    path: "sys/rekey/init",
    body: {
      secret_shares: input.secretShares,
      secret_threshold: input.secretThreshold,
      pgp_keys: input.pgpKeys,
      backup: input.backup,
      require_verification: input.requireVerification,
    },
    answer: "bare",
  });
}

export interface RekeyCancelInput {
  /** As the answer to the start gave it; without it a token with update and sudo is needed */
  readonly cancelNonce?: string | undefined;
  /** Makes sure that it is this attempt; the cancel nonce is taken here as well */
  readonly nonce?: string | undefined;
}

/** Cancel the running rekey of the unseal key */
export function rekeyCancel(client: Caller, input: RekeyCancelInput = {}): Promise<undefined> {
  return client.call<undefined>({
    method: "DELETE",
    path: "sys/rekey/init",
    query: { cancel_nonce: input.cancelNonce, nonce: input.nonce },
    answer: "nothing",
  });
}

export interface RekeyUpdateInput {
  /** A share of the present key, in hex or base64 */
  readonly key: string;
  /** Nonce of the attempt, as its start gave it */
  readonly nonce: string;
}

export type RekeyUpdateAnswer = {
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

/** Give one present share; with the last one needed the new shares are made */
export function rekeyUpdate(client: Caller, input: RekeyUpdateInput): Promise<RekeyUpdateAnswer> {
  return client.call<RekeyUpdateAnswer>({
    method: "POST",
    path: "sys/rekey/update",
    body: { key: input.key, nonce: input.nonce },
    answer: "bare",
  });
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
export function rekeyVerification(client: Caller): Promise<RekeyVerificationAnswer> {
  return client.call<RekeyVerificationAnswer>({
    method: "GET",
    path: "sys/rekey/verify",
    answer: "bare",
  });
}

export interface RekeyVerifyInput {
  /** A new share, in hex or base64 */
  readonly key: string;
  /** Nonce of the verification */
  readonly nonce: string;
}

export type RekeyVerifyAnswer = {
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

/** Give one new share; with the last one needed the new shares count */
export function rekeyVerify(client: Caller, input: RekeyVerifyInput): Promise<RekeyVerifyAnswer> {
  return client.call<RekeyVerifyAnswer>({
    method: "POST",
    path: "sys/rekey/verify",
    body: { key: input.key, nonce: input.nonce },
    answer: "bare",
  });
}

export interface RekeyVerifyCancelInput {
  /** As the answer to the start gave it; without it a token with update and sudo is needed */
  readonly cancelNonce?: string | undefined;
  /** Makes sure that it is this attempt; the cancel nonce is taken here as well */
  readonly nonce?: string | undefined;
}

export type RekeyVerifyCancelAnswer = {
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

/** Drop the new shares entered so far; the rekey stays */
export function rekeyVerifyCancel(
  client: Caller,
  input: RekeyVerifyCancelInput = {},
): Promise<RekeyVerifyCancelAnswer> {
  return client.call<RekeyVerifyCancelAnswer>({
    method: "DELETE",
    path: "sys/rekey/verify",
    query: { cancel_nonce: input.cancelNonce, nonce: input.nonce },
    answer: "bare",
  });
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
export function readRekeyBackup(client: Caller): Promise<ReadRekeyBackupAnswer> {
  return client.call<ReadRekeyBackupAnswer>({
    method: "GET",
    path: "sys/rekey/backup",
    answer: "bare",
  });
}

/** Delete the encrypted new shares that a rekey kept */
export function deleteRekeyBackup(client: Caller): Promise<undefined> {
  return client.call<undefined>({ method: "DELETE", path: "sys/rekey/backup", answer: "nothing" });
}

export type RekeyStatusRotationAnswer = {
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
export function rekeyStatusRotation(client: Caller): Promise<RekeyStatusRotationAnswer> {
  return client.call<RekeyStatusRotationAnswer>({
    method: "GET",
    path: "sys/rotate/root/init",
    answer: "data",
  });
}

export interface RekeyStartRotationInput {
  /** Number of new shares; 5 if not given */
  readonly secretShares?: number | undefined;
  /** New shares needed; 3, or all when there are fewer */
  readonly secretThreshold?: number | undefined;
  /** PGP public keys in base64, one for each new share */
  readonly pgpKeys?: readonly string[] | undefined;
  /** Keep the encrypted new shares until deleted */
  readonly backup?: boolean | undefined;
  /** Change nothing until enough new shares were entered */
  readonly requireVerification?: boolean | undefined;
}

export type RekeyStartRotationAnswer = {
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

/** Start replacing the shares of the unseal key */
export function rekeyStartRotation(
  client: Caller,
  input: RekeyStartRotationInput = {},
): Promise<RekeyStartRotationAnswer> {
  return client.call<RekeyStartRotationAnswer>({
    method: "POST",
    path: "sys/rotate/root/init",
    body: {
      secret_shares: input.secretShares,
      secret_threshold: input.secretThreshold,
      pgp_keys: input.pgpKeys,
      backup: input.backup,
      require_verification: input.requireVerification,
    },
    answer: "data",
  });
}

export interface RekeyCancelRotationInput {
  /** As the answer to the start gave it; without it a token with update and sudo is needed */
  readonly cancelNonce?: string | undefined;
  /** Makes sure that it is this attempt; the cancel nonce is taken here as well */
  readonly nonce?: string | undefined;
}

/** Cancel the running rekey of the unseal key */
export function rekeyCancelRotation(
  client: Caller,
  input: RekeyCancelRotationInput = {},
): Promise<undefined> {
  return client.call<undefined>({
    method: "DELETE",
    path: "sys/rotate/root/init",
    query: { cancel_nonce: input.cancelNonce, nonce: input.nonce },
    answer: "nothing",
  });
}

export interface RekeyUpdateRotationInput {
  /** A share of the present key, in hex or base64 */
  readonly key: string;
  /** Nonce of the attempt, as its start gave it */
  readonly nonce: string;
}

export type RekeyUpdateRotationAnswer = {
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

/** Give one present share; with the last one needed the new shares are made */
export function rekeyUpdateRotation(
  client: Caller,
  input: RekeyUpdateRotationInput,
): Promise<RekeyUpdateRotationAnswer> {
  return client.call<RekeyUpdateRotationAnswer>({
    method: "POST",
    path: "sys/rotate/root/update",
    body: { key: input.key, nonce: input.nonce },
    answer: "data",
  });
}

export type RekeyVerificationRotationAnswer = {
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
export function rekeyVerificationRotation(
  client: Caller,
): Promise<RekeyVerificationRotationAnswer> {
  return client.call<RekeyVerificationRotationAnswer>({
    method: "GET",
    path: "sys/rotate/root/verify",
    answer: "data",
  });
}

export interface RekeyVerifyRotationInput {
  /** A new share, in hex or base64 */
  readonly key: string;
  /** Nonce of the verification */
  readonly nonce: string;
}

export type RekeyVerifyRotationAnswer = {
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

/** Give one new share; with the last one needed the new shares count */
export function rekeyVerifyRotation(
  client: Caller,
  input: RekeyVerifyRotationInput,
): Promise<RekeyVerifyRotationAnswer> {
  return client.call<RekeyVerifyRotationAnswer>({
    method: "POST",
    path: "sys/rotate/root/verify",
    body: { key: input.key, nonce: input.nonce },
    answer: "data",
  });
}

export interface RekeyVerifyCancelRotationInput {
  /** As the answer to the start gave it; without it a token with update and sudo is needed */
  readonly cancelNonce?: string | undefined;
  /** Makes sure that it is this attempt; the cancel nonce is taken here as well */
  readonly nonce?: string | undefined;
}

export type RekeyVerifyCancelRotationAnswer = {
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

/** Drop the new shares entered so far; the rekey stays */
export function rekeyVerifyCancelRotation(
  client: Caller,
  input: RekeyVerifyCancelRotationInput = {},
): Promise<RekeyVerifyCancelRotationAnswer> {
  return client.call<RekeyVerifyCancelRotationAnswer>({
    method: "DELETE",
    path: "sys/rotate/root/verify",
    query: { cancel_nonce: input.cancelNonce, nonce: input.nonce },
    answer: "data",
  });
}

export type ReadRekeyBackupRotationAnswer = {
  /** Of the rekey that made them */
  readonly nonce: string;
  /** By fingerprint */
  readonly keys: Readonly<Record<string, readonly string[]>>;
  /** By fingerprint */
  readonly keys_base64: Readonly<Record<string, readonly string[]>>;
};

/** Read the encrypted new shares that a rekey kept */
export function readRekeyBackupRotation(client: Caller): Promise<ReadRekeyBackupRotationAnswer> {
  return client.call<ReadRekeyBackupRotationAnswer>({
    method: "GET",
    path: "sys/rotate/root/backup",
    answer: "data",
  });
}

/** Delete the encrypted new shares that a rekey kept */
export function deleteRekeyBackupRotation(client: Caller): Promise<undefined> {
  return client.call<undefined>({
    method: "DELETE",
    path: "sys/rotate/root/backup",
    answer: "nothing",
  });
}

export type RekeyStatusRecoveryAnswer = {
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

/** Tell about the running rekey of the recovery key */
export function rekeyStatusRecovery(client: Caller): Promise<RekeyStatusRecoveryAnswer> {
  return client.call<RekeyStatusRecoveryAnswer>({
    method: "GET",
    path: "sys/rekey-recovery-key/init",
    answer: "bare",
  });
}

export interface RekeyStartRecoveryInput {
  /** Number of new shares; 5 if not given */
  readonly secretShares?: number | undefined;
  /** New shares needed; 3, or all when there are fewer */
  readonly secretThreshold?: number | undefined;
  /** PGP public keys in base64, one for each new share */
  readonly pgpKeys?: readonly string[] | undefined;
  /** Keep the encrypted new shares until deleted */
  readonly backup?: boolean | undefined;
  /** Change nothing until enough new shares were entered */
  readonly requireVerification?: boolean | undefined;
}

export type RekeyStartRecoveryAnswer = {
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

/** Start replacing the shares of the recovery key */
export function rekeyStartRecovery(
  client: Caller,
  input: RekeyStartRecoveryInput = {},
): Promise<RekeyStartRecoveryAnswer> {
  return client.call<RekeyStartRecoveryAnswer>({
    method: "POST",
    path: "sys/rekey-recovery-key/init",
    body: {
      secret_shares: input.secretShares,
      secret_threshold: input.secretThreshold,
      pgp_keys: input.pgpKeys,
      backup: input.backup,
      require_verification: input.requireVerification,
    },
    answer: "bare",
  });
}

export interface RekeyCancelRecoveryInput {
  /** As the answer to the start gave it; without it a token with update and sudo is needed */
  readonly cancelNonce?: string | undefined;
  /** Makes sure that it is this attempt; the cancel nonce is taken here as well */
  readonly nonce?: string | undefined;
}

/** Cancel the running rekey of the recovery key */
export function rekeyCancelRecovery(
  client: Caller,
  input: RekeyCancelRecoveryInput = {},
): Promise<undefined> {
  return client.call<undefined>({
    method: "DELETE",
    path: "sys/rekey-recovery-key/init",
    query: { cancel_nonce: input.cancelNonce, nonce: input.nonce },
    answer: "nothing",
  });
}

export interface RekeyUpdateRecoveryInput {
  /** A share of the present key, in hex or base64 */
  readonly key: string;
  /** Nonce of the attempt, as its start gave it */
  readonly nonce: string;
}

export type RekeyUpdateRecoveryAnswer = {
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

/** Give one present share; with the last one needed the new shares are made */
export function rekeyUpdateRecovery(
  client: Caller,
  input: RekeyUpdateRecoveryInput,
): Promise<RekeyUpdateRecoveryAnswer> {
  return client.call<RekeyUpdateRecoveryAnswer>({
    method: "POST",
    path: "sys/rekey-recovery-key/update",
    body: { key: input.key, nonce: input.nonce },
    answer: "bare",
  });
}

export type RekeyVerificationRecoveryAnswer = {
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
export function rekeyVerificationRecovery(
  client: Caller,
): Promise<RekeyVerificationRecoveryAnswer> {
  return client.call<RekeyVerificationRecoveryAnswer>({
    method: "GET",
    path: "sys/rekey-recovery-key/verify",
    answer: "bare",
  });
}

export interface RekeyVerifyRecoveryInput {
  /** A new share, in hex or base64 */
  readonly key: string;
  /** Nonce of the verification */
  readonly nonce: string;
}

export type RekeyVerifyRecoveryAnswer = {
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

/** Give one new share; with the last one needed the new shares count */
export function rekeyVerifyRecovery(
  client: Caller,
  input: RekeyVerifyRecoveryInput,
): Promise<RekeyVerifyRecoveryAnswer> {
  return client.call<RekeyVerifyRecoveryAnswer>({
    method: "POST",
    path: "sys/rekey-recovery-key/verify",
    body: { key: input.key, nonce: input.nonce },
    answer: "bare",
  });
}

export interface RekeyVerifyCancelRecoveryInput {
  /** As the answer to the start gave it; without it a token with update and sudo is needed */
  readonly cancelNonce?: string | undefined;
  /** Makes sure that it is this attempt; the cancel nonce is taken here as well */
  readonly nonce?: string | undefined;
}

export type RekeyVerifyCancelRecoveryAnswer = {
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

/** Drop the new shares entered so far; the rekey stays */
export function rekeyVerifyCancelRecovery(
  client: Caller,
  input: RekeyVerifyCancelRecoveryInput = {},
): Promise<RekeyVerifyCancelRecoveryAnswer> {
  return client.call<RekeyVerifyCancelRecoveryAnswer>({
    method: "DELETE",
    path: "sys/rekey-recovery-key/verify",
    query: { cancel_nonce: input.cancelNonce, nonce: input.nonce },
    answer: "bare",
  });
}

export type ReadRekeyBackupRecoveryAnswer = {
  /** Of the rekey that made them */
  readonly nonce: string;
  /** By fingerprint */
  readonly keys: Readonly<Record<string, readonly string[]>>;
  /** By fingerprint */
  readonly keys_base64: Readonly<Record<string, readonly string[]>>;
};

/** Read the encrypted new shares that a rekey kept */
export function readRekeyBackupRecovery(client: Caller): Promise<ReadRekeyBackupRecoveryAnswer> {
  return client.call<ReadRekeyBackupRecoveryAnswer>({
    method: "GET",
    path: "sys/rekey-recovery-key/backup",
    answer: "bare",
  });
}

/** Delete the encrypted new shares that a rekey kept */
export function deleteRekeyBackupRecovery(client: Caller): Promise<undefined> {
  return client.call<undefined>({
    method: "DELETE",
    path: "sys/rekey-recovery-key/backup",
    answer: "nothing",
  });
}

export type RekeyStatusRecoveryRotationAnswer = {
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

/** Tell about the running rekey of the recovery key */
export function rekeyStatusRecoveryRotation(
  client: Caller,
): Promise<RekeyStatusRecoveryRotationAnswer> {
  return client.call<RekeyStatusRecoveryRotationAnswer>({
    method: "GET",
    path: "sys/rotate/recovery/init",
    answer: "data",
  });
}

export interface RekeyStartRecoveryRotationInput {
  /** Number of new shares; 5 if not given */
  readonly secretShares?: number | undefined;
  /** New shares needed; 3, or all when there are fewer */
  readonly secretThreshold?: number | undefined;
  /** PGP public keys in base64, one for each new share */
  readonly pgpKeys?: readonly string[] | undefined;
  /** Keep the encrypted new shares until deleted */
  readonly backup?: boolean | undefined;
  /** Change nothing until enough new shares were entered */
  readonly requireVerification?: boolean | undefined;
}

export type RekeyStartRecoveryRotationAnswer = {
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

/** Start replacing the shares of the recovery key */
export function rekeyStartRecoveryRotation(
  client: Caller,
  input: RekeyStartRecoveryRotationInput = {},
): Promise<RekeyStartRecoveryRotationAnswer> {
  return client.call<RekeyStartRecoveryRotationAnswer>({
    method: "POST",
    path: "sys/rotate/recovery/init",
    body: {
      secret_shares: input.secretShares,
      secret_threshold: input.secretThreshold,
      pgp_keys: input.pgpKeys,
      backup: input.backup,
      require_verification: input.requireVerification,
    },
    answer: "data",
  });
}

export interface RekeyCancelRecoveryRotationInput {
  /** As the answer to the start gave it; without it a token with update and sudo is needed */
  readonly cancelNonce?: string | undefined;
  /** Makes sure that it is this attempt; the cancel nonce is taken here as well */
  readonly nonce?: string | undefined;
}

/** Cancel the running rekey of the recovery key */
export function rekeyCancelRecoveryRotation(
  client: Caller,
  input: RekeyCancelRecoveryRotationInput = {},
): Promise<undefined> {
  return client.call<undefined>({
    method: "DELETE",
    path: "sys/rotate/recovery/init",
    query: { cancel_nonce: input.cancelNonce, nonce: input.nonce },
    answer: "nothing",
  });
}

export interface RekeyUpdateRecoveryRotationInput {
  /** A share of the present key, in hex or base64 */
  readonly key: string;
  /** Nonce of the attempt, as its start gave it */
  readonly nonce: string;
}

export type RekeyUpdateRecoveryRotationAnswer = {
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

/** Give one present share; with the last one needed the new shares are made */
export function rekeyUpdateRecoveryRotation(
  client: Caller,
  input: RekeyUpdateRecoveryRotationInput,
): Promise<RekeyUpdateRecoveryRotationAnswer> {
  return client.call<RekeyUpdateRecoveryRotationAnswer>({
    method: "POST",
    path: "sys/rotate/recovery/update",
    body: { key: input.key, nonce: input.nonce },
    answer: "data",
  });
}

export type RekeyVerificationRecoveryRotationAnswer = {
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
export function rekeyVerificationRecoveryRotation(
  client: Caller,
): Promise<RekeyVerificationRecoveryRotationAnswer> {
  return client.call<RekeyVerificationRecoveryRotationAnswer>({
    method: "GET",
    path: "sys/rotate/recovery/verify",
    answer: "data",
  });
}

export interface RekeyVerifyRecoveryRotationInput {
  /** A new share, in hex or base64 */
  readonly key: string;
  /** Nonce of the verification */
  readonly nonce: string;
}

export type RekeyVerifyRecoveryRotationAnswer = {
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

/** Give one new share; with the last one needed the new shares count */
export function rekeyVerifyRecoveryRotation(
  client: Caller,
  input: RekeyVerifyRecoveryRotationInput,
): Promise<RekeyVerifyRecoveryRotationAnswer> {
  return client.call<RekeyVerifyRecoveryRotationAnswer>({
    method: "POST",
    path: "sys/rotate/recovery/verify",
    body: { key: input.key, nonce: input.nonce },
    answer: "data",
  });
}

export interface RekeyVerifyCancelRecoveryRotationInput {
  /** As the answer to the start gave it; without it a token with update and sudo is needed */
  readonly cancelNonce?: string | undefined;
  /** Makes sure that it is this attempt; the cancel nonce is taken here as well */
  readonly nonce?: string | undefined;
}

export type RekeyVerifyCancelRecoveryRotationAnswer = {
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

/** Drop the new shares entered so far; the rekey stays */
export function rekeyVerifyCancelRecoveryRotation(
  client: Caller,
  input: RekeyVerifyCancelRecoveryRotationInput = {},
): Promise<RekeyVerifyCancelRecoveryRotationAnswer> {
  return client.call<RekeyVerifyCancelRecoveryRotationAnswer>({
    method: "DELETE",
    path: "sys/rotate/recovery/verify",
    query: { cancel_nonce: input.cancelNonce, nonce: input.nonce },
    answer: "data",
  });
}

export type ReadRekeyBackupRecoveryRotationAnswer = {
  /** Of the rekey that made them */
  readonly nonce: string;
  /** By fingerprint */
  readonly keys: Readonly<Record<string, readonly string[]>>;
  /** By fingerprint */
  readonly keys_base64: Readonly<Record<string, readonly string[]>>;
};

/** Read the encrypted new shares that a rekey kept */
export function readRekeyBackupRecoveryRotation(
  client: Caller,
): Promise<ReadRekeyBackupRecoveryRotationAnswer> {
  return client.call<ReadRekeyBackupRecoveryRotationAnswer>({
    method: "GET",
    path: "sys/rotate/recovery/backup",
    answer: "data",
  });
}

/** Delete the encrypted new shares that a rekey kept */
export function deleteRekeyBackupRecoveryRotation(client: Caller): Promise<undefined> {
  return client.call<undefined>({
    method: "DELETE",
    path: "sys/rotate/recovery/backup",
    answer: "nothing",
  });
}

export interface BootstrapAclInput {
  /** The secret that it shall have, a UUID; a random one without it. */
  readonly secret?: string | undefined;
}

export type BootstrapAclAnswer = {
  /** Identifies the token: a UUID in lower case. */
  readonly AccessorID: string;
  /** For people; may be empty. */
  readonly Name: string;
  /** What kind of token it is. */
  readonly Type: "client" | "management";
  /** In the order given; null for management. */
  readonly Policies: readonly string[] | null;
  /** Null: there are no roles. */
  readonly Roles:
    | readonly {
        /** Id of a role. */
        readonly ID: string;
        /** Its name. */
        readonly Name: string;
      }[]
    | null;
  /** Replicated to all regions. */
  readonly Global: boolean;
  /** Changes with what can be changed: base64 of 32 bytes. */
  readonly Hash: string;
  /** When it was made. */
  readonly CreateTime: string;
  /** When it ends; null: never. */
  readonly ExpirationTime: string | null;
  /** Index of the write that made it. */
  readonly CreateIndex: number;
  /** Index of the write that changed it last. */
  readonly ModifyIndex: number;
  /** The credential. */
  readonly SecretID: string;
  /** The lifetime that was asked for, such as 8h0m0s; empty without one. */
  readonly ExpirationTTL: string;
};

/** Make the first management token. */
export function bootstrapAcl(
  client: Caller,
  input: BootstrapAclInput = {},
): Promise<BootstrapAclAnswer> {
  return client.call<BootstrapAclAnswer>({
    method: "POST",
    path: "acl/bootstrap",
    body: { BootstrapSecret: input.secret },
    answer: "bare",
  });
}

export interface ListTokensInput {
  /** Answer when there is something newer than this index, or when `wait` is over. */
  readonly index?: number | undefined;
  /** How long to wait for something newer: such as 30s, at most 5m, which is the default. */
  readonly wait?: string | undefined;
  /** Any server may answer from what it has, without asking the leader. */
  readonly stale?: boolean | undefined;
  /** Name of the region that is meant; this server's own by default. */
  readonly region?: string | undefined;
  /** Only tokens that are replicated to all regions. */
  readonly global?: boolean | undefined;
  /** Only tokens whose accessor starts so: an even number of hexadecimal digits. */
  readonly prefix?: string | undefined;
  /** Where the page starts: X-Service-NextToken of the page before. */
  readonly nextToken?: string | undefined;
  /** How many at most; 0: all. */
  readonly perPage?: number | undefined;
  /** An expression that tokens must meet, such as Type == "client". */
  readonly filter?: string | undefined;
  /** In reverse order. */
  readonly reverse?: boolean | undefined;
}

export type ListTokensAnswer = readonly {
  /** Identifies the token: a UUID in lower case. */
  readonly AccessorID: string;
  /** For people; may be empty. */
  readonly Name: string;
  /** What kind of token it is. */
  readonly Type: "client" | "management";
  /** In the order given; null for management. */
  readonly Policies: readonly string[] | null;
  /** Null: there are no roles. */
  readonly Roles:
    | readonly {
        /** Id of a role. */
        readonly ID: string;
        /** Its name. */
        readonly Name: string;
      }[]
    | null;
  /** Replicated to all regions. */
  readonly Global: boolean;
  /** Changes with what can be changed: base64 of 32 bytes. */
  readonly Hash: string;
  /** When it was made. */
  readonly CreateTime: string;
  /** When it ends; null: never. */
  readonly ExpirationTime: string | null;
  /** Index of the write that made it. */
  readonly CreateIndex: number;
  /** Index of the write that changed it last. */
  readonly ModifyIndex: number;
}[];

/** List tokens, without their secrets. */
export function listTokens(client: Caller, input: ListTokensInput = {}): Promise<ListTokensAnswer> {
  return client.call<ListTokensAnswer>({
    method: "GET",
    path: "acl/tokens",
    query: {
      index: input.index,
      wait: input.wait,
      stale: input.stale,
      region: input.region,
      global: input.global,
      prefix: input.prefix,
      next_token: input.nextToken,
      per_page: input.perPage,
      filter: input.filter,
      reverse: input.reverse,
    },
    answer: "bare",
  });
}

export interface CreateTokenInput {
  /** Identifies the token. */
  readonly accessor?: string | undefined;
  /** For an upload: the secret of the token, a UUID. */
  readonly secret?: string | undefined;
  /** For people; up to 256 bytes. */
  readonly name?: string | undefined;
  /** client or management. */
  readonly type?: string | undefined;
  /** Names of policies; none for management. */
  readonly policies?: readonly string[] | null | undefined;
  /** Must be null or empty: there are no roles. */
  readonly roles?: readonly JsonObject[] | null | undefined;
  /** Replicated to all regions. */
  readonly global?: boolean | null | undefined;
  /** When the token ends; RFC 3339. */
  readonly expires?: string | null | undefined;
  /** Lifetime, such as 8h or 1h30m, or nanoseconds as a number. Wins over ExpirationTime. */
  readonly ttl?: string | number | null | undefined;
  /** For an upload: when the token was made. */
  readonly created?: string | null | undefined;
  /** Ignored. */
  readonly hash?: JsonValue | undefined;
  /** Ignored. */
  readonly createIndex?: JsonValue | undefined;
  /** Ignored. */
  readonly modifyIndex?: JsonValue | undefined;
  /** ModifyIndex that the token must have; otherwise nothing is changed (409). */
  readonly cas?: number | undefined;
  /** Whether names of policies that are not there are refused instead of warned of. */
  readonly strict?: boolean | undefined;
  /** Name of the region that is meant; this server's own by default. */
  readonly region?: string | undefined;
}

export type CreateTokenAnswer = {
  /** Identifies the token: a UUID in lower case. */
  readonly AccessorID: string;
  /** For people; may be empty. */
  readonly Name: string;
  /** What kind of token it is. */
  readonly Type: "client" | "management";
  /** In the order given; null for management. */
  readonly Policies: readonly string[] | null;
  /** Null: there are no roles. */
  readonly Roles:
    | readonly {
        /** Id of a role. */
        readonly ID: string;
        /** Its name. */
        readonly Name: string;
      }[]
    | null;
  /** Replicated to all regions. */
  readonly Global: boolean;
  /** Changes with what can be changed: base64 of 32 bytes. */
  readonly Hash: string;
  /** When it was made. */
  readonly CreateTime: string;
  /** When it ends; null: never. */
  readonly ExpirationTime: string | null;
  /** Index of the write that made it. */
  readonly CreateIndex: number;
  /** Index of the write that changed it last. */
  readonly ModifyIndex: number;
  /** The credential. */
  readonly SecretID: string;
  /** The lifetime that was asked for, such as 8h0m0s; empty without one. */
  readonly ExpirationTTL: string;
};

/** Make a token. */
export function createToken(
  client: Caller,
  input: CreateTokenInput = {},
): Promise<CreateTokenAnswer> {
  return client.call<CreateTokenAnswer>({
    method: "POST",
    path: "acl/token",
    query: { cas: input.cas, strict_policies: input.strict, region: input.region },
    body: {
      AccessorID: input.accessor,
      SecretID: input.secret,
      Name: input.name,
      Type: input.type,
      Policies: input.policies,
      Roles: input.roles,
      Global: input.global,
      ExpirationTime: input.expires,
      ExpirationTTL: input.ttl,
      CreateTime: input.created,
      Hash: input.hash,
      CreateIndex: input.createIndex,
      ModifyIndex: input.modifyIndex,
    },
    answer: "bare",
  });
}

export interface UpdateTokenInput {
  /** Accessor of the token. */
  readonly path: string;
  /** Identifies the token. */
  readonly accessor?: string | undefined;
  /** For an upload: the secret of the token, a UUID. */
  readonly secret?: string | undefined;
  /** For people; up to 256 bytes. */
  readonly name?: string | undefined;
  /** client or management. */
  readonly type?: string | undefined;
  /** Names of policies; none for management. */
  readonly policies?: readonly string[] | null | undefined;
  /** Must be null or empty: there are no roles. */
  readonly roles?: readonly JsonObject[] | null | undefined;
  /** Replicated to all regions. */
  readonly global?: boolean | null | undefined;
  /** When the token ends; RFC 3339. */
  readonly expires?: string | null | undefined;
  /** Lifetime, such as 8h or 1h30m, or nanoseconds as a number. Wins over ExpirationTime. */
  readonly ttl?: string | number | null | undefined;
  /** For an upload: when the token was made. */
  readonly created?: string | null | undefined;
  /** Ignored. */
  readonly hash?: JsonValue | undefined;
  /** Ignored. */
  readonly createIndex?: JsonValue | undefined;
  /** Ignored. */
  readonly modifyIndex?: JsonValue | undefined;
  /** ModifyIndex that the token must have; otherwise nothing is changed (409). */
  readonly cas?: number | undefined;
  /** Whether names of policies that are not there are refused instead of warned of. */
  readonly strict?: boolean | undefined;
  /** Name of the region that is meant; this server's own by default. */
  readonly region?: string | undefined;
}

export type UpdateTokenAnswer = {
  /** Identifies the token: a UUID in lower case. */
  readonly AccessorID: string;
  /** For people; may be empty. */
  readonly Name: string;
  /** What kind of token it is. */
  readonly Type: "client" | "management";
  /** In the order given; null for management. */
  readonly Policies: readonly string[] | null;
  /** Null: there are no roles. */
  readonly Roles:
    | readonly {
        /** Id of a role. */
        readonly ID: string;
        /** Its name. */
        readonly Name: string;
      }[]
    | null;
  /** Replicated to all regions. */
  readonly Global: boolean;
  /** Changes with what can be changed: base64 of 32 bytes. */
  readonly Hash: string;
  /** When it was made. */
  readonly CreateTime: string;
  /** When it ends; null: never. */
  readonly ExpirationTime: string | null;
  /** Index of the write that made it. */
  readonly CreateIndex: number;
  /** Index of the write that changed it last. */
  readonly ModifyIndex: number;
  /** The credential. */
  readonly SecretID: string;
  /** The lifetime that was asked for, such as 8h0m0s; empty without one. */
  readonly ExpirationTTL: string;
};

/** Change a token, or upload one with identifiers of your own. */
export function updateToken(client: Caller, input: UpdateTokenInput): Promise<UpdateTokenAnswer> {
  return client.call<UpdateTokenAnswer>({
    method: "POST",
    path: `acl/token/${oneSegment(input.path)}`,
    query: { cas: input.cas, strict_policies: input.strict, region: input.region },
    body: {
      AccessorID: input.accessor,
      SecretID: input.secret,
      Name: input.name,
      Type: input.type,
      Policies: input.policies,
      Roles: input.roles,
      Global: input.global,
      ExpirationTime: input.expires,
      ExpirationTTL: input.ttl,
      CreateTime: input.created,
      Hash: input.hash,
      CreateIndex: input.createIndex,
      ModifyIndex: input.modifyIndex,
    },
    answer: "bare",
  });
}

export interface ReadTokenInput {
  /** Accessor of the token. */
  readonly accessor: string;
  /** false: the record comes with an empty SecretID. */
  readonly secret?: boolean | undefined;
  /** Answer when there is something newer than this index, or when `wait` is over. */
  readonly index?: number | undefined;
  /** How long to wait for something newer: such as 30s, at most 5m, which is the default. */
  readonly wait?: string | undefined;
  /** Any server may answer from what it has, without asking the leader. */
  readonly stale?: boolean | undefined;
  /** Name of the region that is meant; this server's own by default. */
  readonly region?: string | undefined;
}

export type ReadTokenAnswer = {
  /** Identifies the token: a UUID in lower case. */
  readonly AccessorID: string;
  /** For people; may be empty. */
  readonly Name: string;
  /** What kind of token it is. */
  readonly Type: "client" | "management";
  /** In the order given; null for management. */
  readonly Policies: readonly string[] | null;
  /** Null: there are no roles. */
  readonly Roles:
    | readonly {
        /** Id of a role. */
        readonly ID: string;
        /** Its name. */
        readonly Name: string;
      }[]
    | null;
  /** Replicated to all regions. */
  readonly Global: boolean;
  /** Changes with what can be changed: base64 of 32 bytes. */
  readonly Hash: string;
  /** When it was made. */
  readonly CreateTime: string;
  /** When it ends; null: never. */
  readonly ExpirationTime: string | null;
  /** Index of the write that made it. */
  readonly CreateIndex: number;
  /** Index of the write that changed it last. */
  readonly ModifyIndex: number;
  /** The credential. */
  readonly SecretID: string;
  /** The lifetime that was asked for, such as 8h0m0s; empty without one. */
  readonly ExpirationTTL: string;
};

/** Read a token: for management, and for the token itself. */
export function readToken(client: Caller, input: ReadTokenInput): Promise<ReadTokenAnswer> {
  return client.call<ReadTokenAnswer>({
    method: "GET",
    path: `acl/token/${oneSegment(input.accessor)}`,
    query: {
      secret: input.secret,
      index: input.index,
      wait: input.wait,
      stale: input.stale,
      region: input.region,
    },
    answer: "bare",
  });
}

export interface ReadSelfTokenInput {
  /** false: the record comes with an empty SecretID. */
  readonly secret?: boolean | undefined;
  /** Answer when there is something newer than this index, or when `wait` is over. */
  readonly index?: number | undefined;
  /** How long to wait for something newer: such as 30s, at most 5m, which is the default. */
  readonly wait?: string | undefined;
  /** Any server may answer from what it has, without asking the leader. */
  readonly stale?: boolean | undefined;
  /** Name of the region that is meant; this server's own by default. */
  readonly region?: string | undefined;
}

export type ReadSelfTokenAnswer = {
  /** Identifies the token: a UUID in lower case. */
  readonly AccessorID: string;
  /** For people; may be empty. */
  readonly Name: string;
  /** What kind of token it is. */
  readonly Type: "client" | "management";
  /** In the order given; null for management. */
  readonly Policies: readonly string[] | null;
  /** Null: there are no roles. */
  readonly Roles:
    | readonly {
        /** Id of a role. */
        readonly ID: string;
        /** Its name. */
        readonly Name: string;
      }[]
    | null;
  /** Replicated to all regions. */
  readonly Global: boolean;
  /** Changes with what can be changed: base64 of 32 bytes. */
  readonly Hash: string;
  /** When it was made. */
  readonly CreateTime: string;
  /** When it ends; null: never. */
  readonly ExpirationTime: string | null;
  /** Index of the write that made it. */
  readonly CreateIndex: number;
  /** Index of the write that changed it last. */
  readonly ModifyIndex: number;
  /** The credential. */
  readonly SecretID: string;
  /** The lifetime that was asked for, such as 8h0m0s; empty without one. */
  readonly ExpirationTTL: string;
};

/** Read the token that is presented. */
export function readSelfToken(
  client: Caller,
  input: ReadSelfTokenInput = {},
): Promise<ReadSelfTokenAnswer> {
  return client.call<ReadSelfTokenAnswer>({
    method: "GET",
    path: "acl/token/self",
    query: {
      secret: input.secret,
      index: input.index,
      wait: input.wait,
      stale: input.stale,
      region: input.region,
    },
    answer: "bare",
  });
}

export interface DeleteTokenInput {
  /** Accessor of the token. */
  readonly accessor: string;
  /** ModifyIndex that the token must have; otherwise nothing is changed (409). */
  readonly cas?: number | undefined;
  /** Name of the region that is meant; this server's own by default. */
  readonly region?: string | undefined;
}

/** Delete a token. It lets nobody in from here on. */
export function deleteToken(client: Caller, input: DeleteTokenInput): Promise<undefined> {
  return client.call<undefined>({
    method: "DELETE",
    path: `acl/token/${oneSegment(input.accessor)}`,
    query: { cas: input.cas, region: input.region },
    answer: "nothing",
  });
}

export interface CreateOneTimeTokenInput {
  /** Name of the region that is meant; this server's own by default. */
  readonly region?: string | undefined;
}

export type CreateOneTimeTokenAnswer = {
  /** Index of the write. */
  readonly Index: number;
  readonly OneTimeToken: {
    /** To be exchanged, once. */
    readonly OneTimeSecretID: string;
    /** Identifies the token: a UUID in lower case. */
    readonly AccessorID: string;
    /** Until when it can be exchanged. */
    readonly ExpiresAt: string;
    /** Index of the write that made it. */
    readonly CreateIndex: number;
    /** The same. */
    readonly ModifyIndex: number;
  };
};

/** Make a one-time token for the token that is presented. */
export function createOneTimeToken(
  client: Caller,
  input: CreateOneTimeTokenInput = {},
): Promise<CreateOneTimeTokenAnswer> {
  return client.call<CreateOneTimeTokenAnswer>({
    method: "POST",
    path: "acl/token/onetime",
    query: { region: input.region },
    answer: "bare",
  });
}

export interface ExchangeOneTimeTokenInput {
  /** The secret of the one-time token. */
  readonly secret?: string | undefined;
  /** Name of the region that is meant; this server's own by default. */
  readonly region?: string | undefined;
}

export type ExchangeOneTimeTokenAnswer = {
  /** Index of the write. */
  readonly Index: number;
  readonly Token: {
    /** Identifies the token: a UUID in lower case. */
    readonly AccessorID: string;
    /** For people; may be empty. */
    readonly Name: string;
    /** What kind of token it is. */
    readonly Type: "client" | "management";
    /** In the order given; null for management. */
    readonly Policies: readonly string[] | null;
    /** Null: there are no roles. */
    readonly Roles:
      | readonly {
          /** Id of a role. */
          readonly ID: string;
          /** Its name. */
          readonly Name: string;
        }[]
      | null;
    /** Replicated to all regions. */
    readonly Global: boolean;
    /** Changes with what can be changed: base64 of 32 bytes. */
    readonly Hash: string;
    /** When it was made. */
    readonly CreateTime: string;
    /** When it ends; null: never. */
    readonly ExpirationTime: string | null;
    /** Index of the write that made it. */
    readonly CreateIndex: number;
    /** Index of the write that changed it last. */
    readonly ModifyIndex: number;
    /** The credential. */
    readonly SecretID: string;
    /** The lifetime that was asked for, such as 8h0m0s; empty without one. */
    readonly ExpirationTTL: string;
  };
};

/** Exchange a one-time token for the token that it was made for. */
export function exchangeOneTimeToken(
  client: Caller,
  input: ExchangeOneTimeTokenInput = {},
): Promise<ExchangeOneTimeTokenAnswer> {
  return client.call<ExchangeOneTimeTokenAnswer>({
    method: "POST",
    path: "acl/token/onetime/exchange",
    query: { region: input.region },
    body: { OneTimeSecretID: input.secret },
    answer: "bare",
  });
}

export interface CollectTokensInput {
  /** Name of the region that is meant; this server's own by default. */
  readonly region?: string | undefined;
}

export type CollectTokensAnswer = {
  /** How many tokens were removed. */
  readonly Tokens: number;
  /** How many one-time tokens were removed. */
  readonly OneTimeTokens: number;
};

/** Remove expired tokens and one-time tokens now. */
export function collectTokens(
  client: Caller,
  input: CollectTokensInput = {},
): Promise<CollectTokensAnswer> {
  return client.call<CollectTokensAnswer>({
    method: "POST",
    path: "acl/gc",
    query: { region: input.region },
    answer: "bare",
  });
}

export interface ReadAclReplicationInput {
  /** Any server may answer from what it has, without asking the leader. */
  readonly stale?: boolean | undefined;
  /** Name of the region that is meant; this server's own by default. */
  readonly region?: string | undefined;
}

export type ReadAclReplicationAnswer = {
  /** False while this region is its own authoritative one. */
  readonly Enabled: boolean;
  /** Whether it runs now. */
  readonly Running: boolean;
  /** Where they come from; empty: from nowhere. */
  readonly SourceRegion?: string;
  /** Up to which index of the source. */
  readonly ReplicatedPolicyIndex?: number;
  /** The same, of tokens. */
  readonly ReplicatedTokenIndex?: number;
  /** When it succeeded last; null: never. */
  readonly LastSuccess?: string | null;
  /** When it failed last; null: never. */
  readonly LastError?: string | null;
  /** Why; empty: it did not. */
  readonly LastErrorMessage?: string;
};

/** Whether global tokens and policies come from another region, and how far they have. */
export function readAclReplication(
  client: Caller,
  input: ReadAclReplicationInput = {},
): Promise<ReadAclReplicationAnswer> {
  return client.call<ReadAclReplicationAnswer>({
    method: "GET",
    path: "acl/replication",
    query: { stale: input.stale, region: input.region },
    answer: "bare",
  });
}

export interface AuthTokenCreateInput {
  /** Names of policies: without sudo the caller's at most. Without it the caller's. */
  readonly policies?: readonly string[] | undefined;
  /** How long it lives; without it, or 0, default_lease_ttl. Cut to the maximum; without sudo to the caller's last moment. */
  readonly ttl?: string | number | undefined;
  /** How long it lives at most, however often it is renewed. */
  readonly longest?: string | number | undefined;
  /** How long it lives from each renewal on, whatever that asks for. Needs sudo. */
  readonly period?: string | number | undefined;
  /** How many requests it may make; 0: any number. */
  readonly uses?: number | undefined;
  /** For people; up to 256 bytes. */
  readonly name?: string | undefined;
  /** What its maker notes about it. Without sudo no policy builds on it, nor on the name. */
  readonly meta?: Readonly<Record<string, string>> | undefined;
  /** Whether it can be renewed; without sudo only if the caller's can. */
  readonly renewable?: boolean | undefined;
  /** Whether the policy default does not count for it. */
  readonly withoutDefault?: boolean | undefined;
  /** There is one kind. */
  readonly type?: "service" | "default" | "" | undefined;
  /** Must be left out: the server draws the secret. */
  readonly id?: string | undefined;
  /** Must be empty: no entities. */
  readonly alias?: string | undefined;
  /** It does not end with the caller's. Needs sudo. */
  readonly noParent?: boolean | undefined;
}

export type AuthTokenCreateAnswer = {
  /** The credential; empty where only its accessor was given. */
  readonly client_token: string;
  /** Identifies the token, without being a credential. */
  readonly accessor: string;
  /** What the token may do. */
  readonly policies: readonly string[];
  /** The same. */
  readonly token_policies: readonly string[];
  /** What was noted when it was made. */
  readonly metadata: Readonly<Record<string, string>>;
  /** Seconds that are left; 0: it does not expire. */
  readonly lease_duration: number;
  /** Whether it can be renewed. */
  readonly renewable: boolean;
  /** There is one kind. */
  readonly token_type: "service";
  /** Empty: there are no entities. */
  readonly entity_id: string;
  /** It does not end with the token that made it. */
  readonly orphan: boolean;
  /** Uses that are left; 0: as many as one likes. */
  readonly num_uses: number;
};

/** Make a client token that ends with the caller's. */
export function authTokenCreate(
  client: Caller,
  input: AuthTokenCreateInput = {},
): Promise<AuthTokenCreateAnswer> {
  return client.call<AuthTokenCreateAnswer>({
    method: "POST",
    path: "auth/token/create",
    body: {
      policies: input.policies,
      ttl: input.ttl,
      explicit_max_ttl: input.longest,
      period: input.period,
      num_uses: input.uses,
      display_name: input.name,
      meta: input.meta,
      renewable: input.renewable,
      no_default_policy: input.withoutDefault,
      type: input.type,
      id: input.id,
      entity_alias: input.alias,
      no_parent: input.noParent,
    },
    answer: "auth",
  });
}

export interface AuthTokenCreateOrphanInput {
  /** Names of policies: without sudo the caller's at most. Without it the caller's. */
  readonly policies?: readonly string[] | undefined;
  /** How long it lives; without it, or 0, default_lease_ttl. Cut to the maximum; without sudo to the caller's last moment. */
  readonly ttl?: string | number | undefined;
  /** How long it lives at most, however often it is renewed. */
  readonly longest?: string | number | undefined;
  /** How long it lives from each renewal on, whatever that asks for. Needs sudo. */
  readonly period?: string | number | undefined;
  /** How many requests it may make; 0: any number. */
  readonly uses?: number | undefined;
  /** For people; up to 256 bytes. */
  readonly name?: string | undefined;
  /** What its maker notes about it. Without sudo no policy builds on it, nor on the name. */
  readonly meta?: Readonly<Record<string, string>> | undefined;
  /** Whether it can be renewed; without sudo only if the caller's can. */
  readonly renewable?: boolean | undefined;
  /** Whether the policy default does not count for it. */
  readonly withoutDefault?: boolean | undefined;
  /** There is one kind. */
  readonly type?: "service" | "default" | "" | undefined;
  /** Must be left out: the server draws the secret. */
  readonly id?: string | undefined;
  /** Must be empty: no entities. */
  readonly alias?: string | undefined;
  /** True, as some clients say here too: it is so in any case. */
  readonly noParent?: boolean | undefined;
}

export type AuthTokenCreateOrphanAnswer = {
  /** The credential; empty where only its accessor was given. */
  readonly client_token: string;
  /** Identifies the token, without being a credential. */
  readonly accessor: string;
  /** What the token may do. */
  readonly policies: readonly string[];
  /** The same. */
  readonly token_policies: readonly string[];
  /** What was noted when it was made. */
  readonly metadata: Readonly<Record<string, string>>;
  /** Seconds that are left; 0: it does not expire. */
  readonly lease_duration: number;
  /** Whether it can be renewed. */
  readonly renewable: boolean;
  /** There is one kind. */
  readonly token_type: "service";
  /** Empty: there are no entities. */
  readonly entity_id: string;
  /** It does not end with the token that made it. */
  readonly orphan: boolean;
  /** Uses that are left; 0: as many as one likes. */
  readonly num_uses: number;
};

/** Make a client token that does not end with the caller's. */
export function authTokenCreateOrphan(
  client: Caller,
  input: AuthTokenCreateOrphanInput = {},
): Promise<AuthTokenCreateOrphanAnswer> {
  return client.call<AuthTokenCreateOrphanAnswer>({
    method: "POST",
    path: "auth/token/create-orphan",
    body: {
      policies: input.policies,
      ttl: input.ttl,
      explicit_max_ttl: input.longest,
      period: input.period,
      num_uses: input.uses,
      display_name: input.name,
      meta: input.meta,
      renewable: input.renewable,
      no_default_policy: input.withoutDefault,
      type: input.type,
      id: input.id,
      entity_alias: input.alias,
      no_parent: input.noParent,
    },
    answer: "auth",
  });
}

export type AuthTokenLookupSelfAnswer = {
  /** The credential; empty where only its accessor was given. */
  readonly id: string;
  /** Identifies the token, without being a credential. */
  readonly accessor: string;
  /** For people; may be empty. */
  readonly display_name: string;
  /** What it may do; root: everything. */
  readonly policies: readonly string[];
  /** When it was made, in seconds since 1970. */
  readonly creation_time: number;
  /** Seconds that it was made for; 0: no end. */
  readonly creation_ttl: number;
  /** When it ends; null: never. */
  readonly expire_time: string | null;
  /** Longest life that its maker allowed, in seconds; 0: the server's. */
  readonly explicit_max_ttl: number;
  /** When it was made. */
  readonly issue_time: string;
  /** Uses that are left; 0: as many as one likes. */
  readonly num_uses: number;
  /** It does not end with the token that made it. */
  readonly orphan: boolean;
  /** Where it was made. */
  readonly path: string;
  /** Seconds that each renewal gives. */
  readonly period?: number;
  /** Where it is good; absent: anywhere. */
  readonly bound_cidrs?: readonly string[];
  /** Whether it can be renewed. */
  readonly renewable: boolean;
  /** Seconds that are left; 0: it does not expire. */
  readonly ttl: number;
  /** There is one kind. */
  readonly type: "service";
  /** What was noted when it was made. */
  readonly meta: Readonly<Record<string, string>> | null;
  /** Empty: there are no entities. */
  readonly entity_id: string;
};

/** Tell about the caller's own token. */
export function authTokenLookupSelf(client: Caller): Promise<AuthTokenLookupSelfAnswer> {
  return client.call<AuthTokenLookupSelfAnswer>({
    method: "GET",
    path: "auth/token/lookup-self",
    answer: "data",
  });
}

export interface AuthTokenLookupInput {
  /** Secret of the token. */
  readonly secret: string;
}

export type AuthTokenLookupAnswer = {
  /** The credential; empty where only its accessor was given. */
  readonly id: string;
  /** Identifies the token, without being a credential. */
  readonly accessor: string;
  /** For people; may be empty. */
  readonly display_name: string;
  /** What it may do; root: everything. */
  readonly policies: readonly string[];
  /** When it was made, in seconds since 1970. */
  readonly creation_time: number;
  /** Seconds that it was made for; 0: no end. */
  readonly creation_ttl: number;
  /** When it ends; null: never. */
  readonly expire_time: string | null;
  /** Longest life that its maker allowed, in seconds; 0: the server's. */
  readonly explicit_max_ttl: number;
  /** When it was made. */
  readonly issue_time: string;
  /** Uses that are left; 0: as many as one likes. */
  readonly num_uses: number;
  /** It does not end with the token that made it. */
  readonly orphan: boolean;
  /** Where it was made. */
  readonly path: string;
  /** Seconds that each renewal gives. */
  readonly period?: number;
  /** Where it is good; absent: anywhere. */
  readonly bound_cidrs?: readonly string[];
  /** Whether it can be renewed. */
  readonly renewable: boolean;
  /** Seconds that are left; 0: it does not expire. */
  readonly ttl: number;
  /** There is one kind. */
  readonly type: "service";
  /** What was noted when it was made. */
  readonly meta: Readonly<Record<string, string>> | null;
  /** Empty: there are no entities. */
  readonly entity_id: string;
};

/** Tell about a token by its secret. */
export function authTokenLookup(
  client: Caller,
  input: AuthTokenLookupInput,
): Promise<AuthTokenLookupAnswer> {
  return client.call<AuthTokenLookupAnswer>({
    method: "POST",
    path: "auth/token/lookup",
    body: { token: input.secret },
    answer: "data",
  });
}

export interface AuthTokenLookupAccessorInput {
  /** Accessor of the token. */
  readonly accessor: string;
}

export type AuthTokenLookupAccessorAnswer = {
  /** The credential; empty where only its accessor was given. */
  readonly id: string;
  /** Identifies the token, without being a credential. */
  readonly accessor: string;
  /** For people; may be empty. */
  readonly display_name: string;
  /** What it may do; root: everything. */
  readonly policies: readonly string[];
  /** When it was made, in seconds since 1970. */
  readonly creation_time: number;
  /** Seconds that it was made for; 0: no end. */
  readonly creation_ttl: number;
  /** When it ends; null: never. */
  readonly expire_time: string | null;
  /** Longest life that its maker allowed, in seconds; 0: the server's. */
  readonly explicit_max_ttl: number;
  /** When it was made. */
  readonly issue_time: string;
  /** Uses that are left; 0: as many as one likes. */
  readonly num_uses: number;
  /** It does not end with the token that made it. */
  readonly orphan: boolean;
  /** Where it was made. */
  readonly path: string;
  /** Seconds that each renewal gives. */
  readonly period?: number;
  /** Where it is good; absent: anywhere. */
  readonly bound_cidrs?: readonly string[];
  /** Whether it can be renewed. */
  readonly renewable: boolean;
  /** Seconds that are left; 0: it does not expire. */
  readonly ttl: number;
  /** There is one kind. */
  readonly type: "service";
  /** What was noted when it was made. */
  readonly meta: Readonly<Record<string, string>> | null;
  /** Empty: there are no entities. */
  readonly entity_id: string;
};

/** Tell about a token by its accessor, without its secret. */
export function authTokenLookupAccessor(
  client: Caller,
  input: AuthTokenLookupAccessorInput,
): Promise<AuthTokenLookupAccessorAnswer> {
  return client.call<AuthTokenLookupAccessorAnswer>({
    method: "POST",
    path: "auth/token/lookup-accessor",
    body: { accessor: input.accessor },
    answer: "data",
  });
}

export interface AuthTokenRenewSelfInput {
  /** How long it shall live from now; without it, or 0, as long as it was made for. */
  readonly increment?: string | number | undefined;
}

export type AuthTokenRenewSelfAnswer = {
  /** The credential; empty where only its accessor was given. */
  readonly client_token: string;
  /** Identifies the token, without being a credential. */
  readonly accessor: string;
  /** What the token may do. */
  readonly policies: readonly string[];
  /** The same. */
  readonly token_policies: readonly string[];
  /** What was noted when it was made. */
  readonly metadata: Readonly<Record<string, string>>;
  /** Seconds that are left; 0: it does not expire. */
  readonly lease_duration: number;
  /** Whether it can be renewed. */
  readonly renewable: boolean;
  /** There is one kind. */
  readonly token_type: "service";
  /** Empty: there are no entities. */
  readonly entity_id: string;
  /** It does not end with the token that made it. */
  readonly orphan: boolean;
  /** Uses that are left; 0: as many as one likes. */
  readonly num_uses: number;
};

/** Prolong the caller's own token. */
export function authTokenRenewSelf(
  client: Caller,
  input: AuthTokenRenewSelfInput = {},
): Promise<AuthTokenRenewSelfAnswer> {
  return client.call<AuthTokenRenewSelfAnswer>({
    method: "POST",
    path: "auth/token/renew-self",
    body: { increment: input.increment },
    answer: "auth",
  });
}

export interface AuthTokenRenewInput {
  /** Secret of the token. */
  readonly secret: string;
  /** How long it shall live from now; without it, or 0, as long as it was made for. */
  readonly increment?: string | number | undefined;
}

export type AuthTokenRenewAnswer = {
  /** The credential; empty where only its accessor was given. */
  readonly client_token: string;
  /** Identifies the token, without being a credential. */
  readonly accessor: string;
  /** What the token may do. */
  readonly policies: readonly string[];
  /** The same. */
  readonly token_policies: readonly string[];
  /** What was noted when it was made. */
  readonly metadata: Readonly<Record<string, string>>;
  /** Seconds that are left; 0: it does not expire. */
  readonly lease_duration: number;
  /** Whether it can be renewed. */
  readonly renewable: boolean;
  /** There is one kind. */
  readonly token_type: "service";
  /** Empty: there are no entities. */
  readonly entity_id: string;
  /** It does not end with the token that made it. */
  readonly orphan: boolean;
  /** Uses that are left; 0: as many as one likes. */
  readonly num_uses: number;
};

/** Prolong a token by its secret. */
export function authTokenRenew(
  client: Caller,
  input: AuthTokenRenewInput,
): Promise<AuthTokenRenewAnswer> {
  return client.call<AuthTokenRenewAnswer>({
    method: "POST",
    path: "auth/token/renew",
    body: { token: input.secret, increment: input.increment },
    answer: "auth",
  });
}

export interface AuthTokenRenewAccessorInput {
  /** Accessor of the token. */
  readonly accessor: string;
  /** How long it shall live from now; without it, or 0, as long as it was made for. */
  readonly increment?: string | number | undefined;
}

export type AuthTokenRenewAccessorAnswer = {
  /** The credential; empty where only its accessor was given. */
  readonly client_token: string;
  /** Identifies the token, without being a credential. */
  readonly accessor: string;
  /** What the token may do. */
  readonly policies: readonly string[];
  /** The same. */
  readonly token_policies: readonly string[];
  /** What was noted when it was made. */
  readonly metadata: Readonly<Record<string, string>>;
  /** Seconds that are left; 0: it does not expire. */
  readonly lease_duration: number;
  /** Whether it can be renewed. */
  readonly renewable: boolean;
  /** There is one kind. */
  readonly token_type: "service";
  /** Empty: there are no entities. */
  readonly entity_id: string;
  /** It does not end with the token that made it. */
  readonly orphan: boolean;
  /** Uses that are left; 0: as many as one likes. */
  readonly num_uses: number;
};

/** Prolong a token by its accessor. */
export function authTokenRenewAccessor(
  client: Caller,
  input: AuthTokenRenewAccessorInput,
): Promise<AuthTokenRenewAccessorAnswer> {
  return client.call<AuthTokenRenewAccessorAnswer>({
    method: "POST",
    path: "auth/token/renew-accessor",
    body: { accessor: input.accessor, increment: input.increment },
    answer: "auth",
  });
}

/** End the caller's own token, and what it made. */
export function authTokenRevokeSelf(client: Caller): Promise<undefined> {
  return client.call<undefined>({
    method: "POST",
    path: "auth/token/revoke-self",
    answer: "nothing",
  });
}

export interface AuthTokenRevokeInput {
  /** Secret of the token. */
  readonly secret: string;
}

/** End a token by its secret, and what it made. */
export function authTokenRevoke(client: Caller, input: AuthTokenRevokeInput): Promise<undefined> {
  return client.call<undefined>({
    method: "POST",
    path: "auth/token/revoke",
    body: { token: input.secret },
    answer: "nothing",
  });
}

export interface AuthTokenRevokeAccessorInput {
  /** Accessor of the token. */
  readonly accessor: string;
}

/** End a token by its accessor, and what it made. */
export function authTokenRevokeAccessor(
  client: Caller,
  input: AuthTokenRevokeAccessorInput,
): Promise<undefined> {
  return client.call<undefined>({
    method: "POST",
    path: "auth/token/revoke-accessor",
    body: { accessor: input.accessor },
    answer: "nothing",
  });
}

export interface AuthTokenRevokeOrphanInput {
  /** Secret of the token. */
  readonly secret: string;
}

/** End a token by its secret, and leave what it made to itself. */
export function authTokenRevokeOrphan(
  client: Caller,
  input: AuthTokenRevokeOrphanInput,
): Promise<undefined> {
  return client.call<undefined>({
    method: "POST",
    path: "auth/token/revoke-orphan",
    body: { token: input.secret },
    answer: "nothing",
  });
}

export interface AuthTokenAccessorsInput {
  /** Only those after this accessor. */
  readonly after?: string | undefined;
  /** How many at most. */
  readonly limit?: number | undefined;
}

export type AuthTokenAccessorsAnswer = {
  readonly keys: readonly string[];
  readonly key_info?: JsonObject;
};

/** List the accessors of all tokens. */
export function authTokenAccessors(
  client: Caller,
  input: AuthTokenAccessorsInput = {},
): Promise<AuthTokenAccessorsAnswer> {
  return client.call<AuthTokenAccessorsAnswer>({
    method: "LIST",
    path: "auth/token/accessors",
    query: { after: input.after, limit: input.limit },
    answer: "data",
  });
}

export interface ListNamespacesInput {
  /** Only those after this name. */
  readonly after?: string | undefined;
  /** How many at most. */
  readonly limit?: number | undefined;
}

export type ListNamespacesAnswer = {
  readonly keys: readonly string[];
  readonly key_info?: JsonObject;
};

/** List the direct child namespaces. */
export function listNamespaces(
  client: Caller,
  input: ListNamespacesInput = {},
): Promise<ListNamespacesAnswer> {
  return client.call<ListNamespacesAnswer>({
    method: "LIST",
    path: "sys/namespaces",
    query: { after: input.after, limit: input.limit },
    answer: "data",
  });
}

export interface ReadNamespaceInput {
  /** Path of the namespace, relative to the namespace of the request. */
  readonly path: string;
}

export type ReadNamespaceAnswer = {
  /** Short id; part of lease ids and audit records. Never used again. */
  readonly id: string;
  /** Unique for ever. */
  readonly uuid: string;
  /** Path from the root namespace, with a slash at the end. */
  readonly path: string;
  /** What operators noted about it. */
  readonly custom_metadata: Readonly<Record<string, string>>;
};

/** Read a namespace. */
export function readNamespace(
  client: Caller,
  input: ReadNamespaceInput,
): Promise<ReadNamespaceAnswer> {
  return client.call<ReadNamespaceAnswer>({
    method: "GET",
    path: `sys/namespaces/${restOfPath(input.path)}`,
    answer: "data",
  });
}

export interface WriteNamespaceInput {
  /** Path of the namespace, relative to the namespace of the request. */
  readonly path: string;
  /** What operators note about it. */
  readonly metadata?: Readonly<Record<string, string>> | undefined;
}

export type WriteNamespaceAnswer = {
  /** Short id; part of lease ids and audit records. Never used again. */
  readonly id: string;
  /** Unique for ever. */
  readonly uuid: string;
  /** Path from the root namespace, with a slash at the end. */
  readonly path: string;
  /** What operators noted about it. */
  readonly custom_metadata: Readonly<Record<string, string>>;
};

/** Create a namespace, or replace its metadata. */
export function writeNamespace(
  client: Caller,
  input: WriteNamespaceInput,
): Promise<WriteNamespaceAnswer> {
  return client.call<WriteNamespaceAnswer>({
    method: "POST",
    path: `sys/namespaces/${restOfPath(input.path)}`,
    body: { custom_metadata: input.metadata },
    answer: "data",
  });
}

export interface PatchNamespaceInput {
  /** Path of the namespace, relative to the namespace of the request. */
  readonly path: string;
  /** A merge patch: null in place of a text removes it. */
  readonly patch?: Readonly<Record<string, string | null>> | undefined;
}

export type PatchNamespaceAnswer = {
  /** Short id; part of lease ids and audit records. Never used again. */
  readonly id: string;
  /** Unique for ever. */
  readonly uuid: string;
  /** Path from the root namespace, with a slash at the end. */
  readonly path: string;
  /** What operators noted about it. */
  readonly custom_metadata: Readonly<Record<string, string>>;
};

/** Change some of a namespace's metadata. */
export function patchNamespace(
  client: Caller,
  input: PatchNamespaceInput,
): Promise<PatchNamespaceAnswer> {
  return client.call<PatchNamespaceAnswer>({
    method: "PATCH",
    path: `sys/namespaces/${restOfPath(input.path)}`,
    body: { custom_metadata: input.patch },
    answer: "data",
  });
}

export interface DeleteNamespaceInput {
  /** Path of the namespace, relative to the namespace of the request. */
  readonly path: string;
}

export type DeleteNamespaceAnswer = {
  /** It is being emptied, also after a restart. */
  readonly status: "in-progress";
};

/** Delete a namespace and everything in it. */
export function deleteNamespace(
  client: Caller,
  input: DeleteNamespaceInput,
): Promise<DeleteNamespaceAnswer> {
  return client.call<DeleteNamespaceAnswer>({
    method: "DELETE",
    path: `sys/namespaces/${restOfPath(input.path)}`,
    answer: "data",
  });
}

export type ListMountsAnswer = Readonly<
  Record<
    string,
    {
      /** Names the mount in policies and audit; never changes. */
      readonly accessor: string;
      /** Its type. */
      readonly type: string;
      /** What operators noted about it. */
      readonly description: string;
      /** Unique for ever. */
      readonly uuid: string;
      /** Kept out of performance replication. */
      readonly local: boolean;
      /** Whether that was asked for. */
      readonly seal_wrap: boolean;
      /** Always false. */
      readonly external_entropy_access: boolean;
      /** Options of its type. */
      readonly options: Readonly<Record<string, string>> | null;
      readonly config: {
        /** Seconds; 0: as the server says. */
        readonly default_lease_ttl: number;
        /** Seconds; 0: as the server says. */
        readonly max_lease_ttl: number;
        /** Kept for older clients. */
        readonly force_no_cache: boolean;
        /** Members of requests that audit shows in clear. */
        readonly audit_non_hmac_request_keys?: readonly string[];
        /** Members of answers that audit shows in clear. */
        readonly audit_non_hmac_response_keys?: readonly string[];
        /** Whether everybody is shown it. */
        readonly listing_visibility?: string;
        /** Headers for plugins. */
        readonly passthrough_request_headers?: readonly string[];
        /** Headers of plugins. */
        readonly allowed_response_headers?: readonly string[];
        /** Name of a key. */
        readonly identity_token_key?: string;
        /** Kind of the tokens of an auth method. */
        readonly token_type?: string;
        /** When logins of one name are refused. */
        readonly user_lockout_config?: JsonObject;
      };
      /** The version that was asked for. */
      readonly plugin_version: string;
      /** The version that runs. */
      readonly running_plugin_version: string;
      /** Of a plugin. */
      readonly running_sha256: string;
      /** Whether the type will go. */
      readonly deprecation_status: string;
      /** Why no request reaches it. */
      readonly state?: "disabling" | "moving";
      /** Leases still to be revoked. */
      readonly leases_left?: number;
      /** Why it does not answer, or does not get on. */
      readonly trouble?: string;
    }
  >
>;

/** List the secret engines of the namespace. */
export function listMounts(client: Caller): Promise<ListMountsAnswer> {
  return client.call<ListMountsAnswer>({ method: "GET", path: "sys/mounts", answer: "data" });
}

export interface EnableMountInput {
  /** Path of the mount. */
  readonly path: string;
  /** Type of the engine. */
  readonly type: string;
  /** What operators note. */
  readonly description?: string | undefined;
  /** What can be tuned. */
  readonly config?: JsonObject | undefined;
  /** Options of its type. */
  readonly options?: Readonly<Record<string, string>> | undefined;
  /** Keep it out of performance replication. */
  readonly local?: boolean | undefined;
  /** Kept for older clients, without effect: the barrier encrypts everything. */
  readonly sealWrap?: boolean | undefined;
  /** Kept for older clients. */
  readonly entropy?: boolean | undefined;
  /** Version of its type. */
  readonly version?: string | undefined;
}

/** Mount a secret engine. */
export function enableMount(client: Caller, input: EnableMountInput): Promise<undefined> {
  return client.call<undefined>({
    method: "POST",
    path: `sys/mounts/${restOfPath(input.path)}`,
    body: {
      type: input.type,
      description: input.description,
      config: input.config,
      options: input.options,
      local: input.local,
      seal_wrap: input.sealWrap,
      external_entropy_access: input.entropy,
      plugin_version: input.version,
    },
    answer: "nothing",
  });
}

export interface ReadMountInput {
  /** Path of the mount. */
  readonly path: string;
}

export type ReadMountAnswer = {
  /** Names the mount in policies and audit; never changes. */
  readonly accessor: string;
  /** Its type. */
  readonly type: string;
  /** What operators noted about it. */
  readonly description: string;
  /** Unique for ever. */
  readonly uuid: string;
  /** Kept out of performance replication. */
  readonly local: boolean;
  /** Whether that was asked for. */
  readonly seal_wrap: boolean;
  /** Always false. */
  readonly external_entropy_access: boolean;
  /** Options of its type. */
  readonly options: Readonly<Record<string, string>> | null;
  readonly config: {
    /** Seconds; 0: as the server says. */
    readonly default_lease_ttl: number;
    /** Seconds; 0: as the server says. */
    readonly max_lease_ttl: number;
    /** Kept for older clients. */
    readonly force_no_cache: boolean;
    /** Members of requests that audit shows in clear. */
    readonly audit_non_hmac_request_keys?: readonly string[];
    /** Members of answers that audit shows in clear. */
    readonly audit_non_hmac_response_keys?: readonly string[];
    /** Whether everybody is shown it. */
    readonly listing_visibility?: string;
    /** Headers for plugins. */
    readonly passthrough_request_headers?: readonly string[];
    /** Headers of plugins. */
    readonly allowed_response_headers?: readonly string[];
    /** Name of a key. */
    readonly identity_token_key?: string;
    /** Kind of the tokens of an auth method. */
    readonly token_type?: string;
    /** When logins of one name are refused. */
    readonly user_lockout_config?: JsonObject;
  };
  /** The version that was asked for. */
  readonly plugin_version: string;
  /** The version that runs. */
  readonly running_plugin_version: string;
  /** Of a plugin. */
  readonly running_sha256: string;
  /** Whether the type will go. */
  readonly deprecation_status: string;
  /** Why no request reaches it. */
  readonly state?: "disabling" | "moving";
  /** Leases still to be revoked. */
  readonly leases_left?: number;
  /** Why it does not answer, or does not get on. */
  readonly trouble?: string;
};

/** Read what is mounted at a path. */
export function readMount(client: Caller, input: ReadMountInput): Promise<ReadMountAnswer> {
  return client.call<ReadMountAnswer>({
    method: "GET",
    path: `sys/mounts/${restOfPath(input.path)}`,
    answer: "data",
  });
}

export interface DisableMountInput {
  /** Path of the mount. */
  readonly path: string;
  /** Leave behind what it made outside without leases, and what nobody can remove. */
  readonly abandon?: boolean | undefined;
  /** How long to wait for it. */
  readonly wait?: string | number | undefined;
}

export type DisableMountAnswer = {
  /** It goes on, also after a restart. */
  readonly state: "disabling";
  /** Leases still to be revoked. */
  readonly leases_left: number;
};

/** Disable a secret engine and remove everything in it. */
export function disableMount(
  client: Caller,
  input: DisableMountInput,
): Promise<DisableMountAnswer> {
  return client.call<DisableMountAnswer>({
    method: "DELETE",
    path: `sys/mounts/${restOfPath(input.path)}`,
    query: { abandon: input.abandon, wait: input.wait },
    answer: "data",
  });
}

export interface ReadMountTuningInput {
  /** Path of the mount. */
  readonly path: string;
}

export type ReadMountTuningAnswer = {
  /** Seconds. */
  readonly default_lease_ttl: number;
  /** Seconds. */
  readonly max_lease_ttl: number;
  /** Kept for older clients. */
  readonly force_no_cache: boolean;
  /** What operators noted about it. */
  readonly description: string;
  /** Options of its type. */
  readonly options: Readonly<Record<string, string>> | null;
  /** Members of requests that audit shows in clear. */
  readonly audit_non_hmac_request_keys?: readonly string[];
  /** Members of answers that audit shows in clear. */
  readonly audit_non_hmac_response_keys?: readonly string[];
  /** Whether everybody is shown it. */
  readonly listing_visibility?: string;
  /** Headers for plugins. */
  readonly passthrough_request_headers?: readonly string[];
  /** Headers of plugins. */
  readonly allowed_response_headers?: readonly string[];
  /** Name of a key. */
  readonly identity_token_key?: string;
  /** Kind of the tokens of an auth method. */
  readonly token_type?: string;
  /** When logins of one name are refused. */
  readonly user_lockout_config?: JsonObject;
};

/** Read what holds for a secret engine. */
export function readMountTuning(
  client: Caller,
  input: ReadMountTuningInput,
): Promise<ReadMountTuningAnswer> {
  return client.call<ReadMountTuningAnswer>({
    method: "GET",
    path: `sys/mounts/${restOfPath(input.path)}/tune`,
    answer: "data",
  });
}

export interface TuneMountInput {
  /** Path of the mount. */
  readonly path: string;
  /** Lifetime of a lease for which none was asked. */
  readonly defaultLeaseTtl?: string | number | undefined;
  /** Longest lifetime of a lease. */
  readonly maxLeaseTtl?: string | number | undefined;
  /** Kept for older clients, without effect: nothing that is cached is ever old. */
  readonly forceNoCache?: boolean | undefined;
  /** Members of requests that audit shows in clear. */
  readonly clearRequestKeys?: readonly string[] | undefined;
  /** Members of answers that audit shows in clear. */
  readonly clearResponseKeys?: readonly string[] | undefined;
  /** Whether sys/internal/ui/mounts shows it to everybody. */
  readonly listingVisibility?: "" | "hidden" | "unauth" | undefined;
  /** Headers of requests that the engine is told of. */
  readonly passthroughRequestHeaders?: readonly string[] | undefined;
  /** Headers that the engine may answer with. */
  readonly allowedResponseHeaders?: readonly string[] | undefined;
  /** Name of the key for identity tokens: default. */
  readonly identityTokenKey?: string | undefined;
  /** Kind of the tokens of an auth method. */
  readonly tokenType?: "default-service" | "service" | "" | undefined;
  /** When logins of one name are refused for a while; of auth methods with passwords. */
  readonly lockout?: JsonObject | undefined;
  /** What operators note. */
  readonly description?: string | undefined;
  /** Options of its type. */
  readonly options?: Readonly<Record<string, string>> | undefined;
  /** Version of its type. */
  readonly version?: string | undefined;
}

/** Tune a secret engine. */
export function tuneMount(client: Caller, input: TuneMountInput): Promise<undefined> {
  return client.call<undefined>({
    method: "POST",
    path: `sys/mounts/${restOfPath(input.path)}/tune`,
    body: {
      default_lease_ttl: input.defaultLeaseTtl,
      max_lease_ttl: input.maxLeaseTtl,
      force_no_cache: input.forceNoCache,
      audit_non_hmac_request_keys: input.clearRequestKeys,
      audit_non_hmac_response_keys: input.clearResponseKeys,
      listing_visibility: input.listingVisibility,
      passthrough_request_headers: input.passthroughRequestHeaders,
      allowed_response_headers: input.allowedResponseHeaders,
      identity_token_key: input.identityTokenKey,
      token_type: input.tokenType,
      user_lockout_config: input.lockout,
      description: input.description,
      options: input.options,
      plugin_version: input.version,
    },
    answer: "nothing",
  });
}

export type ListAuthMethodsAnswer = Readonly<
  Record<
    string,
    {
      /** Names the mount in policies and audit; never changes. */
      readonly accessor: string;
      /** Its type. */
      readonly type: string;
      /** What operators noted about it. */
      readonly description: string;
      /** Unique for ever. */
      readonly uuid: string;
      /** Kept out of performance replication. */
      readonly local: boolean;
      /** Whether that was asked for. */
      readonly seal_wrap: boolean;
      /** Always false. */
      readonly external_entropy_access: boolean;
      /** Options of its type. */
      readonly options: Readonly<Record<string, string>> | null;
      readonly config: {
        /** Seconds; 0: as the server says. */
        readonly default_lease_ttl: number;
        /** Seconds; 0: as the server says. */
        readonly max_lease_ttl: number;
        /** Kept for older clients. */
        readonly force_no_cache: boolean;
        /** Members of requests that audit shows in clear. */
        readonly audit_non_hmac_request_keys?: readonly string[];
        /** Members of answers that audit shows in clear. */
        readonly audit_non_hmac_response_keys?: readonly string[];
        /** Whether everybody is shown it. */
        readonly listing_visibility?: string;
        /** Headers for plugins. */
        readonly passthrough_request_headers?: readonly string[];
        /** Headers of plugins. */
        readonly allowed_response_headers?: readonly string[];
        /** Name of a key. */
        readonly identity_token_key?: string;
        /** Kind of the tokens of an auth method. */
        readonly token_type?: string;
        /** When logins of one name are refused. */
        readonly user_lockout_config?: JsonObject;
      };
      /** The version that was asked for. */
      readonly plugin_version: string;
      /** The version that runs. */
      readonly running_plugin_version: string;
      /** Of a plugin. */
      readonly running_sha256: string;
      /** Whether the type will go. */
      readonly deprecation_status: string;
      /** Why no request reaches it. */
      readonly state?: "disabling" | "moving";
      /** Leases still to be revoked. */
      readonly leases_left?: number;
      /** Why it does not answer, or does not get on. */
      readonly trouble?: string;
    }
  >
>;

/** List the auth methods of the namespace. */
export function listAuthMethods(client: Caller): Promise<ListAuthMethodsAnswer> {
  return client.call<ListAuthMethodsAnswer>({ method: "GET", path: "sys/auth", answer: "data" });
}

export interface EnableAuthMethodInput {
  /** Path of the mount. */
  readonly path: string;
  /** Type of the engine. */
  readonly type: string;
  /** What operators note. */
  readonly description?: string | undefined;
  /** What can be tuned. */
  readonly config?: JsonObject | undefined;
  /** Options of its type. */
  readonly options?: Readonly<Record<string, string>> | undefined;
  /** Keep it out of performance replication. */
  readonly local?: boolean | undefined;
  /** Kept for older clients, without effect: the barrier encrypts everything. */
  readonly sealWrap?: boolean | undefined;
  /** Kept for older clients. */
  readonly entropy?: boolean | undefined;
  /** Version of its type. */
  readonly version?: string | undefined;
}

/** Mount an auth method. */
export function enableAuthMethod(client: Caller, input: EnableAuthMethodInput): Promise<undefined> {
  return client.call<undefined>({
    method: "POST",
    path: `sys/auth/${restOfPath(input.path)}`,
    body: {
      type: input.type,
      description: input.description,
      config: input.config,
      options: input.options,
      local: input.local,
      seal_wrap: input.sealWrap,
      external_entropy_access: input.entropy,
      plugin_version: input.version,
    },
    answer: "nothing",
  });
}

export interface ReadAuthMethodInput {
  /** Path of the mount. */
  readonly path: string;
}

export type ReadAuthMethodAnswer = {
  /** Names the mount in policies and audit; never changes. */
  readonly accessor: string;
  /** Its type. */
  readonly type: string;
  /** What operators noted about it. */
  readonly description: string;
  /** Unique for ever. */
  readonly uuid: string;
  /** Kept out of performance replication. */
  readonly local: boolean;
  /** Whether that was asked for. */
  readonly seal_wrap: boolean;
  /** Always false. */
  readonly external_entropy_access: boolean;
  /** Options of its type. */
  readonly options: Readonly<Record<string, string>> | null;
  readonly config: {
    /** Seconds; 0: as the server says. */
    readonly default_lease_ttl: number;
    /** Seconds; 0: as the server says. */
    readonly max_lease_ttl: number;
    /** Kept for older clients. */
    readonly force_no_cache: boolean;
    /** Members of requests that audit shows in clear. */
    readonly audit_non_hmac_request_keys?: readonly string[];
    /** Members of answers that audit shows in clear. */
    readonly audit_non_hmac_response_keys?: readonly string[];
    /** Whether everybody is shown it. */
    readonly listing_visibility?: string;
    /** Headers for plugins. */
    readonly passthrough_request_headers?: readonly string[];
    /** Headers of plugins. */
    readonly allowed_response_headers?: readonly string[];
    /** Name of a key. */
    readonly identity_token_key?: string;
    /** Kind of the tokens of an auth method. */
    readonly token_type?: string;
    /** When logins of one name are refused. */
    readonly user_lockout_config?: JsonObject;
  };
  /** The version that was asked for. */
  readonly plugin_version: string;
  /** The version that runs. */
  readonly running_plugin_version: string;
  /** Of a plugin. */
  readonly running_sha256: string;
  /** Whether the type will go. */
  readonly deprecation_status: string;
  /** Why no request reaches it. */
  readonly state?: "disabling" | "moving";
  /** Leases still to be revoked. */
  readonly leases_left?: number;
  /** Why it does not answer, or does not get on. */
  readonly trouble?: string;
};

/** Read what is mounted at a path. */
export function readAuthMethod(
  client: Caller,
  input: ReadAuthMethodInput,
): Promise<ReadAuthMethodAnswer> {
  return client.call<ReadAuthMethodAnswer>({
    method: "GET",
    path: `sys/auth/${restOfPath(input.path)}`,
    answer: "data",
  });
}

export interface DisableAuthMethodInput {
  /** Path of the mount. */
  readonly path: string;
  /** Leave behind what it made outside without leases, and what nobody can remove. */
  readonly abandon?: boolean | undefined;
  /** How long to wait for it. */
  readonly wait?: string | number | undefined;
}

export type DisableAuthMethodAnswer = {
  /** It goes on, also after a restart. */
  readonly state: "disabling";
  /** Leases still to be revoked. */
  readonly leases_left: number;
};

/** Disable an auth method and remove everything in it. */
export function disableAuthMethod(
  client: Caller,
  input: DisableAuthMethodInput,
): Promise<DisableAuthMethodAnswer> {
  return client.call<DisableAuthMethodAnswer>({
    method: "DELETE",
    path: `sys/auth/${restOfPath(input.path)}`,
    query: { abandon: input.abandon, wait: input.wait },
    answer: "data",
  });
}

export interface ReadAuthMethodTuningInput {
  /** Path of the mount. */
  readonly path: string;
}

export type ReadAuthMethodTuningAnswer = {
  /** Seconds. */
  readonly default_lease_ttl: number;
  /** Seconds. */
  readonly max_lease_ttl: number;
  /** Kept for older clients. */
  readonly force_no_cache: boolean;
  /** What operators noted about it. */
  readonly description: string;
  /** Options of its type. */
  readonly options: Readonly<Record<string, string>> | null;
  /** Members of requests that audit shows in clear. */
  readonly audit_non_hmac_request_keys?: readonly string[];
  /** Members of answers that audit shows in clear. */
  readonly audit_non_hmac_response_keys?: readonly string[];
  /** Whether everybody is shown it. */
  readonly listing_visibility?: string;
  /** Headers for plugins. */
  readonly passthrough_request_headers?: readonly string[];
  /** Headers of plugins. */
  readonly allowed_response_headers?: readonly string[];
  /** Name of a key. */
  readonly identity_token_key?: string;
  /** Kind of the tokens of an auth method. */
  readonly token_type?: string;
  /** When logins of one name are refused. */
  readonly user_lockout_config?: JsonObject;
};

/** Read what holds for an auth method. */
export function readAuthMethodTuning(
  client: Caller,
  input: ReadAuthMethodTuningInput,
): Promise<ReadAuthMethodTuningAnswer> {
  return client.call<ReadAuthMethodTuningAnswer>({
    method: "GET",
    path: `sys/auth/${restOfPath(input.path)}/tune`,
    answer: "data",
  });
}

export interface TuneAuthMethodInput {
  /** Path of the mount. */
  readonly path: string;
  /** Lifetime of a lease for which none was asked. */
  readonly defaultLeaseTtl?: string | number | undefined;
  /** Longest lifetime of a lease. */
  readonly maxLeaseTtl?: string | number | undefined;
  /** Kept for older clients, without effect: nothing that is cached is ever old. */
  readonly forceNoCache?: boolean | undefined;
  /** Members of requests that audit shows in clear. */
  readonly clearRequestKeys?: readonly string[] | undefined;
  /** Members of answers that audit shows in clear. */
  readonly clearResponseKeys?: readonly string[] | undefined;
  /** Whether sys/internal/ui/mounts shows it to everybody. */
  readonly listingVisibility?: "" | "hidden" | "unauth" | undefined;
  /** Headers of requests that the engine is told of. */
  readonly passthroughRequestHeaders?: readonly string[] | undefined;
  /** Headers that the engine may answer with. */
  readonly allowedResponseHeaders?: readonly string[] | undefined;
  /** Name of the key for identity tokens: default. */
  readonly identityTokenKey?: string | undefined;
  /** Kind of the tokens of an auth method. */
  readonly tokenType?: "default-service" | "service" | "" | undefined;
  /** When logins of one name are refused for a while; of auth methods with passwords. */
  readonly lockout?: JsonObject | undefined;
  /** What operators note. */
  readonly description?: string | undefined;
  /** Options of its type. */
  readonly options?: Readonly<Record<string, string>> | undefined;
  /** Version of its type. */
  readonly version?: string | undefined;
}

/** Tune an auth method. */
export function tuneAuthMethod(client: Caller, input: TuneAuthMethodInput): Promise<undefined> {
  return client.call<undefined>({
    method: "POST",
    path: `sys/auth/${restOfPath(input.path)}/tune`,
    body: {
      default_lease_ttl: input.defaultLeaseTtl,
      max_lease_ttl: input.maxLeaseTtl,
      force_no_cache: input.forceNoCache,
      audit_non_hmac_request_keys: input.clearRequestKeys,
      audit_non_hmac_response_keys: input.clearResponseKeys,
      listing_visibility: input.listingVisibility,
      passthrough_request_headers: input.passthroughRequestHeaders,
      allowed_response_headers: input.allowedResponseHeaders,
      identity_token_key: input.identityTokenKey,
      token_type: input.tokenType,
      user_lockout_config: input.lockout,
      description: input.description,
      options: input.options,
      plugin_version: input.version,
    },
    answer: "nothing",
  });
}

export interface ReadAuthMethodTuningAsMountInput {
  /** Path of the mount. */
  readonly path: string;
}

export type ReadAuthMethodTuningAsMountAnswer = {
  /** Seconds. */
  readonly default_lease_ttl: number;
  /** Seconds. */
  readonly max_lease_ttl: number;
  /** Kept for older clients. */
  readonly force_no_cache: boolean;
  /** What operators noted about it. */
  readonly description: string;
  /** Options of its type. */
  readonly options: Readonly<Record<string, string>> | null;
  /** Members of requests that audit shows in clear. */
  readonly audit_non_hmac_request_keys?: readonly string[];
  /** Members of answers that audit shows in clear. */
  readonly audit_non_hmac_response_keys?: readonly string[];
  /** Whether everybody is shown it. */
  readonly listing_visibility?: string;
  /** Headers for plugins. */
  readonly passthrough_request_headers?: readonly string[];
  /** Headers of plugins. */
  readonly allowed_response_headers?: readonly string[];
  /** Name of a key. */
  readonly identity_token_key?: string;
  /** Kind of the tokens of an auth method. */
  readonly token_type?: string;
  /** When logins of one name are refused. */
  readonly user_lockout_config?: JsonObject;
};

/** Read what holds for an auth method. */
export function readAuthMethodTuningAsMount(
  client: Caller,
  input: ReadAuthMethodTuningAsMountInput,
): Promise<ReadAuthMethodTuningAsMountAnswer> {
  return client.call<ReadAuthMethodTuningAsMountAnswer>({
    method: "GET",
    path: `sys/mounts/auth/${restOfPath(input.path)}/tune`,
    answer: "data",
  });
}

export interface TuneAuthMethodAsMountInput {
  /** Path of the mount. */
  readonly path: string;
  /** Lifetime of a lease for which none was asked. */
  readonly defaultLeaseTtl?: string | number | undefined;
  /** Longest lifetime of a lease. */
  readonly maxLeaseTtl?: string | number | undefined;
  /** Kept for older clients, without effect: nothing that is cached is ever old. */
  readonly forceNoCache?: boolean | undefined;
  /** Members of requests that audit shows in clear. */
  readonly clearRequestKeys?: readonly string[] | undefined;
  /** Members of answers that audit shows in clear. */
  readonly clearResponseKeys?: readonly string[] | undefined;
  /** Whether sys/internal/ui/mounts shows it to everybody. */
  readonly listingVisibility?: "" | "hidden" | "unauth" | undefined;
  /** Headers of requests that the engine is told of. */
  readonly passthroughRequestHeaders?: readonly string[] | undefined;
  /** Headers that the engine may answer with. */
  readonly allowedResponseHeaders?: readonly string[] | undefined;
  /** Name of the key for identity tokens: default. */
  readonly identityTokenKey?: string | undefined;
  /** Kind of the tokens of an auth method. */
  readonly tokenType?: "default-service" | "service" | "" | undefined;
  /** When logins of one name are refused for a while; of auth methods with passwords. */
  readonly lockout?: JsonObject | undefined;
  /** What operators note. */
  readonly description?: string | undefined;
  /** Options of its type. */
  readonly options?: Readonly<Record<string, string>> | undefined;
  /** Version of its type. */
  readonly version?: string | undefined;
}

/** Tune an auth method. */
export function tuneAuthMethodAsMount(
  client: Caller,
  input: TuneAuthMethodAsMountInput,
): Promise<undefined> {
  return client.call<undefined>({
    method: "POST",
    path: `sys/mounts/auth/${restOfPath(input.path)}/tune`,
    body: {
      default_lease_ttl: input.defaultLeaseTtl,
      max_lease_ttl: input.maxLeaseTtl,
      force_no_cache: input.forceNoCache,
      audit_non_hmac_request_keys: input.clearRequestKeys,
      audit_non_hmac_response_keys: input.clearResponseKeys,
      listing_visibility: input.listingVisibility,
      passthrough_request_headers: input.passthroughRequestHeaders,
      allowed_response_headers: input.allowedResponseHeaders,
      identity_token_key: input.identityTokenKey,
      token_type: input.tokenType,
      user_lockout_config: input.lockout,
      description: input.description,
      options: input.options,
      plugin_version: input.version,
    },
    answer: "nothing",
  });
}

export type ListVisibleMountsAnswer = {
  /** Secret engines by path. */
  readonly secret: Readonly<Record<string, JsonObject>>;
  /** Auth methods by path. */
  readonly auth: Readonly<Record<string, JsonObject>>;
};

/** List the mounts that the caller may see. */
export function listVisibleMounts(client: Caller): Promise<ListVisibleMountsAnswer> {
  return client.call<ListVisibleMountsAnswer>({
    method: "GET",
    path: "sys/internal/ui/mounts",
    answer: "data",
  });
}

export interface ReadServingMountInput {
  /** Any path. */
  readonly path: string;
}

export type ReadServingMountAnswer = {
  /** Names the mount in policies and audit; never changes. */
  readonly accessor: string;
  /** Its type. */
  readonly type: string;
  /** What operators noted about it. */
  readonly description: string;
  /** Unique for ever. */
  readonly uuid: string;
  /** Kept out of performance replication. */
  readonly local: boolean;
  /** Whether that was asked for. */
  readonly seal_wrap: boolean;
  /** Always false. */
  readonly external_entropy_access: boolean;
  /** Options of its type. */
  readonly options: Readonly<Record<string, string>> | null;
  readonly config: {
    /** Seconds; 0: as the server says. */
    readonly default_lease_ttl: number;
    /** Seconds; 0: as the server says. */
    readonly max_lease_ttl: number;
    /** Kept for older clients. */
    readonly force_no_cache: boolean;
    /** Members of requests that audit shows in clear. */
    readonly audit_non_hmac_request_keys?: readonly string[];
    /** Members of answers that audit shows in clear. */
    readonly audit_non_hmac_response_keys?: readonly string[];
    /** Whether everybody is shown it. */
    readonly listing_visibility?: string;
    /** Headers for plugins. */
    readonly passthrough_request_headers?: readonly string[];
    /** Headers of plugins. */
    readonly allowed_response_headers?: readonly string[];
    /** Name of a key. */
    readonly identity_token_key?: string;
    /** Kind of the tokens of an auth method. */
    readonly token_type?: string;
    /** When logins of one name are refused. */
    readonly user_lockout_config?: JsonObject;
  };
  /** The version that was asked for. */
  readonly plugin_version: string;
  /** The version that runs. */
  readonly running_plugin_version: string;
  /** Of a plugin. */
  readonly running_sha256: string;
  /** Whether the type will go. */
  readonly deprecation_status: string;
  /** Why no request reaches it. */
  readonly state?: "disabling" | "moving";
  /** Leases still to be revoked. */
  readonly leases_left?: number;
  /** Why it does not answer, or does not get on. */
  readonly trouble?: string;
  /** Where it is, with a slash. */
  readonly path: string;
};

/** Read which mount serves a path. */
export function readServingMount(
  client: Caller,
  input: ReadServingMountInput,
): Promise<ReadServingMountAnswer> {
  return client.call<ReadServingMountAnswer>({
    method: "GET",
    path: `sys/internal/ui/mounts/${restOfPath(input.path)}`,
    answer: "data",
  });
}

export interface MoveMountInput {
  /** Path of the mount. */
  readonly from: string;
  /** Where it is to be. */
  readonly to: string;
}

export type MoveMountAnswer = {
  /** Asks for its status. */
  readonly migration_id: string;
};

/** Move a mount to another path. */
export function moveMount(client: Caller, input: MoveMountInput): Promise<MoveMountAnswer> {
  return client.call<MoveMountAnswer>({
    method: "POST",
    path: "sys/remount",
    body: { from: input.from, to: input.to },
    answer: "data",
  });
}

export interface ReadMountMoveInput {
  /** Id of the move. */
  readonly id: string;
}

export type ReadMountMoveAnswer = {
  /** Id of the move. */
  readonly migration_id: string;
  readonly migration_info: {
    /** Where it was. */
    readonly source_mount: string;
    /** Where it is to be. */
    readonly target_mount: string;
    /** How it goes. */
    readonly status: "in-progress" | "success" | "failure";
    /** Why it failed. */
    readonly error?: string;
  };
};

/** Read how the move of a mount goes. */
export function readMountMove(
  client: Caller,
  input: ReadMountMoveInput,
): Promise<ReadMountMoveAnswer> {
  return client.call<ReadMountMoveAnswer>({
    method: "GET",
    path: `sys/remount/status/${oneSegment(input.id)}`,
    answer: "data",
  });
}

export interface LookupLeaseInput {
  /** Id of the lease. */
  readonly id: string;
}

export type LookupLeaseAnswer = {
  /** Id of the lease. */
  readonly id: string;
  /** Path of the request that it came of. */
  readonly path: string;
  /** When it was issued. */
  readonly issue_time: string;
  /** When it ends. */
  readonly expire_time: string;
  /** When it was last renewed. */
  readonly last_renewal: string | null;
  /** Whether it can be renewed. */
  readonly renewable: boolean;
  /** Seconds until then; 0 when that is over. */
  readonly ttl: number;
  /** Namespace, with a slash at the end; empty for root. */
  readonly namespace_path: string;
  /** Why it could not be revoked yet; empty when nothing failed. */
  readonly revoke_error: string;
};

/** Look up a lease. */
export function lookupLease(client: Caller, input: LookupLeaseInput): Promise<LookupLeaseAnswer> {
  return client.call<LookupLeaseAnswer>({
    method: "POST",
    path: "sys/leases/lookup",
    body: { lease_id: input.id },
    answer: "data",
  });
}

export interface ListLeasesInput {
  /** Only those after this name. */
  readonly after?: string | undefined;
  /** How many at most. */
  readonly limit?: number | undefined;
}

export type ListLeasesAnswer = {
  readonly keys: readonly string[];
  readonly key_info?: JsonObject;
};

/** List the first parts of the paths that have leases. */
export function listLeases(client: Caller, input: ListLeasesInput = {}): Promise<ListLeasesAnswer> {
  return client.call<ListLeasesAnswer>({
    method: "LIST",
    path: "sys/leases/lookup",
    query: { after: input.after, limit: input.limit },
    answer: "data",
  });
}

export interface ListLeasesBelowInput {
  /** Path that the leases were asked for by, or above it. */
  readonly prefix: string;
  /** Only those after this name. */
  readonly after?: string | undefined;
  /** How many at most. */
  readonly limit?: number | undefined;
}

export type ListLeasesBelowAnswer = {
  readonly keys: readonly string[];
  readonly key_info?: JsonObject;
};

/** List leases one level below a path. */
export function listLeasesBelow(
  client: Caller,
  input: ListLeasesBelowInput,
): Promise<ListLeasesBelowAnswer> {
  return client.call<ListLeasesBelowAnswer>({
    method: "LIST",
    path: `sys/leases/lookup/${restOfPath(input.prefix)}`,
    query: { after: input.after, limit: input.limit },
    answer: "data",
  });
}

export interface RenewLeaseInput {
  /** Id of the lease. */
  readonly id: string;
  /** How long from now. Default: as its role says, or its mount. */
  readonly increment?: string | number | undefined;
}

/** Renew a lease. */
export function renewLease(client: Caller, input: RenewLeaseInput): Promise<undefined> {
  return client.call<undefined>({
    method: "POST",
    path: "sys/leases/renew",
    body: { lease_id: input.id, increment: input.increment },
    answer: "nothing",
  });
}

export interface RenewLeaseByIdInput {
  /** Id of the lease, with its slashes. */
  readonly id: string;
  /** How long from now. Default: as its role says, or its mount. */
  readonly increment?: string | number | undefined;
}

/** Renew the lease that the path names. */
export function renewLeaseById(client: Caller, input: RenewLeaseByIdInput): Promise<undefined> {
  return client.call<undefined>({
    method: "POST",
    path: `sys/leases/renew/${restOfPath(input.id)}`,
    body: { increment: input.increment },
    answer: "nothing",
  });
}

export interface RevokeLeaseInput {
  /** Id of the lease. */
  readonly id: string;
  /** Whether to wait until it is done. Default: it is only queued. */
  readonly sync?: boolean | undefined;
}

/** Revoke a lease. */
export function revokeLease(client: Caller, input: RevokeLeaseInput): Promise<undefined> {
  return client.call<undefined>({
    method: "POST",
    path: "sys/leases/revoke",
    body: { lease_id: input.id, sync: input.sync },
    answer: "nothing",
  });
}

export interface RevokeLeaseByIdInput {
  /** Id of the lease, with its slashes. */
  readonly id: string;
  /** Whether to wait until it is done. Default: it is only queued. */
  readonly sync?: boolean | undefined;
}

/** Revoke the lease that the path names. */
export function revokeLeaseById(client: Caller, input: RevokeLeaseByIdInput): Promise<undefined> {
  return client.call<undefined>({
    method: "POST",
    path: `sys/leases/revoke/${restOfPath(input.id)}`,
    body: { sync: input.sync },
    answer: "nothing",
  });
}

export interface RevokeLeasesBelowInput {
  /** Path that the leases were asked for by, or above it. */
  readonly prefix: string;
  /** Whether to wait until it is done. Default: it is only queued. */
  readonly sync?: boolean | undefined;
}

/** Revoke all leases below a path. */
export function revokeLeasesBelow(
  client: Caller,
  input: RevokeLeasesBelowInput,
): Promise<undefined> {
  return client.call<undefined>({
    method: "POST",
    path: `sys/leases/revoke-prefix/${restOfPath(input.prefix)}`,
    body: { sync: input.sync },
    answer: "nothing",
  });
}

export interface ForceRevokeLeasesInput {
  /** Path that the leases were asked for by, or above it. */
  readonly prefix: string;
}

/** Forget all leases below a path, revoked or not. */
export function forceRevokeLeases(
  client: Caller,
  input: ForceRevokeLeasesInput,
): Promise<undefined> {
  return client.call<undefined>({
    method: "POST",
    path: `sys/leases/revoke-force/${restOfPath(input.prefix)}`,
    answer: "nothing",
  });
}

/** Look through all leases for what nothing stands behind any more. */
export function tidyLeases(client: Caller): Promise<undefined> {
  return client.call<undefined>({ method: "POST", path: "sys/leases/tidy", answer: "nothing" });
}

export interface CountLeasesInput {
  /** Which leases. */
  readonly type: "irrevocable";
  /** Whether those of child namespaces count as well. */
  readonly children?: boolean | undefined;
}

export type CountLeasesAnswer = {
  /** How many there are. */
  readonly lease_count: number;
  /** By the accessor of their mount. */
  readonly counts: Readonly<Record<string, number>>;
};

/** Count the leases that could not be revoked. */
export function countLeases(client: Caller, input: CountLeasesInput): Promise<CountLeasesAnswer> {
  return client.call<CountLeasesAnswer>({
    method: "GET",
    path: "sys/leases/count",
    query: { type: input.type, include_child_namespaces: input.children },
    answer: "data",
  });
}

export interface ReadLeasesInput {
  /** Which leases. */
  readonly type: "irrevocable";
  /** Whether those of child namespaces count as well. */
  readonly children?: boolean | undefined;
  /** How many at most, or none for no limit. Default 10000. */
  readonly limit?: string | undefined;
}

export type ReadLeasesAnswer = {
  /** How many there are. */
  readonly lease_count: number;
  /** Those that could not be revoked. */
  readonly leases: readonly {
    /** Id of the lease. */
    readonly lease_id: string;
    /** Accessor of its mount. */
    readonly mount_id: string;
    /** Why it could not be revoked. */
    readonly error: string;
  }[];
};

/** Read the leases that could not be revoked, and why. */
export function readLeases(client: Caller, input: ReadLeasesInput): Promise<ReadLeasesAnswer> {
  return client.call<ReadLeasesAnswer>({
    method: "GET",
    path: "sys/leases",
    query: { type: input.type, include_child_namespaces: input.children, limit: input.limit },
    answer: "data",
  });
}

export interface RenewLeaseOlderInput {
  /** Id of the lease. */
  readonly id: string;
  /** How long from now. Default: as its role says, or its mount. */
  readonly increment?: string | number | undefined;
}

/** Renew a lease. Under the path that older clients use. */
export function renewLeaseOlder(client: Caller, input: RenewLeaseOlderInput): Promise<undefined> {
  return client.call<undefined>({
    method: "POST",
    path: "sys/renew",
    body: { lease_id: input.id, increment: input.increment },
    answer: "nothing",
  });
}

export interface RenewLeaseByIdOlderInput {
  /** Id of the lease, with its slashes. */
  readonly id: string;
  /** How long from now. Default: as its role says, or its mount. */
  readonly increment?: string | number | undefined;
}

/** Renew the lease that the path names. Under the path that older clients use. */
export function renewLeaseByIdOlder(
  client: Caller,
  input: RenewLeaseByIdOlderInput,
): Promise<undefined> {
  return client.call<undefined>({
    method: "POST",
    path: `sys/renew/${restOfPath(input.id)}`,
    body: { increment: input.increment },
    answer: "nothing",
  });
}

export interface RevokeLeaseOlderInput {
  /** Id of the lease. */
  readonly id: string;
  /** Whether to wait until it is done. Default: it is only queued. */
  readonly sync?: boolean | undefined;
}

/** Revoke a lease. Under the path that older clients use. */
export function revokeLeaseOlder(client: Caller, input: RevokeLeaseOlderInput): Promise<undefined> {
  return client.call<undefined>({
    method: "POST",
    path: "sys/revoke",
    body: { lease_id: input.id, sync: input.sync },
    answer: "nothing",
  });
}

export interface RevokeLeaseByIdOlderInput {
  /** Id of the lease, with its slashes. */
  readonly id: string;
  /** Whether to wait until it is done. Default: it is only queued. */
  readonly sync?: boolean | undefined;
}

/** Revoke the lease that the path names. Under the path that older clients use. */
export function revokeLeaseByIdOlder(
  client: Caller,
  input: RevokeLeaseByIdOlderInput,
): Promise<undefined> {
  return client.call<undefined>({
    method: "POST",
    path: `sys/revoke/${restOfPath(input.id)}`,
    body: { sync: input.sync },
    answer: "nothing",
  });
}

export interface RevokeLeasesBelowOlderInput {
  /** Path that the leases were asked for by, or above it. */
  readonly prefix: string;
  /** Whether to wait until it is done. Default: it is only queued. */
  readonly sync?: boolean | undefined;
}

/** Revoke all leases below a path. Under the path that older clients use. */
export function revokeLeasesBelowOlder(
  client: Caller,
  input: RevokeLeasesBelowOlderInput,
): Promise<undefined> {
  return client.call<undefined>({
    method: "POST",
    path: `sys/revoke-prefix/${restOfPath(input.prefix)}`,
    body: { sync: input.sync },
    answer: "nothing",
  });
}

export interface ForceRevokeLeasesOlderInput {
  /** Path that the leases were asked for by, or above it. */
  readonly prefix: string;
}

/** Forget all leases below a path, revoked or not. Under the path that older clients use. */
export function forceRevokeLeasesOlder(
  client: Caller,
  input: ForceRevokeLeasesOlderInput,
): Promise<undefined> {
  return client.call<undefined>({
    method: "POST",
    path: `sys/revoke-force/${restOfPath(input.prefix)}`,
    answer: "nothing",
  });
}

export interface WrapDataInput {
  /** What is to be handed over. */
  readonly data: JsonObject;
}

export type WrapDataAnswer = JsonObject;

/** Wrap the body of this request. */
export function wrapData(client: Caller, input: WrapDataInput): Promise<WrapDataAnswer> {
  return client.call<WrapDataAnswer>({
    method: "POST",
    path: "sys/wrapping/wrap",
    body: input.data,
    answer: "data",
  });
}

export interface LookUpWrappingInput {
  /** The wrapping token, unless it is the credential of the request itself. */
  readonly token?: string | undefined;
}

export type LookUpWrappingAnswer = {
  /** When it was made. */
  readonly creation_time: string;
  /** Seconds that it was made for. */
  readonly creation_ttl: number;
  /** The request whose answer it holds, from the root namespace. */
  readonly creation_path: string;
};

/** What a wrapping token is, without using it up. */
export function lookUpWrapping(
  client: Caller,
  input: LookUpWrappingInput = {},
): Promise<LookUpWrappingAnswer> {
  return client.call<LookUpWrappingAnswer>({
    method: "POST",
    path: "sys/wrapping/lookup",
    body: { token: input.token },
    answer: "data",
  });
}

export interface UnwrapInput {
  /** The wrapping token, unless it is the credential of the request itself. */
  readonly token?: string | undefined;
}

export type UnwrapAnswer = JsonObject;

/** The answer that a wrapping token holds; it works once. */
export function unwrap(client: Caller, input: UnwrapInput = {}): Promise<UnwrapAnswer> {
  return client.call<UnwrapAnswer>({
    method: "POST",
    path: "sys/wrapping/unwrap",
    body: { token: input.token },
    answer: "data",
  });
}

export interface RewrapInput {
  /** The wrapping token, unless it is the credential of the request itself. */
  readonly token?: string | undefined;
}

/** The same answer behind a new wrapping token; the old one is used up. */
export function rewrap(client: Caller, input: RewrapInput = {}): Promise<undefined> {
  return client.call<undefined>({
    method: "POST",
    path: "sys/wrapping/rewrap",
    body: { token: input.token },
    answer: "nothing",
  });
}

export type ReadWrappingKeyAnswer = {
  /** In PEM. */
  readonly public_key: string;
  /** First half of the public point, as a decimal number. */
  readonly jwt_x: string;
  /** Second half. */
  readonly jwt_y: string;
  /** The curve. */
  readonly jwt_curve: "p521";
  readonly jwk: {
    /** Kind of key. */
    readonly kty: "EC";
    /** The curve. */
    readonly crv: "P-521";
    /** What it signs with. */
    readonly alg: "ES512";
    /** What it is for. */
    readonly use: "sig";
    /** First half, in base64url. */
    readonly x: string;
    /** Second half. */
    readonly y: string;
  };
};

/** The key that wrapping tokens in the form of a JWT are signed with. */
export function readWrappingKey(client: Caller): Promise<ReadWrappingKeyAnswer> {
  return client.call<ReadWrappingKeyAnswer>({
    method: "GET",
    path: "sys/wrapping/pubkey",
    answer: "data",
  });
}

export type ReadPluginIssuerAnswer = {
  /** As in `iss` of the tokens. */
  readonly issuer: string;
  /** Where the keys are. */
  readonly jwks_uri: string;
  /** What is given. */
  readonly response_types_supported: readonly string[];
  /** Kinds of subjects. */
  readonly subject_types_supported: readonly string[];
  /** Algorithms. */
  readonly id_token_signing_alg_values_supported: readonly string[];
};

/** Who signs the identity tokens of engines, and where the keys are. */
export function readPluginIssuer(client: Caller): Promise<ReadPluginIssuerAnswer> {
  return client.call<ReadPluginIssuerAnswer>({
    method: "GET",
    path: "identity/oidc/plugins/.well-known/openid-configuration",
    answer: "bare",
  });
}

export type ReadPluginKeysAnswer = {
  /** A JWK each. */
  readonly keys: readonly {
    /** Kind of key. */
    readonly kty: "RSA";
    /** What it is for. */
    readonly use: "sig";
    /** What it signs with. */
    readonly alg: "RS256";
    /** Its name, as in the header of a token. */
    readonly kid: string;
    /** Modulus. */
    readonly n: string;
    /** Exponent. */
    readonly e: string;
  }[];
};

/** Public keys of identity tokens, those of tokens that have not ended yet among them. */
export function readPluginKeys(client: Caller): Promise<ReadPluginKeysAnswer> {
  return client.call<ReadPluginKeysAnswer>({
    method: "GET",
    path: "identity/oidc/plugins/.well-known/keys",
    answer: "bare",
  });
}

export interface ListAclPoliciesInput {
  /** Only those after this name. */
  readonly after?: string | undefined;
  /** How many at most. */
  readonly limit?: number | undefined;
}

export type ListAclPoliciesAnswer = {
  readonly keys: readonly string[];
  readonly key_info?: JsonObject;
};

/** List the ACL policies. */
export function listAclPolicies(
  client: Caller,
  input: ListAclPoliciesInput = {},
): Promise<ListAclPoliciesAnswer> {
  return client.call<ListAclPoliciesAnswer>({
    method: "LIST",
    path: "sys/policies/acl",
    query: { after: input.after, limit: input.limit },
    answer: "data",
  });
}

export interface ListAclPoliciesBelowInput {
  /** Folder: the part of the names up to a slash. */
  readonly prefix: string;
  /** Only those after this name. */
  readonly after?: string | undefined;
  /** How many at most. */
  readonly limit?: number | undefined;
}

export type ListAclPoliciesBelowAnswer = {
  readonly keys: readonly string[];
  readonly key_info?: JsonObject;
};

/** List the ACL policies in a folder of names. */
export function listAclPoliciesBelow(
  client: Caller,
  input: ListAclPoliciesBelowInput,
): Promise<ListAclPoliciesBelowAnswer> {
  return client.call<ListAclPoliciesBelowAnswer>({
    method: "LIST",
    path: `sys/policies/acl/${restOfPath(input.prefix)}`,
    query: { after: input.after, limit: input.limit },
    answer: "data",
  });
}

export interface ListAclPoliciesDetailedInput {
  /** Only those after this name. */
  readonly after?: string | undefined;
  /** How many at most. */
  readonly limit?: number | undefined;
}

export type ListAclPoliciesDetailedAnswer = {
  readonly keys: readonly string[];
  readonly key_info?: JsonObject;
};

/** List the ACL policies with their documents. */
export function listAclPoliciesDetailed(
  client: Caller,
  input: ListAclPoliciesDetailedInput = {},
): Promise<ListAclPoliciesDetailedAnswer> {
  return client.call<ListAclPoliciesDetailedAnswer>({
    method: "LIST",
    path: "sys/policies/detailed/acl",
    query: { after: input.after, limit: input.limit },
    answer: "data",
  });
}

export interface ListAclPoliciesDetailedBelowInput {
  /** Folder: the part of the names up to a slash. */
  readonly prefix: string;
  /** Only those after this name. */
  readonly after?: string | undefined;
  /** How many at most. */
  readonly limit?: number | undefined;
}

export type ListAclPoliciesDetailedBelowAnswer = {
  readonly keys: readonly string[];
  readonly key_info?: JsonObject;
};

/** List the ACL policies in a folder of names with their documents. */
export function listAclPoliciesDetailedBelow(
  client: Caller,
  input: ListAclPoliciesDetailedBelowInput,
): Promise<ListAclPoliciesDetailedBelowAnswer> {
  return client.call<ListAclPoliciesDetailedBelowAnswer>({
    method: "LIST",
    path: `sys/policies/detailed/acl/${restOfPath(input.prefix)}`,
    query: { after: input.after, limit: input.limit },
    answer: "data",
  });
}

export interface ReadAclPolicyInput {
  /** Name of the policy; kept in lower case. */
  readonly name: string;
}

export type ReadAclPolicyAnswer = {
  /** Its name, in lower case. */
  readonly name: string;
  /** The document; empty for root. */
  readonly policy: string;
  /** Counts the writes, from 1. */
  readonly version: number;
  /** When it was written last; absent for what nobody wrote. */
  readonly modified?: string;
  /** Whether the next write must give cas. */
  readonly cas_required: boolean;
  /** When it ends by itself. */
  readonly expiration?: string;
};

/** Read an ACL policy. */
export function readAclPolicy(
  client: Caller,
  input: ReadAclPolicyInput,
): Promise<ReadAclPolicyAnswer> {
  return client.call<ReadAclPolicyAnswer>({
    method: "GET",
    path: `sys/policies/acl/${restOfPath(input.name)}`,
    answer: "data",
  });
}

export interface WriteAclPolicyInput {
  /** Name of the policy; kept in lower case. */
  readonly name: string;
  /** The document, as it is or in base64. */
  readonly text: string;
  /** The version that is replaced; -1: there must be none. */
  readonly cas?: number | undefined;
  /** Whether the next write must give cas. */
  readonly casRequired?: boolean | undefined;
  /** When the policy ends by itself; RFC 3339. */
  readonly expires?: string | null | undefined;
  /** The same as a time from now; not beside expiration. */
  readonly ttl?: string | number | undefined;
  /** Check everything, tell what would be stored, and store nothing. */
  readonly trial?: boolean | undefined;
}

export type WriteAclPolicyAnswer = {
  /** Its name, in lower case. */
  readonly name: string;
  /** The document; empty for root. */
  readonly policy: string;
  /** Counts the writes, from 1. */
  readonly version: number;
  /** When it was written last; absent for what nobody wrote. */
  readonly modified?: string;
  /** Whether the next write must give cas. */
  readonly cas_required: boolean;
  /** When it ends by itself. */
  readonly expiration?: string;
};

/** Write an ACL policy. */
export function writeAclPolicy(
  client: Caller,
  input: WriteAclPolicyInput,
): Promise<WriteAclPolicyAnswer> {
  return client.call<WriteAclPolicyAnswer>({
    method: "POST",
    path: `sys/policies/acl/${restOfPath(input.name)}`,
    query: { dry_run: input.trial },
    body: {
      policy: input.text,
      cas: input.cas,
      cas_required: input.casRequired,
      expiration: input.expires,
      ttl: input.ttl,
    },
    answer: "data",
  });
}

export interface PatchAclPolicyInput {
  /** Name of the policy; kept in lower case. */
  readonly name: string;
  /** The document, as it is or in base64. */
  readonly text?: string | undefined;
  /** The version that is replaced; -1: there must be none. */
  readonly cas?: number | undefined;
  /** Whether the next write must give cas. */
  readonly casRequired?: boolean | undefined;
  /** When the policy ends by itself; RFC 3339. */
  readonly expires?: string | null | undefined;
  /** The same as a time from now; not beside expiration. */
  readonly ttl?: string | number | undefined;
  /** Check everything, tell what would be stored, and store nothing. */
  readonly trial?: boolean | undefined;
}

export type PatchAclPolicyAnswer = {
  /** Its name, in lower case. */
  readonly name: string;
  /** The document; empty for root. */
  readonly policy: string;
  /** Counts the writes, from 1. */
  readonly version: number;
  /** When it was written last; absent for what nobody wrote. */
  readonly modified?: string;
  /** Whether the next write must give cas. */
  readonly cas_required: boolean;
  /** When it ends by itself. */
  readonly expiration?: string;
};

/** Change some of an ACL policy. */
export function patchAclPolicy(
  client: Caller,
  input: PatchAclPolicyInput,
): Promise<PatchAclPolicyAnswer> {
  return client.call<PatchAclPolicyAnswer>({
    method: "PATCH",
    path: `sys/policies/acl/${restOfPath(input.name)}`,
    query: { dry_run: input.trial },
    body: {
      policy: input.text,
      cas: input.cas,
      cas_required: input.casRequired,
      expiration: input.expires,
      ttl: input.ttl,
    },
    answer: "data",
  });
}

export interface DeleteAclPolicyInput {
  /** Name of the policy; kept in lower case. */
  readonly name: string;
}

/** Delete an ACL policy. Tokens keep its name, which counts as empty. */
export function deleteAclPolicy(client: Caller, input: DeleteAclPolicyInput): Promise<undefined> {
  return client.call<undefined>({
    method: "DELETE",
    path: `sys/policies/acl/${restOfPath(input.name)}`,
    answer: "nothing",
  });
}

export interface ListPoliciesInput {
  /** Only those after this name. */
  readonly after?: string | undefined;
  /** How many at most. */
  readonly limit?: number | undefined;
}

export type ListPoliciesAnswer = {
  /** Names, sorted; root last. */
  readonly keys: readonly string[];
  /** The same. */
  readonly policies: readonly string[];
};

/** List the ACL policies: the older form. */
export function listPolicies(
  client: Caller,
  input: ListPoliciesInput = {},
): Promise<ListPoliciesAnswer> {
  return client.call<ListPoliciesAnswer>({
    method: "LIST",
    path: "sys/policy",
    query: { after: input.after, limit: input.limit },
    answer: "data",
  });
}

export interface GetPoliciesInput {
  /** Only those after this name. */
  readonly after?: string | undefined;
  /** How many at most. */
  readonly limit?: number | undefined;
}

export type GetPoliciesAnswer = {
  /** Names, sorted; root last. */
  readonly keys: readonly string[];
  /** The same. */
  readonly policies: readonly string[];
};

/** List the ACL policies: the older form, by GET. */
export function getPolicies(
  client: Caller,
  input: GetPoliciesInput = {},
): Promise<GetPoliciesAnswer> {
  return client.call<GetPoliciesAnswer>({
    method: "GET",
    path: "sys/policy",
    query: { after: input.after, limit: input.limit },
    answer: "data",
  });
}

export interface ReadPolicyInput {
  /** Name of the policy; kept in lower case. */
  readonly name: string;
}

export type ReadPolicyAnswer = {
  /** Its name, in lower case. */
  readonly name: string;
  /** The document; empty for root. */
  readonly rules: string;
  /** Counts the writes, from 1. */
  readonly version: number;
  /** When it was written last; absent for what nobody wrote. */
  readonly modified?: string;
  /** Whether the next write must give cas. */
  readonly cas_required: boolean;
  /** When it ends by itself. */
  readonly expiration?: string;
};

/** Read an ACL policy: the older form. */
export function readPolicy(client: Caller, input: ReadPolicyInput): Promise<ReadPolicyAnswer> {
  return client.call<ReadPolicyAnswer>({
    method: "GET",
    path: `sys/policy/${restOfPath(input.name)}`,
    answer: "data",
  });
}

export interface WritePolicyInput {
  /** Name of the policy; kept in lower case. */
  readonly name: string;
  /** The document, as it is or in base64. */
  readonly text: string;
  /** The version that is replaced; -1: there must be none. */
  readonly cas?: number | undefined;
  /** Whether the next write must give cas. */
  readonly casRequired?: boolean | undefined;
  /** When the policy ends by itself; RFC 3339. */
  readonly expires?: string | null | undefined;
  /** The same as a time from now; not beside expiration. */
  readonly ttl?: string | number | undefined;
  /** Check everything, tell what would be stored, and store nothing. */
  readonly trial?: boolean | undefined;
}

export type WritePolicyAnswer = {
  /** Its name, in lower case. */
  readonly name: string;
  /** The document; empty for root. */
  readonly policy: string;
  /** Counts the writes, from 1. */
  readonly version: number;
  /** When it was written last; absent for what nobody wrote. */
  readonly modified?: string;
  /** Whether the next write must give cas. */
  readonly cas_required: boolean;
  /** When it ends by itself. */
  readonly expiration?: string;
};

/** Write an ACL policy: the older form. */
export function writePolicy(client: Caller, input: WritePolicyInput): Promise<WritePolicyAnswer> {
  return client.call<WritePolicyAnswer>({
    method: "POST",
    path: `sys/policy/${restOfPath(input.name)}`,
    query: { dry_run: input.trial },
    body: {
      policy: input.text,
      cas: input.cas,
      cas_required: input.casRequired,
      expiration: input.expires,
      ttl: input.ttl,
    },
    answer: "data",
  });
}

export interface DeletePolicyInput {
  /** Name of the policy; kept in lower case. */
  readonly name: string;
}

/** Delete an ACL policy: the older form. */
export function deletePolicy(client: Caller, input: DeletePolicyInput): Promise<undefined> {
  return client.call<undefined>({
    method: "DELETE",
    path: `sys/policy/${restOfPath(input.name)}`,
    answer: "nothing",
  });
}

export interface ListRgpsInput {
  /** Only those after this name. */
  readonly after?: string | undefined;
  /** How many at most. */
  readonly limit?: number | undefined;
}

export type ListRgpsAnswer = {
  readonly keys: readonly string[];
  readonly key_info?: JsonObject;
};

/** List the RGPs. */
export function listRgps(client: Caller, input: ListRgpsInput = {}): Promise<ListRgpsAnswer> {
  return client.call<ListRgpsAnswer>({
    method: "LIST",
    path: "sys/policies/rgp",
    query: { after: input.after, limit: input.limit },
    answer: "data",
  });
}

export interface ListRgpsBelowInput {
  /** Folder: the part of the names up to a slash. */
  readonly prefix: string;
  /** Only those after this name. */
  readonly after?: string | undefined;
  /** How many at most. */
  readonly limit?: number | undefined;
}

export type ListRgpsBelowAnswer = {
  readonly keys: readonly string[];
  readonly key_info?: JsonObject;
};

/** List the RGPs in a folder of names. */
export function listRgpsBelow(
  client: Caller,
  input: ListRgpsBelowInput,
): Promise<ListRgpsBelowAnswer> {
  return client.call<ListRgpsBelowAnswer>({
    method: "LIST",
    path: `sys/policies/rgp/${restOfPath(input.prefix)}`,
    query: { after: input.after, limit: input.limit },
    answer: "data",
  });
}

export interface ListRgpsDetailedInput {
  /** Only those after this name. */
  readonly after?: string | undefined;
  /** How many at most. */
  readonly limit?: number | undefined;
}

export type ListRgpsDetailedAnswer = {
  readonly keys: readonly string[];
  readonly key_info?: JsonObject;
};

/** List the RGPs with their documents. */
export function listRgpsDetailed(
  client: Caller,
  input: ListRgpsDetailedInput = {},
): Promise<ListRgpsDetailedAnswer> {
  return client.call<ListRgpsDetailedAnswer>({
    method: "LIST",
    path: "sys/policies/detailed/rgp",
    query: { after: input.after, limit: input.limit },
    answer: "data",
  });
}

export interface ListRgpsDetailedBelowInput {
  /** Folder: the part of the names up to a slash. */
  readonly prefix: string;
  /** Only those after this name. */
  readonly after?: string | undefined;
  /** How many at most. */
  readonly limit?: number | undefined;
}

export type ListRgpsDetailedBelowAnswer = {
  readonly keys: readonly string[];
  readonly key_info?: JsonObject;
};

/** List the RGPs in a folder of names with their documents. */
export function listRgpsDetailedBelow(
  client: Caller,
  input: ListRgpsDetailedBelowInput,
): Promise<ListRgpsDetailedBelowAnswer> {
  return client.call<ListRgpsDetailedBelowAnswer>({
    method: "LIST",
    path: `sys/policies/detailed/rgp/${restOfPath(input.prefix)}`,
    query: { after: input.after, limit: input.limit },
    answer: "data",
  });
}

export interface ReadRgpInput {
  /** Name of the policy; kept in lower case. */
  readonly name: string;
}

export type ReadRgpAnswer = {
  /** Its name, in lower case. */
  readonly name: string;
  /** The document; empty for root. */
  readonly policy: string;
  /** What a failure does. */
  readonly enforcement_level: "advisory" | "soft-mandatory" | "hard-mandatory";
  /** Counts the writes, from 1. */
  readonly version: number;
  /** When it was written last; absent for what nobody wrote. */
  readonly modified?: string;
  /** Whether the next write must give cas. */
  readonly cas_required: boolean;
  /** When it ends by itself. */
  readonly expiration?: string;
};

/** Read an RGP. */
export function readRgp(client: Caller, input: ReadRgpInput): Promise<ReadRgpAnswer> {
  return client.call<ReadRgpAnswer>({
    method: "GET",
    path: `sys/policies/rgp/${restOfPath(input.name)}`,
    answer: "data",
  });
}

export interface WriteRgpInput {
  /** Name of the policy; kept in lower case. */
  readonly name: string;
  /** The document, as it is or in base64. */
  readonly text: string;
  /** What a failure does: it is told, it denies unless overridden, it denies. */
  readonly level: "advisory" | "soft-mandatory" | "hard-mandatory";
  /** The version that is replaced; -1: there must be none. */
  readonly cas?: number | undefined;
  /** Whether the next write must give cas. */
  readonly casRequired?: boolean | undefined;
  /** When the policy ends by itself; RFC 3339. */
  readonly expires?: string | null | undefined;
  /** The same as a time from now; not beside expiration. */
  readonly ttl?: string | number | undefined;
  /** Check everything, tell what would be stored, and store nothing. */
  readonly trial?: boolean | undefined;
}

export type WriteRgpAnswer = {
  /** Its name, in lower case. */
  readonly name: string;
  /** The document; empty for root. */
  readonly policy: string;
  /** What a failure does. */
  readonly enforcement_level: "advisory" | "soft-mandatory" | "hard-mandatory";
  /** Counts the writes, from 1. */
  readonly version: number;
  /** When it was written last; absent for what nobody wrote. */
  readonly modified?: string;
  /** Whether the next write must give cas. */
  readonly cas_required: boolean;
  /** When it ends by itself. */
  readonly expiration?: string;
};

/** Write an RGP: a program that judges the requests of tokens that carry its name. */
export function writeRgp(client: Caller, input: WriteRgpInput): Promise<WriteRgpAnswer> {
  return client.call<WriteRgpAnswer>({
    method: "POST",
    path: `sys/policies/rgp/${restOfPath(input.name)}`,
    query: { dry_run: input.trial },
    body: {
      policy: input.text,
      enforcement_level: input.level,
      cas: input.cas,
      cas_required: input.casRequired,
      expiration: input.expires,
      ttl: input.ttl,
    },
    answer: "data",
  });
}

export interface PatchRgpInput {
  /** Name of the policy; kept in lower case. */
  readonly name: string;
  /** The document, as it is or in base64. */
  readonly text?: string | undefined;
  /** What a failure does: it is told, it denies unless overridden, it denies. */
  readonly level?: "advisory" | "soft-mandatory" | "hard-mandatory" | undefined;
  /** The version that is replaced; -1: there must be none. */
  readonly cas?: number | undefined;
  /** Whether the next write must give cas. */
  readonly casRequired?: boolean | undefined;
  /** When the policy ends by itself; RFC 3339. */
  readonly expires?: string | null | undefined;
  /** The same as a time from now; not beside expiration. */
  readonly ttl?: string | number | undefined;
  /** Check everything, tell what would be stored, and store nothing. */
  readonly trial?: boolean | undefined;
}

export type PatchRgpAnswer = {
  /** Its name, in lower case. */
  readonly name: string;
  /** The document; empty for root. */
  readonly policy: string;
  /** What a failure does. */
  readonly enforcement_level: "advisory" | "soft-mandatory" | "hard-mandatory";
  /** Counts the writes, from 1. */
  readonly version: number;
  /** When it was written last; absent for what nobody wrote. */
  readonly modified?: string;
  /** Whether the next write must give cas. */
  readonly cas_required: boolean;
  /** When it ends by itself. */
  readonly expiration?: string;
};

/** Change some of an RGP. */
export function patchRgp(client: Caller, input: PatchRgpInput): Promise<PatchRgpAnswer> {
  return client.call<PatchRgpAnswer>({
    method: "PATCH",
    path: `sys/policies/rgp/${restOfPath(input.name)}`,
    query: { dry_run: input.trial },
    body: {
      policy: input.text,
      enforcement_level: input.level,
      cas: input.cas,
      cas_required: input.casRequired,
      expiration: input.expires,
      ttl: input.ttl,
    },
    answer: "data",
  });
}

export interface DeleteRgpInput {
  /** Name of the policy; kept in lower case. */
  readonly name: string;
}

/** Delete an RGP. Tokens keep its name, which restricts no more. */
export function deleteRgp(client: Caller, input: DeleteRgpInput): Promise<undefined> {
  return client.call<undefined>({
    method: "DELETE",
    path: `sys/policies/rgp/${restOfPath(input.name)}`,
    answer: "nothing",
  });
}

export interface ListEgpsInput {
  /** Only those after this name. */
  readonly after?: string | undefined;
  /** How many at most. */
  readonly limit?: number | undefined;
}

export type ListEgpsAnswer = {
  /** Names, sorted. */
  readonly keys: readonly string[];
  /** Paths by name. */
  readonly name_path_map: Readonly<
    Record<
      string,
      readonly {
        /** Without the star. */
        readonly path: string;
        /** Whether it stands for everything that starts so. */
        readonly glob: boolean;
      }[]
    >
  >;
  /** The same. */
  readonly key_info: Readonly<
    Record<
      string,
      readonly {
        /** Without the star. */
        readonly path: string;
        /** Whether it stands for everything that starts so. */
        readonly glob: boolean;
      }[]
    >
  >;
};

/** List the EGPs and what they guard. */
export function listEgps(client: Caller, input: ListEgpsInput = {}): Promise<ListEgpsAnswer> {
  return client.call<ListEgpsAnswer>({
    method: "LIST",
    path: "sys/policies/egp",
    query: { after: input.after, limit: input.limit },
    answer: "data",
  });
}

export interface ListEgpsBelowInput {
  /** Folder: the part of the names up to a slash. */
  readonly prefix: string;
  /** Only those after this name. */
  readonly after?: string | undefined;
  /** How many at most. */
  readonly limit?: number | undefined;
}

export type ListEgpsBelowAnswer = {
  readonly keys: readonly string[];
  readonly key_info?: JsonObject;
};

/** List the EGPs in a folder of names. */
export function listEgpsBelow(
  client: Caller,
  input: ListEgpsBelowInput,
): Promise<ListEgpsBelowAnswer> {
  return client.call<ListEgpsBelowAnswer>({
    method: "LIST",
    path: `sys/policies/egp/${restOfPath(input.prefix)}`,
    query: { after: input.after, limit: input.limit },
    answer: "data",
  });
}

export interface ListEgpsDetailedInput {
  /** Only those after this name. */
  readonly after?: string | undefined;
  /** How many at most. */
  readonly limit?: number | undefined;
}

export type ListEgpsDetailedAnswer = {
  readonly keys: readonly string[];
  readonly key_info?: JsonObject;
};

/** List the EGPs with their documents. */
export function listEgpsDetailed(
  client: Caller,
  input: ListEgpsDetailedInput = {},
): Promise<ListEgpsDetailedAnswer> {
  return client.call<ListEgpsDetailedAnswer>({
    method: "LIST",
    path: "sys/policies/detailed/egp",
    query: { after: input.after, limit: input.limit },
    answer: "data",
  });
}

export interface ListEgpsDetailedBelowInput {
  /** Folder: the part of the names up to a slash. */
  readonly prefix: string;
  /** Only those after this name. */
  readonly after?: string | undefined;
  /** How many at most. */
  readonly limit?: number | undefined;
}

export type ListEgpsDetailedBelowAnswer = {
  readonly keys: readonly string[];
  readonly key_info?: JsonObject;
};

/** List the EGPs in a folder of names with their documents. */
export function listEgpsDetailedBelow(
  client: Caller,
  input: ListEgpsDetailedBelowInput,
): Promise<ListEgpsDetailedBelowAnswer> {
  return client.call<ListEgpsDetailedBelowAnswer>({
    method: "LIST",
    path: `sys/policies/detailed/egp/${restOfPath(input.prefix)}`,
    query: { after: input.after, limit: input.limit },
    answer: "data",
  });
}

export interface ReadEgpInput {
  /** Name of the policy; kept in lower case. */
  readonly name: string;
}

export type ReadEgpAnswer = {
  /** Its name, in lower case. */
  readonly name: string;
  /** The document; empty for root. */
  readonly policy: string;
  /** What a failure does. */
  readonly enforcement_level: "advisory" | "soft-mandatory" | "hard-mandatory";
  /** What it guards. */
  readonly paths: readonly string[];
  /** Counts the writes, from 1. */
  readonly version: number;
  /** When it was written last; absent for what nobody wrote. */
  readonly modified?: string;
  /** Whether the next write must give cas. */
  readonly cas_required: boolean;
  /** When it ends by itself. */
  readonly expiration?: string;
};

/** Read an EGP. */
export function readEgp(client: Caller, input: ReadEgpInput): Promise<ReadEgpAnswer> {
  return client.call<ReadEgpAnswer>({
    method: "GET",
    path: `sys/policies/egp/${restOfPath(input.name)}`,
    answer: "data",
  });
}

export interface WriteEgpInput {
  /** Name of the policy; kept in lower case. */
  readonly name: string;
  /** The document, as it is or in base64. */
  readonly text: string;
  /** What a failure does: it is told, it denies unless overridden, it denies. */
  readonly level: "advisory" | "soft-mandatory" | "hard-mandatory";
  /** Paths that it guards; a * at the end stands for the rest. */
  readonly paths: readonly string[];
  /** The version that is replaced; -1: there must be none. */
  readonly cas?: number | undefined;
  /** Whether the next write must give cas. */
  readonly casRequired?: boolean | undefined;
  /** When the policy ends by itself; RFC 3339. */
  readonly expires?: string | null | undefined;
  /** The same as a time from now; not beside expiration. */
  readonly ttl?: string | number | undefined;
  /** Check everything, tell what would be stored, and store nothing. */
  readonly trial?: boolean | undefined;
}

export type WriteEgpAnswer = {
  /** Its name, in lower case. */
  readonly name: string;
  /** The document; empty for root. */
  readonly policy: string;
  /** What a failure does. */
  readonly enforcement_level: "advisory" | "soft-mandatory" | "hard-mandatory";
  /** What it guards. */
  readonly paths: readonly string[];
  /** Counts the writes, from 1. */
  readonly version: number;
  /** When it was written last; absent for what nobody wrote. */
  readonly modified?: string;
  /** Whether the next write must give cas. */
  readonly cas_required: boolean;
  /** When it ends by itself. */
  readonly expiration?: string;
};

/** Write an EGP: a program that judges the requests to its paths. */
export function writeEgp(client: Caller, input: WriteEgpInput): Promise<WriteEgpAnswer> {
  return client.call<WriteEgpAnswer>({
    method: "POST",
    path: `sys/policies/egp/${restOfPath(input.name)}`,
    query: { dry_run: input.trial },
    body: {
      policy: input.text,
      enforcement_level: input.level,
      paths: input.paths,
      cas: input.cas,
      cas_required: input.casRequired,
      expiration: input.expires,
      ttl: input.ttl,
    },
    answer: "data",
  });
}

export interface PatchEgpInput {
  /** Name of the policy; kept in lower case. */
  readonly name: string;
  /** The document, as it is or in base64. */
  readonly text?: string | undefined;
  /** What a failure does: it is told, it denies unless overridden, it denies. */
  readonly level?: "advisory" | "soft-mandatory" | "hard-mandatory" | undefined;
  /** Paths that it guards; a * at the end stands for the rest. */
  readonly paths?: readonly string[] | undefined;
  /** The version that is replaced; -1: there must be none. */
  readonly cas?: number | undefined;
  /** Whether the next write must give cas. */
  readonly casRequired?: boolean | undefined;
  /** When the policy ends by itself; RFC 3339. */
  readonly expires?: string | null | undefined;
  /** The same as a time from now; not beside expiration. */
  readonly ttl?: string | number | undefined;
  /** Check everything, tell what would be stored, and store nothing. */
  readonly trial?: boolean | undefined;
}

export type PatchEgpAnswer = {
  /** Its name, in lower case. */
  readonly name: string;
  /** The document; empty for root. */
  readonly policy: string;
  /** What a failure does. */
  readonly enforcement_level: "advisory" | "soft-mandatory" | "hard-mandatory";
  /** What it guards. */
  readonly paths: readonly string[];
  /** Counts the writes, from 1. */
  readonly version: number;
  /** When it was written last; absent for what nobody wrote. */
  readonly modified?: string;
  /** Whether the next write must give cas. */
  readonly cas_required: boolean;
  /** When it ends by itself. */
  readonly expiration?: string;
};

/** Change some of an EGP. */
export function patchEgp(client: Caller, input: PatchEgpInput): Promise<PatchEgpAnswer> {
  return client.call<PatchEgpAnswer>({
    method: "PATCH",
    path: `sys/policies/egp/${restOfPath(input.name)}`,
    query: { dry_run: input.trial },
    body: {
      policy: input.text,
      enforcement_level: input.level,
      paths: input.paths,
      cas: input.cas,
      cas_required: input.casRequired,
      expiration: input.expires,
      ttl: input.ttl,
    },
    answer: "data",
  });
}

export interface DeleteEgpInput {
  /** Name of the policy; kept in lower case. */
  readonly name: string;
}

/** Delete an EGP, from all its paths. */
export function deleteEgp(client: Caller, input: DeleteEgpInput): Promise<undefined> {
  return client.call<undefined>({
    method: "DELETE",
    path: `sys/policies/egp/${restOfPath(input.name)}`,
    answer: "nothing",
  });
}

export interface TokenCapabilitiesInput {
  /** Secret of the token. */
  readonly secret?: string | undefined;
  /** Paths, relative to the namespace of the request. */
  readonly paths?: readonly string[] | undefined;
  /** Also name the rule that decides for each path, and the policies it stands in. */
  readonly explain?: boolean | undefined;
}

export type TokenCapabilitiesAnswer = JsonObject;

/** Tell what a token may do on paths, by its secret. */
export function tokenCapabilities(
  client: Caller,
  input: TokenCapabilitiesInput = {},
): Promise<TokenCapabilitiesAnswer> {
  return client.call<TokenCapabilitiesAnswer>({
    method: "POST",
    path: "sys/capabilities",
    query: { explain: input.explain },
    body: { token: input.secret, paths: input.paths },
    answer: "data",
  });
}

export interface AccessorCapabilitiesInput {
  /** Accessor of the token. */
  readonly accessor?: string | undefined;
  /** Paths, relative to the namespace of the request. */
  readonly paths?: readonly string[] | undefined;
  /** Also name the rule that decides for each path, and the policies it stands in. */
  readonly explain?: boolean | undefined;
}

export type AccessorCapabilitiesAnswer = JsonObject;

/** Tell what a token may do on paths, by its accessor. */
export function accessorCapabilities(
  client: Caller,
  input: AccessorCapabilitiesInput = {},
): Promise<AccessorCapabilitiesAnswer> {
  return client.call<AccessorCapabilitiesAnswer>({
    method: "POST",
    path: "sys/capabilities-accessor",
    query: { explain: input.explain },
    body: { accessor: input.accessor, paths: input.paths },
    answer: "data",
  });
}

export interface OwnCapabilitiesInput {
  /** Paths, relative to the namespace of the request. */
  readonly paths?: readonly string[] | undefined;
}

export type OwnCapabilitiesAnswer = JsonObject;

/** Tell what the caller's own token may do on paths. */
export function ownCapabilities(
  client: Caller,
  input: OwnCapabilitiesInput = {},
): Promise<OwnCapabilitiesAnswer> {
  return client.call<OwnCapabilitiesAnswer>({
    method: "POST",
    path: "sys/capabilities-self",
    body: { paths: input.paths },
    answer: "data",
  });
}

export type ResultantAclAnswer = {
  /** Whether it is a management token, which no rule binds. */
  readonly root: boolean;
  /** Always empty. */
  readonly chroot_namespace: string;
  /** Rules by path. */
  readonly exact_paths: Readonly<
    Record<
      string,
      {
        /** What the rule grants. */
        readonly capabilities: readonly string[];
      }
    >
  >;
  /** Rules by path. */
  readonly glob_paths: Readonly<
    Record<
      string,
      {
        /** What the rule grants. */
        readonly capabilities: readonly string[];
      }
    >
  >;
};

/** Tell all rules of the caller's policies together. */
export function resultantAcl(client: Caller): Promise<ResultantAclAnswer> {
  return client.call<ResultantAclAnswer>({
    method: "GET",
    path: "sys/internal/ui/resultant-acl",
    answer: "data",
  });
}

export interface InspectRequestInput {
  /** Accessor of the token that asks, instead of policies. */
  readonly accessor?: string | undefined;
  /** Policies of a token that asks. */
  readonly policies?: readonly string[] | undefined;
  /** The policies do without the built-in default. */
  readonly withoutDefault?: boolean | undefined;
  /** What is done. */
  readonly operation: "create" | "read" | "update" | "patch" | "delete" | "list" | "scan";
  /** Where, relative to the namespace. */
  readonly path: string;
  /** Namespace below that of the request. */
  readonly namespace?: string | undefined;
  /** Body, or parameters of the query. */
  readonly data?: JsonObject | undefined;
  /** Where from. Default: as this request. */
  readonly address?: string | undefined;
  /** Port there. Default: as this request. */
  readonly port?: number | undefined;
  /** Headers that programs may see. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** When; RFC 3339. Default: now. */
  readonly time?: string | undefined;
  /** Wrapping that is asked for. */
  readonly wrapTtl?: string | number | undefined;
  /** Override that is asked for. */
  readonly override?: boolean | undefined;
  /** Documents that are tried and not stored, each in place of the stored one of its name: type, name, policy, and for rgp and egp enforcement_level and paths. */
  readonly documents?: readonly JsonObject[] | undefined;
}

export type InspectRequestAnswer = {
  /** Whether the request would pass. */
  readonly allowed: boolean;
  /** What it needs on its path. */
  readonly capability: string;
  /** Whether it needs sudo beside it. */
  readonly sudo: boolean;
  /** Why, in words. */
  readonly reason: string;
  readonly rule: {
    /** First policy that the rule stands in. */
    readonly policy: string;
    /** The rule as it is written. */
    readonly path: string;
    /** Line in the document. */
    readonly line: number;
    /** Column in the document. */
    readonly column: number;
    /** What the rule grants. */
    readonly capabilities: readonly string[];
    /** Where the rule stands. */
    readonly policies: readonly {
      /** Name of the policy. */
      readonly name: string;
      /** Namespace that it belongs to. */
      readonly namespace_id: string;
      /** As written there. */
      readonly path: string;
      /** Line in the document. */
      readonly line: number;
      /** Column in the document. */
      readonly column: number;
    }[];
  } | null;
  /** Other rules that match, and why they do not decide. */
  readonly candidates: readonly {
    /** The rule. */
    readonly path: string;
    /** Where the rule stands. */
    readonly policies: readonly {
      /** Name of the policy. */
      readonly name: string;
      /** Namespace that it belongs to. */
      readonly namespace_id: string;
      /** As written there. */
      readonly path: string;
      /** Line in the document. */
      readonly line: number;
      /** Column in the document. */
      readonly column: number;
    }[];
    /** In words. */
    readonly why: string;
  }[];
  /** The policies that were asked, in order. */
  readonly steps: readonly {
    /** Kind of the policy. */
    readonly kind: "acl" | "rgp" | "egp";
    /** Name of the policy; empty where no rule of any matches, and for one of a namespace above. */
    readonly name: string;
    /** Namespace that it belongs to; empty as the name. */
    readonly namespace_id: string;
    /** allow or deny of an ACL; pass, fail or error of a program. */
    readonly result: string;
    /** What a failure of the program does. */
    readonly level?: "advisory" | "soft-mandatory" | "hard-mandatory";
    /** Why, in words. */
    readonly message?: string;
    /** Rules of the program that were evaluated. */
    readonly rules?: readonly {
      /** Name of the rule. */
      readonly name: string;
      /** Line in the document. */
      readonly line: number;
      /** Column in the document. */
      readonly column: number;
      /** What it came to; null: an error. */
      readonly value: boolean | null;
    }[];
  }[];
  /** Whether a soft-mandatory policy fails. */
  readonly override_needed: boolean;
  /** The smallest rule that would let the ACL allow it. */
  readonly minimal_policy: string | null;
  /** Where the rule stands. */
  readonly minimal_policy_replaces?: readonly {
    /** Name of the policy. */
    readonly name: string;
    /** Namespace that it belongs to. */
    readonly namespace_id: string;
    /** As written there. */
    readonly path: string;
    /** Line in the document. */
    readonly line: number;
    /** Column in the document. */
    readonly column: number;
  }[];
};

/** Tell what would become of a request, and why. */
export function inspectRequest(
  client: Caller,
  input: InspectRequestInput,
): Promise<InspectRequestAnswer> {
  return client.call<InspectRequestAnswer>({
    method: "POST",
    path: "sys/inspect/request",
    body: {
      token_accessor: input.accessor,
      policies: input.policies,
      no_default_policy: input.withoutDefault,
      operation: input.operation,
      path: input.path,
      namespace: input.namespace,
      data: input.data,
      remote_address: input.address,
      remote_port: input.port,
      headers: input.headers,
      time: input.time,
      wrap_ttl: input.wrapTtl,
      policy_override: input.override,
      documents: input.documents,
    },
    answer: "data",
  });
}

export interface ViewAclPoliciesInput {
  /** Only names that begin so. */
  readonly prefix?: string | undefined;
  /** How many at most; 0: all. */
  readonly perPage?: number | undefined;
  /** Where the page starts: X-Service-NextToken of the page before. */
  readonly nextToken?: string | undefined;
  /** In reverse order. */
  readonly reverse?: boolean | undefined;
  /** Any server may answer from what it has, without asking the leader. */
  readonly stale?: boolean | undefined;
  /** Name of the region that is meant; this server's own by default. */
  readonly region?: string | undefined;
  /** Answer when there is something newer than this index, or when `wait` is over. */
  readonly index?: number | undefined;
  /** How long to wait for something newer: such as 30s, at most 5m, which is the default. */
  readonly wait?: string | undefined;
  /** An expression that tokens must meet, such as Type == "client". */
  readonly filter?: string | undefined;
}

export type ViewAclPoliciesAnswer = readonly {
  /** Its name. */
  readonly Name: string;
  /** For people; may be empty. */
  readonly Description: string;
  /** Changes with the document: base64 of 32 bytes. */
  readonly Hash: string;
  /** Index of the write that made it. */
  readonly CreateIndex: number;
  /** Index of the write that changed it last. */
  readonly ModifyIndex: number;
}[];

/** List the ACL policies; for clients those that their token carries. */
export function viewAclPolicies(
  client: Caller,
  input: ViewAclPoliciesInput = {},
): Promise<ViewAclPoliciesAnswer> {
  return client.call<ViewAclPoliciesAnswer>({
    method: "GET",
    path: "acl/policies",
    query: {
      prefix: input.prefix,
      per_page: input.perPage,
      next_token: input.nextToken,
      reverse: input.reverse,
      stale: input.stale,
      region: input.region,
      index: input.index,
      wait: input.wait,
      filter: input.filter,
    },
    answer: "bare",
  });
}

export interface ViewOwnAclPoliciesInput {
  /** Only names that begin so. */
  readonly prefix?: string | undefined;
  /** How many at most; 0: all. */
  readonly perPage?: number | undefined;
  /** Where the page starts: X-Service-NextToken of the page before. */
  readonly nextToken?: string | undefined;
  /** In reverse order. */
  readonly reverse?: boolean | undefined;
  /** Any server may answer from what it has, without asking the leader. */
  readonly stale?: boolean | undefined;
  /** Name of the region that is meant; this server's own by default. */
  readonly region?: string | undefined;
  /** Answer when there is something newer than this index, or when `wait` is over. */
  readonly index?: number | undefined;
  /** How long to wait for something newer: such as 30s, at most 5m, which is the default. */
  readonly wait?: string | undefined;
  /** An expression that tokens must meet, such as Type == "client". */
  readonly filter?: string | undefined;
}

export type ViewOwnAclPoliciesAnswer = readonly {
  /** Its name. */
  readonly Name: string;
  /** For people; may be empty. */
  readonly Description: string;
  /** Changes with the document: base64 of 32 bytes. */
  readonly Hash: string;
  /** Index of the write that made it. */
  readonly CreateIndex: number;
  /** Index of the write that changed it last. */
  readonly ModifyIndex: number;
}[];

/** The ACL policies that the token carries; all of them for management. */
export function viewOwnAclPolicies(
  client: Caller,
  input: ViewOwnAclPoliciesInput = {},
): Promise<ViewOwnAclPoliciesAnswer> {
  return client.call<ViewOwnAclPoliciesAnswer>({
    method: "GET",
    path: "acl/policy/self",
    query: {
      prefix: input.prefix,
      per_page: input.perPage,
      next_token: input.nextToken,
      reverse: input.reverse,
      stale: input.stale,
      region: input.region,
      index: input.index,
      wait: input.wait,
      filter: input.filter,
    },
    answer: "bare",
  });
}

export interface ViewAclPolicyInput {
  /** Name of the policy. */
  readonly name: string;
  /** Any server may answer from what it has, without asking the leader. */
  readonly stale?: boolean | undefined;
  /** Name of the region that is meant; this server's own by default. */
  readonly region?: string | undefined;
  /** Answer when there is something newer than this index, or when `wait` is over. */
  readonly index?: number | undefined;
  /** How long to wait for something newer: such as 30s, at most 5m, which is the default. */
  readonly wait?: string | undefined;
}

export type ViewAclPolicyAnswer = {
  /** Its name. */
  readonly Name: string;
  /** For people; may be empty. */
  readonly Description: string;
  /** Changes with the document: base64 of 32 bytes. */
  readonly Hash: string;
  /** Index of the write that made it. */
  readonly CreateIndex: number;
  /** Index of the write that changed it last. */
  readonly ModifyIndex: number;
  /** The document. */
  readonly Rules: string;
};

/** Read an ACL policy: for management, and for tokens that carry it. */
export function viewAclPolicy(
  client: Caller,
  input: ViewAclPolicyInput,
): Promise<ViewAclPolicyAnswer> {
  return client.call<ViewAclPolicyAnswer>({
    method: "GET",
    path: `acl/policy/${restOfPath(input.name)}`,
    query: { stale: input.stale, region: input.region, index: input.index, wait: input.wait },
    answer: "bare",
  });
}

export interface ApplyAclPolicyInput {
  /** Name of the policy. */
  readonly path: string;
  /** Name of the policy, as in the path. */
  readonly name?: string | undefined;
  /** For people. */
  readonly description?: string | undefined;
  /** The document: an ACL policy. */
  readonly rules?: string | undefined;
  /** Must be null: there are no jobs. */
  readonly jobs?: JsonValue | undefined;
  /** Ignored. */
  readonly hash?: JsonValue | undefined;
  /** Ignored. */
  readonly createIndex?: JsonValue | undefined;
  /** Ignored. */
  readonly modifyIndex?: JsonValue | undefined;
  /** Name of the region that is meant; this server's own by default. */
  readonly region?: string | undefined;
}

/** Write an ACL policy. */
export function applyAclPolicy(client: Caller, input: ApplyAclPolicyInput): Promise<undefined> {
  return client.call<undefined>({
    method: "POST",
    path: `acl/policy/${restOfPath(input.path)}`,
    query: { region: input.region },
    body: {
      Name: input.name,
      Description: input.description,
      Rules: input.rules,
      JobACL: input.jobs,
      Hash: input.hash,
      CreateIndex: input.createIndex,
      ModifyIndex: input.modifyIndex,
    },
    answer: "nothing",
  });
}

export interface RemoveAclPolicyInput {
  /** Name of the policy. */
  readonly name: string;
  /** Name of the region that is meant; this server's own by default. */
  readonly region?: string | undefined;
}

/** Delete an ACL policy. Tokens keep its name, which counts as empty. */
export function removeAclPolicy(client: Caller, input: RemoveAclPolicyInput): Promise<undefined> {
  return client.call<undefined>({
    method: "DELETE",
    path: `acl/policy/${restOfPath(input.name)}`,
    query: { region: input.region },
    answer: "nothing",
  });
}

export interface ViewAnonymousAclPolicyInput {
  /** Any server may answer from what it has, without asking the leader. */
  readonly stale?: boolean | undefined;
  /** Name of the region that is meant; this server's own by default. */
  readonly region?: string | undefined;
  /** Answer when there is something newer than this index, or when `wait` is over. */
  readonly index?: number | undefined;
  /** How long to wait for something newer: such as 30s, at most 5m, which is the default. */
  readonly wait?: string | undefined;
}

export type ViewAnonymousAclPolicyAnswer = {
  /** Its name. */
  readonly Name: string;
  /** For people; may be empty. */
  readonly Description: string;
  /** Changes with the document: base64 of 32 bytes. */
  readonly Hash: string;
  /** Index of the write that made it. */
  readonly CreateIndex: number;
  /** Index of the write that changed it last. */
  readonly ModifyIndex: number;
  /** The document. */
  readonly Rules: string;
};

/** Read the ACL policy for callers without a token; everybody may. */
export function viewAnonymousAclPolicy(
  client: Caller,
  input: ViewAnonymousAclPolicyInput = {},
): Promise<ViewAnonymousAclPolicyAnswer> {
  return client.call<ViewAnonymousAclPolicyAnswer>({
    method: "GET",
    path: "acl/policy/anonymous",
    query: { stale: input.stale, region: input.region, index: input.index, wait: input.wait },
    answer: "bare",
  });
}

export interface ApplyAnonymousAclPolicyInput {
  /** Name of the policy, as in the path. */
  readonly name?: string | undefined;
  /** For people. */
  readonly description?: string | undefined;
  /** The document: an ACL policy. */
  readonly rules?: string | undefined;
  /** Must be null: there are no jobs. */
  readonly jobs?: JsonValue | undefined;
  /** Ignored. */
  readonly hash?: JsonValue | undefined;
  /** Ignored. */
  readonly createIndex?: JsonValue | undefined;
  /** Ignored. */
  readonly modifyIndex?: JsonValue | undefined;
  /** Name of the region that is meant; this server's own by default. */
  readonly region?: string | undefined;
}

/** Write the ACL policy for callers without a token. */
export function applyAnonymousAclPolicy(
  client: Caller,
  input: ApplyAnonymousAclPolicyInput = {},
): Promise<undefined> {
  return client.call<undefined>({
    method: "POST",
    path: "acl/policy/anonymous",
    query: { region: input.region },
    body: {
      Name: input.name,
      Description: input.description,
      Rules: input.rules,
      JobACL: input.jobs,
      Hash: input.hash,
      CreateIndex: input.createIndex,
      ModifyIndex: input.modifyIndex,
    },
    answer: "nothing",
  });
}

export interface RemoveAnonymousAclPolicyInput {
  /** Name of the region that is meant; this server's own by default. */
  readonly region?: string | undefined;
}

/** Delete the ACL policy for callers without a token. */
export function removeAnonymousAclPolicy(
  client: Caller,
  input: RemoveAnonymousAclPolicyInput = {},
): Promise<undefined> {
  return client.call<undefined>({
    method: "DELETE",
    path: "acl/policy/anonymous",
    query: { region: input.region },
    answer: "nothing",
  });
}

export type ListAuditDevicesAnswer = Readonly<
  Record<
    string,
    {
      /** file, socket or syslog */
      readonly type: string;
      /** What it is for */
      readonly description: string;
      /** As given when it was enabled */
      readonly options: Readonly<Record<string, string>>;
      /** Not replicated to performance secondaries */
      readonly local: boolean;
      /** Its name, with a slash at the end */
      readonly path: string;
      /** Comes from the configuration file and can be changed only there */
      readonly declared: boolean;
      /** Took its last record on this node */
      readonly healthy: boolean;
    }
  >
>;

/** List the audit devices */
export function listAuditDevices(client: Caller): Promise<ListAuditDevicesAnswer> {
  return client.call<ListAuditDevicesAnswer>({ method: "GET", path: "sys/audit", answer: "data" });
}

export interface EnableAuditDeviceInput {
  /** Name of the device */
  readonly path: string;
  /** file, socket or syslog */
  readonly type: string;
  /** What it is for */
  readonly description?: string | undefined;
  /** Options of the type, by name */
  readonly options?: JsonObject | undefined;
  /** Keep it on this cluster: performance secondaries do not get it */
  readonly local?: boolean | undefined;
  /** Enable it even if it does not take a record now */
  readonly skipTest?: boolean | undefined;
}

/** Enable an audit device */
export function enableAuditDevice(
  client: Caller,
  input: EnableAuditDeviceInput,
): Promise<undefined> {
  return client.call<undefined>({
    method: "POST",
    path: `sys/audit/${restOfPath(input.path)}`,
    body: {
      type: input.type,
      description: input.description,
      options: input.options,
      local: input.local,
      skip_test: input.skipTest,
    },
    answer: "nothing",
  });
}

export interface DisableAuditDeviceInput {
  /** Name of the device */
  readonly path: string;
}

/** Disable an audit device */
export function disableAuditDevice(
  client: Caller,
  input: DisableAuditDeviceInput,
): Promise<undefined> {
  return client.call<undefined>({
    method: "DELETE",
    path: `sys/audit/${restOfPath(input.path)}`,
    answer: "nothing",
  });
}

export interface HashForAuditInput {
  /** Name of the device */
  readonly path: string;
  /** The value */
  readonly input: string;
}

export type HashForAuditAnswer = {
  /** hmac-sha256: and the digest in hex */
  readonly hash: string;
};

/** Hash a value as an audit device does */
export function hashForAudit(
  client: Caller,
  input: HashForAuditInput,
): Promise<HashForAuditAnswer> {
  return client.call<HashForAuditAnswer>({
    method: "POST",
    path: `sys/audit-hash/${restOfPath(input.path)}`,
    body: { input: input.input },
    answer: "data",
  });
}

export interface VerifyAuditTrailInput {
  /** Name of the device */
  readonly path: string;
}

export type VerifyAuditTrailAnswer = {
  /** Every record is there, in order and unchanged */
  readonly valid: boolean;
  /** Good records, up to the problem */
  readonly records: number;
  /** Number of the first record */
  readonly first: number | null;
  /** Number of the last good record */
  readonly last: number | null;
  /** Lines broken off by writes that failed; nothing is missing there */
  readonly torn: number;
  /** What was read, the oldest first */
  readonly files: readonly string[];
  readonly problem: {
    /** Path */
    readonly file: string;
    /** Line, from 1 */
    readonly line: number;
    /** What is wrong there */
    readonly reason: string;
  } | null;
};

/** Check the files of an audit device for records that were cut, swapped or edited */
export function verifyAuditTrail(
  client: Caller,
  input: VerifyAuditTrailInput,
): Promise<VerifyAuditTrailAnswer> {
  return client.call<VerifyAuditTrailAnswer>({
    method: "POST",
    path: `sys/audit-verify/${restOfPath(input.path)}`,
    answer: "data",
  });
}

export type ListAuditedHeadersAnswer = {
  /** Headers by name */
  readonly headers: Readonly<
    Record<
      string,
      {
        /** Recorded as a hash */
        readonly hmac: boolean;
      }
    >
  >;
};

/** List the request headers that are recorded */
export function listAuditedHeaders(client: Caller): Promise<ListAuditedHeadersAnswer> {
  return client.call<ListAuditedHeadersAnswer>({
    method: "GET",
    path: "sys/config/auditing/request-headers",
    answer: "data",
  });
}

export interface ReadAuditedHeaderInput {
  /** Name of the header */
  readonly name: string;
}

export type ReadAuditedHeaderAnswer = Readonly<
  Record<
    string,
    {
      /** Recorded as a hash */
      readonly hmac: boolean;
    }
  >
>;

/** Tell how a request header is recorded */
export function readAuditedHeader(
  client: Caller,
  input: ReadAuditedHeaderInput,
): Promise<ReadAuditedHeaderAnswer> {
  return client.call<ReadAuditedHeaderAnswer>({
    method: "GET",
    path: `sys/config/auditing/request-headers/${oneSegment(input.name)}`,
    answer: "data",
  });
}

export interface RecordHeaderInput {
  /** Name of the header */
  readonly name: string;
  /** As a hash; false shows its value */
  readonly hmac?: boolean | undefined;
}

/** Record a request header */
export function recordHeader(client: Caller, input: RecordHeaderInput): Promise<undefined> {
  return client.call<undefined>({
    method: "POST",
    path: `sys/config/auditing/request-headers/${oneSegment(input.name)}`,
    body: { hmac: input.hmac },
    answer: "nothing",
  });
}

export interface StopRecordingHeaderInput {
  /** Name of the header */
  readonly name: string;
}

/** Stop recording a request header */
export function stopRecordingHeader(
  client: Caller,
  input: StopRecordingHeaderInput,
): Promise<undefined> {
  return client.call<undefined>({
    method: "DELETE",
    path: `sys/config/auditing/request-headers/${oneSegment(input.name)}`,
    answer: "nothing",
  });
}

export type ReadQuotaConfigAnswer = {
  /** Paths that no quota counts, beside those that never are */
  readonly rate_limit_exempt_paths: readonly string[];
  /** Whether refused requests are audited */
  readonly enable_rate_limit_audit_logging: boolean;
  /** Whether answers carry X-Ratelimit headers */
  readonly enable_rate_limit_response_headers: boolean;
};

/** Read the settings of quotas */
export function readQuotaConfig(client: Caller): Promise<ReadQuotaConfigAnswer> {
  return client.call<ReadQuotaConfigAnswer>({
    method: "GET",
    path: "sys/quotas/config",
    answer: "data",
  });
}

export interface WriteQuotaConfigInput {
  /** Whole paths that no quota counts, a * at the end for all that begin so. Health, seal status, unseal and the generation of a root token are never counted */
  readonly exemptPaths?: readonly string[] | undefined;
  /** Audit requests that are refused; a flood then fills the audit log */
  readonly auditRefusals?: boolean | undefined;
  /** Send X-Ratelimit-Limit, -Remaining and -Reset (seconds until it is full again) */
  readonly headers?: boolean | undefined;
}

/** Change the settings of quotas */
export function writeQuotaConfig(
  client: Caller,
  input: WriteQuotaConfigInput = {},
): Promise<undefined> {
  return client.call<undefined>({
    method: "POST",
    path: "sys/quotas/config",
    body: {
      rate_limit_exempt_paths: input.exemptPaths,
      enable_rate_limit_audit_logging: input.auditRefusals,
      enable_rate_limit_response_headers: input.headers,
    },
    answer: "nothing",
  });
}

export type ListRateLimitQuotasAnswer = {
  readonly keys: readonly string[];
  readonly key_info?: JsonObject;
};

/** List rate-limit quotas */
export function listRateLimitQuotas(client: Caller): Promise<ListRateLimitQuotasAnswer> {
  return client.call<ListRateLimitQuotasAnswer>({
    method: "LIST",
    path: "sys/quotas/rate-limit",
    answer: "data",
  });
}

export interface ReadRateLimitQuotaInput {
  /** Name of the quota */
  readonly name: string;
}

export type ReadRateLimitQuotaAnswer = {
  /** Name of the quota */
  readonly name: string;
  /** Kind of quota */
  readonly type: "rate-limit";
  /** What it is on; empty for every request */
  readonly path: string;
  /** Requests in an interval, for each client address */
  readonly rate: number;
  /** Length of the interval in seconds */
  readonly interval: number;
  /** Seconds for which a client is refused that asked too often */
  readonly block_interval: number;
  /** Always empty: there are no logins with roles yet */
  readonly role: string;
  /** Whether it reaches namespaces below that have none of their own */
  readonly inheritable: boolean;
};

/** Read a rate-limit quota */
export function readRateLimitQuota(
  client: Caller,
  input: ReadRateLimitQuotaInput,
): Promise<ReadRateLimitQuotaAnswer> {
  return client.call<ReadRateLimitQuotaAnswer>({
    method: "GET",
    path: `sys/quotas/rate-limit/${oneSegment(input.name)}`,
    answer: "data",
  });
}

export interface WriteRateLimitQuotaInput {
  /** Name of the quota */
  readonly name: string;
  /** Empty for every request; a namespace (team/), a mount (team/secret/) or a path below a mount, a * at its end for all that begin so */
  readonly path?: string | undefined;
  /** Requests in an interval, above 0 */
  readonly rate: number;
  /** Length of the interval */
  readonly interval?: string | number | undefined;
  /** How long a client is refused altogether that exceeded the rate; 0 for not */
  readonly blockInterval?: string | number | undefined;
  /** Not supported yet: there are no logins with roles */
  readonly role?: string | undefined;
  /** For a namespace: reaches the namespaces below that have no quota of their own */
  readonly inheritable?: boolean | undefined;
}

/** Create or replace a rate-limit quota */
export function writeRateLimitQuota(
  client: Caller,
  input: WriteRateLimitQuotaInput,
): Promise<undefined> {
  return client.call<undefined>({
    method: "POST",
    path: `sys/quotas/rate-limit/${oneSegment(input.name)}`,
    body: {
      path: input.path,
      rate: input.rate,
      interval: input.interval,
      block_interval: input.blockInterval,
      role: input.role,
      inheritable: input.inheritable,
    },
    answer: "nothing",
  });
}

export interface DeleteRateLimitQuotaInput {
  /** Name of the quota */
  readonly name: string;
}

/** Delete a rate-limit quota */
export function deleteRateLimitQuota(
  client: Caller,
  input: DeleteRateLimitQuotaInput,
): Promise<undefined> {
  return client.call<undefined>({
    method: "DELETE",
    path: `sys/quotas/rate-limit/${oneSegment(input.name)}`,
    answer: "nothing",
  });
}

export type ListLeaseCountQuotasAnswer = {
  readonly keys: readonly string[];
  readonly key_info?: JsonObject;
};

/** List lease-count quotas */
export function listLeaseCountQuotas(client: Caller): Promise<ListLeaseCountQuotasAnswer> {
  return client.call<ListLeaseCountQuotasAnswer>({
    method: "LIST",
    path: "sys/quotas/lease-count",
    answer: "data",
  });
}

export interface ReadLeaseCountQuotaInput {
  /** Name of the quota */
  readonly name: string;
}

export type ReadLeaseCountQuotaAnswer = {
  /** Name of the quota */
  readonly name: string;
  /** Kind of quota */
  readonly type: "lease-count";
  /** What it is on; empty for every lease */
  readonly path: string;
  /** How many leases there may be */
  readonly max_leases: number;
  /** How many there are */
  readonly counter: number;
  /** Always empty: leases are not counted by role of a login */
  readonly role: string;
  /** Whether it reaches namespaces below that have none of their own */
  readonly inheritable: boolean;
};

/** Read a lease-count quota */
export function readLeaseCountQuota(
  client: Caller,
  input: ReadLeaseCountQuotaInput,
): Promise<ReadLeaseCountQuotaAnswer> {
  return client.call<ReadLeaseCountQuotaAnswer>({
    method: "GET",
    path: `sys/quotas/lease-count/${oneSegment(input.name)}`,
    answer: "data",
  });
}

export interface WriteLeaseCountQuotaInput {
  /** Name of the quota */
  readonly name: string;
  /** Empty for every lease; a namespace (team/), a mount (team/clouda/) or a path below a mount (clouda/creds/deploy), a * at its end for all that begin so */
  readonly path?: string | undefined;
  /** How many leases there may be */
  readonly maxLeases: number;
  /** Not supported: leave it out */
  readonly role?: string | undefined;
  /** For a namespace: reaches the namespaces below that have no quota of their own */
  readonly inheritable?: boolean | undefined;
}

/** Create or replace a lease-count quota */
export function writeLeaseCountQuota(
  client: Caller,
  input: WriteLeaseCountQuotaInput,
): Promise<undefined> {
  return client.call<undefined>({
    method: "POST",
    path: `sys/quotas/lease-count/${oneSegment(input.name)}`,
    body: {
      path: input.path,
      max_leases: input.maxLeases,
      role: input.role,
      inheritable: input.inheritable,
    },
    answer: "nothing",
  });
}

export interface DeleteLeaseCountQuotaInput {
  /** Name of the quota */
  readonly name: string;
}

/** Delete a lease-count quota */
export function deleteLeaseCountQuota(
  client: Caller,
  input: DeleteLeaseCountQuotaInput,
): Promise<undefined> {
  return client.call<undefined>({
    method: "DELETE",
    path: `sys/quotas/lease-count/${oneSegment(input.name)}`,
    answer: "nothing",
  });
}

export type ReadCorsAnswer = {
  /** Whether any other origin may call the API */
  readonly enabled: boolean;
  /** Origins that may */
  readonly allowed_origins: readonly string[];
  /** Request headers that they may send */
  readonly allowed_headers: readonly string[];
  /** Whether browsers may send their own credentials along */
  readonly allow_credentials: boolean;
};

/** Read which other origins may call the API */
export function readCors(client: Caller): Promise<ReadCorsAnswer> {
  return client.call<ReadCorsAnswer>({ method: "GET", path: "sys/config/cors", answer: "data" });
}

export interface WriteCorsInput {
  /** Origins such as https://console.example.com, or * for every origin */
  readonly allowedOrigins: readonly string[];
  /** Request headers that may be sent beside the standard ones */
  readonly allowedHeaders?: readonly string[] | undefined;
  /** Let browsers send their own credentials, such as client certificates, along */
  readonly allowCredentials?: boolean | undefined;
}

/** Let pages of other origins call the API */
export function writeCors(client: Caller, input: WriteCorsInput): Promise<undefined> {
  return client.call<undefined>({
    method: "POST",
    path: "sys/config/cors",
    body: {
      allowed_origins: input.allowedOrigins,
      allowed_headers: input.allowedHeaders,
      allow_credentials: input.allowCredentials,
    },
    answer: "nothing",
  });
}

/** Let no other origin call the API */
export function deleteCors(client: Caller): Promise<undefined> {
  return client.call<undefined>({ method: "DELETE", path: "sys/config/cors", answer: "nothing" });
}

export type ListConsoleHeadersAnswer = {
  readonly keys: readonly string[];
  readonly key_info?: JsonObject;
};

/** List the console headers that are set */
export function listConsoleHeaders(client: Caller): Promise<ListConsoleHeadersAnswer> {
  return client.call<ListConsoleHeadersAnswer>({
    method: "LIST",
    path: "sys/config/ui/headers",
    answer: "data",
  });
}

export interface ReadConsoleHeaderInput {
  /** Name of the header; upper and lower case are the same */
  readonly name: string;
}

export type ReadConsoleHeaderAnswer = {
  /** Values of the header */
  readonly values: readonly string[];
};

/** Read a console header that is set */
export function readConsoleHeader(
  client: Caller,
  input: ReadConsoleHeaderInput,
): Promise<ReadConsoleHeaderAnswer> {
  return client.call<ReadConsoleHeaderAnswer>({
    method: "GET",
    path: `sys/config/ui/headers/${oneSegment(input.name)}`,
    answer: "data",
  });
}

export interface WriteConsoleHeaderInput {
  /** Name of the header; upper and lower case are the same */
  readonly name: string;
  /** Values; several are joined by commas */
  readonly values: readonly string[];
}

/** Set a header of the console's pages */
export function writeConsoleHeader(
  client: Caller,
  input: WriteConsoleHeaderInput,
): Promise<undefined> {
  return client.call<undefined>({
    method: "POST",
    path: `sys/config/ui/headers/${oneSegment(input.name)}`,
    body: { values: input.values },
    answer: "nothing",
  });
}

export interface DeleteConsoleHeaderInput {
  /** Name of the header; upper and lower case are the same */
  readonly name: string;
}

/** Go back to the default of a console header, or to none */
export function deleteConsoleHeader(
  client: Caller,
  input: DeleteConsoleHeaderInput,
): Promise<undefined> {
  return client.call<undefined>({
    method: "DELETE",
    path: `sys/config/ui/headers/${oneSegment(input.name)}`,
    answer: "nothing",
  });
}

export interface ReadMetricsInput {
  /** prometheus for its text format 0.0.4, json otherwise */
  readonly format?: "json" | "prometheus" | "" | undefined;
}

/** Read the numbers about this node */
export function readMetrics(client: Caller, input: ReadMetricsInput = {}): Promise<string> {
  return client.call<string>({
    method: "GET",
    path: "sys/metrics",
    query: { format: input.format },
    answer: "text",
  });
}

export interface ReadOpenapiInput {
  /** Show the paths of a mount type once instead of those of each mount */
  readonly generic?: boolean | undefined;
}

export type ReadOpenapiAnswer = JsonObject;

/** Read the OpenAPI document of this server */
export function readOpenapi(
  client: Caller,
  input: ReadOpenapiInput = {},
): Promise<ReadOpenapiAnswer> {
  return client.call<ReadOpenapiAnswer>({
    method: "GET",
    path: "sys/internal/specs/openapi",
    query: { generic_mount_paths: input.generic },
    answer: "bare",
  });
}

export type ListUsableNamespacesAnswer = {
  /** Child namespaces */
  readonly keys: readonly string[];
};

/** List the child namespaces that the caller may use */
export function listUsableNamespaces(client: Caller): Promise<ListUsableNamespacesAnswer> {
  return client.call<ListUsableNamespacesAnswer>({
    method: "GET",
    path: "sys/internal/ui/namespaces",
    answer: "data",
  });
}

export type ReadSanitizedConfigAnswer = JsonObject;

/** Read the configuration in force, without secrets */
export function readSanitizedConfig(client: Caller): Promise<ReadSanitizedConfigAnswer> {
  return client.call<ReadSanitizedConfigAnswer>({
    method: "GET",
    path: "sys/config/state/sanitized",
    answer: "data",
  });
}

export interface ReloadConfigInput {
  /** Which part, such as listener */
  readonly what: string;
}

/** Read a part of the configuration again */
export function reloadConfig(client: Caller, input: ReloadConfigInput): Promise<undefined> {
  return client.call<undefined>({
    method: "POST",
    path: `sys/config/reload/${oneSegment(input.what)}`,
    answer: "nothing",
  });
}

export type ReadHaStatusAnswer = {
  /** Nodes of the cluster */
  readonly nodes: readonly {
    /** Name of its host */
    readonly hostname: string;
    /** Where clients reach it */
    readonly api_address: string;
    /** Where nodes reach it; empty for a node on its own */
    readonly cluster_address: string;
    /** Whether it is the active one */
    readonly active_node: boolean;
    /** When the active node last heard of it */
    readonly last_echo: string | null;
    /** Version of its server */
    readonly version: string;
    /** Whether it answers reads as a standby */
    readonly performance_standby: boolean;
  }[];
};

/** Read which nodes the cluster has */
export function readHaStatus(client: Caller): Promise<ReadHaStatusAnswer> {
  return client.call<ReadHaStatusAnswer>({ method: "GET", path: "sys/ha-status", answer: "data" });
}

export type ReadHostInfoAnswer = {
  readonly host: {
    /** Name of the host */
    readonly hostname: string;
    /** Operating system */
    readonly platform: string;
    /** Its version */
    readonly release: string;
    /** Kind of processor */
    readonly arch: string;
    /** Since the host started */
    readonly uptime_seconds: number;
  };
  readonly cpu: {
    /** Processors this process may use */
    readonly count: number;
    /** Over 1, 5 and 15 minutes */
    readonly load_average: readonly number[];
  };
  readonly memory: {
    /** Of the host */
    readonly total_bytes: number;
    /** Of the host */
    readonly free_bytes: number;
  };
  readonly disk: {
    /** Where data is kept; null when it is in memory */
    readonly free_bytes: number | null;
  };
  readonly process: {
    /** Number of the process */
    readonly pid: number;
    /** What it runs on */
    readonly runtime: string;
    /** Since the process started */
    readonly uptime_seconds: number;
    /** Memory of the process */
    readonly resident_bytes: number;
    /** Of it on the heap */
    readonly heap_used_bytes: number;
    /** Processor time since the start */
    readonly cpu_seconds: number;
  };
};

/** Read what this node runs on */
export function readHostInfo(client: Caller): Promise<ReadHostInfoAnswer> {
  return client.call<ReadHostInfoAnswer>({ method: "GET", path: "sys/host-info", answer: "data" });
}

export type ReadInFlightAnswer = Readonly<
  Record<
    string,
    {
      /** When it came in */
      readonly start_time: string;
      /** Verb */
      readonly request_method: string;
      /** Operation id; empty until it is known */
      readonly endpoint: string;
      /** Where it came from */
      readonly client_remote_address: string;
    }
  >
>;

/** Read which requests are being answered */
export function readInFlight(client: Caller): Promise<ReadInFlightAnswer> {
  return client.call<ReadInFlightAnswer>({
    method: "GET",
    path: "sys/in-flight-req",
    answer: "data",
  });
}

export type ListVersionHistoryAnswer = {
  readonly keys: readonly string[];
  readonly key_info?: JsonObject;
};

/** List the versions that have run on this storage */
export function listVersionHistory(client: Caller): Promise<ListVersionHistoryAnswer> {
  return client.call<ListVersionHistoryAnswer>({
    method: "LIST",
    path: "sys/version-history",
    answer: "data",
  });
}

export type ReadLoggersAnswer = Readonly<
  Record<string, "debug" | "info" | "warn" | "error" | "off">
>;

/** Read how much each log of this node writes */
export function readLoggers(client: Caller): Promise<ReadLoggersAnswer> {
  return client.call<ReadLoggersAnswer>({ method: "GET", path: "sys/loggers", answer: "data" });
}

export interface WriteLoggersInput {
  /** The least level that is written */
  readonly level: "debug" | "info" | "warn" | "error" | "off";
}

/** Change how much all logs of this node write, until it is restarted */
export function writeLoggers(client: Caller, input: WriteLoggersInput): Promise<undefined> {
  return client.call<undefined>({
    method: "POST",
    path: "sys/loggers",
    body: { level: input.level },
    answer: "nothing",
  });
}

/** Let all logs of this node write what the configuration says */
export function resetLoggers(client: Caller): Promise<undefined> {
  return client.call<undefined>({ method: "DELETE", path: "sys/loggers", answer: "nothing" });
}

export interface ReadLoggerInput {
  /** Component, such as storage */
  readonly name: string;
}

export type ReadLoggerAnswer = Readonly<
  Record<string, "debug" | "info" | "warn" | "error" | "off">
>;

/** Read how much one log of this node writes */
export function readLogger(client: Caller, input: ReadLoggerInput): Promise<ReadLoggerAnswer> {
  return client.call<ReadLoggerAnswer>({
    method: "GET",
    path: `sys/loggers/${oneSegment(input.name)}`,
    answer: "data",
  });
}

export interface WriteLoggerInput {
  /** Component, such as storage */
  readonly name: string;
  /** The least level that is written */
  readonly level: "debug" | "info" | "warn" | "error" | "off";
}

/** Change how much one log of this node writes, until it is restarted */
export function writeLogger(client: Caller, input: WriteLoggerInput): Promise<undefined> {
  return client.call<undefined>({
    method: "POST",
    path: `sys/loggers/${oneSegment(input.name)}`,
    body: { level: input.level },
    answer: "nothing",
  });
}

export interface ResetLoggerInput {
  /** Component, such as storage */
  readonly name: string;
}

/** Let one log of this node write what the configuration says */
export function resetLogger(client: Caller, input: ResetLoggerInput): Promise<undefined> {
  return client.call<undefined>({
    method: "DELETE",
    path: `sys/loggers/${oneSegment(input.name)}`,
    answer: "nothing",
  });
}
