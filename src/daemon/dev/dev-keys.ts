// What --dev-persist keeps beside the store so that it comes up unsealed: the unseal key and the root
// token, in clear, in a file of mode 0600. That is what makes such a directory unfit for real secrets.

import { join } from "node:path";
import { text, utf8, wipe } from "@holdfast/shared/bytes";
import type { Failure } from "@holdfast/shared/failure";
import { devKeysDamaged, devKeysMissing } from "../failures.ts";
import type { Fs } from "@holdfast/shared/world";

export interface DevKeys {
  readonly unsealKey: string;
  /** Null when the node was left without one. */
  readonly rootToken: string | null;
}

const NAME = "dev-keys.json";
const MAX_FILE = 8192;

export function writeDevKeys(fs: Fs, directory: string, keys: DevKeys): void {
  const note = "development only: whoever has this file has everything in the store beside it";
  const { unsealKey: unseal_key, rootToken: root_token } = keys;
  const bytes = utf8(`${JSON.stringify({ note, unseal_key, root_token }, null, 2)}\n`);
  fs.replace(join(directory, NAME), bytes);
  wipe(bytes);
}

/** Null when there is no such file. */
export function readDevKeys(fs: Fs, directory: string): DevKeys | null {
  const path = join(directory, NAME);
  const bytes = fs.read(path, MAX_FILE);
  if (bytes === null) return null;
  try {
    const found: unknown = JSON.parse(text(bytes));
    if (
      typeof found === "object" &&
      found !== null &&
      "unseal_key" in found &&
      "root_token" in found
    ) {
      const { unseal_key: unsealKey, root_token: rootToken } = found;
      const known = rootToken === null || typeof rootToken === "string";
      if (typeof unsealKey === "string" && known) return { unsealKey, rootToken };
    }
  } catch {
    // refused below: the parser's message would show a part of the keys
  } finally {
    wipe(bytes);
  }
  throw devKeysDamaged(`${path} is not what --dev-persist wrote`);
}

export function keysMissing(directory: string): Failure {
  const message =
    `${directory} holds a store, but not the ${NAME} that opens it: it was not made by --dev-persist, ` +
    "or its first start was interrupted; use another directory, or remove this one";
  return devKeysMissing(message);
}
