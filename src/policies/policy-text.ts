// The text of a policy as callers send it: as it is, or in base64. Short plain text may be base64 by
// accident, so the decoded form counts only if it is a document and the text itself is not.

import { fromBase64, text, utf8 } from "@holdfast/shared/bytes";
import { atOnce, type Sliced } from "@holdfast/shared/sliced";
import { textMissing } from "./failures.ts";

export interface ParsedPolicy<D> {
  readonly text: string;
  readonly document: D;
}

/** Throws what is wrong with the text. */
export function readPolicyText<D>(sent: string, parse: (text: string) => D): ParsedPolicy<D> {
  return atOnce(
    slicedPolicyText(sent, function* (text) {
      yield;
      return parse(text);
    }),
  );
}

/** The same in slices. */
export function* slicedPolicyText<D>(
  sent: string,
  parse: (text: string) => Sliced<D>,
): Sliced<ParsedPolicy<D>> {
  if (sent.trim() === "") throw textMissing();
  try {
    return { text: sent, document: yield* parse(sent) };
  } catch (asSent) {
    const decoded = decodedText(sent);
    if (decoded === null) throw asSent;
    try {
      return { text: decoded, document: yield* parse(decoded) };
    } catch (asDecoded) {
      // Every document of more than a word has a space, and no base64 has: this was meant as one.
      throw /\s/.test(decoded.trim()) ? asDecoded : asSent;
    }
  }
}

/** The text that will be read, however often it was encoded: rules on parameters and programs look at this. */
export function plainPolicyText(policy: string): string {
  let text = policy;
  for (;;) {
    const decoded = decodedText(text); // a quarter shorter each time
    // Nothing that is written for people has these; base64 of anything else is text as it stands.
    if (decoded === null || decoded === "" || CONTROLS.test(decoded)) return text;
    text = decoded;
  }
}

const CONTROLS = /(?![\t\n\r])\p{Cc}|\ufffd/u;

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
