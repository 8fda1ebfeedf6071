// Namespaces as a loaded snapshot has them.

import { type NamespaceRef, ROOT_NAMESPACE } from "@holdfast/shared/endpoint/request";
import type { ViewReads } from "../barrier/view.ts";
import { nameOf, recordCodec, rowOf } from "./record.ts";

/** Whether that very namespace was there: another one of the same path is not it. `reads` are of the room's own rows. */
export function wasThere(reads: ViewReads, { id, path }: NamespaceRef): boolean {
  let at: string = ROOT_NAMESPACE.id;
  for (const name of path === "" ? [] : path.split("/")) {
    const found = reads.get(rowOf(at, name), recordCodec);
    if (found === null || found.state === "deleting" || nameOf(found.path) !== name) return false;
    at = found.id;
  }
  return at === id;
}
