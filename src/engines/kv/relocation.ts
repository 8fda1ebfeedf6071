// Copy and move inside a mount. No request makes readable to its caller what it could not read:
// a copy needs `read` on its source; a move needs no right to read, and is refused where
// the target is open to the caller in a way in which the source is not. One transaction per secret.

import type { Asked } from "../../endpoint/request.ts";
import type { EngineStorage, EngineTx } from "../../../plugin-sdk/storage.ts";
import * as failures from "./failures.ts";
import * as rows from "./rows.ts";
import { currentOf, isDeleted, isLive, newestOf, type Secret, type Version } from "./secret.ts";
import { secretCodec } from "./secret-codec.ts";
import { may } from "./secret-path.ts";

export interface Relocation {
  readonly kind: "copy" | "move";
  readonly from: string;
  readonly to: string;
  /** Undefined: there must be nothing at the target. */
  readonly cas: number | undefined;
}

interface World {
  readonly storage: EngineStorage;
  readonly newId: () => string;
}

/** What the caller may take along besides the live versions. */
export interface Allowance {
  /** Versions that are deleted, which at the target it might undelete. */
  readonly deleted: boolean;
}

/** Null: it may not. */
export async function allowanceFor(asked: Asked, move: Relocation): Promise<Allowance | null> {
  const { kind, from, to, cas } = move;
  const replaces = cas !== undefined && cas > 0;
  const writes = await Promise.all(
    replaces
      ? [may(asked, "update", "data", to), may(asked, "delete", "metadata", to)]
      : [may(asked, "create", "data", to)],
  );
  if (writes.includes(false)) return null;
  const opensDeleted = await opens(asked, move, "update", "undelete");
  if (kind === "copy") {
    return (await may(asked, "read", "data", from)) ? { deleted: !opensDeleted } : null;
  }
  if (!(await may(asked, "delete", "data", from))) return null;
  for (const way of ["data", "metadata", "subkeys"] as const) {
    if (await opens(asked, move, "read", way)) return null;
  }
  return { deleted: !opensDeleted };
}

/** Whether the caller may do at the target what it may not do at the source. */
async function opens(
  asked: Asked,
  { from, to }: Relocation,
  capability: "read" | "update",
  way: "data" | "metadata" | "subkeys" | "undelete",
): Promise<boolean> {
  return (await may(asked, capability, way, to)) && !(await may(asked, capability, way, from));
}

/** Does it. Null where there is nothing at the source. */
export async function relocate(
  world: World,
  move: Relocation,
  allowed: Allowance,
): Promise<{ readonly version: number } | null> {
  const { storage } = world;
  const done = await storage.write((tx) => inOne(tx, world, move, allowed));
  if (done?.left === true) await rows.sweep(storage, null);
  return done;
}

function inOne(tx: EngineTx, world: World, move: Relocation, allowed: Allowance) {
  const { kind, from, to } = move;
  const source = tx.get(rows.secretKey(from), secretCodec);
  if (source === null) return null;
  const left = clearTarget(tx, move);
  if (kind === "copy") {
    rows.putSecret(tx, to, copied(tx, source, world.newId(), allowed));
  } else {
    const hidden = source.versions.some(
      (version) => !version.destroyed && isDeleted(version, tx.time),
    );
    // Not left behind, not destroyed and not opened: it stays where it is.
    if (hidden && !allowed.deleted) throw failures.denied();
    tx.delete(rows.secretKey(from));
    if (source.recycled) {
      rows.takeOutOfBin(tx, from);
      rows.putBinned(tx, to, source, newestOf(source).deletion ?? tx.time);
    }
    rows.putSecret(tx, to, source);
  }
  return { version: currentOf(source), left };
}

/** Says whether rows of what was there are left to be swept. */
function clearTarget(tx: EngineTx, { to, cas }: Relocation): boolean {
  const target = tx.get(rows.secretKey(to), secretCodec);
  if (target === null) {
    if (cas !== undefined && cas !== 0) throw failures.casWrong(cas, 0);
    return false;
  }
  const current = currentOf(target);
  if (cas === undefined || cas === 0) throw failures.targetTaken();
  if (cas !== current) throw failures.casWrong(cas, current);
  return rows.removeSecret(tx, to, target);
}

/** Under an id of its own; what the caller could not have read has no data in it. */
function copied(tx: EngineTx, source: Secret, id: string, allowed: Allowance): Secret {
  const versions = source.versions.map((version, at): Version => {
    if (version.destroyed) return version;
    if (!isLive(version, tx.time) && !allowed.deleted) {
      return { ...version, destroyed: true, inline: null };
    }
    const { bytes } = rows.documentIn(tx, source, { number: source.oldest + at, version });
    return { ...version, inline: bytes };
  });
  return rows.settled(tx, { ...source, id, versions, recycled: false, updated: tx.time });
}
