// Copy and move of everything in a folder: secret by secret, so that one that cannot go does not keep
// the others, and what was done stays done. Whoever lists nothing there moves nothing there.

import { Failure } from "@holdfast/shared/failure";
import { Stretches } from "@holdfast/shared/sliced";
import type { EngineRequest } from "@holdfast/shared/endpoint/request";
import * as failures from "../failures.ts";
import { MAX_COPIED, type World } from "./judged-source.ts";
import { openingsFor, relocate, type Relocation } from "./relocation.ts";
import { SECRETS } from "../rows.ts";
import { folderRights, isNameable } from "../secret-path.ts";
import { walk } from "./walk.ts";

/** Secrets of one call: a transaction each. */
const MAX_SECRETS = 1000;
/** At once, so that they share a group commit. */
const AT_ONCE = 16;
const MAX_NAMED = 10;

export interface FolderRelocation {
  readonly kind: "copy" | "move";
  /** Both with a slash at the end. */
  readonly from: string;
  readonly to: string;
  readonly after: string | undefined;
}

export interface Relocated {
  readonly done: number;
  /** There is something at the target. */
  readonly taken: number;
  readonly refused: number;
  readonly next: string | null;
  readonly warnings: readonly string[];
}

type Result = "done" | "taken" | "refused" | "large" | "gone";

export async function relocateFolder(
  world: World,
  context: EngineRequest,
  { kind, from, to, after }: FolderRelocation,
): Promise<Relocated> {
  const mayList = folderRights(context);
  if (!(await mayList(from))) throw failures.denied();
  const { paths, next } = await walk(world, {
    root: SECRETS,
    folder: from,
    mayList,
    after,
    limit: MAX_SECRETS,
    signal: context.signal,
  });
  const target = (path: string) => to + path.slice(from.length);
  // All before any: what no request can name could not even be removed again.
  const lost = paths.map(target).find((path) => !isNameable(path, context));
  if (lost !== undefined) throw failures.pathRefused(`the target ${JSON.stringify(lost)}`);
  // Together they are no more than one copy may be; larger ones go one after another.
  const small = { ...world, maxBytes: MAX_COPIED / AT_ONCE };
  const results: Result[] = [];
  const stretches = new Stretches(world.pace); // what is refused waits for nothing
  for (let at = 0; at < paths.length; at += AT_ONCE) {
    if (context.signal.aborted) throw failures.callerGone();
    if (stretches.over) await stretches.next();
    const moves = paths
      .slice(at, at + AT_ONCE)
      .map((path) => ({ kind, from: path, to: target(path), cas: undefined }));
    const found = await Promise.all(moves.map((move) => one(small, context, move)));
    for (const [nth, move] of moves.entries()) {
      const result = found[nth];
      results.push(
        result === undefined || result === "large" ? await one(world, context, move) : result,
      );
    }
  }
  const count = (result: Result) => results.filter((one) => one === result).length;
  const named = (result: Result, why: string) => {
    const those = paths.filter((_, at) => results[at] === result);
    const more = those.length > MAX_NAMED ? ` and ${those.length - MAX_NAMED} more` : "";
    return those.length === 0 ? [] : [`${why}: ${those.slice(0, MAX_NAMED).join(", ")}${more}`];
  };
  return {
    done: count("done"),
    taken: count("taken"),
    refused: count("refused") + count("large"),
    next,
    warnings: [
      ...named("taken", "left alone, because there is a secret at the target"),
      ...named("refused", "left alone, because you have no right to it"),
      ...named("large", "left alone, because its versions are too large for one copy"),
    ],
  };
}

async function one(world: World, context: EngineRequest, move: Relocation): Promise<Result> {
  const openings = await openingsFor(context, move);
  if (openings === null) return "refused";
  try {
    return (await relocate(world, context, move, openings)) === null ? "gone" : "done";
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    if (error.code === "kv-target-taken") return "taken";
    if (error.kind === "denied") return "refused";
    if (error.code === "kv-copy-too-large") return "large";
    throw error;
  }
}
