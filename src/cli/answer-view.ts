// Any answer of the API as people see it: lease, token and wrapping of an envelope, then its data, and
// credentials of a cloud once more as lines for a shell.

import { isObject, type JsonObject, type JsonValue } from "@holdfast/shared/json/json";
import type { Answer } from "@holdfast/client/client";
import { credentialVariables, exportLines } from "./exec/credential-variables.ts";
import type { Output, View } from "./terminal/output.ts";

/** Prints an answer; for one without data the sentence. */
export async function showAnswer(out: Output, answer: Answer, success: string): Promise<void> {
  const { body, data, text, contentType } = answer;
  if (body === undefined) {
    if (text === "") out.done(success);
    else out.text(contentType === "" ? "" : text);
    return;
  }
  const view = viewOf(body, data);
  const members = isObject(data) ? { ...partsOf(body), ...data } : (data ?? partsOf(body));
  if ("pairs" in view && view.pairs.length === 0 && out.forPeople) out.done(success);
  else await out.show(body, view, members);
}

function viewOf(body: JsonValue, data: JsonValue | undefined): View {
  if (typeof data === "string") return { text: data };
  const parts = Object.entries(partsOf(body));
  const members: (readonly [string, JsonValue | undefined])[] = isObject(data)
    ? Object.entries(data)
    : data === undefined
      ? []
      : [["value", data]];
  const view = { pairs: [...parts, ...members] };
  const variables = isObject(body) ? credentialVariables(body["mount_type"], data) : null;
  return variables === null ? view : { parts: [view, { text: exportLines(variables) }] };
}

/** What an envelope says besides its data, under the names that people know. */
function partsOf(body: JsonValue): JsonObject {
  if (!isObject(body) || !("request_id" in body)) return {};
  const { lease_id, lease_duration, renewable, auth, wrap_info } = body;
  const lease = typeof lease_id === "string" && lease_id !== "";
  return {
    ...(lease ? { lease_id, lease_duration, lease_renewable: renewable } : {}),
    ...(isObject(auth) ? prefixed("token", auth, ["client_token"]) : {}),
    ...(isObject(wrap_info) ? prefixed("wrapping", wrap_info, ["token"]) : {}),
  };
}

/** client_token becomes token, accessor becomes token_accessor. */
function prefixed(prefix: string, members: JsonObject, main: readonly string[]): JsonObject {
  return Object.fromEntries(
    Object.entries(members).map(([name, value]) => {
      if (main.includes(name)) return [prefix === "token" ? "token" : `${prefix}_token`, value];
      const said = name.startsWith(`${prefix}_`) || name === "wrapped_accessor";
      return [said ? name : `${prefix}_${name}`, value];
    }),
  );
}
