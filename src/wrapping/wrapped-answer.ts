// A wrapped answer as it is kept, and back: what its caller would have got in the envelope.

import { isObject, type JsonObject, type JsonValue } from "../base/json.ts";
import type { AuthBlock } from "../endpoint/auth.ts";
import { type Leased, Reply } from "../endpoint/reply.ts";

/** Its name in the private space of the wrapping token. */
export const RESPONSE = "response";

export function keptAnswer({ data, warnings, auth, leased }: Reply): JsonObject {
  return {
    data: isData(data) ? data : null,
    warnings,
    auth: auth === null ? null : { ...auth },
    lease: leased === null ? null : { ...leased },
  };
}

/** Null for what is no answer. */
export function answerIn(kept: JsonObject | null): Reply<JsonObject | undefined> | null {
  if (kept === null) return null;
  const { data, warnings, auth, lease } = kept;
  return new Reply(isObject(data) ? data : undefined, {
    warnings: textsIn(warnings),
    // Both as they were put in.
    ...(isObject(auth) ? { auth: auth as unknown as AuthBlock } : {}),
    ...(isObject(lease) ? { leased: lease as unknown as Leased } : {}),
  });
}

/** Answers in an envelope are objects, or nothing. */
function isData(data: Reply["data"]): data is JsonObject {
  return data !== undefined && !Array.isArray(data);
}

function textsIn(value: JsonValue | undefined): readonly string[] {
  return Array.isArray(value) ? value.filter((text) => typeof text === "string") : [];
}
