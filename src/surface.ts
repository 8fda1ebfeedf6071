// Every declaration of the house, without a server around it: for the documents and the client that
// are made from them, and for the tests that must miss none. The server serves the same lists.

import type { Endpoint } from "@holdfast/shared/endpoint/endpoint";
import { approleType } from "@holdfast/engines/approle/approle";
import { cloudaType } from "@holdfast/engines/clouda/clouda";
import { cloudbType } from "@holdfast/engines/cloudb/cloudb";
import { cubbyholePaths } from "@holdfast/engines/cubbyhole/engine";
import { kvEngine } from "@holdfast/engines/kv/kv";
import { userpassType } from "@holdfast/engines/userpass/userpass";
import type { DeclaredFile } from "./house/room.ts";
import { orphansApi } from "./mounts/api/api-orphans.ts";
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

/** What mounts answer to, by type; paths begin at the mount. */
export const mountedSurface: readonly MountedEndpoints[] = [
  { title: "cubbyhole", group: "cubbyhole", at: "cubbyhole", endpoints: cubbyholePaths },
  { title: "kv, version 2", group: "kv", at: "<kv>", endpoints: kvEngine.paths({ version: "2" }) },
  { title: "kv, version 1", group: "kv1", at: "<kv>", endpoints: kvEngine.paths({ version: "1" }) },
  { title: "clouda", group: "clouda", at: "<clouda>", endpoints: cloudaType.paths({}) },
  { title: "cloudb", group: "cloudb", at: "<cloudb>", endpoints: cloudbType.paths({}) },
  {
    title: "userpass",
    group: "userpass",
    at: "auth/<userpass>",
    endpoints: userpassType().paths({}),
  },
  { title: "approle", group: "approle", at: "auth/<approle>", endpoints: approleType().paths({}) },
  {
    title: "every type that makes something outside",
    group: "mounts",
    at: "<mount>",
    endpoints: orphansApi,
  },
];

export const everyEndpoint: readonly Endpoint<never>[] = surface.flatMap(
  ({ endpoints }) => endpoints,
);
