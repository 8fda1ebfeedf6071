// Copy and move inside a mount. No request makes readable to its caller what it could not read:
// a copy needs `read` on its source; a move needs no right to read, and is refused where
// the target is open to the caller in a way in which the source is not. What is written is judged as a
// write of it (judged-source.ts). One transaction per secret.

import type { RequestContext } from "@holdfast/shared/endpoint/request";
import type { EngineTx } from "@holdfast/plugin-sdk/storage";
import * as failures from "../failures.ts";
import { goesAlong, type JudgedSource, judgeSource, type World } from "./judged-source.ts";
import * as rows from "../rows.ts";
import { currentOf, isDeleted, newestOf, type Secret, type Version } from "../secret.ts";
import { secretCodec } from "../secret-codec.ts";
import { may } from "../secret-path.ts";

export interface Relocation {
  readonly kind: "copy" | "move";
  readonly from: string;
  readonly to: string;
  /** Undefined: there must be nothing at the target. */
  readonly cas: number | undefined;
}

/** How often it is looked at anew when somebody changes the source meanwhile. */
const TRIES = 3;

/** What the caller may take along besides the live versions. */
export interface Allowance {
  /** Versions that are deleted, which at the target it might undelete. */
  readonly deleted: boolean;
}

/** Null: it may not. Whether it may write what there is at the source is asked later, with that. */
export async function allowanceFor(
  asked: RequestContext,
  move: Relocation,
): Promise<Allowance | null> {
  const { kind, from, to, cas } = move;
  const replaces = cas !== undefined && cas > 0;
  if (replaces && !(await may(asked, "delete", "metadata", to))) return null;
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
  asked: RequestContext,
  { from, to }: Relocation,
  capability: "read" | "update",
  way: "data" | "metadata" | "subkeys" | "undelete",
): Promise<boolean> {
  return (await may(asked, capability, way, to)) && !(await may(asked, capability, way, from));
}

/** Judges and does it. Null where there is nothing at the source. */
export async function relocate(
  world: World,
  asked: RequestContext,
  move: Relocation,
  allowed: Allowance,
): Promise<Done | null> {
  for (let tries = 0; tries < TRIES; tries++) {
    const judged = await judgeSource(world, asked, move, allowed);
    if (judged === null) return null;
    const done = judged === "changed" ? judged : await write(world, move, allowed, judged);
    if (done !== "changed") return done;
  }
  throw failures.sourceChanging();
}

interface Done {
  readonly version: number;
  /** Rows of what was at the target are left to be swept. */
  readonly left: boolean;
}

/** "changed": there is something at the source that was not judged. */
async function write(
  world: World,
  move: Relocation,
  allowed: Allowance,
  judged: JudgedSource,
): Promise<Done | "changed" | null> {
  const { storage, newId } = world;
  const done = await storage.write((tx) => inOne(tx, newId, move, allowed, judged));
  if (done !== null && done !== "changed" && done.left) await rows.sweep(storage, null);
  return done;
}

function inOne(
  tx: EngineTx,
  newId: () => string,
  move: Relocation,
  allowed: Allowance,
  judged: JudgedSource,
): Done | "changed" | null {
  const { kind, from, to } = move;
  const source = tx.get(rows.secretKey(from), secretCodec);
  if (source === null) return null;
  const goes = goesAlong(move, allowed, tx.time);
  if (!judged.covers(source, goes)) return "changed";
  const left = clearTarget(tx, move);
  if (kind === "copy") {
    rows.putSecret(tx, to, copied(tx, source, newId(), goes, judged));
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
function copied(
  tx: EngineTx,
  source: Secret,
  id: string,
  goes: (version: Version) => boolean,
  judged: JudgedSource,
): Secret {
  const versions = source.versions.map((version, at): Version => {
    if (!goes(version)) return { ...version, destroyed: true, inline: null };
    return { ...version, inline: judged.documentOf(source.oldest + at) };
  });
  return rows.settled(tx, { ...source, id, versions, recycled: false, updated: tx.time });
}
