// Accessors as people give them: whole, or the beginning of one that no other token has.

import { Failure } from "@holdfast/shared/failure";
import { ApiError } from "@holdfast/client/api-error";
import { AdvisedFailure } from "../advice/advised-failure.ts";
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
  const found = await beginningWith(client, wanted);
  const [accessor] = found.map(({ AccessorID }) => showValue(AccessorID));
  if (accessor === undefined) {
    throw new Failure("not-found", "accessor-unknown", `no accessor begins with ${wanted}`);
  }
  if (found.length === 1) return accessor;
  throw new UsageError(`several accessors begin with ${wanted}`, "give more of it");
}

/** Up to two tokens, or a few more: one alone is the one that is meant. */
async function beginningWith(client: Client, prefix: string): Promise<JsonObject[]> {
  const found: JsonObject[] = [];
  try {
    for await (const { tokens } of listPages(client, { prefix })) {
      found.push(...tokens);
      if (found.length > 1) break;
    }
  } catch (error) {
    if (!(error instanceof ApiError) || error.kind !== "denied") throw error;
    const message = "the token may not look for an accessor by its beginning";
    const next = "give the accessor whole, or use a management token that is known and not expired";
    throw new AdvisedFailure("denied", "accessor-short", message, next);
  }
  return found;
}
