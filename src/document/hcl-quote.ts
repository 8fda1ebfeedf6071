// Text to a quoted HCL string that reads back as the same text. What a reader could not see or could
// take for something else (controls, marks that turn the direction of writing) is written as escapes.

const ESCAPED = /["\\\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;
const UNSEEN = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u;
const SHORT: ReadonlyMap<string, string> = new Map([
  ["\n", "\\n"],
  ["\t", "\\t"],
  ["\r", "\\r"],
  ['"', '\\"'],
  ["\\", "\\\\"],
]);

export function quoteHcl(text: string): string {
  const quoted = withInterpolations(text) ?? escape(text).replaceAll("${", "\\x24{");
  return `"${quoted}"`;
}

/**
 * With every `${…}` as it stands. Null when one of them could not be read back: then all are escaped,
 * rather than looking for an end again and again.
 */
function withInterpolations(text: string): string | null {
  let out = "";
  let at = 0;
  for (;;) {
    const opening = text.indexOf("${", at);
    if (opening === -1) return out + escape(text.slice(at));
    const end = endOfBraces(text, opening + 1);
    const inside = text.slice(opening, end);
    if (end === -1 || UNSEEN.test(inside)) return null;
    out += escape(text.slice(at, opening)) + inside;
    at = end;
  }
}

/** Behind the brace that closes the one at `from`, or -1. */
function endOfBraces(text: string, from: number): number {
  let open = 0;
  for (let at = from; at < text.length; at += 1) {
    if (text[at] === "{") open += 1;
    else if (text[at] === "}") open -= 1;
    if (open === 0) return at + 1;
  }
  return -1;
}

function escape(text: string): string {
  return text.replace(ESCAPED, (character) => SHORT.get(character) ?? numbered(character));
}

function numbered(character: string): string {
  const code = character.codePointAt(0) ?? 0;
  const hex = code.toString(16);
  if (code <= 0x7f) return `\\x${hex.padStart(2, "0")}`;
  return code <= 0xffff ? `\\u${hex.padStart(4, "0")}` : `\\U${hex.padStart(8, "0")}`;
}
