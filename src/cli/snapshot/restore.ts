// `holdfast snapshot restore`: a snapshot in the place of everything that a server has stored.

import * as seal from "@holdfast/client/api/seal";
import * as snapshots from "@holdfast/client/api/snapshots";
import type { Client } from "@holdfast/client/client";
import { Failure } from "@holdfast/shared/failure";
import { HOUR, SECOND } from "@holdfast/shared/text/duration";
import type { WorkFile } from "@holdfast/shared/world";
import { AdvisedFailure } from "../advice/advised-failure.ts";
import { command, type Context } from "../command.ts";
import { argument } from "../line/argument.ts";
import { flag } from "../line/flag.ts";
import { pause } from "../pause.ts";
import { bytesBar } from "../terminal/size.ts";
import { type ArchiveSummary, chunksOf, SummingParser, withArchive } from "./archive-file.ts";

const PACE = SECOND / 5n;
/** Verifying ends shortly after the last byte; a slow disk gets its time. */
const VERIFYING = HOUR;
const SECRET_HEADER = "x-service-restore-secret";

type Status = snapshots.RestoreStatusAnswer;

export const snapshotRestore = command({
  name: "snapshot restore",
  summary: "Put a snapshot in the place of everything that the server has stored",
  description:
    "The server goes on until the snapshot is filled in beside its data, and exchanges the two then. Credentials that were " +
    "issued since the snapshot are revoked; what was written since is gone. One of another cluster, or from before a rekey, " +
    "needs -force: afterwards the server is sealed, and is unsealed with the shares of the snapshot's day. A server that is not " +
    "initialised takes one from its own machine, or with -secret-file. Needs `update` and `sudo` on " +
    "sys/storage/raft/snapshot, with -force on sys/storage/raft/snapshot-force. On a terminal it asks first.",
  examples: [
    "holdfast snapshot restore backup.snap",
    "holdfast snapshot restore -force -yes other-cluster.snap",
    "holdfast snapshot restore -secret-file restore-secret backup.snap",
  ],
  flags: {
    force: flag.switch("Also one that this server's root key does not open"),
    yes: flag.switch("Do not ask"),
    "secret-file": flag.string(
      "A copy of restore-secret, from the directory server below the data_dir of a server that is not initialised",
    ),
  },
  args: { file: argument.required("The snapshot") },
  async run(context, { file: path, force, yes, "secret-file": secretFile }) {
    const { out, prompt } = context;
    const client = context.client.inRoot();
    const { initialized } = (await seal.initStatus(client)).data;
    return withArchive(context, path, async (file) => {
      const summary = await readWhole(context, file);
      if (initialized && !yes && prompt.interactive) {
        const { meta } = summary.archive;
        const what = `${meta.entries} entries, index ${meta.index}`;
        const question = `Replace everything that ${context.settings.address.value.display} has stored with ${path} (${what})?`;
        if (!(await prompt.confirm(question))) {
          out.hint("Nothing was restored.");
          return 1;
        }
      }
      const body = {
        chunks: chunksOf(context, file, "sending"),
        length: file.size,
        contentType: "application/gzip",
      };
      const options = { held: VERIFYING };
      if (!initialized) {
        const headers = secretHeaders(context, secretFile);
        await snapshots.initialiseFromSnapshot(client, body, { ...options, headers });
        await context.untilInterrupted((signal) => untilInitialised(context, client, signal));
        return sealedAfterwards(context);
      }
      const follows = (await orNull(snapshots.restoreStatus(client))) !== null;
      await (force
        ? snapshots.forceRestoreSnapshot(client, body, options)
        : snapshots.restoreSnapshot(client, body, options));
      if (!follows) {
        out.done("The snapshot was verified, and is being restored.");
        out.hint("How far it is can be seen with `read` on sys/storage/raft/restore-status.");
        return 0;
      }
      const status = await context.untilInterrupted((signal) => followed(context, client, signal));
      return ended(context, status);
    });
  },
});

/** Before anything is sent: a file that is not whole is nobody else's business. */
async function readWhole(context: Context, file: WorkFile): Promise<ArchiveSummary> {
  const parser = new SummingParser();
  for await (const chunk of chunksOf(context, file, "reading")) parser.push(chunk);
  return parser.end();
}

function secretHeaders(
  { files }: Context,
  path: string | undefined,
): Readonly<Record<string, string>> {
  return path === undefined ? {} : { [SECRET_HEADER]: files.text(path, 256).trim() };
}

async function untilInitialised(
  { timers }: Context,
  client: Client,
  signal: AbortSignal,
): Promise<void> {
  for (;;) {
    const found = await orNull(seal.initStatus(client));
    if (found?.data.initialized === true) return;
    await pause(timers, PACE, signal);
  }
}

/** The last that could be read of it; null where nothing can be read any more, because the server is sealed or the
 *  token is none of the snapshot's. */
async function followed(
  context: Context,
  client: Client,
  signal: AbortSignal,
): Promise<Status | null> {
  try {
    for (;;) {
      const found = await orNull(snapshots.restoreStatus(client));
      if (found !== null) {
        const { state, bytes, bytes_done: done, error } = found.data;
        if (state === "done") return found.data;
        if (state === "failed") throw restoreFailed(error);
        context.progress(state === "filling" ? `restoring ${bytesBar(done, bytes)}` : "exchanging");
      } else if (await isOver(client)) return null;
      await pause(context.timers, PACE, signal);
    }
  } finally {
    context.quiet();
  }
}

/** The server answers, but not with the status: what answers is what was restored. */
async function isOver(client: Client): Promise<boolean> {
  return (await orNull(seal.status(client))) !== null;
}

/** Null for what passes while data is exchanged, and for what its end brings. */
async function orNull<T>(answer: Promise<T>): Promise<T | null> {
  try {
    return await answer;
  } catch (error) {
    const passes = error instanceof Failure && PASSING.has(error.kind);
    if (passes) return null;
    throw error;
  }
}

const PASSING: ReadonlySet<string> = new Set(["unavailable", "sealed", "denied"]);

async function ended(context: Context, status: Status | null): Promise<number> {
  const { out, client } = context;
  const { sealed } = (await seal.status(client.inRoot())).data;
  if (sealed) return sealedAfterwards(context);
  for (const warning of status?.warnings ?? []) out.hint(warning);
  if (status !== null && status.adopted > 0) {
    out.hint(`${status.adopted} credentials that are newer than the snapshot are being revoked.`);
  }
  if (status !== null && status.left > 0) {
    out.hint(
      `${status.left} credentials are left outside: the snapshot does not have their mounts. Remove them there.`,
    );
  }
  out.done("Success! The snapshot was restored.");
  if (status === null) out.hint("Next: log in again: your token is not in the snapshot.");
  return 0;
}

function sealedAfterwards({ out }: Context): number {
  out.done("Success! The snapshot was restored, and the server is sealed.");
  out.hint(
    "Next: run `holdfast operator unseal` with the key shares of the snapshot's day, before the server is restarted: the next key of evidence and leases to be ended wait in its memory",
  );
  return 0;
}

function restoreFailed(reason: string): AdvisedFailure {
  return new AdvisedFailure(
    "upstream",
    "restore-failed",
    `the snapshot was not restored: ${reason}`,
    "the data is as it was; read the cause, then try again",
  );
}
