// Paths of secrets that callers name in bodies and queries instead of in the request's own path, and
// what a caller may do with them: asked of the policies under the path that a request would have had.

import { withoutSlashes } from "@holdfast/shared/text/slashes";
import { isSegment } from "@holdfast/shared/text/canonical-path";
import { invariant } from "@holdfast/shared/invariant";
import type { JsonObject } from "@holdfast/shared/json/json";
import type { RequestContext } from "@holdfast/shared/endpoint/request";
import * as failures from "./failures.ts";

/** What a request's path may have (shared/text/canonical-path.ts), less what stands before the secret. */
const MAX_BYTES = 1024;
const MAX_SEGMENTS = 32;
const LONGEST_VIEW = "/v1/x/detailed-metadata/";

/** Refuses what no request could name. Gives it without slashes at the ends. */
export function secretPath(field: string, given: string, asked: RequestContext): string {
  const path = withoutSlashes(given);
  if (!isNameable(path, asked)) throw failures.pathRefused(field);
  return path;
}

/** Whether a request could have it in its path. */
export function isNameable(path: string, asked: RequestContext): boolean {
  const { path: mount } = mountOf(asked);
  const whole = `${LONGEST_VIEW}${asked.namespace.path}/${mount}${path}`;
  const fits =
    encodeURI(toWellFormed(whole)).length <= MAX_BYTES && whole.split("/").length <= MAX_SEGMENTS;
  return fits && path.split("/").every(isSegment);
}

function toWellFormed(text: string): string {
  return text.isWellFormed() ? text : "";
}

/** A folder as keys have it: with a slash at its end; empty for the mount itself. */
export function folderPath(field: string, given: string, asked: RequestContext): string {
  return given === "" || given === "/" ? "" : `${secretPath(field, given, asked)}/`;
}

/** The ways in which a secret is seen or changed: the first segment below the mount. */
export type Way = "data" | "metadata" | "subkeys" | "undelete";

/** What the caller may do with a secret; with a body, whether it may write that. */
export function may(
  asked: RequestContext,
  capability: Parameters<RequestContext["may"]>[0],
  way: Way,
  path: string,
  body?: JsonObject,
): Promise<boolean> {
  return asked.may(capability, `${mountOf(asked).path}${way}/${path}`, body);
}

/** Whether it may list or scan a folder. */
export function folderRights(
  asked: RequestContext,
  capability: "list" | "scan" = "list",
): (folder: string) => Promise<boolean> {
  return (folder) => may(asked, capability, "metadata", folder);
}

function mountOf({ mount }: RequestContext): NonNullable<RequestContext["mount"]> {
  invariant(mount !== null, "an engine is reached through a mount");
  return mount;
}
