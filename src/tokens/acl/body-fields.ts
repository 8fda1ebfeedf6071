// Members of a token in a request's body. The whole record may be sent back as it was read, so those
// that only the server sets are known here too, and ignored.

import { foldedUuid } from "@holdfast/shared/text/uuid";
import { parseTokenDuration, showDuration } from "@holdfast/shared/text/duration";
import { invalidParameter as refused } from "../failures.ts";
import { fold } from "@holdfast/shared/text/fold";
import { isObject, isRawNumber, type JsonValue } from "@holdfast/shared/json/json";
import { parseTime, showTime } from "@holdfast/shared/text/time";
import type { Instant, Nanos } from "@holdfast/shared/world";
import type { Schema } from "@holdfast/shared/endpoint/schema";
import type { Field } from "@holdfast/shared/endpoint/field";
import { foldedPolicies, wire } from "@holdfast/shared/endpoint/wire";

function body<T>(
  name: string,
  help: string,
  schema: Schema,
  read: (value: JsonValue | undefined) => T,
  /** In JSON, equal for equal values; null for none. Default: as it was sent. */
  show?: (value: T) => JsonValue,
  notice?: Field<T>["notice"],
): Field<T> {
  const described = { ...schema, description: help };
  const canonical = show === undefined ? undefined : (value: JsonValue) => show(read(value));
  const place = { source: "body", name, help, secret: false, required: false } as const;
  return { ...place, schema: described, canonical, notice, read };
}

const time = (instant: Instant | null) => (instant === null ? null : showTime(instant));
const length = (nanos: Nanos | null) => (nanos === null ? null : showDuration(nanos));

const expires = body(
  "ExpirationTime",
  "When the token ends; RFC 3339.",
  { type: "string", format: "date-time", nullable: true },
  (value): Instant | null => parseTime(value),
  time,
);

const ttl = body(
  "ExpirationTTL",
  "Lifetime, such as 8h or 1h30m, or nanoseconds as a number. Wins over ExpirationTime.",
  { oneOf: [{ type: "string", format: "duration" }, { type: "integer" }], nullable: true },
  (value): Nanos | null => parseTokenDuration(isRawNumber(value) ? whole(value.rawJSON) : value),
  length,
);

/** Digits that a double would not keep. What lies behind the point is dropped, but nothing that is
 *  not zero becomes zero by it. */
function whole(text: string): bigint | number {
  const [, integer] = /^(-?\d+)(?:\.\d+)?$/.exec(text) ?? [];
  const number = integer === undefined ? Number(text) : BigInt(integer);
  const isZero = !/[1-9]/.test(text.split(/e/i)[0] ?? "");
  return Number(number) === 0 && !isZero ? Number.MIN_VALUE : number;
}

/** Names or ids, in whichever member they stand. */
const roles = body(
  "Roles",
  "Must be null or empty: there are no roles.",
  { type: "array", items: { type: "object" }, nullable: true },
  (value): readonly string[] => {
    if (value === undefined || value === null) return [];
    if (!Array.isArray(value)) throw refused("Roles must be a list of objects with ID or Name");
    return value.map((role: JsonValue) => {
      const { ID, Name } = isObject(role) ? role : {};
      const named = typeof Name === "string" && Name !== "" ? Name : ID;
      if (typeof named !== "string") throw refused("a role must have an ID or a Name");
      return named;
    });
  },
);

const policies = body(
  "Policies",
  "Names of policies; none for management.",
  { type: "array", items: { type: "string" }, nullable: true },
  (value): readonly string[] => {
    // Null or blank, as clients of the ACL API send it for management.
    if (value === undefined || value === null || value === "") return [];
    if (!Array.isArray(value) || !value.every((name) => typeof name === "string")) {
      throw refused("Policies must be a list of strings");
    }
    return value.map(fold);
  },
  (names) => names,
  foldedPolicies,
);

const global = body(
  "Global",
  "Replicated to all regions.",
  { type: "boolean", nullable: true },
  (value): boolean | undefined => {
    if (value === undefined || value === null) return undefined;
    if (typeof value !== "boolean") throw refused("Global must be true or false");
    return value;
  },
);

const ignored = (name: string) => body(name, "Ignored.", {}, () => undefined);

const accessor = wire
  .body("AccessorID")
  .string("Identifies the token.", { form: foldedUuid })
  .optional();

/** What can be said of a token that is made or changed. */
export const tokenFields = {
  accessor,
  secret: wire
    .body("SecretID")
    .secret("For an upload: the secret of the token, a UUID.", { form: foldedUuid })
    .optional(),
  name: wire.body("Name").string("For people; up to 256 bytes.").default(""),
  type: wire.body("Type").string("client or management.").default("", ""),
  policies,
  roles,
  global,
  expires,
  ttl,
  created: body(
    "CreateTime",
    "For an upload: when the token was made.",
    { type: "string", format: "date-time", nullable: true },
    (value): Instant | null => parseTime(value),
    time,
  ),
  hash: ignored("Hash"),
  createIndex: ignored("CreateIndex"),
  modifyIndex: ignored("ModifyIndex"),
};
