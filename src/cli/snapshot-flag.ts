// -snapshot-id: a loaded snapshot that is read from, or that something is recovered from.

import type { Client } from "@holdfast/client/client";
import { flag } from "./line/flag.ts";
import { UsageError } from "./line/usage-error.ts";

export const SNAPSHOT_FLAG = {
  snapshotId: flag.string("Answer from this loaded snapshot instead of the data of now", "ID"),
};

export const RECOVER_FLAG = {
  snapshotId: flag.string("The loaded snapshot; `snapshot loaded` lists them", "ID"),
};

/** The client for a command that was, or was not, told to look back. */
export function readingClient(client: Client, snapshotId: string | undefined): Client {
  return snapshotId === undefined ? client : client.readingFrom(snapshotId);
}

export function recoveringClient(client: Client, snapshotId: string | undefined): Client {
  if (snapshotId !== undefined && snapshotId !== "") return client.recoveringFrom(snapshotId);
  const next = "`holdfast snapshot loaded` lists the ids";
  throw new UsageError("-snapshot-id is missing: which snapshot to recover from", next);
}
