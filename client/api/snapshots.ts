// Endpoints of snapshots as functions.
// Written by scripts/gen.ts out of the declarations: do not edit. Inputs and answers have the names of
// the wire.

import type { JsonObject } from "@holdfast/shared/json/json";
import type { Answer, Caller, CallOptions, StreamedAnswer } from "../client.ts";
import type { StreamedBody } from "../transport.ts";
import { needInput, oneSegment } from "../request-path.ts";

/** Take a snapshot of everything stored */
export async function takeSnapshot(client: Caller, options?: CallOptions): Promise<StreamedAnswer> {
  return client.stream({ method: "GET", path: "sys/storage/raft/snapshot" }, options);
}

export type VerifySnapshotInput = {
  /** Open every entry in it with the keys of this server */
  readonly deep?: boolean | undefined;
};

export type VerifySnapshotAnswer = {
  /** Whether it opens with today's root key and nothing is wrong with it */
  readonly ok: boolean;
  /** Why not, in words */
  readonly errors: readonly string[];
  /** Of the archive */
  readonly id: string;
  /** The last index that it holds */
  readonly index: number;
  /** Of the log at that index */
  readonly epoch: number;
  /** Of the cluster that made it */
  readonly cluster_id: string;
  /** Of its log */
  readonly lineage: string;
  /** When it was made */
  readonly created: string;
  /** Version of Holdfast that made it */
  readonly version: string;
  /** Form of the store it is of */
  readonly format: number;
  /** Bytes of the archive */
  readonly size: number;
  /** Of the archive */
  readonly sha256: string;
  /** Rows in it */
  readonly entries: number;
  /** Those that go to every replica */
  readonly shared_entries: number;
  /** Those of this cluster alone */
  readonly local_entries: number;
  /** Those of seal and keyring */
  readonly core_entries: number;
  /** Whether today's root key opens its seal */
  readonly opens: boolean;
  /** Why not; empty when it does */
  readonly reason: string;
  /** With `deep`: whether everything opened and added up */
  readonly proven?: boolean;
  /** With `deep`: what did not, in words */
  readonly problems?: readonly string[];
  /** With `deep`: entries that opened */
  readonly opened_entries?: number;
  /** With `deep`: data keys in its keyring */
  readonly keyring_terms?: number;
};

/** Check a snapshot without restoring it */
export async function verifySnapshot(
  client: Caller,
  stream: StreamedBody,
  query: VerifySnapshotInput = {},
  options?: CallOptions,
): Promise<Answer<VerifySnapshotAnswer>> {
  return client.call(
    { method: "POST", path: "sys/storage/raft/snapshot-verify", query, stream, answer: "data" },
    options,
  );
}

/** Put a snapshot of this server in the place of its data */
export async function restoreSnapshot(
  client: Caller,
  stream: StreamedBody,
  options?: CallOptions,
): Promise<Answer<undefined>> {
  return client.call(
    { method: "POST", path: "sys/storage/raft/snapshot", stream, answer: "nothing" },
    options,
  );
}

/** The same with a snapshot of other keys */
export async function forceRestoreSnapshot(
  client: Caller,
  stream: StreamedBody,
  options?: CallOptions,
): Promise<Answer<undefined>> {
  return client.call(
    { method: "POST", path: "sys/storage/raft/snapshot-force", stream, answer: "nothing" },
    options,
  );
}

/** Restore a snapshot into a server that is not initialised */
export async function initialiseFromSnapshot(
  client: Caller,
  stream: StreamedBody,
  options?: CallOptions,
): Promise<Answer<undefined>> {
  return client.call(
    { method: "POST", path: "sys/storage/raft/snapshot-init", stream, answer: "nothing" },
    options,
  );
}

export type RestoreStatusAnswer = {
  /** idle, receiving, filling, exchanging, done or failed */
  readonly state: string;
  /** Whether keys were not compared */
  readonly force: boolean;
  /** When it began */
  readonly started: string | null;
  /** When it was over */
  readonly ended: string | null;
  /** Bytes of the archive; 0 where that is not known yet */
  readonly bytes: number;
  /** Bytes that the present step has behind it */
  readonly bytes_done: number;
  /** Rows that were filled in */
  readonly entries_done: number;
  readonly snapshot: {
    /** Of the archive */
    readonly id: string;
    /** The last index that it holds */
    readonly index: number;
    /** Of the log at that index */
    readonly epoch: number;
    /** Of the cluster that made it */
    readonly cluster_id: string;
    /** When it was made */
    readonly created: string;
    /** Rows in it */
    readonly entries: number;
  } | null;
  /** Leases and write-ahead records that the snapshot does not know and that were taken over, due at once */
  readonly adopted: number;
  /** Those that nobody ends: the snapshot does not have their mount, or the process ended before it was unsealed */
  readonly left: number;
  /** What an operator should know */
  readonly warnings: readonly string[];
  /** Why it failed; empty where it has not */
  readonly error: string;
};

/** Tell how far the last restore is */
export async function restoreStatus(
  client: Caller,
  options?: CallOptions,
): Promise<Answer<RestoreStatusAnswer>> {
  return client.call(
    { method: "GET", path: "sys/storage/raft/restore-status", answer: "data" },
    options,
  );
}

export type ListSnapshotConfigsAnswer = {
  readonly keys: readonly string[];
  readonly key_info?: JsonObject;
};

/** List configurations of automated snapshots */
export async function listSnapshotConfigs(
  client: Caller,
  options?: CallOptions,
): Promise<Answer<ListSnapshotConfigsAnswer>> {
  return client.call(
    { method: "LIST", path: "sys/storage/raft/snapshot-auto/config", answer: "data" },
    options,
  );
}

export type ReadSnapshotConfigInput = {
  /** Name of the configuration */
  readonly name: string;
};

export type ReadSnapshotConfigAnswer = {
  /** Seconds from start to start */
  readonly interval: number;
  /** Snapshots that are kept */
  readonly retain: number;
  /** Directory, or folder in the bucket */
  readonly path_prefix: string;
  /** What names begin with */
  readonly file_prefix: string;
  /** Where snapshots go; the fields below are those of its type */
  readonly storage_type: "local" | "cloudb-blob" | "clouda-store" | "cloudc-store";
  /** When stored snapshots are proven: off, a count of snapshots, or a time */
  readonly drill: string;
  /** Bytes that all of them may have there */
  readonly local_max_space?: number;
  /** Bucket */
  readonly clouda_store_bucket?: string;
  /** Region */
  readonly clouda_store_region?: string;
  /** Access key */
  readonly clouda_access_key_id?: string;
  /** Whether its secret is set; it is never told */
  readonly clouda_secret_access_key_set?: boolean;
  /** Whether a session token is set; it is never told */
  readonly clouda_session_token_set?: boolean;
  /** Endpoint */
  readonly clouda_store_endpoint?: string;
  /** Whether http is spoken */
  readonly clouda_store_disable_tls?: boolean;
  /** Whether the bucket is part of the path */
  readonly clouda_store_force_path_style?: boolean;
  /** Whether KMS encrypts */
  readonly clouda_store_enable_kms?: boolean;
  /** Whether AES256 encrypts */
  readonly clouda_store_server_side_encryption?: boolean;
  /** KMS key */
  readonly clouda_store_kms_key?: string;
  /** Container */
  readonly cloudb_container_name?: string;
  /** Account */
  readonly cloudb_account_name?: string;
  /** Whether its key is set; it is never told */
  readonly cloudb_account_key_set?: boolean;
  /** Cloud */
  readonly cloudb_blob_environment?: string;
  /** Endpoint */
  readonly cloudb_endpoint?: string;
  /** Bucket */
  readonly cloudc_store_bucket?: string;
  /** Whether a service account is set; it is never told */
  readonly cloudc_service_account_key_set?: boolean;
  /** Endpoint */
  readonly cloudc_endpoint?: string;
  /** Whether http is spoken */
  readonly cloudc_disable_tls?: boolean;
};

/** Read a configuration of automated snapshots */
export async function readSnapshotConfig(
  client: Caller,
  input: ReadSnapshotConfigInput,
  options?: CallOptions,
): Promise<Answer<ReadSnapshotConfigAnswer>> {
  const { name } = needInput(input);
  return client.call(
    {
      method: "GET",
      path: `sys/storage/raft/snapshot-auto/config/${oneSegment(name)}`,
      answer: "data",
    },
    options,
  );
}

export type WriteSnapshotConfigInput = {
  /** Name of the configuration */
  readonly name: string;
  /** Time from the start of one snapshot to the start of the next; required at first */
  readonly interval?: string | number | undefined;
  /** Snapshots of this configuration that are kept: 1 unless said; older ones are deleted after a new one */
  readonly retain?: number | undefined;
  /** For local the directory, below one of snapshot_roots; else the folder in the bucket, which for cloudb-blob and cloudc-store ends with a slash; required at first */
  readonly path_prefix?: string | undefined;
  /** What names begin with: service-snapshot unless said */
  readonly file_prefix?: string | undefined;
  /** Where snapshots go; required at first and the same ever after */
  readonly storage_type?: "local" | "cloudb-blob" | "clouda-store" | "cloudc-store" | undefined;
  /** When the newest stored snapshot is read back and proven to restore: after each n-th snapshot (a count such as 4), every so often (a time with its unit such as 7d, as it is unless said), or off */
  readonly drill?: string | number | undefined;
  /** local: bytes that all snapshots of this prefix may have there, whoever wrote them; required */
  readonly local_max_space?: number | undefined;
  /** clouda-store: the bucket; required */
  readonly clouda_store_bucket?: string | undefined;
  /** clouda-store: the bucket's region; required */
  readonly clouda_store_region?: string | undefined;
  /** clouda-store: access key; left out, keys come from the server's environment or files */
  readonly clouda_access_key_id?: string | undefined;
  /** clouda-store: its secret */
  readonly clouda_secret_access_key?: string | undefined;
  /** clouda-store: its session token */
  readonly clouda_session_token?: string | undefined;
  /** clouda-store: another endpoint, for stores of others */
  readonly clouda_store_endpoint?: string | undefined;
  /** clouda-store: speak http; for tests */
  readonly clouda_store_disable_tls?: boolean | undefined;
  /** clouda-store: endpoint/bucket instead of bucket.endpoint */
  readonly clouda_store_force_path_style?: boolean | undefined;
  /** clouda-store: encrypt with KMS */
  readonly clouda_store_enable_kms?: boolean | undefined;
  /** clouda-store: encrypt with AES256 */
  readonly clouda_store_server_side_encryption?: boolean | undefined;
  /** clouda-store: name of the KMS key */
  readonly clouda_store_kms_key?: string | undefined;
  /** cloudb-blob: the container; required */
  readonly cloudb_container_name?: string | undefined;
  /** cloudb-blob: account; left out, it comes from the server's environment or files */
  readonly cloudb_account_name?: string | undefined;
  /** cloudb-blob: its key */
  readonly cloudb_account_key?: string | undefined;
  /** cloudb-blob: CloudBPublicCloud unless said, CloudBUSGovernmentCloud or CloudBChinaCloud */
  readonly cloudb_blob_environment?: string | undefined;
  /** cloudb-blob: another endpoint, for stores of others; http for this machine alone */
  readonly cloudb_endpoint?: string | undefined;
  /** cloudc-store: the bucket; required */
  readonly cloudc_store_bucket?: string | undefined;
  /** cloudc-store: JSON of the service account; left out, it comes from the server's environment or files */
  readonly cloudc_service_account_key?: string | undefined;
  /** cloudc-store: another endpoint, for stores of others */
  readonly cloudc_endpoint?: string | undefined;
  /** cloudc-store: speak http; for tests */
  readonly cloudc_disable_tls?: boolean | undefined;
  /** Whether a test object is written first: where the place is new unless said */
  readonly verify?: boolean | undefined;
};

/** Create or change a configuration of automated snapshots */
export async function writeSnapshotConfig(
  client: Caller,
  input: WriteSnapshotConfigInput,
  options?: CallOptions,
): Promise<Answer<undefined>> {
  const { name, ...body } = needInput(input);
  return client.call(
    {
      method: "POST",
      path: `sys/storage/raft/snapshot-auto/config/${oneSegment(name)}`,
      body,
      answer: "nothing",
    },
    options,
  );
}

export type DeleteSnapshotConfigInput = ReadSnapshotConfigInput;

/** Delete a configuration of automated snapshots */
export async function deleteSnapshotConfig(
  client: Caller,
  input: DeleteSnapshotConfigInput,
  options?: CallOptions,
): Promise<Answer<undefined>> {
  const { name } = needInput(input);
  return client.call(
    {
      method: "DELETE",
      path: `sys/storage/raft/snapshot-auto/config/${oneSegment(name)}`,
      answer: "nothing",
    },
    options,
  );
}

export type ReadSnapshotStatusInput = ReadSnapshotConfigInput;

export type ReadSnapshotStatusAnswer = {
  /** What is done; disabled: this node makes no snapshots */
  readonly state: "waiting" | "running" | "uploading" | "rotating" | "disabled";
  /** What it waits for though it is due; empty when for nothing */
  readonly waiting_for: string;
  /** Start of the attempt that runs, or of the last one */
  readonly snapshot_start: string | null;
  /** Where it writes */
  readonly snapshot_url: string;
  /** Start of the last attempt that has ended */
  readonly last_snapshot_start: string | null;
  /** End of it */
  readonly last_snapshot_end: string | null;
  /** What kept it from success; empty when nothing did */
  readonly last_snapshot_error: string;
  /** Where the last one that succeeded lies */
  readonly last_snapshot_url: string;
  /** Its bytes */
  readonly last_snapshot_size: number;
  /** Its SHA-256 in hex */
  readonly last_snapshot_sha256: string;
  /** Index of the last write in it */
  readonly last_snapshot_index: number;
  /** When it was there */
  readonly last_success: string | null;
  /** When the next attempt starts */
  readonly next_snapshot_start: string;
  /** Attempts that failed since one succeeded */
  readonly consecutive_errors: number;
  /** Why older ones could not be deleted; empty when they were */
  readonly rotation_error: string;
  /** Snapshots of this configuration there, as of the last one or the last drill */
  readonly stored_count: number;
  /** Bytes of all of them */
  readonly stored_bytes: number;
  /** When one of them was last proven to restore; drills/ beside it tells more */
  readonly last_proven: string | null;
  /** How the last drill ended; null before the first */
  readonly last_drill_result: "proven" | "failed" | "not-made" | "interrupted" | null;
};

/** Read how automated snapshots go */
export async function readSnapshotStatus(
  client: Caller,
  input: ReadSnapshotStatusInput,
  options?: CallOptions,
): Promise<Answer<ReadSnapshotStatusAnswer>> {
  const { name } = needInput(input);
  return client.call(
    {
      method: "GET",
      path: `sys/storage/raft/snapshot-auto/status/${oneSegment(name)}`,
      answer: "data",
    },
    options,
  );
}

export type RunSnapshotInput = ReadSnapshotConfigInput;

export type RunSnapshotAnswer = ReadSnapshotStatusAnswer;

/** Make an automated snapshot now */
export async function runSnapshot(
  client: Caller,
  input: RunSnapshotInput,
  options?: CallOptions,
): Promise<Answer<RunSnapshotAnswer>> {
  const { name } = needInput(input);
  return client.call(
    {
      method: "POST",
      path: `sys/storage/raft/snapshot-auto/run/${oneSegment(name)}`,
      answer: "data",
    },
    options,
  );
}

export type ReadSnapshotHistoryInput = ReadSnapshotConfigInput;

export type ReadSnapshotHistoryAnswer = {
  /** Newest first, at most 64 */
  readonly attempts: readonly {
    /** Start */
    readonly start: string;
    /** End */
    readonly end: string;
    /** Where it was written */
    readonly url: string;
    /** Bytes; 0 when it failed */
    readonly size: number;
    /** SHA-256 in hex; empty when it failed */
    readonly sha256: string;
    /** Index of the last write in it; 0 when it failed */
    readonly index: number;
    /** What kept it from success; empty when nothing did */
    readonly error: string;
    /** Why older ones could not be deleted */
    readonly rotation_error: string;
  }[];
};

/** Read the last attempts at automated snapshots */
export async function readSnapshotHistory(
  client: Caller,
  input: ReadSnapshotHistoryInput,
  options?: CallOptions,
): Promise<Answer<ReadSnapshotHistoryAnswer>> {
  const { name } = needInput(input);
  return client.call(
    {
      method: "GET",
      path: `sys/storage/raft/snapshot-auto/history/${oneSegment(name)}`,
      answer: "data",
    },
    options,
  );
}

export type DrillSnapshotInput = ReadSnapshotConfigInput;

export type DrillSnapshotAnswer = {
  /** When drills are made: off, a count of snapshots, or a time */
  readonly drill: string;
  /** What is done; disabled: this node makes no drills */
  readonly state: "waiting" | "running" | "disabled";
  /** When the next one starts; null: with a snapshot that is to come, or never */
  readonly next_drill: string | null;
  /** When a snapshot of this configuration was last proven */
  readonly last_proven: string | null;
  readonly running: {
    /** Where the snapshot lies that is read */
    readonly url: string;
    /** Its bytes */
    readonly size: number;
    /** Those that were read so far */
    readonly bytes: number;
  } | null;
  readonly last: {
    /** Start */
    readonly start: string;
    /** End */
    readonly end: string;
    /** proven: it restores; failed: it does not; not-made: the store did not give it; interrupted: the server stopped */
    readonly result: "proven" | "failed" | "not-made" | "interrupted";
    /** Where the snapshot lies; empty where none was found */
    readonly url: string;
    /** Its bytes */
    readonly size: number;
    /** Nothing where it was proven */
    readonly problems: readonly string[];
    readonly snapshot: {
      /** Its id */
      readonly id: string;
      /** Index of the last write in it */
      readonly index: number;
      /** When it was made */
      readonly created: string;
      /** Its SHA-256 in hex */
      readonly sha256: string;
      /** Entries that it has */
      readonly entries: number;
      /** Sealed entries that opened */
      readonly opened_entries: number;
      /** Data keys in its keyring */
      readonly data_keys: number;
    } | null;
    /** Id of the signed report, as sys/evidence has it; null where nothing was found out */
    readonly report: string | null;
  } | null;
};

/** Prove now that the newest automated snapshot restores */
export async function drillSnapshot(
  client: Caller,
  input: DrillSnapshotInput,
  options?: CallOptions,
): Promise<Answer<DrillSnapshotAnswer>> {
  const { name } = needInput(input);
  return client.call(
    {
      method: "POST",
      path: `sys/storage/raft/snapshot-auto/drill/${oneSegment(name)}`,
      answer: "data",
    },
    options,
  );
}

export type ReadSnapshotDrillsInput = ReadSnapshotConfigInput;

export type ReadSnapshotDrillsAnswer = {
  /** When drills are made: off, a count of snapshots, or a time */
  readonly drill: string;
  /** What is done; disabled: this node makes no drills */
  readonly state: "waiting" | "running" | "disabled";
  /** When the next one starts; null: with a snapshot that is to come, or never */
  readonly next_drill: string | null;
  /** When a snapshot of this configuration was last proven */
  readonly last_proven: string | null;
  readonly running: {
    /** Where the snapshot lies that is read */
    readonly url: string;
    /** Its bytes */
    readonly size: number;
    /** Those that were read so far */
    readonly bytes: number;
  } | null;
  /** Newest first, at most 64 */
  readonly drills: readonly {
    /** Start */
    readonly start: string;
    /** End */
    readonly end: string;
    /** proven: it restores; failed: it does not; not-made: the store did not give it; interrupted: the server stopped */
    readonly result: "proven" | "failed" | "not-made" | "interrupted";
    /** Where the snapshot lies; empty where none was found */
    readonly url: string;
    /** Its bytes */
    readonly size: number;
    /** Nothing where it was proven */
    readonly problems: readonly string[];
    readonly snapshot: {
      /** Its id */
      readonly id: string;
      /** Index of the last write in it */
      readonly index: number;
      /** When it was made */
      readonly created: string;
      /** Its SHA-256 in hex */
      readonly sha256: string;
      /** Entries that it has */
      readonly entries: number;
      /** Sealed entries that opened */
      readonly opened_entries: number;
      /** Data keys in its keyring */
      readonly data_keys: number;
    } | null;
    /** Id of the signed report, as sys/evidence has it; null where nothing was found out */
    readonly report: string | null;
  }[];
};

/** Read the last drills of automated snapshots */
export async function readSnapshotDrills(
  client: Caller,
  input: ReadSnapshotDrillsInput,
  options?: CallOptions,
): Promise<Answer<ReadSnapshotDrillsAnswer>> {
  const { name } = needInput(input);
  return client.call(
    {
      method: "GET",
      path: `sys/storage/raft/snapshot-auto/drills/${oneSegment(name)}`,
      answer: "data",
    },
    options,
  );
}

export type LoadSnapshotAnswer = {
  /** Names it in read_snapshot_id and X-Service-Recover-Snapshot-Id */
  readonly snapshot_id: string;
  /** It can be read from */
  readonly status: "ready";
  /** Of the archive */
  readonly archive_id: string;
  /** The last index that it holds */
  readonly index: number;
  /** When the snapshot was taken */
  readonly created: string;
  /** Of the cluster that made it */
  readonly cluster_id: string;
  /** Rows in it */
  readonly entries: number;
  /** Bytes of the archive */
  readonly size: number;
  /** When it was loaded */
  readonly loaded_at: string;
  /** When it is unloaded by itself */
  readonly expires_at: string;
};

/** Load a snapshot beside the data, to read from it */
export async function loadSnapshot(
  client: Caller,
  stream: StreamedBody,
  options?: CallOptions,
): Promise<Answer<LoadSnapshotAnswer>> {
  return client.call(
    { method: "POST", path: "sys/storage/raft/snapshot-load", stream, answer: "data" },
    options,
  );
}

export type ListLoadedSnapshotsAnswer = ListSnapshotConfigsAnswer;

/** List the loaded snapshots */
export async function listLoadedSnapshots(
  client: Caller,
  options?: CallOptions,
): Promise<Answer<ListLoadedSnapshotsAnswer>> {
  return client.call(
    { method: "LIST", path: "sys/storage/raft/snapshot-load", answer: "data" },
    options,
  );
}

export type ReadLoadedSnapshotInput = {
  /** Of the loaded snapshot */
  readonly id: string;
};

export type ReadLoadedSnapshotAnswer = LoadSnapshotAnswer;

/** Tell of a loaded snapshot */
export async function readLoadedSnapshot(
  client: Caller,
  input: ReadLoadedSnapshotInput,
  options?: CallOptions,
): Promise<Answer<ReadLoadedSnapshotAnswer>> {
  const { id } = needInput(input);
  return client.call(
    { method: "GET", path: `sys/storage/raft/snapshot-load/${oneSegment(id)}`, answer: "data" },
    options,
  );
}

export type UnloadSnapshotInput = ReadLoadedSnapshotInput;

/** Unload a snapshot */
export async function unloadSnapshot(
  client: Caller,
  input: UnloadSnapshotInput,
  options?: CallOptions,
): Promise<Answer<undefined>> {
  const { id } = needInput(input);
  return client.call(
    {
      method: "DELETE",
      path: `sys/storage/raft/snapshot-load/${oneSegment(id)}`,
      answer: "nothing",
    },
    options,
  );
}
