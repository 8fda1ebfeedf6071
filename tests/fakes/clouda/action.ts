// What an action is given, and the paging that all lists share.

import type { Account, User } from "./account/account.ts";
import type { Caller } from "./signature.ts";
import { ApiError, type Params, validationError, type Xml, type XmlObject } from "./wire.ts";

export interface Call {
  readonly account: Account;
  readonly params: Params;
  readonly caller: Caller;
  readonly action: string;
}

/** Its result; null for those that answer with nothing but a request id. */
export type Action = (call: Call) => XmlObject | null;

export type Actions = Readonly<Record<string, Action>>;

/** The user that a request names. */
export function namedUser({ account, params, action }: Call): User {
  return account.user(params.required("UserName"), action);
}

/** The user that a request names, or else the one that has signed it. */
export function userOrCaller(call: Call): User {
  if (call.params.optional("UserName") !== null) return namedUser(call);
  if (call.caller.user !== null) return call.caller.user;
  throw validationError("Must specify userName when calling with non-User credentials");
}

/** One page, in the order handed in. A marker says how many came before it. */
export function page(
  { account, params }: Call,
  name: string,
  items: readonly Xml[],
): Record<string, Xml> {
  const limit = params.integer("MaxItems") ?? 100;
  if (limit < 1 || limit > 1000) {
    throw validationError(
      `1 validation error detected: Value '${limit}' at 'maxItems' failed to satisfy constraint: Member must have value between 1 and 1000`,
    );
  }
  const size = Math.min(limit, account.settings.pageSize ?? limit);
  const start = startOf(params.optional("Marker"));
  const end = start + size;
  const isTruncated = end < items.length;
  return {
    [name]: items.slice(start, end),
    IsTruncated: isTruncated,
    ...(isTruncated ? { Marker: Buffer.from(`after:${end}`).toString("base64") } : {}),
  };
}

function startOf(marker: string | null): number {
  if (marker === null) return 0;
  const match = /^after:(\d{1,6})$/.exec(Buffer.from(marker, "base64").toString());
  if (match === null) throw new ApiError(400, "ValidationError", "Invalid Marker.");
  return Number(match[1]);
}

export function sorted(names: Iterable<string>): string[] {
  return [...names].sort();
}

export function tagList(tags: ReadonlyMap<string, string>): XmlObject[] {
  return [...tags].map(([Key, Value]) => ({ Key, Value }));
}
