// Where a container finds the folders of its plugin: below the one place in it that can be written to.

import { posix } from "node:path";
import type { Folders, Translation } from "./runner.ts";

export const INSIDE: Folders = {
  own: "/tmp/holdfast/own",
  ours: "/tmp/holdfast/ours",
};

export function insidePaths({ own, ours }: Folders): Translation {
  const pairs = [
    [own, INSIDE.own],
    [ours, INSIDE.ours],
  ] as const;
  return {
    own: INSIDE.own,
    toPlugin: (path) => {
      for (const [outside, inside] of pairs) {
        if (path.startsWith(`${outside}/`)) return inside + path.slice(outside.length);
      }
      return path;
    },
    fromPlugin: (path) => {
      const plain = posix.normalize(path);
      for (const [outside, inside] of pairs) {
        if (plain.startsWith(`${inside}/`) && plain.length > inside.length + 1) {
          return outside + plain.slice(inside.length);
        }
      }
      return null;
    },
  };
}
