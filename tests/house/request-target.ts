// T-A05: a request's path and query are read once, for the pipeline. A second reader would sooner
// or later read them differently, and then a guard judges another path than a handler serves.
// T-B21: secrets are not compared with operators, whose time tells how much of a guess was right.

import { PRODUCT } from "./files.ts";
import { lineAt, readCode } from "./source.ts";

/** Who may call what. Everybody else takes what the pipeline found. */
const READERS: readonly { readonly what: RegExp; readonly files: RegExp }[] = [
  {
    // Resolves "..", turns "\" into "/" and reads "//host" as an address.
    what: /\bnew\s+URL\b|\bURL\s*\.\s*(?:parse|canParse)\b|\bURLSearchParams\b/g,
    // Addresses of others: of servers that commands call, of clouds that engines and snapshots go to; and the
    // forms in which a secret could stand in a text.
    files:
      /^(?:client\/|plugin-sdk\/(?:engine-services|serve\/remote-outbound)\.ts$|engines\/cloud(?:a\/provider\/sdk-handler|b\/provider\/bearer-calls|b\/provider\/token|\/provider-error)\.ts$|src\/(?:cli\/|outbound\/|config\/cloud-config\.ts$|browser\/cors\.ts$|storage\/engines\/sqlite-thread\.ts$|system\/(?:own-modules|bundle\/bundle)\.ts$|plugins\/own\/host-services\.ts$|snapshots\/(?:auto|targets|cloud[abc])\/)|shared\/text\/scrubbed\.ts$)/,
  },
  {
    // Documents of policies come percent-encoded from their provider.
    what: /\bdecodeURI(?:Component)?\b|(?<![.\w$#]|function\s+)unescape\s*\(/g,
    // Commands read what a person typed, and what they sent themselves.
    files:
      /^(?:src\/cli\/.*|shared\/text\/(?:canonical-path|query)|engines\/clouda\/provider\/sdk-policies)\.ts$/,
  },
  {
    what: /\bCanonicalPath\s*\.\s*parse\b|(?<!function\s+)\bsplitTarget\s*\(/g,
    files: /^src\/(?:core\/finding|http\/request\/target)\.ts$/,
  },
  { what: /(?<!function\s+)\bparseQuery\s*\(/g, files: /^src\/core\/finding\.ts$/ },
];

/** Readings of a request's target by a file that is not its reader. Tests are free. */
export function targetReading(path: string, source: string): string[] {
  if (!PRODUCT.test(path) || path.endsWith(".test.ts")) return [];
  const { text } = readCode(source);
  return READERS.filter(({ files }) => !files.test(path)).flatMap(({ what }) =>
    Array.from(text.matchAll(what), (match) => {
      const place = `${path}:${lineAt(text, match.index)}`;
      return `${place}: ${match[0]}: take the path that the pipeline has read`;
    }),
  );
}

// Whether there is one at all may be asked: the empty text is no secret.
const COMPARED = [
  /\breveal\s*\(\s*\)\s*[!=]==?(?!=)(?!\s*(?:"\d+"|null\b|undefined\b))/g,
  /[!=]==?\s*(?:await\s+)?[\w$.#?]*\breveal\s*\(/g,
];

export function secretComparison(path: string, source: string): string[] {
  if (!PRODUCT.test(path) || path.endsWith(".test.ts")) return [];
  const { text } = readCode(source);
  return COMPARED.flatMap((pattern) =>
    Array.from(text.matchAll(pattern), (match) => {
      const place = `${path}:${lineAt(text, match.index)}`;
      return `${place}: a secret is compared with an operator: use sameBytes() of base/same-bytes.ts`;
    }),
  );
}
