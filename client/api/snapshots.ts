// Endpoints of snapshots as functions.
// Written by scripts/gen.ts out of the declarations: do not edit. Inputs and answers have the names of
// the wire.

import type { Answer, Caller, CallOptions, StreamedAnswer } from "../client.ts";
import type { StreamedBody } from "../transport.ts";

/** Take a snapshot of everything stored */
export async function takeSnapshot(client: Caller, options?: CallOptions): Promise<StreamedAnswer> {
  return client.stream({ method: "GET", path: "sys/storage/raft/snapshot" }, options);
}

export type VerifySnapshotAnswer = {
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
};

/** Check a snapshot without restoring it */
export async function verifySnapshot(
  client: Caller,
  stream: StreamedBody,
  options?: CallOptions,
): Promise<Answer<VerifySnapshotAnswer>> {
  return client.call(
    { method: "POST", path: "sys/storage/raft/snapshot-verify", stream, answer: "bare" },
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
  /** Those whose mount the snapshot does not have: what they stand for is left outside */
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
