// The paths of EGPs: how they are written, and which of them a request's path meets. All
// that match count, so this is a walk and not a contest as among the rules of ACL policies.

import { isSegment } from "@holdfast/shared/text/canonical-path";
import type { Failure } from "@holdfast/shared/failure";
import { egpPathInvalid, egpPathsMissing } from "../failures.ts";
import { PrefixTree } from "../../acl/prefix-tree.ts";
import { showName } from "../../document/document-failure.ts";

export interface EgpPath {
  /** Without the star. */
  readonly path: string;
  /** Everything that starts with the path, which for `*` is everything. */
  readonly glob: boolean;
}

export interface EgpMatch<T> {
  readonly path: EgpPath;
  readonly value: T;
}

/** Trimmed, without one leading `/`, each once, in the order given. */
export function readEgpPaths(texts: readonly string[]): readonly EgpPath[] {
  const paths = new Map<string, EgpPath>();
  for (const item of texts) {
    const trimmed = item.trim();
    const path = trimmed.startsWith("/") ? trimmed.slice(1) : trimmed;
    if (path === "") continue;
    if (!paths.has(path)) paths.set(path, readPath(path));
  }
  if (paths.size === 0) {
    throw egpPathsMissing("'paths' parameter not supplied or empty");
  }
  return Array.from(paths.values());
}

/** Refuses what no request's path begins with or is, since those have one spelling. Asked at a write
 *  alone: what is stored is read as it is. */
export function checkEgpPath(egp: EgpPath): void {
  const segments = egp.path.split("/");
  const last = segments.pop() ?? "";
  // The last one may go on behind the star, and is empty where the path is that of a list.
  if (last !== "" && !isSegment(egp.glob ? `${last}x` : last)) segments.push(last);
  const wrong = segments.find((segment) => !isSegment(segment));
  if (wrong === undefined) return;
  const problem =
    wrong === ""
      ? "'//' is in no path of a request"
      : `${showName(wrong)} cannot stand in the path of a request`;
  throw refused(showEgpPath(egp), `${problem}; paths look like "secret/data/app" or "secret/*"`);
}

/** As it was given after trimming: `secret/*`. */
export function showEgpPath({ path, glob }: EgpPath): string {
  return glob ? `${path}*` : path;
}

function readPath(path: string): EgpPath {
  const star = path.indexOf("*");
  if (star !== -1 && star !== path.length - 1) {
    throw refused(path, "'*' is only allowed as the last character");
  }
  if (path.includes("+")) throw refused(path, "'+' is not supported in EGP paths");
  return star === -1 ? { path, glob: false } : { path: path.slice(0, -1), glob: true };
}

function refused(path: string, problem: string): Failure {
  return egpPathInvalid(`invalid EGP path ${showName(path)}: ${problem}`);
}

export class EgpIndex<T> {
  readonly #exact = new Map<string, EgpMatch<T>[]>();
  readonly #globs = new PrefixTree<EgpMatch<T>[]>();
  #size = 0;

  static of<T>(entries: Iterable<EgpMatch<T>>): EgpIndex<T> {
    const index = new EgpIndex<T>();
    for (const entry of entries) {
      index.#size += 1;
      const { path, glob } = entry.path;
      if (glob) index.#globs.update(path, (before) => added(before, entry));
      else index.#exact.set(path, added(index.#exact.get(path) ?? null, entry));
    }
    return index;
  }

  get isEmpty(): boolean {
    return this.#size === 0;
  }

  /** Every match, longest path first (a star counts for nothing, so exact before glob). The cost is
   *  that of the path and of what matches, not of how many there are. */
  matching(path: string): EgpMatch<T>[] {
    const found = [...(this.#exact.get(path) ?? [])];
    // An exact path also meets itself with a slash, which is how a listing is asked for.
    if (path.endsWith("/")) found.push(...(this.#exact.get(path.slice(0, -1)) ?? []));
    this.#globs.visit(path, (entries) => void found.push(...entries));
    return found.length < 2 ? found : found.toSorted(longestFirst);
  }
}

/** In place: thousands may share one path. */
function added<T>(before: EgpMatch<T>[] | null, entry: EgpMatch<T>): EgpMatch<T>[] {
  if (before === null) return [entry];
  before.push(entry);
  return before;
}

function longestFirst<T>(a: EgpMatch<T>, b: EgpMatch<T>): number {
  return b.path.path.length - a.path.path.length || Number(a.path.glob) - Number(b.path.glob);
}
