// Files that exist in a test only: names and texts, directories where a name says so.

import { Failure } from "@holdfast/shared/failure";
import type { FileInfo, Fs } from "@holdfast/shared/world";

export interface MemoryFiles extends Fs {
  readonly texts: Map<string, string>;
  readonly modes: Map<string, number>;
}

export function memoryFiles(contents: Readonly<Record<string, string>>): MemoryFiles {
  const texts = new Map(Object.entries(contents));
  const modes = new Map<string, number>();
  const made = new Set<string>();
  const isDirectory = (path: string) =>
    made.has(path) || [...texts.keys()].some((name) => name.startsWith(`${path}/`));
  return {
    texts,
    modes,
    read(path, maxBytes) {
      const text = texts.get(path);
      if (text === undefined) return null;
      const bytes = Buffer.from(text, "utf8");
      if (bytes.length <= maxBytes) return bytes;
      throw new Failure("too-large", "file-too-large", `${path} is too large`);
    },
    info(path): FileInfo | null {
      const text = texts.get(path);
      const mode = modes.get(path);
      if (text !== undefined)
        return { kind: "file", size: text.length, mode: mode ?? 0o600, ours: true };
      return isDirectory(path)
        ? { kind: "directory", size: 0, mode: mode ?? 0o700, ours: true }
        : null;
    },
    list(path) {
      const names = [...texts.keys()].flatMap((name) =>
        name.startsWith(`${path}/`) ? [name.slice(path.length + 1).split("/")[0] ?? ""] : [],
      );
      return [...new Set(names)].toSorted();
    },
    replace: (path, bytes) => void texts.set(path, Buffer.from(bytes).toString("utf8")),
    makeDirectory: (path) => void made.add(path),
    remove: (path) => void texts.delete(path),
    removeDirectory: (path) => void made.delete(path),
    freeBytes: () => 2 ** 40,
  };
}
