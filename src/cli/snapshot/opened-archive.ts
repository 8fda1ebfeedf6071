// The root key of an archive, from its operators: shares out of files or from the terminal, or the key of its auto seal.

import type { KeyObject } from "node:crypto";
import { Failure } from "@holdfast/shared/failure";
import type { Secret } from "@holdfast/shared/secret";
import { OfflineSeal } from "../../seal/offline.ts";
import type { CoreRows } from "../../snapshots/proof/core-rows.ts";
import { AdvisedFailure } from "../advice/advised-failure.ts";
import type { Context } from "../command.ts";
import { flag } from "../line/flag.ts";
import { UsageError } from "../line/usage-error.ts";
import { progressBar } from "../terminal/activity.ts";

const MAX_FILE = 64 * 1024;

export const KEY_FLAGS = {
  shares: flag
    .file("File with key shares of the snapshot's server, one on each line; - for standard input")
    .repeated(),
  sealKey: flag.file("File with the key of its static auto seal, in place of shares"),
};

export interface KeyFiles {
  readonly shares: readonly string[];
  readonly sealKey: string | undefined;
}

export async function rootKeyOf(
  context: Context,
  rows: CoreRows,
  { shares, sealKey }: KeyFiles,
): Promise<KeyObject> {
  context.quiet();
  const seal = new OfflineSeal(rows, context.timers);
  if (sealKey !== undefined) return withSealKey(context, seal, sealKey);
  if (!seal.takesShares) {
    throw new UsageError(
      "the snapshot was sealed with a key from outside, and its recovery shares do not unseal",
      "give the file with that key: -seal-key FILE",
    );
  }
  try {
    if (shares.length > 0) return await fromFiles(context, seal, shares);
    return await fromTerminal(context, seal);
  } finally {
    seal.wipe();
  }
}

function withSealKey({ files }: Context, seal: OfflineSeal, path: string): KeyObject {
  if (seal.type === "shamir") {
    throw new UsageError("the snapshot was sealed with shares alone", "leave -seal-key out");
  }
  const found = seal.openWith(files.read(path, MAX_FILE));
  if (found === null) throw sharesDiffer("the key in -seal-key is not that of the snapshot's seal");
  return found;
}

async function fromFiles(
  { files, prompt }: Context,
  seal: OfflineSeal,
  paths: readonly string[],
): Promise<KeyObject> {
  const lines: string[] = [];
  for (const path of paths) {
    const whole = path === "-" ? await prompt.whole(MAX_FILE) : files.text(path, MAX_FILE);
    lines.push(...whole.split("\n"));
  }
  const texts = lines.map((line) => line.trim()).filter((line) => line !== "");
  let wrong = false;
  for (const text of texts) {
    const result = await seal.give(text);
    if (typeof result === "object") return result;
    wrong = result === "wrong";
  }
  const { threshold } = seal.scheme;
  if (wrong) throw sharesDiffer("the shares are not those of the snapshot");
  throw new UsageError(
    `${texts.length} shares are there, and the snapshot takes ${threshold}`,
    "give more of them with -shares, which may be repeated",
  );
}

async function fromTerminal({ prompt, out }: Context, seal: OfflineSeal): Promise<KeyObject> {
  const { threshold } = seal.scheme;
  prompt.needPerson("Share", "give a file with shares: -shares FILE, or - for standard input");
  out.hint(`Any ${threshold} of the shares that were valid when the snapshot was made open it.`);
  const found = await prompt.hidden(async () => {
    for (let count = 0; ;) {
      const share: Secret<string> | null = await prompt.secret("Share");
      if (share === null || share.reveal() === "") return null;
      try {
        const result = await seal.give(share.reveal());
        if (typeof result === "object") return result;
        if (result === "wrong")
          out.error("no set of the shares so far is right", "try another one");
        else out.hint(progressBar(++count, threshold));
      } catch (error) {
        if (!(error instanceof Failure)) throw error;
        out.error(error.message, "try again, or end with an empty line");
      }
    }
  });
  if (found === null) throw new UsageError("the snapshot was not opened: shares are missing");
  return found;
}

/**
 * @code snapshot-shares The shares, or the key, are not those that a snapshot was made under.
 * @remedy Use those that were valid on the day of the snapshot; a rekey makes new ones.
 */
function sharesDiffer(message: string): Failure {
  const next = "use those that were valid when it was made: a rekey makes new ones";
  return new AdvisedFailure("conflict", "snapshot-shares", message, next);
}
