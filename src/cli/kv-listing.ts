// Lists of a kv mount. Those that go into folders come page by page, and are reads with a parameter: the
// verb for them is not carried over HTTP/1.1.

import { isObject, type JsonObject, type JsonValue } from "@holdfast/shared/json/json";
import { ApiError } from "@holdfast/client/api-error";
import type { Client } from "@holdfast/client/client";

export interface Listing {
  readonly recursive: boolean;
  readonly after: string | undefined;
  /** As many as there are, where nothing is said. */
  readonly limit: number | undefined;
}

export interface Listed {
  readonly keys: readonly JsonValue[];
  readonly info: JsonObject;
}

export async function listing(client: Client, path: string, asked: Listing): Promise<Listed> {
  const keys: JsonValue[] = [];
  const info: Record<string, JsonValue | undefined> = {};
  let { after } = asked;
  for (;;) {
    const { data, next } = await readPage(client, path, { ...asked, after });
    keys.push(...(Array.isArray(data["keys"]) ? data["keys"] : []));
    if (isObject(data["key_info"])) Object.assign(info, data["key_info"]);
    if (asked.limit !== undefined || next === undefined) return { keys, info };
    after = next;
  }
}

// How the server says that a list goes on.
const MORE = /^there are more; go on with after=(.+)$/s;

interface Page {
  readonly data: JsonObject;
  readonly next: string | undefined;
}

/** Nothing in it for an empty list, which the API answers as "not found" without a text. */
async function readPage(
  client: Client,
  path: string,
  { recursive, after, limit }: Listing,
): Promise<Page> {
  const query = { after, limit, ...(recursive ? { scan: true } : {}) };
  const untold = limit === undefined ? { untold: MORE } : {};
  try {
    const answer = await client.request(recursive ? "GET" : "LIST", path, { query, ...untold });
    const next = answer.warnings.map((one) => MORE.exec(one)?.[1]).find((one) => one !== undefined);
    return { data: isObject(answer.data) ? answer.data : {}, next };
  } catch (error) {
    const empty = error instanceof ApiError && error.status === 404 && error.errors.length === 0;
    if (empty) return { data: {}, next: undefined };
    throw error;
  }
}
