// A wrapping token on its way in: from a file, standard input or a prompt. It works once, but whoever
// sees it first has what it wraps: a command line is seen by every process of the machine.

import { Secret } from "@holdfast/shared/secret";
import { isUuid } from "@holdfast/shared/text/uuid";
import type { Context } from "./command.ts";
import { UsageError } from "./usage-error.ts";

const MAX_FILE = 64 * 1024;
// Three parts of base64url: the form that another cluster can read.
const JWT = /^[\w-]+\.[\w-]+\.[\w-]+$/;

export async function wrappingToken(
  { prompt, files }: Pick<Context, "prompt" | "files">,
  from: string | undefined,
): Promise<Secret<string>> {
  const text = from === undefined ? "" : from.trim();
  if (isUuid(text) || (JWT.test(text) && text.length > 100)) {
    throw new UsageError(
      "a wrapping token is not taken from the command line: others could see and use it first",
      "run `holdfast unwrap` and paste it, or give a file that holds it, or - for standard input",
    );
  }
  if (from === "-") return prompt.piped("wrapping token");
  const token =
    from === undefined
      ? await prompt.secret("Wrapping token")
      : new Secret(files.text(from, MAX_FILE).trim());
  if (token === null || token.reveal() === "") throw new UsageError("no wrapping token was given");
  return token;
}
