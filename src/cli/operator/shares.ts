// Key shares: where they come from, how many a ceremony still needs, how new ones are shown and encrypted.

import { base64 } from "@holdfast/shared/bytes";
import { Secret } from "@holdfast/shared/secret";
import { ApiError } from "@holdfast/client/api-error";
import { AdvisedFailure } from "../advice/advised-failure.ts";
import type { Context } from "../command.ts";
import { UsageError } from "../line/usage-error.ts";
import type { UserFiles } from "../line/user-file.ts";
import { progressBar } from "../terminal/activity.ts";
import type { Output } from "../terminal/output.ts";
import { showValue } from "../terminal/value.ts";

export const SHARE_HELP = "The share; - reads it from standard input; without it you are asked";

/** A share given as argument or on standard input; null when it is to be asked for. */
export async function readShare(
  { prompt, out }: Pick<Context, "prompt" | "out">,
  typed: string | undefined,
): Promise<Secret<string> | null> {
  if (typed === undefined) return null;
  if (typed === "-") return prompt.piped("share");
  out.warn("a share on the command line stays in the shell's history; leave it out to be asked");
  return new Secret(typed);
}

/**
 * Asks for shares until `give` says that the ceremony is through. A share that the server refuses is
 * told and asked for again; an empty line or the end of the input stops.
 */
export async function askShares(
  { prompt, out }: Pick<Context, "prompt" | "out">,
  label: string,
  give: (share: Secret<string>) => Promise<boolean>,
): Promise<boolean> {
  prompt.needPerson(label);
  return prompt.hidden(async () => {
    for (;;) {
      const share = await prompt.secret(label);
      if (share === null || share.reveal() === "") return false;
      try {
        if (await give(share)) return true;
      } catch (error) {
        if (!(error instanceof ApiError && error.status === 400)) throw error;
        out.error(error.message, "try again, or end with an empty line");
      }
    }
  });
}

/** A ceremony that has not enough shares yet, or was left. */
export function goOn(command: string): string {
  return (
    `Next: \`holdfast operator ${command}\` with more shares goes on with it, -status shows how far it ` +
    "is, -cancel ends it"
  );
}

/** What only whoever started a ceremony is shown. */
export function keepCancelNonce(command: string): string {
  return (
    `Keep the cancel nonce, it is shown this once: \`holdfast operator ${command} -cancel -nonce\` ` +
    "ends this attempt with it, and without it only a token with sudo does."
  );
}

/** What is to be ended was not there: it is no success, and nothing to mend either. */
export function notRunning(what: string): AdvisedFailure {
  const next = "it may have ended by itself: without a share that is so after ten minutes";
  return new AdvisedFailure("not-found", "ceremony-absent", `no ${what} is running`, next);
}

/** More shares would be needed than there are. */
export function checkThreshold(
  [shares, sharesFlag]: readonly [number | undefined, string],
  [threshold, thresholdFlag]: readonly [number | undefined, string],
): void {
  if (shares === undefined || threshold === undefined || threshold <= shares) return;
  throw new UsageError(
    `-${thresholdFlag} ${threshold} is more than -${sharesFlag} ${shares}`,
    `give a -${thresholdFlag} of ${shares} at most`,
  );
}

export function tellProgress(
  out: Output,
  progress: number | undefined,
  of: number | undefined,
): void {
  if (progress !== undefined && of !== undefined) out.hint(progressBar(progress, of));
}

/** Lines such as "Unseal Key 1: …", which is how scripts of other tools look for them. */
export function shareLines(label: string, shares: readonly string[] = []): string[] {
  const width = String(shares.length).length;
  return shares.map((share, i) => `${label} ${String(i + 1).padStart(width)}: ${showValue(share)}`);
}

const MAX_KEY = 64 * 1024; // what the server reads of one

export function readPgpKey(files: UserFiles, path: string): string {
  const bytes = files.read(path, MAX_KEY);
  const text = bytes.toString("latin1").trim();
  if (text.startsWith("-----BEGIN PGP ")) return text;
  return /^[A-Za-z0-9+/=\s]+$/.test(text) ? text.replace(/\s+/g, "") : base64(bytes);
}

/** Files with commas between, as other tools take them, or the flag repeated. */
export function readPgpKeys(files: UserFiles, names: readonly string[]): string[] {
  return names
    .flatMap((paths) => paths.split(","))
    .filter((path) => path !== "")
    .map((path) => readPgpKey(files, path));
}
