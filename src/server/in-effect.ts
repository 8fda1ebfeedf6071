// What holds on this node, for operators who ask: the configuration with the defaults that depend on it or
// on the machine put in, and what the process has open.

import type { JsonObject } from "@holdfast/shared/json/json";
import type { Fs } from "@holdfast/shared/world";
import type { Config } from "../config/config.ts";

/** As it could be written in a file, without secrets. Blocks that were left out are there as well. */
export function inEffect(config: Config): JsonObject {
  const { effective, storage, seal, audit, snapshotRoots, directories } = config;
  const { store } = directories;
  return {
    ...effective,
    storage: orNull(effective["storage"]) ?? [
      { type: storage.type, ...(store === null ? {} : { path: store }) },
    ],
    seal: orNull(effective["seal"]) ?? [{ type: seal.type }],
    audit_file_roots: [...audit.fileRoots],
    snapshot_roots: [...snapshotRoots],
  };
}

function orNull(blocks: JsonObject[string] | undefined): JsonObject[string] | null {
  return Array.isArray(blocks) && blocks.length > 0 ? blocks : null;
}

/** File descriptors in use; null where the system does not tell. The one that looks is not counted. */
export function openDescriptors(fs: Fs): number | null {
  const count = fs.list("/proc/self/fd").length;
  return count === 0 ? null : count - 1;
}
