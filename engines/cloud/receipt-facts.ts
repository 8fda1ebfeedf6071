// What the receipt of a lease says of what was made, from what the lease has of it.

import type { JsonObject } from "@holdfast/shared/json/json";
import type { ReceiptFacts } from "@holdfast/plugin-sdk/engine";

/** `members`: those that hold names and ids of the provider. */
export function receiptFacts(internal: JsonObject, members: readonly string[]): ReceiptFacts {
  const objects = members.map((name) => textIn(internal, name)).filter((text) => text !== "");
  return { role: textIn(internal, "role"), objects };
}

function textIn(internal: JsonObject, name: string): string {
  const text = internal[name];
  return typeof text === "string" ? text : "";
}
