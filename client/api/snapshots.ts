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
