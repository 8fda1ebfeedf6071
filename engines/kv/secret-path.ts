// Paths of secrets that callers name in bodies and queries instead of in the request's own path, and
// what a caller may do with them: context of the policies under the path that a request would have had.

import { withoutSlashes } from "@holdfast/shared/text/slashes";
import { isSegment } from "@holdfast/shared/text/canonical-path";
import { invariant } from "@holdfast/shared/invariant";
import type { JsonObject } from "@holdfast/shared/json/json";
import type { EngineRequest } from "@holdfast/shared/endpoint/request";
import * as failures from "./failures.ts";

/** What a request's path may have (shared/text/canonical-path.ts), less what stands before the secret. */
const MAX_BYTES = 1024;
const MAX_SEGMENTS = 32;
const LONGEST_VIEW = "/v1/x/detailed-metadata/";

/** Refuses what no request could name. Gives it without slashes at the ends. */
export function secretPath(field: string, text: string, context: EngineRequest): string {
  const path = withoutSlashes(text);
  if (!isNameable(path, context)) throw failures.pathRefused(field);
  return path;
}

/** Whether a request could have it in its path. */
export function isNameable(path: string, context: EngineRequest): boolean {
  const { path: mount } = mountOf(context);
  const whole = `${LONGEST_VIEW}${context.namespace.path}/${mount}${path}`;
  const fits =
    encodeURI(toWellFormed(whole)).length <= MAX_BYTES && whole.split("/").length <= MAX_SEGMENTS;
  return fits && path.split("/").every(isSegment);
}

function toWellFormed(text: string): string {
  return text.isWellFormed() ? text : "";
}

/** A folder as keys have it: with a slash at its end; empty for the mount itself. */
export function folderPath(field: string, text: string, context: EngineRequest): string {
  return text === "" || text === "/" ? "" : `${secretPath(field, text, context)}/`;
}

/** The ways in which a secret is seen or changed: the first segment below the mount. */
export type Way = "data" | "metadata" | "subkeys" | "delete" | "undelete";

type Capability = Parameters<EngineRequest["may"]>[0];

/** Whether the caller may make that one request, with these fields in its query or body. */
export function may(
  context: EngineRequest,
  capability: Capability,
  way: Way,
  path: string,
  fields?: JsonObject,
): Promise<boolean> {
  return context.may(capability, requestPath(context, way, path), fields);
}

/** Whether it might make any request of that kind, whatever its fields. Only where it might not is the way closed. */
export function mightEver(
  context: EngineRequest,
  capability: Capability,
  way: Way,
  path: string,
): Promise<boolean> {
  return context.mightEver(capability, requestPath(context, way, path));
}

function requestPath(context: EngineRequest, way: Way, path: string): string {
  return `${mountOf(context).path}${way}/${path}`;
}

/** Whether it may list or scan a folder. */
export function folderRights(
  context: EngineRequest,
  capability: "list" | "scan" = "list",
): (folder: string) => Promise<boolean> {
  const fields = capability === "scan" ? { scan: true } : undefined; // as it is context for
  return (folder) => may(context, capability, "metadata", folder, fields);
}

/** Of all folders that a secret lies in, the mount itself first: whoever may not list one sees nothing in it. */
export async function everyFolder(
  path: string,
  holds: (folder: string) => Promise<boolean>,
): Promise<boolean> {
  for (let end = 0; end >= 0; end = path.indexOf("/", end) + 1 || -1) {
    if (!(await holds(path.slice(0, end)))) return false;
  }
  return true;
}

function mountOf({ mount }: EngineRequest): NonNullable<EngineRequest["mount"]> {
  invariant(mount !== null, "an engine is reached through a mount");
  return mount;
}
