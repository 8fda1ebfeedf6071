// A wrapped answer as it is kept, and back: what its caller would have got in the envelope.

import { isObject, type JsonObject, type JsonValue } from "@holdfast/shared/json/json";
import type { AuthBlock } from "@holdfast/shared/endpoint/auth";
import { type Leased, Reply } from "@holdfast/shared/endpoint/reply";

/** What stands under `data`: an answer that has no envelope is kept as the data of one. */
export type Unwrapped = JsonObject | readonly JsonValue[] | undefined;

export function keptAnswer({ data, warnings, auth, leased }: Reply): JsonObject {
  return {
    data: data === undefined ? null : (data as JsonObject), // as JSON has it, lists too
    warnings,
    auth: auth === null ? null : { ...auth },
    lease: leased === null ? null : { ...leased },
  };
}

/** Null for what is no answer. */
export function answerIn(kept: JsonObject | null): Reply<Unwrapped> | null {
  if (kept === null) return null;
  const { data, warnings, auth, lease } = kept;
  return new Reply<Unwrapped>(isObject(data) || Array.isArray(data) ? data : undefined, {
    warnings: textsIn(warnings),
    // Both as they were put in.
    ...(isObject(auth) ? { auth: auth as unknown as AuthBlock } : {}),
    ...(isObject(lease) ? { leased: lease as unknown as Leased } : {}),
  });
}

function textsIn(value: JsonValue | undefined): readonly string[] {
  return Array.isArray(value) ? value.filter((text) => typeof text === "string") : [];
}
