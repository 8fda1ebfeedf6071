// Accessors as people give them: whole, or the beginning of one that no other token has.

import { Failure } from "@holdfast/shared/failure";
import type { JsonObject } from "@holdfast/shared/json/json";
import { isUuid } from "@holdfast/shared/text/uuid";
import type { Client } from "@holdfast/client/client";
import { UsageError } from "../line/usage-error.ts";
import { listPages } from "./listing.ts";
import { shown } from "../terminal/value.ts";

/** Whether the text can be the beginning of a UUID. */
export function isAccessorPrefix(text: string): boolean {
  return /^[0-9a-f-]{0,36}$/i.test(text) && (text.match(/-/g)?.length ?? 0) <= 4;
}

/** A stretch of the list in the order of accessors, as the server can be asked for it. */
export interface Stretch {
  /** Whole bytes: the server takes no others. */
  readonly prefix: string;
  /** The accessor to begin with, whether a token has it or not. */
  readonly start: string | undefined;
}

const DIGITS = Array.from("0123456789abcdef");

/**
 * Where tokens with a prefix are, in their order. Of an odd number of digits the last one is where to
 * begin; one digit alone stands for sixteen bytes, as without a prefix the order would be another.
 */
export function stretchesOf(prefix: string, reverse: boolean, cursor?: string): Stretch[] {
  const digits = digitsOf(prefix);
  if (digits.length % 2 === 0) return [{ prefix: digits, start: cursor }];
  const even = digits.slice(0, -1);
  if (even !== "") {
    return [{ prefix: even, start: cursor ?? uuidOf(digits.padEnd(32, reverse ? "f" : "0")) }];
  }
  const all = (reverse ? DIGITS.toReversed() : DIGITS).map((digit) => digits + digit);
  const from = cursor === undefined ? 0 : all.indexOf(digitsOf(cursor).slice(0, 2));
  return all.slice(Math.max(0, from)).map((one, i) => ({
    prefix: one,
    start: i === 0 ? cursor : undefined,
  }));
}

function uuidOf(digits: string): string {
  return digits.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
}

export function beginsWith(accessor: string, prefix: string): boolean {
  return digitsOf(accessor).startsWith(digitsOf(prefix));
}

export function digitsOf(text: string): string {
  return text.toLowerCase().replaceAll("-", "");
}

const LEAST = 2; // the server's index of prefixes goes by whole bytes

export const ACCESSOR_HELP = "Accessor of the token, or the beginning of it";

/** The whole accessor, in lower case. Asks the server only for a beginning. */
export async function findAccessor(client: Client, given: string): Promise<string> {
  const wanted = given.toLowerCase();
  if (isUuid(wanted)) return wanted;
  if (digitsOf(wanted).length < LEAST || !isAccessorPrefix(wanted)) {
    const next = "`holdfast acl token list` shows accessors";
    throw new UsageError("ACCESSOR must be a UUID or the beginning of one", next);
  }
  const found: JsonObject[] = [];
  for await (const { tokens } of listPages(client, { prefix: wanted })) {
    found.push(...tokens);
    if (found.length > 1) break;
  }
  const [accessor] = found.map(({ AccessorID }) => shown(AccessorID));
  if (accessor === undefined) {
    throw new Failure("not-found", "accessor-unknown", `no accessor begins with ${wanted}`);
  }
  if (found.length === 1) return accessor;
  throw new UsageError(`several accessors begin with ${wanted}`, "give more of it");
}
