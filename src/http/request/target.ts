// Where a request target leads: to the API, to the console, or nowhere. By hand and on the raw text:
// the API's part of it is passed on untouched, and is read once, by the pipeline.

import { CanonicalPath, splitTarget } from "@holdfast/shared/text/canonical-path";
import { malformed, nothingHere } from "../failures.ts";

/** A target in absolute form (RFC 9112, 3.2.2) in its parts; null for every other. */
export function splitAddress(
  target: string,
): { readonly host: string; readonly rest: string } | null {
  if (target.startsWith("/")) return null;
  const [, host, rest] = /^https?:\/\/([^/?#]*)(.*)$/i.exec(target) ?? [];
  if (host === undefined || rest === undefined) return null;
  return { host, rest: rest.startsWith("/") ? rest : `/${rest}` };
}

/** The API's path, its first slash included; null for everything else. */
export function apiTarget(target: string): string | null {
  if (target.startsWith("/v1/")) return target.slice(3);
  // These are asked for without the prefix too.
  return target.startsWith("/sys/") || target.startsWith("/acl/") ? target : null;
}

export type Place = { readonly to: "redirect" } | { readonly to: "console"; readonly file: string };

/** Everything that is not the API. A path with a second spelling is refused here too (T-A02). */
export function otherTarget(target: string, ui: boolean): Place {
  if (!target.startsWith("/")) throw malformed("the request target must be a path");
  const { path } = splitTarget(target);
  CanonicalPath.parse(path);
  if (ui) {
    if (path === "/" || path === "/ui") return { to: "redirect" };
    if (path.startsWith("/ui/")) return { to: "console", file: path.slice("/ui/".length) };
  }
  throw nothingHere();
}
