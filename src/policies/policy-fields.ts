// Members of a request that writes or lists policies. What is missing is refused in words that
// clients know, which the room has; a patch leaves alone what it does not name.

import { withoutFirstSlash } from "@holdfast/shared/text/slashes";
import type { JsonValue } from "@holdfast/shared/json/json";
import { SECOND } from "@holdfast/shared/text/duration";
import { canonicalTime, parseTime } from "@holdfast/shared/text/time";
import type { Instant } from "@holdfast/shared/world";
import { type Field, fieldOf } from "@holdfast/shared/endpoint/field";
import { pageFields } from "@holdfast/shared/endpoint/page";
import { wire } from "@holdfast/shared/endpoint/wire";
import { ENFORCEMENT_LEVELS } from "./governing/governing-record.ts";
import { plainPolicyText } from "./policy-text.ts";

const MAX_LISTED = 10_000;
const MAX_PATHS = 1_000;

const name = wire
  .path("name", { folds: "case", called: "policy name" })
  .string("Name of the policy; kept in lower case.");
const text = decoded(wire.body("policy").string("The document, as it is or in base64."));
/** The older endpoints have it under an older name as well. */
const rules = decoded(
  wire
    .body("policy", {
      aliases: ["rules"],
      deprecation: "'rules' is deprecated, please use 'policy' instead",
    })
    .string("The document, as it is or in base64."),
);
const paths = wire.body("paths").list("Paths that it guards; a * at the end stands for the rest.", {
  max: MAX_PATHS,
  form: (path) => withoutFirstSlash(path.trim()),
});

const levelText = wire
  .body("enforcement_level")
  .string("What a failure does: it is told, it denies unless overridden, it denies.");
/** Other words are refused by the room, which says what it was given. */
const level: Field<string> = {
  ...orEmpty(levelText),
  schema: { ...levelText.schema, enum: ENFORCEMENT_LEVELS },
};

const EXPIRATION = "When the policy ends by itself; RFC 3339.";
const expires: Field<Instant | null | undefined> = {
  source: "body",
  name: "expiration",
  help: EXPIRATION,
  secret: false,
  required: false,
  schema: { type: "string", format: "date-time", nullable: true, description: EXPIRATION },
  clears: true,
  canonical: canonicalTime,
  read: (value) => (value === undefined ? undefined : parseTime(value)),
};

const ttl = orNull(
  wire
    .body("ttl")
    .duration("The same as a time from now; not beside expiration.", { min: SECOND })
    .optional(),
);

const beside = {
  cas: wire
    .body("cas")
    .integer("The version that is replaced; -1: there must be none.", { min: -1 })
    .optional(),
  casRequired: wire
    .body("cas_required")
    .boolean("Whether the next write must give cas.")
    .optional(),
  expires,
  ttl,
  trial: wire
    .query("dry_run")
    .boolean("Check everything, tell what would be stored, and store nothing.")
    .default(false),
};

export const named = { name };

/** Of POST: a whole policy. */
export const whole = {
  acl: { name, text: orEmpty(text), ...beside },
  older: { name, text: orEmpty(rules), ...beside },
  rgp: { name, text: orEmpty(text), level, ...beside },
  egp: { name, text: orEmpty(text), level, paths: orNone(paths), ...beside },
};

/** Of PATCH: some of it. */
export const part = {
  acl: { name, text: ifNeeds(orEmpty(text)), ...beside },
  rgp: { name, text: ifNeeds(orEmpty(text)), level: ifNeeds(level), ...beside },
  egp: {
    name,
    text: ifNeeds(orEmpty(text)),
    level: ifNeeds(level),
    paths: ifNeeds(orNone(paths)),
    ...beside,
  },
};

export const listing = pageFields(MAX_LISTED);

export const prefix = wire
  .path("prefix", { folds: "case" })
  .string("Folder: the part of the names up to a slash.");

/** A document in base64 is that document, to whoever decides as to the room. */
export function decoded(field: Field<string>): Field<string> {
  return {
    ...fieldOf(field),
    canonical: (value) => (typeof value === "string" ? plainPolicyText(value) : undefined),
    read: (value) => plainPolicyText(field.read(value)),
  };
}

/** Absent and null are as empty, which the room refuses in its words. */
function orEmpty(field: Field<string>): Field<string> {
  return { ...fieldOf(field), read: (value) => (isNone(value) ? "" : field.read(value)) };
}

function orNone(field: Field<readonly string[]>): Field<readonly string[]> {
  return { ...fieldOf(field), read: (value) => (isNone(value) ? [] : field.read(value)) };
}

/** As in every merge patch, null takes the value away. */
function orNull<T>(field: Field<T>): Field<T | null> {
  const read = (value: JsonValue | undefined) => (value === null ? null : field.read(value));
  return { ...fieldOf(field), clears: true, read };
}

/** Null would take it away, which the room refuses. */
function ifNeeds<T>(field: Field<T>): Field<T | undefined> {
  const read = (value: JsonValue | undefined) =>
    value === undefined ? undefined : field.read(value);
  return { ...fieldOf(field), required: false, clears: true, read };
}

function isNone(value: JsonValue | undefined): boolean {
  return value === undefined || value === null;
}
