// Namespaces as a transaction sees them: found by name, row by row, from root. Memory shows what is
// durable; what was accepted a moment ago is known only here.

import { invariant } from "@holdfast/shared/invariant";
import type { Tx } from "../barrier/view.ts";
import { type NamespaceRef, ROOT_NAMESPACE } from "@holdfast/shared/endpoint/request";
import * as failures from "./failures.ts";
import { nameOf, type NamespaceRecord, recordCodec, rowOf } from "./record.ts";

export type Place = Pick<NamespaceRef, "id" | "path">;

export interface Claim {
  readonly parent: Place;
  readonly name: string;
  /** The key of the row that holds the name, or would. */
  readonly row: string;
}

/** Where the last of the names belongs; null when one of those before it is missing. */
export function claimIn(tx: Tx, base: NamespaceRef, names: readonly string[]): Claim | null {
  // The request was let in on this very namespace. Another one of the same path is not it (T-D06).
  const own = base.path === "" ? [] : base.path.split("/");
  if (walk(tx, ROOT_NAMESPACE, own)?.id !== base.id) throw failures.baseGone();
  const parent = walk(tx, base, names.slice(0, -1));
  const name = names.at(-1);
  invariant(name !== undefined, "a path has a name");
  return parent === null ? null : { parent, name, row: rowOf(parent.id, name) };
}

/** The record of the last of the names, in any state, and its row. */
export function recordIn(
  tx: Tx,
  base: NamespaceRef,
  names: readonly string[],
): { readonly record: NamespaceRecord; readonly row: string } | null {
  const claim = claimIn(tx, base, names);
  const record = claim === null ? null : tx.get(claim.row, recordCodec);
  if (claim === null || record === null) return null;
  return nameOf(record.path) === claim.name ? { record, row: claim.row } : null;
}

/** Whether its record is there, in any state. */
export function isThere(tx: Tx, { id, path }: Place): boolean {
  let at: string = ROOT_NAMESPACE.id;
  for (const name of path.split("/")) {
    const found = tx.get(rowOf(at, name), recordCodec);
    if (found === null) return false;
    at = found.id;
  }
  return at === id;
}

/** Down from `top`; null when one of the names is missing. */
function walk(tx: Tx, top: Place, names: readonly string[]): Place | null {
  let at = top;
  for (const name of names) {
    const found = tx.get(rowOf(at.id, name), recordCodec);
    if (found === null || found.state === "deleting" || nameOf(found.path) !== name) return null;
    at = found;
  }
  return at;
}
