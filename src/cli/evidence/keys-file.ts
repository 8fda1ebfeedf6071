// The list of keys and the fingerprint that checks without a server are given.

import { readFingerprint } from "../../signed/envelope.ts";
import { readEvidenceFile } from "../../signed/evidence-file.ts";
import { type KeyList, readKeyList } from "../../signed/key-list.ts";
import { UsageError } from "../line/usage-error.ts";
import type { UserFiles } from "../line/user-file.ts";

const MAX_KEYS_FILE = 16 * 1024 * 1024;

export function pinOf(text: string | undefined): string | null {
  if (text === undefined) return null;
  const fingerprint = readFingerprint(text);
  if (fingerprint === null) throw new UsageError("-fingerprint takes a SHA-256 in hex");
  return fingerprint;
}

/** A list of keys, or why there is none. */
export type KeysRead =
  | { readonly list: KeyList; readonly problem: null }
  | { readonly list: null; readonly problem: string };

export function readKeys(files: UserFiles, path: string): KeysRead {
  const { keyLists } = readEvidenceFile(files.text(path, MAX_KEYS_FILE));
  const [found, ...more] = keyLists;
  if (found === undefined) return { list: null, problem: "no list of keys is in it" };
  if (more.length > 0) return { list: null, problem: "several lists of keys are in it" };
  return keysFrom(found);
}

export function keysFrom(value: Parameters<typeof readKeyList>[0]): KeysRead {
  const list = readKeyList(value);
  return list.problem === null ? { list, problem: null } : { list: null, problem: list.problem };
}
