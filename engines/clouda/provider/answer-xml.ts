// A look at the provider's XML before a parser sees it (T-I15): plain elements of a few levels and nothing
// else, so that entities, declarations, huge tags and deep nesting end here; and the element that the
// answer is (T-I01, T-I07), or what an error says of itself.

const MAX_DEPTH = 32; // their deepest answers have about ten
const MAX_TAG = 512; // a name and perhaps an xmlns
const NAME = /^([A-Za-z][A-Za-z0-9._-]{0,99})(?:\s[^<]*)?$/;
const ENTITIES = new Map([
  ["lt", "<"],
  ["gt", ">"],
  ["amp", "&"],
  ["quot", '"'],
  ["apos", "'"],
]);

/** The name of its outermost element; null where it is not what the provider sends. */
export function rootOf(xml: string): string | null {
  let root: string | null = null;
  let depth = 0;
  let at = xml.indexOf("<");
  if (xml.startsWith("<?xml ", at)) at = xml.indexOf("<", xml.indexOf("?>", at));
  while (at !== -1) {
    const end = xml.indexOf(">", at);
    if (end === -1 || end - at > MAX_TAG) return null;
    const inside = xml.slice(at + 1, end);
    if (inside.startsWith("/")) {
      depth--;
    } else {
      const empty = inside.endsWith("/");
      const name = NAME.exec(empty ? inside.slice(0, -1) : inside)?.[1];
      // No declaration, comment or instruction begins like a name, and neither does __proto__.
      if (name === undefined || (depth === 0 && root !== null)) return null;
      root ??= name;
      if (!empty) depth++;
    }
    if (depth < 0 || depth > MAX_DEPTH) return null;
    at = xml.indexOf("<", end);
  }
  return depth === 0 ? root : null;
}

export interface ErrorAnswer {
  /** Empty where there is none. */
  readonly code: string;
  readonly message: string;
  readonly requestId: string;
}

/** What an answer that is an error says, as far as it says anything. */
export function errorIn(xml: string): ErrorAnswer {
  const known = rootOf(xml) !== null;
  const text = (name: string) => {
    const found = known ? new RegExp(`<${name}>([^<]*)</${name}>`).exec(xml)?.[1] : undefined;
    return withoutEntities(found ?? "").trim();
  };
  return { code: text("Code"), message: text("Message"), requestId: text("RequestId") };
}

function withoutEntities(text: string): string {
  return text.replace(/&([a-z]{2,4});/g, (whole, name: string) => ENTITIES.get(name) ?? whole);
}
