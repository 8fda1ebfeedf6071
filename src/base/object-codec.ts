// Objects that callers gave, as they gave them: numbers keep their text, which a double would change.

import { text, utf8 } from "@holdfast/shared/bytes";
import type { Codec } from "@holdfast/shared/codec";
import { invariant } from "@holdfast/shared/invariant";
import { isObject, type JsonObject } from "@holdfast/shared/json/json";
import { parseExactly } from "@holdfast/shared/json/json-exact";

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
