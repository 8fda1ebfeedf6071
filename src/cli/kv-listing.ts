// Lists of a kv mount, page by page.

import type { JsonObject, JsonValue } from "@holdfast/shared/json/json";
import { ApiError } from "@holdfast/client/api-error";
import type { Answer, CallOptions, Client } from "@holdfast/client/client";
import * as kv from "@holdfast/client/api/kv";
import * as kv1 from "@holdfast/client/api/kv1";
import type { KvPlace } from "./kv-place.ts";

export interface Listing {
  readonly after?: string | undefined;
  /** As many as there are, where nothing is said. */
  readonly limit?: number | undefined;
}

export interface Listed {
  readonly keys: readonly string[];
  readonly info: JsonObject;
}

export async function listing(read: ReadList, { after: first, limit }: Listing): Promise<Listed> {
  const keys: string[] = [];
  const info: Record<string, JsonValue | undefined> = {};
  let after = first;
  for (;;) {
    const { data, next } = await readPage(read, { after, limit });
    keys.push(...data.keys);
    Object.assign(info, data.key_info);
    if (limit !== undefined || next === undefined) return { keys, info };
    after = next;
  }
}

/** The list that is meant: one function of the client, at one place. */
type ReadList = (page: Listing, options: CallOptions) => Promise<Answer<kv.ListAnswer>>;

/** Names below a place, of either version. */
export function listOf(client: Client, place: KvPlace, scan = false): ReadList {
  const { mount, key, secret } = place;
  return (page, options) => {
    if (place.version === 1) {
      return key === ""
        ? kv1.list(client, mount, page, options)
        : kv1.listBelow(client, mount, { ...secret, ...page }, options);
    }
    const query = scan ? { ...page, scan } : page;
    return key === ""
      ? kv.list(client, mount, query, options)
      : kv.listBelow(client, mount, { ...secret, ...query }, options);
  };
}

/** The same with what is known of each; of version 2. */
export function detailedListOf(client: Client, { mount, key, secret }: KvPlace): ReadList {
  return (page, options) =>
    key === ""
      ? kv.listDetailed(client, mount, page, options)
      : kv.listDetailedBelow(client, mount, { ...secret, ...page }, options);
}

// How the server says that a list goes on.
const MORE = /^there are more; go on with after=(.+)$/s;

interface Page {
  readonly data: kv.ListAnswer;
  readonly next: string | undefined;
}

/** Nothing in it for an empty list, which the API answers as "not found" without a text. */
async function readPage(read: ReadList, page: Listing): Promise<Page> {
  try {
    const answer = await read(page, page.limit === undefined ? { untold: MORE } : {});
    const next = answer.warnings.map((one) => MORE.exec(one)?.[1]).find((one) => one !== undefined);
    return { data: answer.data, next };
  } catch (error) {
    const empty = error instanceof ApiError && error.status === 404 && error.errors.length === 0;
    if (empty) return { data: { keys: [] }, next: undefined };
    throw error;
  }
}
