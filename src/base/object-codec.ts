// Objects that callers gave, as they gave them: numbers keep their text, which a double would change.

import { text, utf8 } from "./bytes.ts";
import type { Codec } from "./codec.ts";
import { invariant } from "./invariant.ts";
import { isObject, type JsonObject } from "./json.ts";
import { parseExactly } from "./json-exact.ts";

/** Of what a body held, or our own code made: it was scanned before it was ever stored. */
export const objectCodec: Codec<JsonObject> = {
  encode: (value) => utf8(JSON.stringify(value)),
  decode: (bytes) => readObject(text(bytes)),
};

function readObject(source: string): JsonObject {
  const found = parseExactly(source);
  invariant(isObject(found), "what was stored as an object is one");
  return found;
}
