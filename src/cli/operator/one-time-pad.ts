// Takes a one-time password off a token that the server covered with it.

import { isUtf8 } from "node:buffer";
import { fromBase64, wipe } from "@holdfast/shared/bytes";
import { Failure } from "@holdfast/shared/failure";
import { Secret } from "@holdfast/shared/secret";
import { ownBytes } from "@holdfast/client/utf8";

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
