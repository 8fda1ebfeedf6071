// Where a mount may be. Every operation reads the path that it is given here.

import { withoutSlashes } from "@holdfast/shared/text/slashes";
import { isSegment } from "@holdfast/shared/text/canonical-path";
import { RESERVED_NAMES } from "../../endpoint/parts.ts";
import * as failures from "../failures.ts";
import type { MountKind } from "./mount-record.ts";

// A request's path has at most 1,024 bytes and 32 segments: most of either is left for what is inside.
const MAX_PATH = 256;
const MAX_SEGMENTS = 8;

/** As it is kept: with a slash at the end, below auth/ for those that log people in. */
export function readMountPath(path: string, kind: MountKind): string {
  const text = withoutSlashes(path);
  const problem = problemOf(text);
  if (problem !== null) throw failures.pathRefused(problem);
  return kind === "auth" ? `auth/${text}/` : `${text}/`;
}

/** Of what is there already. Auth methods are below auth/ in the same table, and other rights are needed
 *  for them: whoever asks for secret engines is never given one. */
export function readKnownPath(text: string, kind: MountKind): string {
  const path = readMountPath(text, kind);
  if (kind === "secret" && kindOfPath(path) === "auth") throw failures.pathOfAuth();
  return path;
}

/** Refuses what may not be mounted there, moved from there or moved to there. */
export function isProtected(path: string, kind: MountKind): boolean {
  const [first = "", second = ""] = path.split("/");
  if (kind === "auth") return second.toLowerCase() === "token";
  return RESERVED_NAMES.has(first.toLowerCase());
}

/** A whole path, as in remount: what it begins with says which kind it is. */
export function kindOfPath(path: string): MountKind {
  return path.startsWith("auth/") ? "auth" : "secret";
}

export function segmentsOf(path: string): string[] {
  return path.replace(/\/$/, "").split("/");
}

function problemOf(text: string): string | null {
  if (text === "") return "it is empty";
  if (text.length > MAX_PATH) return `it may have at most ${MAX_PATH} characters`;
  const segments = text.split("/");
  if (segments.length > MAX_SEGMENTS) return `it may have at most ${MAX_SEGMENTS} segments`;
  if (!/^[!-~]+$/.test(text)) return "it may have printable ASCII characters only, and no space";
  if (!segments.every(isSegment)) {
    return "no part of it may be empty, begin or end with a dot, nor have one of * + \\ %";
  }
  // sys/mounts/…/tune is something else.
  return segments.length > 1 && segments.at(-1) === "tune" ? "it may not end in /tune" : null;
}
