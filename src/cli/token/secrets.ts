// Secrets of tokens on their way in and out: from a file, standard input or a prompt, never from the
// command line; to a file of their own, for their owner alone, where that is asked for.

import { wipe } from "@holdfast/shared/bytes";
import { Failure } from "@holdfast/shared/failure";
import type { JsonObject } from "@holdfast/shared/json/json";
import { Secret } from "@holdfast/shared/secret";
import { isUuid } from "@holdfast/shared/text/uuid";
import { ownBytes } from "@holdfast/client/utf8";
import type { Context } from "../command.ts";
import { flag } from "../line/flag.ts";
import { showValue } from "../terminal/value.ts";
import type { TokenViewOptions } from "./view.ts";
import { UsageError } from "../line/usage-error.ts";

const MAX_FILE = 64 * 1024;

export const SECRET_OUT_FLAG = {
  secretOut: flag.file("Write the secret to this new file, mode 0600, instead of showing it"),
};

/** A secret that nobody can read again must not be left out of what is printed. */
export function needSecretOut(quiet: boolean, secretOut: string | undefined): void {
  if (!quiet || secretOut !== undefined) return;
  throw new UsageError(
    "-quiet prints the accessor alone, and the secret would be lost",
    "add -secret-out FILE, which keeps it",
  );
}

/** A secret that the caller chose, from a file or standard input. */
export async function readSecret(
  { prompt, files }: Pick<Context, "prompt" | "files">,
  from: string,
  what: string,
): Promise<Secret<string>> {
  // Refused before it is taken for a file: the message about a missing one would name it.
  if (isUuid(from.trim())) {
    throw new UsageError(
      `a ${what} is not taken from the command line: it would stay in the shell's history`,
      "give a file that holds it, or - for standard input",
    );
  }
  const text =
    from === "-" ? (await prompt.piped(what)).reveal() : files.text(from, MAX_FILE).trim();
  return checkedSecret(new Secret(text), what);
}

/** Typed by a person, without echo. */
export async function typedSecret(
  { prompt }: Pick<Context, "prompt">,
  label: string,
): Promise<Secret<string>> {
  const typed = await prompt.secret(label);
  if (typed === null || typed.reveal() === "") throw new UsageError("no secret was given");
  return checkedSecret(typed, label);
}

/** What is no secret of a token is not sent: it may be one of something else. */
function checkedSecret(secret: Secret<string>, what: string): Secret<string> {
  if (isUuid(secret.reveal())) return secret;
  throw new UsageError(`the ${what.toLowerCase()} must be a UUID`);
}

/**
 * Makes a token and tells its secret once. The file for it is made before anything is asked for: a
 * secret that cannot be written down afterwards would be lost.
 */
export async function withSecretFile(
  { fs, out }: Pick<Context, "fs" | "out">,
  path: string | undefined,
  make: () => Promise<JsonObject>,
): Promise<{ readonly token: JsonObject; readonly secret: TokenViewOptions["secret"] }> {
  if (path === undefined) return { token: await make(), secret: "shown" };
  if (fs.info(path) !== null) throw new UsageError(`${path} exists already`, "name a new file");
  fs.replace(path, new Uint8Array());
  let token: JsonObject;
  try {
    token = await make();
  } catch (error) {
    fs.remove(path);
    throw error;
  }
  const bytes = ownBytes(`${showValue(token["SecretID"])}\n`);
  try {
    fs.replace(path, bytes);
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    out.warn(`${error.message}; the secret is shown instead`);
    return { token, secret: "shown" };
  } finally {
    wipe(bytes);
  }
  out.hint(`The secret is in ${path}, for you alone.`);
  return { token, secret: "hidden" };
}
