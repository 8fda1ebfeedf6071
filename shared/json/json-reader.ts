// The body of a request as an object: scanned first, built afterwards. JSON.parse is given nothing
// that could take it long, that another reader would read differently, or whose text its error could
// quote.

import { isUtf8 } from "node:buffer";
import { asBuffer, text, utf8 } from "../bytes.ts";
import { invariant } from "../invariant.ts";
import { isObject, type JsonObject, type JsonValue } from "./json.ts";
import { parseExactly } from "./json-exact.ts";
import { JSON_LIMITS, type JsonLimits, reachesPrototype } from "./json-limits.ts";
import { JsonScanner, malformed } from "./json-scanner.ts";

export interface ReadJsonOptions {
  /** Default: those of threats 3.2, see JSON_LIMITS. */
  readonly limits?: Partial<JsonLimits>;
  /** Keys that differ in case only are the same key. Default false. */
  readonly foldCase?: boolean;
  /** Names that no key has. Default: those that reach a prototype, where somebody merges what was read. */
  readonly refuses?: (name: string) => boolean;
}

/** No bytes are an empty object. What is no valid object is a Failure of kind "invalid". */
export function readJson(bytes: Uint8Array, options: ReadJsonOptions = {}): JsonObject {
  return bytes.length === 0 ? {} : build(scan(bytes, options));
}

/** The same for a large body: others have their turn between scanning and building. */
export async function readLargeJson(
  bytes: Uint8Array,
  options: ReadJsonOptions,
  turn: () => Promise<void>,
): Promise<JsonObject> {
  const scanned = scan(bytes, options);
  await turn();
  return build(scanned);
}

interface Scanned {
  readonly body: Buffer;
  readonly hasOddNumbers: boolean;
}

function scan(bytes: Uint8Array, options: ReadJsonOptions): Scanned {
  const body = asBuffer(bytes);
  if (body[0] === 0xef && body[1] === 0xbb && body[2] === 0xbf) {
    throw malformed("it begins with a byte order mark", 0);
  }
  if (!isUtf8(body)) throw malformed("it is not UTF-8", firstBadByte(body));
  const limits = options.limits === undefined ? JSON_LIMITS : { ...JSON_LIMITS, ...options.limits };
  const { foldCase = false, refuses = reachesPrototype } = options;
  const scanner = new JsonScanner(body, limits, { foldCase, refuses });
  scanner.scan();
  return { body, hasOddNumbers: scanner.hasOddNumbers };
}

function build({ body, hasOddNumbers }: Scanned): JsonObject {
  const found = hasOddNumbers ? parseExactly(text(body)) : parse(text(body));
  invariant(isObject(found), "what was scanned as an object is one");
  return found;
}

function parse(source: string): JsonValue {
  return JSON.parse(source) as JsonValue; // by definition
}

/** Where the bytes and their lenient reading part. */
function firstBadByte(bytes: Buffer): number {
  const mended = utf8(text(bytes));
  let at = 0;
  while (at < bytes.length && bytes[at] === mended[at]) at++;
  return at;
}
