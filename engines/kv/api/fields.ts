// Members of requests that several endpoints take, and how a secret and its versions look in answers.

import { showDuration } from "@holdfast/shared/text/duration";
import { isObject, type JsonValue } from "@holdfast/shared/json/json";
import { showTime } from "@holdfast/shared/text/time";
import { out } from "@holdfast/shared/endpoint/output";
import { canonicalMembers, withMembers } from "@holdfast/shared/endpoint/members";
import { type Field, fieldOf } from "@holdfast/shared/endpoint/field";
import { pageFields } from "@holdfast/shared/endpoint/page";
import { wire } from "@holdfast/shared/endpoint/wire";
import * as failures from "../failures.ts";
import { MAX_VERSIONS } from "../mount-settings.ts";
import { currentOf, type Secret, type Version } from "../secret.ts";
import type { Found } from "../versioned.ts";

export const MAX_LISTED = 10_000;
/** Characters of a list that shows more than names: the answer is written and recorded in one piece. */
export const MAX_PAGE = 256 * 1024;

export const path = wire.path("path").string("Path of the secret.");
export const folder = wire.path("path").string("Folder: the part of the paths up to a slash.");

export const version = wire
  .query("version")
  .integer("Number of the version; 0 is the newest.", { min: 0 })
  .default(0);

export const listing = pageFields(MAX_LISTED);

export const secretSettings = {
  maxVersions: wire
    .body("max_versions")
    .integer("How many versions are kept; 0: as the mount says, or 10.", {
      min: 0,
      max: MAX_VERSIONS,
    })
    .optional(),
  casRequired: wire.body("cas_required").boolean("Whether every write must give cas.").optional(),
  deleteVersionAfter: wire
    .body("delete_version_after")
    .duration("New versions are deleted after this time; 0s: never, or as the mount says.")
    .optional(),
};

/** The same in a merge patch: null puts one back to what it is where nobody said anything. */
export const settingsPatch = {
  maxVersions: clearable(secretSettings.maxVersions, 0),
  casRequired: clearable(secretSettings.casRequired, false),
  deleteVersionAfter: clearable(secretSettings.deleteVersionAfter, 0n),
};

function clearable<T>(field: Field<T | undefined>, initial: T): Field<T | undefined> {
  return {
    ...fieldOf(field),
    schema: { ...field.schema, nullable: true },
    clears: true,
    read: (input) => (input === null ? initial : field.read(input)),
  };
}

const CAS = wire.body("cas").integer("The current version.", { min: 0 }).optional();

const OPTIONS_HELP = "cas: the current version, or 0 where there must be none yet.";

/** The member cas of `options`. */
export const cas: Field<number | undefined> = withMembers(
  {
    source: "body",
    name: "options",
    help: OPTIONS_HELP,
    secret: false,
    required: false,
    schema: {
      type: "object",
      description: OPTIONS_HELP,
      properties: { cas: { type: "integer", minimum: 0 } },
    },
    canonical: (value) => (isObject(value) ? canonicalMembers(value, [CAS]) : undefined),
    read: (value) => {
      if (value === undefined || value === null) return undefined;
      if (!isObject(value)) throw failures.optionsRefused();
      try {
        return CAS.read(Object.hasOwn(value, "cas") ? value["cas"] : undefined);
      } catch {
        throw failures.optionsRefused();
      }
    },
  },
  [CAS],
);

const NUMBER = wire.body("versions").integer("A version.", { min: 1 });
const VERSIONS_HELP = "Numbers of the versions.";

/** A list, one number, or text with commas between. */
export const versions: Field<readonly number[]> = {
  source: "body",
  name: "versions",
  help: VERSIONS_HELP,
  secret: false,
  required: true,
  schema: { type: "array", items: { type: "integer" }, description: VERSIONS_HELP },
  canonical: (value) => listOf(value).map((item) => NUMBER.canonical?.(item) ?? item),
  read: (value) => {
    const items = listOf(value);
    if (items.length === 0 || items.length > MAX_VERSIONS) {
      throw failures.versionsMissing(MAX_VERSIONS);
    }
    return items.map((item) => NUMBER.read(item));
  },
};

function listOf(value: JsonValue | undefined): readonly JsonValue[] {
  if (value === undefined || value === null || value === "") return [];
  if (typeof value === "string") {
    return value.split(",", MAX_VERSIONS + 1).map((item) => item.trim());
  }
  return Array.isArray(value) ? value : [value];
}

// --- answers ---

const versionMembers = {
  created_time: out.time("When it was written."),
  deletion_time: out.string("When it was, or will be, deleted; empty for never."),
  destroyed: out.boolean("Whether its data is gone for good."),
};

export const customMetadataOutput = out.nullable(
  out.mapOf(out.string("Text."), "What was noted about the secret."),
);

export const versionOutput = out.object({
  version: out.integer("Its number."),
  ...versionMembers,
  custom_metadata: customMetadataOutput,
});

export const secretOutput = out.object({
  current_version: out.integer("Number of the newest version; 0 before the first."),
  oldest_version: out.integer("Number of the oldest that is kept."),
  max_versions: out.integer("How many versions are kept; 0: as the mount says."),
  cas_required: out.boolean("Whether every write must give cas."),
  delete_version_after: out.string("New versions are deleted after this time; 0s: never."),
  created_time: out.time("When it was made."),
  updated_time: out.time("When it, or one of its versions, was changed last."),
  custom_metadata: customMetadataOutput,
  versions: out.mapOf(out.object(versionMembers), "The versions by number."),
});

export function showVersion({ number, version: found, customMetadata }: Found) {
  return { ...members(found), version: number, custom_metadata: customMetadata };
}

export function showSecret(secret: Secret) {
  const { oldest, maxVersions, casRequired, deleteVersionAfter, created, updated } = secret;
  const numbered = secret.versions.map((one, at) => [String(oldest + at), members(one)] as const);
  return {
    current_version: currentOf(secret),
    oldest_version: oldest,
    max_versions: maxVersions,
    cas_required: casRequired,
    delete_version_after: showDuration(deleteVersionAfter),
    created_time: showTime(created),
    updated_time: showTime(updated),
    custom_metadata: secret.customMetadata,
    versions: Object.fromEntries(numbered),
  };
}

function members({ created, deletion, destroyed }: Version) {
  return {
    created_time: showTime(created),
    deletion_time: deletion === null ? "" : showTime(deletion),
    destroyed,
  };
}
