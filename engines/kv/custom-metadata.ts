// What callers note about a secret: short texts by name.

import { isObject, type JsonValue } from "@holdfast/shared/json/json";
import { reachesPrototype } from "@holdfast/shared/json/json-limits";
import type { Field } from "@holdfast/shared/endpoint/field";
import * as failures from "./failures.ts";
import type { CustomMetadata } from "./secret.ts";

const MAX_ENTRIES = 64;
const MAX_NAME = 128; // bytes
const MAX_VALUE = 512; // bytes
const ACCEPTED =
  `an object of strings: at most ${MAX_ENTRIES} members, names of 1 to ${MAX_NAME} and values of up to ` +
  `${MAX_VALUE} bytes`;

type Remake = (before: CustomMetadata | null) => CustomMetadata | null;

const about = {
  source: "body",
  name: "custom_metadata",
  secret: false,
  required: false,
} as const;

const WHOLE_HELP = "What is noted about the secret; replaces what there was.";
const PATCH_HELP =
  "A merge patch: null in place of a text removes it, in place of all removes all.";

/** Of POST. */
export const wholeMetadata: Field<Remake | undefined> = {
  ...about,
  help: WHOLE_HELP,
  schema: { type: "object", additionalProperties: { type: "string" }, description: WHOLE_HELP },
  canonical: (value) => checked(readTexts(value)),
  read: (value) => {
    if (value === undefined || value === null) return undefined;
    const texts = readTexts(value);
    return () => checked(texts);
  },
};

/** Of PATCH. */
export const metadataPatch: Field<Remake | undefined> = {
  ...about,
  clears: true,
  help: PATCH_HELP,
  schema: {
    type: "object",
    additionalProperties: { type: "string", nullable: true },
    nullable: true,
    description: PATCH_HELP,
  },
  read: (value) => {
    if (value === undefined) return undefined;
    if (value === null) return () => null;
    const patch = readTexts(value);
    return (before) => checked({ ...before, ...patch });
  },
};

function readTexts(input: JsonValue): Readonly<Record<string, string | null>> {
  if (!isObject(input)) throw failures.customMetadataRefused(ACCEPTED);
  const texts: Record<string, string | null> = {};
  for (const [name, value] of Object.entries(input)) {
    const fits = typeof value === "string" || value === null;
    if (!fits || reachesPrototype(name)) throw failures.customMetadataRefused(ACCEPTED);
    texts[name] = value;
  }
  return texts;
}

/** Without what is null; none at all is null. */
function checked(texts: Readonly<Record<string, string | null>>): CustomMetadata | null {
  const kept: Record<string, string> = {};
  let count = 0;
  for (const [name, value] of Object.entries(texts)) {
    if (value === null) continue;
    const length = Buffer.byteLength(name);
    const fits = length >= 1 && length <= MAX_NAME && Buffer.byteLength(value) <= MAX_VALUE;
    if (!fits || ++count > MAX_ENTRIES) throw failures.customMetadataRefused(ACCEPTED);
    kept[name] = value;
  }
  return count === 0 ? null : kept;
}
