// The token that `login` leaves for later commands: ~/.holdfast-token, for its owner only. A file that
// others can read or that is a link is not used: its token may be known, or somebody else's choice.

import { homedir } from "node:os";
import { join } from "node:path";
import { text, wipe } from "@holdfast/shared/bytes";
import { Failure } from "@holdfast/shared/failure";
import { Secret } from "@holdfast/shared/secret";
import type { Fs } from "@holdfast/shared/world";
import type { Environment } from "./environment.ts";
import { ownBytes } from "../utf8.ts";

const MAX_BYTES = 16 * 1024;
const OTHERS = 0o077;

/** What reading takes. */
export type OwnFiles = Pick<Fs, "read" | "info">;

export function tokenFilePath(env: Environment): string {
  const home = env["HOME"];
  return join(home === undefined || home === "" ? homedir() : home, ".holdfast-token");
}

/** Null when there is none. */
export function readTokenFile(fs: OwnFiles, path: string): Secret<string> | null {
  const problem = tokenFileProblem(fs, path);
  if (problem !== null) throw new Failure("unavailable", "token-file-unsafe", problem);
  const bytes = fs.read(path, MAX_BYTES);
  if (bytes === null) return null;
  const token = text(bytes).trim();
  wipe(bytes);
  return token === "" ? null : new Secret(token);
}

/** What is wrong with the file as it lies there, as a sentence; null for a good one or none. */
export function tokenFileProblem(fs: OwnFiles, path: string): string | null {
  const info = fs.info(path);
  if (info === null) return null;
  if (info.kind !== "file") return `${path} is not a regular file, and links are not followed`;
  if (!info.ours) return `${path} belongs to another user`;
  if ((info.mode & OTHERS) === 0) return null;
  return `${path} can be used by other users (mode ${info.mode.toString(8).padStart(4, "0")})`;
}

/** Fails where a token could not be written: before one is made that nobody would then know. */
export function probeTokenFile(fs: Fs, path: string): void {
  const probe = `${path}-probe`;
  fs.replace(probe, new Uint8Array());
  fs.remove(probe);
}

export function writeTokenFile(fs: Fs, path: string, token: Secret<string>): void {
  const bytes = ownBytes(`${token.reveal()}\n`);
  try {
    fs.replace(path, bytes);
  } finally {
    wipe(bytes);
  }
}
