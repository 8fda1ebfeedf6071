// One-time passwords of ceremonies: asked for, and taken off a token that the server covered with one.

import { isUtf8 } from "node:buffer";
import { ownBytes } from "@holdfast/client/utf8";
import { fromBase64, wipe } from "@holdfast/shared/bytes";
import { Failure } from "@holdfast/shared/failure";
import { Secret } from "@holdfast/shared/secret";
import type { Context } from "../command.ts";
import { UsageError } from "../line/usage-error.ts";

export async function readOtp(
  { prompt, files, out }: Pick<Context, "prompt" | "files" | "out">,
  value: string | undefined,
): Promise<Secret<string>> {
  if (value === "-") return prompt.piped("one-time password");
  if (value?.startsWith("@")) return new Secret(files.text(value.slice(1), 4096).trim());
  if (value !== undefined) {
    out.warn("a one-time password on the command line stays in the shell's history");
    return new Secret(value);
  }
  if (!prompt.interactive) {
    throw new UsageError(
      "the one-time password is missing",
      "give it with -otp @FILE, or -otp - for standard input",
    );
  }
  const typed = await prompt.secret("One-time password");
  if (typed === null || typed.reveal() === "") throw new UsageError("no password was given");
  return typed;
}

export function uncover(encoded: string, otp: Secret<string>): Secret<string> {
  const token = fromBase64(encoded.trim());
  const pad = ownBytes(otp.reveal());
  try {
    if (token === null) throw refused("the encoded token is not base64");
    if (token.length !== pad.length) {
      throw refused(`the one-time password has ${pad.length} bytes; it must have ${token.length}`);
    }
    for (let i = 0; i < token.length; i++) token[i] = token[i]! ^ pad[i]!;
    if (!isUtf8(token)) throw refused("this is not the one-time password of this encoded token");
    return new Secret(token.toString("utf8"));
  } finally {
    wipe(token, pad);
  }
}

function refused(message: string): Failure {
  return new Failure("invalid", "otp-mismatch", message);
}
