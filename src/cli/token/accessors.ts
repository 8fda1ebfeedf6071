// Accessors as people give them: whole, or the beginning of one that no other token has.

import { Failure } from "@holdfast/shared/failure";
import type { JsonObject } from "@holdfast/shared/json/json";
import { isUuid } from "@holdfast/shared/text/uuid";
import type { Client } from "@holdfast/client/client";
import { UsageError } from "../line/usage-error.ts";
import { digitsOf, isAccessorPrefix, listPages } from "./listing.ts";
import { showValue } from "../terminal/value.ts";

const MIN_PREFIX = 2; // the server's index of prefixes goes by whole bytes

export const ACCESSOR_HELP = "Accessor of the token, or the beginning of it";

/** The whole accessor, in lower case. Asks the server only for a beginning. */
export async function findAccessor(client: Client, text: string): Promise<string> {
  const wanted = text.toLowerCase();
  if (isUuid(wanted)) return wanted;
  if (digitsOf(wanted).length < MIN_PREFIX || !isAccessorPrefix(wanted)) {
    const next = "`holdfast acl token list` shows accessors";
    throw new UsageError("ACCESSOR must be a UUID or the beginning of one", next);
  }
  const found: JsonObject[] = [];
  for await (const { tokens } of listPages(client, { prefix: wanted })) {
    found.push(...tokens);
    if (found.length > 1) break;
  }
  const [accessor] = found.map(({ AccessorID }) => showValue(AccessorID));
  if (accessor === undefined) {
    throw new Failure("not-found", "accessor-unknown", `no accessor begins with ${wanted}`);
  }
  if (found.length === 1) return accessor;
  throw new UsageError(`several accessors begin with ${wanted}`, "give more of it");
}
