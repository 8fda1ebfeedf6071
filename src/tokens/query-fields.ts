// Parameters of the query under /acl/: how each is spelt and refused (acl-tokens 6, 8, 9). An empty
// value is as none, but for `stale`, where it is the usual spelling.

import { parseTokenDuration } from "../base/duration.ts";
import type { JsonValue } from "../base/json.ts";
import type { Nanos } from "../base/world.ts";
import type { Schema } from "../endpoint/schema.ts";
import type { Field } from "../endpoint/wire.ts";
import * as failures from "./query-failures.ts";

const MOST_PER_PAGE = 2 ** 31 - 1;
const MOST_INDEX = 2n ** 64n - 1n;
const MAX_PREFIX = 36;
const MAX_HYPHENS = 4;
const GROUPS = [8, 12, 16, 20, 32] as const; // ends of the groups of a UUID, in digits

const TRUE: ReadonlySet<string> = new Set(["1", "t", "T", "true", "TRUE", "True"]);
const FALSE: ReadonlySet<string> = new Set(["0", "f", "F", "false", "FALSE", "False"]);

function query<T>(name: string, help: string, schema: Schema, read: (text: string) => T): Field<T> {
  return {
    source: "query",
    name,
    help,
    secret: false,
    required: false,
    schema: { ...schema, description: help },
    read: (given: JsonValue | undefined) => read(typeof given === "string" ? given : ""),
  };
}

/** As the start of an accessor: lower case, hyphens where UUIDs have them. */
export const prefix = query(
  "prefix",
  "Only tokens whose accessor starts so: an even number of hexadecimal digits.",
  { type: "string", maxLength: MAX_PREFIX },
  (text) => {
    const digits = text.replaceAll("-", "").toLowerCase();
    const hyphens = text.length - digits.length;
    if (text.length > MAX_PREFIX || hyphens > MAX_HYPHENS || !/^[0-9a-f]*$/.test(digits)) {
      throw failures.prefixMalformed();
    }
    if (digits.length > 32) throw failures.prefixMalformed();
    if (digits.length % 2 !== 0) throw failures.prefixOdd();
    return hyphenated(digits);
  },
);

function hyphenated(digits: string): string {
  let start = 0;
  const groups: string[] = [];
  for (const end of GROUPS) {
    if (start >= digits.length) break;
    groups.push(digits.slice(start, end));
    start = end;
  }
  return groups.join("-");
}

export const strictPolicies = boolean(
  "strict_policies",
  "Whether names of policies that are not there are refused instead of warned of.",
);

/** Configuration tools keep what they read, and need no secret for it. */
export const secret = query(
  "secret",
  "false: the record comes with an empty SecretID.",
  { type: "boolean", default: true },
  (text) => {
    if (FALSE.has(text)) return false;
    if (TRUE.has(text) || text === "") return true;
    throw failures.notABoolean("secret");
  },
);

export const global = boolean("global", "Only tokens that are replicated to all regions.");
export const reverse = boolean("reverse", "In reverse order.");

function boolean(name: string, help: string): Field<boolean> {
  return query(name, help, { type: "boolean", default: false }, (text) => {
    if (TRUE.has(text)) return true;
    if (FALSE.has(text) || text === "") return false;
    throw failures.notABoolean(name);
  });
}

export const nextToken = query(
  "next_token",
  "Where the page starts: X-Service-NextToken of the page before.",
  { type: "string" },
  (text) => text,
);

export const perPage = query(
  "per_page",
  "How many tokens at most; 0: all.",
  { type: "integer", minimum: 0, maximum: MOST_PER_PAGE, default: 0 },
  (text) => {
    if (text === "") return 0;
    const number = /^\+?\d{1,15}$/.test(text) ? Number(text) : -1;
    if (number < 0 || number > MOST_PER_PAGE) throw failures.notANumber("per_page");
    return number;
  },
);

export const filter = query(
  "filter",
  'An expression that tokens must meet, such as Type == "client".',
  { type: "string" },
  (text) => text,
);

/** There are two modes and, in a region of one server, no difference. */
export const stale: Field<boolean> = {
  ...query(
    "stale",
    "Any server may answer from what it has, without asking the leader.",
    { type: "boolean" },
    () => false,
  ),
  read: (given) => {
    if (typeof given !== "string" || FALSE.has(given)) return false;
    if (given === "" || TRUE.has(given)) return true;
    throw failures.notABoolean("stale");
  },
};

/** 0: answer now. */
export const index = query(
  "index",
  "Answer when there is something newer than this index, or when `wait` is over.",
  { type: "integer", minimum: 0 },
  (text) => {
    if (text === "") return 0n;
    const number = /^\d{1,20}$/.test(text) ? BigInt(text) : MOST_INDEX + 1n;
    if (number > MOST_INDEX) throw failures.indexInvalid();
    return number;
  },
);

/** Null: the default. */
export const wait = query(
  "wait",
  "How long to wait for something newer: such as 30s, at most 5m, which is the default.",
  { type: "string", format: "duration" },
  (text): Nanos | null => {
    let nanos: Nanos | null;
    try {
      nanos = parseTokenDuration(text);
    } catch {
      throw failures.waitInvalid();
    }
    return nanos !== null && nanos > 0n ? nanos : null;
  },
);

export const region = query(
  "region",
  "Name of the region that is meant; this server's own by default.",
  { type: "string" },
  (text) => text,
);

/** Null: whatever it is now. */
export const cas = query(
  "cas",
  "ModifyIndex that the token must have; otherwise nothing is changed (409).",
  { type: "integer", minimum: 0 },
  (text) => {
    if (text === "") return null;
    if (!/^\d{1,20}$/.test(text)) throw failures.notANumber("cas");
    return BigInt(text);
  },
);
