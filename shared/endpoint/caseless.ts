// Whether case says nothing in a parameter: a pattern in capitals would never meet a form in small letters, nor
// the other way round, and what it denies would pass. Found out from the form itself, so that no declaration
// can leave it out.

import type { JsonValue } from "../json/json.ts";

/** What rules know of how a parameter is read. */
interface Read {
  readonly canonical?: ((value: JsonValue) => JsonValue | undefined) | undefined;
  readonly caseless?: boolean | undefined;
}

/** Of each kind of text that has capitals, one: a field that takes none of them has a kind of its own, and
 *  belongs here. */
const TEXTS = [
  "Ab",
  "AAAAAAAA-AAAA-4AAA-8AAA-AAAAAAAAAAAA",
  "FE80:0:0:0:0:0:0:1",
  "FE80:0:0:0:0:0:0:0/10",
  "2030-01-01T00:00:00Z",
  "HTTPS://A.EXAMPLE",
];
const CAPITALS: readonly (readonly [text: string, value: JsonValue])[] = [
  ...TEXTS.flatMap((text) => [
    [text, text] as const,
    [text, [text]] as const,
    [text, { a: text }] as const,
  ]),
  ["AUTH", { facility: "AUTH" }],
];

const known = new WeakMap<NonNullable<Read["canonical"]>, boolean>();

export function isCaseless({ canonical, caseless }: Read): boolean {
  if (caseless === true) return true;
  if (canonical === undefined) return false;
  let loses = known.get(canonical);
  if (loses === undefined) known.set(canonical, (loses = losesCase(canonical)));
  return loses;
}

function losesCase(canonical: NonNullable<Read["canonical"]>): boolean {
  return CAPITALS.some(([text, cased]) => {
    const small = JSON.parse(JSON.stringify(cased).toLowerCase()) as JsonValue;
    const form = formOf(canonical, cased);
    // What is left out says nothing.
    if (form?.toLowerCase().includes(text.toLowerCase()) !== true) return false;
    return form === formOf(canonical, small);
  });
}

/** Null for what it does not take. */
function formOf(canonical: NonNullable<Read["canonical"]>, value: JsonValue): string | null {
  try {
    const form = canonical(value) ?? null;
    return form === null ? null : JSON.stringify(form);
  } catch {
    return null;
  }
}
