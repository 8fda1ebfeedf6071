// The text of a policy as callers send it: as it is, or in base64. Which of them counts is decided here and
// nowhere else, by the characters alone and before anybody looks: rules, programs, the parser and the store
// get this one text. Whatever a parser would make of the other form is never looked at.

import { fromBase64, text, utf8 } from "@holdfast/shared/bytes";
import { textMissing } from "./failures.ts";

/** The text that counts, however often it was encoded. Of its own result it makes nothing else. */
export function plainPolicyText(policy: string): string {
  let text = policy;
  for (;;) {
    const decoded = decodedText(text); // a quarter shorter each time
    if (decoded === null || decoded === "" || NOT_IN_DOCUMENTS.test(decoded)) return text;
    text = decoded;
  }
}

/** Refuses none at all, in words that clients know. */
export function presentText(plain: string | undefined): string {
  if (plain === undefined || plain.trim() === "") throw textMissing();
  return plain;
}

/** What every parser refuses wherever it stands. Base64 of such bytes is a word as it stands, and refused as
 *  that: no parser sees what it hides. */
// oxlint-disable-next-line no-control-regex -- finding them is the point
const NOT_IN_DOCUMENTS = /[\0-\x08\x0b\x0c\x0e-\x1f]/;

/** Longer text is refused as it stands: decoded it would still be larger than a policy may be. */
const LONGEST_ENCODED = 512 * 1024;
const LINE_FEED = 0x0a;
const RETURN = 0x0d;

function decodedText(encoded: string): string | null {
  // Nearly every document has a blank or a brace.
  if (encoded.length > LONGEST_ENCODED || /[^A-Za-z0-9+/=\r\n]/.test(encoded)) return null;
  const written = withoutLineEnds(encoded); // commands wrap it and end it with a line
  if (written.length % 4 !== 0) return null; // padded, as other servers want it
  const bytes = fromBase64(written);
  if (bytes === null) return null;
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return null;
  }
}

/** Of ASCII. In one walk: there may be as many line ends as characters. */
function withoutLineEnds(ascii: string): string {
  const bytes = utf8(ascii);
  let length = 0;
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at] ?? 0;
    if (byte === LINE_FEED || (byte === RETURN && bytes[at + 1] === LINE_FEED)) continue;
    bytes[length++] = byte;
  }
  return text(bytes.subarray(0, length));
}
