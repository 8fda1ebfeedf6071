// Bugs on purpose, for the experiments with snapshots.

import type { CloudAStore } from "../../src/snapshots/clouda/clouda-store.ts";
import type { SnapshotFiles } from "@holdfast/shared/world";

/** A snapshot has its name, and neither of the two is on the disk. */
export function unsynced(files: Pick<SnapshotFiles, "hold">): void {
  const { hold } = files;
  files.hold = async function careless(path) {
    const held = await hold.call(this, path);
    if (held === null) return null;
    const create = held.create.bind(held);
    held.create = async (name) => {
      const file = await create(name);
      file.sync = async () => {};
      return file;
    };
    held.sync = async () => {};
    return held;
  };
}

/** Nobody clears away what is left of an upload. Gives what mends it. */
export function leftAlone(store: Pick<CloudAStore, "settle">): () => void {
  const { settle } = store;
  store.settle = async () => false;
  return () => void (store.settle = settle);
}

/** However full the disk is, there is room on it. */
export function endlessDisk(fs: { freeBytes(path: string): number }): void {
  fs.freeBytes = () => Number.MAX_SAFE_INTEGER;
}

export function endlessDirectories(files: Pick<SnapshotFiles, "hold">): void {
  const { hold } = files;
  files.hold = async function careless(path) {
    const held = await hold.call(this, path);
    if (held !== null) held.freeBytes = async () => Number.MAX_SAFE_INTEGER;
    return held;
  };
}
