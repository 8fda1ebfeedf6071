// Parameters of the query under /acl/: how each is spelt and refused. An empty
// value is as none, but for what is true or false, where the bare name is true, and for `cas`.

import { parseBoolean } from "@holdfast/shared/text/boolean";
import { parseTokenDuration, showDuration } from "@holdfast/shared/text/duration";
import type { JsonValue } from "@holdfast/shared/json/json";
import type { Nanos } from "@holdfast/shared/world";
import type { Schema } from "@holdfast/shared/endpoint/schema";
import type { Field } from "@holdfast/shared/endpoint/field";
import * as failures from "./acl-query-failures.ts";

const MAX_PER_PAGE = 2 ** 31 - 1;
const MAX_INDEX = 2n ** 64n - 1n;
const MAX_PREFIX = 36;
const MAX_HYPHENS = 4;
const GROUPS = [8, 12, 16, 20, 32] as const; // ends of the groups of a UUID, in digits

function query<T>(
  name: string,
  help: string,
  schema: Schema,
  read: (text: string) => T,
  show: (value: T) => JsonValue = asText,
): Field<T> {
  return {
    source: "query",
    name,
    help,
    secret: false,
    required: false,
    schema: { ...schema, description: help },
    canonical: (value) => show(read(typeof value === "string" ? value : "")),
    read: (value: JsonValue | undefined) => read(typeof value === "string" ? value : ""),
  };
}

/** Without zeros in front, and the like. */
function asText(value: unknown): JsonValue {
  return typeof value === "string" ? value : String(value as number | bigint);
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
export const secret = boolean("secret", "false: the record comes with an empty SecretID.", true);

export const global = boolean("global", "Only tokens that are replicated to all regions.");

export const reverse = boolean("reverse", "In reverse order.");

/** There are two modes and, in a region of one server, no difference. */
export const stale = boolean(
  "stale",
  "Any server may answer from what it has, without asking the leader.",
);

/** A bare name is true, and so is one with nothing behind its sign: encoders of other clients write a
 *  switch so. */
function switchOf(value: JsonValue): boolean | undefined {
  if (typeof value === "boolean") return value;
  if (typeof value !== "string") return undefined;
  return value === "" ? true : parseBoolean(value);
}

function boolean(name: string, help: string, absent = false): Field<boolean> {
  return {
    ...query(name, help, { type: "boolean", default: absent }, () => absent),
    read: (input) => {
      if (input === undefined || input === null) return absent;
      const value = switchOf(input);
      if (value === undefined) throw failures.notABoolean(name);
      return value;
    },
    canonical: switchOf,
  };
}

export const nextToken = query(
  "next_token",
  "Where the page starts: X-Service-NextToken of the page before.",
  { type: "string" },
  (text) => text,
);

export const perPage = query(
  "per_page",
  "How many at most; 0: all.",
  { type: "integer", minimum: 0, maximum: MAX_PER_PAGE, default: 0 },
  (text) => {
    if (text === "") return 0;
    const number = /^\+?\d{1,15}$/.test(text) ? Number(text) : -1;
    if (number < 0 || number > MAX_PER_PAGE) throw failures.notANumber("per_page");
    return number;
  },
);

export const filter = query(
  "filter",
  'An expression that tokens must meet, such as Type == "client".',
  { type: "string" },
  (text) => text,
);

/** 0: answer now. */
export const index = query(
  "index",
  "Answer when there is something newer than this index, or when `wait` is over.",
  { type: "integer", minimum: 0 },
  (text) => {
    if (text === "") return 0n;
    const number = /^\d{1,20}$/.test(text) ? BigInt(text) : MAX_INDEX + 1n;
    if (number > MAX_INDEX) throw failures.indexInvalid();
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
  (nanos) => (nanos === null ? "" : showDuration(nanos)),
);

export const region = query(
  "region",
  "Name of the region that is meant; this server's own by default.",
  { type: "string" },
  (text) => text,
);

/** Of what is answered here. */
export function checkRegion(named: string, own: string): void {
  if (named !== "" && named !== own) throw failures.noPathToRegion();
}

/** Null: whatever it is now. An empty value is refused: a script whose variable is empty wants none of
 *  "whatever it is". */
export const cas: Field<bigint | null> = {
  ...query(
    "cas",
    "ModifyIndex that the token must have; otherwise nothing is changed (409).",
    { type: "integer", minimum: 0 },
    () => null,
  ),
  canonical: (value) =>
    typeof value === "string" && /^\d{1,20}$/.test(value) ? String(BigInt(value)) : undefined,
  read: (value) => {
    if (value === undefined || value === null) return null;
    if (typeof value !== "string" || !/^\d{1,20}$/.test(value)) throw failures.notANumber("cas");
    return BigInt(value);
  },
};
