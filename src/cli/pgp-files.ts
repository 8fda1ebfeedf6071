// PGP public keys out of files, as the API takes them: armoured text as it is, anything else in base64.

import { base64 } from "@holdfast/shared/bytes";
import type { UserFiles } from "./user-file.ts";

const MAX_KEY = 64 * 1024; // what the server reads of one

export function readPgpKey(files: UserFiles, path: string): string {
  const bytes = files.read(path, MAX_KEY);
  const text = bytes.toString("latin1").trim();
  if (text.startsWith("-----BEGIN PGP ")) return text;
  return /^[A-Za-z0-9+/=\s]+$/.test(text) ? text.replace(/\s+/g, "") : base64(bytes);
}

/** Files with commas between, as other tools take them, or the flag repeated. */
export function readPgpKeys(files: UserFiles, given: readonly string[]): string[] {
  return given
    .flatMap((paths) => paths.split(","))
    .filter((path) => path !== "")
    .map((path) => readPgpKey(files, path));
}
