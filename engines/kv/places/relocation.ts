// Copy and move inside a mount. No request makes readable to its caller what it could not read:
// a copy needs `read` on its source; a move needs no right to read where the target is closed to the caller,
// and otherwise the same rights to the source. Every version that goes along is judged at the source as the read
// that would show it, and at the target as a write of it (judged-source.ts). One transaction per secret.

import type { EngineRequest } from "@holdfast/shared/endpoint/request";
import type { EngineTx } from "@holdfast/plugin-sdk/storage";
import * as failures from "../failures.ts";
import { type JudgedSource, judgeSource, type World } from "./judged-source.ts";
import * as rows from "../rows.ts";
import { currentOf, newestOf, type Secret, type Version } from "../secret.ts";
import { secretCodec } from "../secret-codec.ts";
import { everyFolder, may, mightEver } from "../secret-path.ts";

export interface Relocation {
  readonly kind: "copy" | "move";
  readonly from: string;
  readonly to: string;
  /** Undefined: there must be nothing at the target. */
  readonly cas: number | undefined;
}

/** How often it is looked at anew when somebody changes the source meanwhile. */
const TRIES = 3;

/** What is asked of the caller's rights to the source, since the target is open to it. A way that is closed there
 *  without conditions shows nothing. */
export interface Openings {
  /** Ways in which versions could be read at the target: each that goes along must be so at the source. */
  readonly reads: readonly ("data" | "subkeys")[];
  /** Whether deleted versions could be undeleted at the target. */
  readonly undeletes: boolean;
  /** Whether a read or a write of data at the target would show notes and number of versions: writes answer with them. */
  readonly notes: boolean;
  /** Whether the recycle bin shows the caller what lies in the target's folder. */
  readonly bin: boolean;
  /** Whether the caller could put it there. */
  readonly deletes: boolean;
}

/** Null: it may not. Whether it may read and write what there is at the source is asked later, version by version. */
export async function openingsFor(
  context: EngineRequest,
  move: Relocation,
): Promise<Openings | null> {
  const { kind, from, to, cas } = move;
  const replaces = cas !== undefined && cas > 0;
  if (replaces && !(await may(context, "delete", "metadata", to))) return null;
  if (kind === "move" && !(await may(context, "delete", "data", from))) return null;
  // It shows settings too, which nothing else does.
  const shows = await mightEver(context, "read", "metadata", to);
  if (shows && !(await may(context, "read", "metadata", from))) return null;
  const reads = kind === "copy" ? (["data"] as const) : await readsAt(context, to);
  const opens = (capability: "update" | "patch" | "delete") =>
    mightEver(context, capability, "data", to);
  return {
    reads,
    undeletes: await mightEver(context, "update", "undelete", to),
    notes: reads.length > 0 || (await opens("update")) || (await opens("patch")),
    bin: await everyFolder(to, (folder) => mightEver(context, "list", "metadata", folder)),
    deletes: (await opens("delete")) || (await mightEver(context, "update", "delete", to)),
  };
}

async function readsAt(context: EngineRequest, path: string): Promise<Openings["reads"]> {
  const reads: Openings["reads"][number][] = [];
  for (const way of ["data", "subkeys"] as const) {
    if (await mightEver(context, "read", way, path)) reads.push(way);
  }
  return reads;
}

/** Judges and does it. Null where there is nothing at the source. */
export async function relocate(
  world: World,
  context: EngineRequest,
  move: Relocation,
  openings: Openings,
): Promise<Done | null> {
  for (let tries = 0; tries < TRIES; tries++) {
    const judged = await judgeSource(world, context, move, openings);
    if (judged === null) return null;
    const done = judged === "changed" ? judged : await write(world, move, judged);
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
  judged: JudgedSource,
): Promise<Done | "changed" | null> {
  const { storage, newId } = world;
  const done = await storage.write((tx) => inOne(tx, newId, move, judged));
  if (done !== null && done !== "changed" && done.left) await rows.sweep(storage, null);
  return done;
}

function inOne(
  tx: EngineTx,
  newId: () => string,
  move: Relocation,
  judged: JudgedSource,
): Done | "changed" | null {
  const { kind, from, to } = move;
  const source = tx.get(rows.secretKey(from), secretCodec);
  if (source === null) return null;
  if (!judged.covers(source, tx.time)) return "changed";
  const left = clearTarget(tx, move);
  if (kind === "copy") {
    rows.putSecret(tx, to, copied(tx, source, newId(), judged));
  } else {
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
function copied(tx: EngineTx, source: Secret, id: string, judged: JudgedSource): Secret {
  const versions = source.versions.map((version, at): Version => {
    const document = version.destroyed ? null : judged.documentOf(source.oldest + at);
    return { ...version, destroyed: document === null, inline: document };
  });
  return rows.settled(tx, { ...source, id, versions, recycled: false, updated: tx.time });
}
