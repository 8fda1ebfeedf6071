// What is told of a call to another cluster that failed on its way: in words, where the system and TLS only have names for it.

import { systemErrorText } from "@holdfast/shared/system-errors";

const UNTRUSTED = "its certificate is of an authority that is not trusted here";
const OTHER_TIME = "its certificate is not valid at this time";
const OTHER_NAME = "its certificate is for another name";
const NO_TLS = "it does not speak TLS as a cluster does";

const BY_CODE: ReadonlyMap<string, string> = new Map([
  ["ENOTFOUND", "its name is not known"],
  ["EAI_AGAIN", "its name could not be looked up"],
  ["EPROTO", NO_TLS],
  ["DEPTH_ZERO_SELF_SIGNED_CERT", UNTRUSTED],
  ["SELF_SIGNED_CERT_IN_CHAIN", UNTRUSTED],
  ["UNABLE_TO_VERIFY_LEAF_SIGNATURE", UNTRUSTED],
  ["UNABLE_TO_GET_ISSUER_CERT", UNTRUSTED],
  ["UNABLE_TO_GET_ISSUER_CERT_LOCALLY", UNTRUSTED],
  ["CERT_HAS_EXPIRED", OTHER_TIME],
  ["CERT_NOT_YET_VALID", OTHER_TIME],
  ["ERR_TLS_CERT_ALTNAME_INVALID", OTHER_NAME],
]);

/** The same text, where it ends with such a name: with words in its place. */
export function inWords(message: string): string {
  return message.replace(/(?<=: )[A-Z][A-Z0-9_]{2,63}$/, (code) => {
    if (code.startsWith("ERR_SSL_")) return NO_TLS;
    return BY_CODE.get(code) ?? systemErrorText(code) ?? "its certificate is not accepted";
  });
}
