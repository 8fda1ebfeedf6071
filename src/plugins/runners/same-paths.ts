// Paths of a plugin that sees the folders where they are.

import { posix } from "node:path";
import type { Folders, Translation } from "./runner.ts";

export function samePaths({ own, ours }: Folders): Translation {
  return {
    own,
    toPlugin: (path) => path,
    fromPlugin: (path) => {
      const plain = posix.normalize(path);
      return isIn(own, plain) || isIn(ours, plain) ? plain : null;
    },
  };
}

function isIn(folder: string, path: string): boolean {
  return path.startsWith(`${folder}/`) && path.length > folder.length + 1;
}
