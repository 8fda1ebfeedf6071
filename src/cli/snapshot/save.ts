// `holdfast snapshot save`: an archive of everything, whole under its name or not there at all.

import { basename, dirname, join, resolve } from "node:path";
import { hex } from "@holdfast/shared/bytes";
import { Failure } from "@holdfast/shared/failure";
import { HOUR } from "@holdfast/shared/text/duration";
import * as snapshots from "@holdfast/client/api/snapshots";
import { SystemRandom } from "../../system/random.ts";
import { SystemWorkFiles } from "../../system/work-file.ts";
import { AdvisedFailure } from "../advice/advised-failure.ts";
import { command, type Context } from "../command.ts";
import { argument } from "../line/argument.ts";
import { flag } from "../line/flag.ts";
import { bytesBar, sizeText } from "../terminal/size.ts";
import { type ArchiveSummary, summaryData, summaryView, SummingParser } from "./archive-file.ts";

/** The server makes the whole archive before it sends the first byte. */
const MAKING = HOUR;

export const snapshotSave = command({
  name: "snapshot save",
  summary: "Save a snapshot of everything stored in a file",
  description:
    "The file is checked while it comes and gets its name when it is whole. What is in it stays encrypted: " +
    "it is opened by the key shares of this server and nothing else. Needs `read` on sys/storage/raft/snapshot.",
  examples: [
    "holdfast snapshot save backup.snap",
    "holdfast snapshot save -force /backup/latest.snap",
  ],
  flags: { force: flag.switch("Replace the file if there is one") },
  args: { file: argument.required("Where to put it") },
  async run(context, { file, force }) {
    const { out, clock } = context;
    const target = resolve(file);
    if (context.fs.info(dirname(target)) === null) throw noDirectory(dirname(target));
    if (!force && context.fs.info(target) !== null) throw fileExists(file);
    const summary = await context.untilInterrupted((signal) => save(context, target, signal));
    const data = { file: target, ...summaryData(summary) };
    await out.show(data, summaryView(data, clock.now()));
    const { bytes, meta } = summary.archive;
    out.done(`Success! ${sizeText(bytes)} with ${meta.entries} entries are in ${file}.`);
    out.hint(`Next: \`holdfast snapshot drill ${file}\` proves with key shares that it restores.`);
  },
});

async function save(
  context: Context,
  target: string,
  signal: AbortSignal,
): Promise<ArchiveSummary> {
  const files = new SystemWorkFiles();
  const mark = hex(new SystemRandom().bytes(6));
  const temporary = join(dirname(target), `.${basename(target)}.${mark}.part`);
  const parser = new SummingParser();
  const file = await files.create(temporary); // before anything is made that nobody could put away
  try {
    const answer = await snapshots.takeSnapshot(context.client.inRoot(), { held: MAKING });
    const size = Number(answer.header("x-snapshot-size") ?? "") || null;
    let bytes = 0;
    for await (const chunk of answer.chunks) {
      signal.throwIfAborted();
      parser.push(chunk);
      await file.append(chunk);
      bytes += chunk.length;
      context.progress(`saving ${bytesBar(bytes, size)}`);
    }
    const summary = parser.end();
    checkTrailers(answer.trailer("x-snapshot-sha256"), hex(summary.archive.sha256));
    await file.sync();
    await file.close();
    await files.rename(temporary, target);
    return summary;
  } catch (error) {
    await file.close().catch(() => {}); // the first cause is the one to tell
    await files.remove(temporary);
    throw error;
  } finally {
    context.quiet();
  }
}

/**
 * @code file-exists A file is to be written where there is one already.
 * @remedy Choose another name, or replace it with `-force`.
 */
function fileExists(file: string): Failure {
  const next = "choose another name, or give -force to replace it";
  return new AdvisedFailure("conflict", "file-exists", `${file} is there already`, next);
}

/**
 * @code directory-missing A file is to be written to a directory that is not there.
 * @remedy Make the directory, closed to everybody else.
 */
function noDirectory(directory: string): Failure {
  const next = `make it: mkdir -p -m 700 ${directory}`;
  const message = `there is no directory ${directory}`;
  return new AdvisedFailure("conflict", "directory-missing", message, next);
}

/** A proxy may have taken trailers away; what the archive says of itself has been checked. */
function checkTrailers(sent: string | undefined, found: string): void {
  if (sent !== undefined && sent !== found) throw altered();
}

/**
 * @code snapshot-altered A snapshot is not the one that the server has sent.
 * @remedy Save it again; if it stays, look at what lies between you and the server.
 */
function altered(): Failure {
  const message = "what came is not what the server sent: their sums differ";
  return new Failure("upstream", "snapshot-altered", message);
}
