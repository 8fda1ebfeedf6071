// Programs that run containers: those that the operator allows by plugin_oci_runtimes, where they are on this machine. A name that
// a caller chose is looked up in that list, and is never a path.

import type { ProgramFiles } from "@holdfast/shared/world";
import { runtimeMissing, runtimeNotAllowed } from "./failures.ts";
import { find, placesOf } from "./ways.ts";

export const USUAL_RUNTIME = "runsc";
/** Runs programs without an image. */
export const BWRAP = "bwrap";

/** Packages of distributions, where they have another name. */
const PACKAGES: ReadonlyMap<string, string> = new Map([
  ["runsc", "runsc (gVisor)"],
  [BWRAP, "bubblewrap"],
]);

export interface OciRuntime {
  /** As it is called in plugin_oci_runtimes, without the path before it. */
  readonly name: string;
  readonly path: string;
}

/** Throws a Failure: it is not allowed here, or not there. */
export async function findRuntime(
  files: Pick<ProgramFiles, "look">,
  allowed: readonly string[],
  wanted: string,
): Promise<OciRuntime> {
  const name = wanted === "" ? USUAL_RUNTIME : wanted;
  const entry = allowed.find((one) => lastPart(one) === name);
  if (entry === undefined) throw runtimeNotAllowed(name, allowed.map(lastPart));
  const path = await find(files, entry.startsWith("/") ? [entry] : placesOf(entry));
  if (path === null) throw runtimeMissing(name, entry, PACKAGES.get(name) ?? name);
  return { name, path };
}

export function isAllowed(allowed: readonly string[], name: string): boolean {
  return allowed.some((one) => lastPart(one) === name);
}

function lastPart(text: string): string {
  return text.slice(text.lastIndexOf("/") + 1);
}
