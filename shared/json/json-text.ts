// Text as JSON that is safe to look at. Beyond what JSON asks for, whatever cannot be seen is escaped:
// line separators would forge further records, terminal controls and direction marks would make one
// read as something else.

const PLAIN = /^[ !#-[\]-~]*$/;
const SEEN = /^[ -~]*$/;
const UNSEEN = /[\p{C}\p{Zl}\p{Zp}]/u;

export function quote(text: string): string {
  if (PLAIN.test(text)) return `"${text}"`; // the common case, three times as fast
  return escapeUnseen(JSON.stringify(text));
}

/** Also for whole JSON texts: outside strings they hold nothing that this would change. In one walk, since a
 *  caller may choose a text of nothing else: replacing by an expression would take half a second for it. */
export function escapeUnseen(json: string): string {
  if (SEEN.test(json) || !UNSEEN.test(json)) return json;
  let out = "";
  let copied = 0;
  for (let at = 0; at < json.length; at++) {
    const pair = isPairAt(json, at);
    const escape = pair ? escapeOfPair(json.slice(at, at + 2)) : escapeOf(json.charCodeAt(at));
    const end = at + (pair ? 2 : 1);
    if (escape !== "") {
      out += json.slice(copied, at) + escape;
      copied = end;
    }
    at = end - 1;
  }
  return out + json.slice(copied);
}

function escapeOfPair(pair: string): string {
  return UNSEEN.test(pair) ? escaped(pair.charCodeAt(0)) + escaped(pair.charCodeAt(1)) : "";
}

function isPairAt(text: string, at: number): boolean {
  return (
    isBetween(text.charCodeAt(at), 0xd800, 0xdbff) &&
    isBetween(text.charCodeAt(at + 1), 0xdc00, 0xdfff)
  );
}

function isBetween(unit: number, from: number, to: number): boolean {
  return unit >= from && unit <= to;
}

/** What may be worked out again and again for a long text of the same few, once for each code unit. */
function remembered(work: (unit: number) => string): (unit: number) => string {
  const known = Array<string | undefined>(0x10000);
  return (unit) => (known[unit] ??= work(unit));
}

const escaped = remembered((unit) => `\\u${unit.toString(16).padStart(4, "0")}`);

/** Of a code unit by itself; empty for what is seen. */
const escapeOf = remembered((unit) =>
  UNSEEN.test(String.fromCharCode(unit)) ? escaped(unit) : "",
);
