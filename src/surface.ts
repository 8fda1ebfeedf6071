// Every declaration of the house, without a server around it: for the documents and the client that
// are made from them, and for the tests that must miss none. The server serves the same lists.

import type { Endpoint } from "@holdfast/shared/endpoint/endpoint";
import { cubbyholeApi } from "@holdfast/engines/cubbyhole/api";
import type { DeclaredFile } from "./house/room.ts";
import { orphansApi } from "./mounts/api/api-orphans.ts";
import { builtInTypes } from "./server/engine-types.ts";
import { ROOMS } from "./server/rooms.ts";

/** By the file that declares them, in the order in which they are documented. */
export const surface: readonly Omit<DeclaredFile, "serve">[] = Object.values(ROOMS).flatMap(
  ({ declares }): readonly DeclaredFile[] => declares,
);

export interface MountedEndpoints {
  /** What to call such a mount. */
  readonly title: string;
  /** The client's module for it. */
  readonly group: string;
  /** Where it is, or what stands for that. */
  readonly at: string;
  readonly endpoints: readonly Endpoint<never>[];
}

interface Face {
  readonly title: string;
  readonly group: string;
  readonly options: Readonly<Record<string, string>>;
}

/** Types that answer differently by their options. All others have one face, called like the type. */
const FACES: Readonly<Record<string, readonly Face[]>> = {
  kv: [
    { title: "kv, version 2", group: "kv", options: { version: "2" } },
    { title: "kv, version 1", group: "kv1", options: { version: "1" } },
  ],
};

/** What mounts answer to, by type; paths begin at the mount. */
export const mountedSurface: readonly MountedEndpoints[] = [
  { title: "cubbyhole", group: "cubbyhole", at: "cubbyhole", endpoints: cubbyholeApi },
  ...builtInTypes().flatMap(facesOf),
  {
    title: "every type that makes something outside",
    group: "mounts",
    at: "<mount>",
    endpoints: orphansApi,
  },
];

type BuiltIn = ReturnType<typeof builtInTypes>[number];

function facesOf({ type, kind, paths }: BuiltIn): MountedEndpoints[] {
  const faces = FACES[type] ?? [{ title: type, group: type, options: {} }];
  const at = kind === "auth" ? `auth/<${type}>` : `<${type}>`;
  return faces.map(({ title, group, options }) => ({
    title,
    group,
    at,
    endpoints: paths(options),
  }));
}

export const everyEndpoint: readonly Endpoint<never>[] = surface.flatMap(
  ({ endpoints }) => endpoints,
);
