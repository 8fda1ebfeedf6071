// Versions of a secret: on the command line, and as the answers tell of them.

import { isObject, type JsonObject, type JsonValue } from "@holdfast/shared/json/json";
import type { Instant } from "@holdfast/shared/world";
import { ApiError } from "@holdfast/client/api-error";
import type { Answer, Client } from "@holdfast/client/client";
import * as kv from "@holdfast/client/api/kv";
import { AdvisedFailure } from "../advice/advised-failure.ts";
import { flag, ValueFlag } from "../line/flag.ts";
import type { KvPlace } from "./place.ts";
import { instantOf, longTime, relative } from "../terminal/relative-time.ts";
import type { Output } from "../terminal/output.ts";
import { memberOf, showValue } from "../terminal/value.ts";

export const CAS_FLAG = {
  cas: flag.integer("Only if this is the newest version; 0: only if there is none"),
};

/** -versions 1,2 or -versions 1 -versions 2. */
export const VERSIONS_FLAG = {
  versions: new ValueFlag<readonly number[]>(
    {
      placeholder: "N,…",
      accepts: "versions such as 3 or 1,2",
      convert: (text) =>
        /^\d{1,15}(,\d{1,15})*$/.test(text) ? text.split(",").map(Number) : undefined,
    },
    "Versions; several with commas",
  ).repeated(),
};

/** "version 3 of secret/app, created … (2h ago)", for standard error. */
export function versionLine(place: KvPlace, metadata: JsonValue | undefined, now: Instant): string {
  const { version, created_time, deletion_time, custom_metadata } = recordOf(metadata);
  const ends = instantOf(deletion_time);
  const notes = isObject(custom_metadata) ? Object.entries(custom_metadata) : [];
  return [
    `version ${showValue(version)} of ${place.label}, created ${longTime(created_time, now)}`,
    ...(ends === null ? [] : [`deleted by itself ${relative(ends, now)}`]),
    ...notes.map(([name, value]) => `${name}=${showValue(value)}`),
  ].join("; ");
}

/** After a write: the number is what people need, programs get the rest. */
export async function showWritten(
  out: Output,
  place: KvPlace,
  { body, data }: Answer<kv.WriteAnswer>,
  now: Instant,
): Promise<void> {
  const { version, deletion_time } = data;
  const ends = instantOf(deletion_time);
  const until = ends === null ? "" : `, which is deleted by itself ${relative(ends, now)}`;
  const text = `Success! Wrote version ${showValue(version)} of: ${place.label}${until}`;
  await out.show(body, { text }, data);
}

/** How a version is, for tables. */
export function conditionOf(version: JsonObject, now: Instant): string {
  if (version["destroyed"] === true) return "destroyed";
  const ends = instantOf(version["deletion_time"]);
  if (ends === null) return "there";
  return ends <= now ? `deleted ${relative(ends, now)}` : `there, deleted ${relative(ends, now)}`;
}

/**
 * A version that is deleted or destroyed answers "not found", and tells so: for people that is another
 * matter than a path where nothing ever was.
 */
export function explainGone(error: unknown, place: KvPlace, now: Instant): unknown {
  if (!(error instanceof ApiError) || error.status !== 404) return error;
  const metadata = memberOf(error.body, "data.metadata");
  if (!isObject(metadata)) return error;
  const { version, destroyed, deletion_time } = metadata;
  const which = `version ${showValue(version)} of ${place.label}`;
  const all = `\`holdfast kv metadata get ${place.label}\` shows all versions`;
  if (destroyed === true) {
    const message = `${which} was destroyed: its data is gone for good`;
    return new AdvisedFailure("not-found", "kv-destroyed", message, all);
  }
  const ended = instantOf(deletion_time);
  const when = ended === null ? "" : ` ${relative(ended, now).replace(/^now$/, "just now")}`;
  const undelete = `\`holdfast kv undelete -versions ${showValue(version)} ${place.label}\` brings it back`;
  const message = `${which} was deleted${when}`;
  return new AdvisedFailure("not-found", "kv-deleted", message, `${undelete}; ${all}`);
}

/** Refuses versions that are not there before anything is done, as far as the token may look. */
export async function needThere(
  client: Client,
  place: KvPlace,
  versions: readonly number[],
): Promise<void> {
  let known: readonly string[];
  try {
    const { data } = await kv.readMetadata(client, place.mount, place.secret);
    known = Object.keys(data.versions);
  } catch (error) {
    if (error instanceof ApiError && error.kind === "denied") return;
    throw error;
  }
  const missing = versions.filter((version) => !known.includes(String(version)));
  if (missing.length === 0) return;
  const numbers = known.map(Number).toSorted((a, b) => a - b);
  const range = numbers.length === 1 ? `${numbers[0]} alone` : `${numbers[0]} to ${numbers.at(-1)}`;
  throw new AdvisedFailure(
    "not-found",
    "kv-version-absent",
    `there is no version ${missing.join(", ")} of ${place.label}; ` +
      (numbers.length === 0 ? "there is none at all" : `there are ${range}`).replace(
        /are (\d+ alone)/,
        "is $1",
      ),
    `\`holdfast kv metadata get ${place.label}\` shows all versions`,
  );
}

export function recordOf(value: JsonValue | undefined): JsonObject {
  return isObject(value) ? value : {};
}
