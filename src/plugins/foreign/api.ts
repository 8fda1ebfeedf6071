// What a plugin answers to whose declarations nobody here knows: every path, in three sets by who may ask. What it reads and
// refuses is decided there.

import { type Access, access } from "@holdfast/shared/endpoint/access";
import type { Belonging, Endpoint, PathHelp } from "@holdfast/shared/endpoint/endpoint";
import type { Output } from "@holdfast/shared/endpoint/output";
import type { Reply } from "@holdfast/shared/endpoint/reply";
import type { EngineRequest } from "@holdfast/shared/endpoint/request";
import { wire } from "@holdfast/shared/endpoint/wire";
import type { JsonObject } from "@holdfast/shared/json/json";
import { engineEndpoints } from "@holdfast/plugin-sdk/engine";
import type { ForeignMount } from "./foreign-mount.ts";
import type { PathSet } from "./special-paths.ts";

const endpoint = engineEndpoints<ForeignMount>();

const ACCESS: Readonly<Record<PathSet, Access>> = {
  ordinary: access.capability,
  sudo: access.sudo,
  open: access.openWithCaller,
};
const SUFFIX: Readonly<Record<PathSet, string>> = { ordinary: "", sudo: "WithSudo", open: "Open" };
const GIVEN = "Whatever the plugin takes.";
const ANSWER: Output<Reply["data"]> = { schema: { description: "Whatever the plugin answers." } };

/** By a cluster that writes what the mount keeps, anything may be written; by another one, what a read makes stays there, and
 *  storage says when it does not. */
function belongsOfRead({ needs }: ForeignMount): Belonging {
  return needs.storage.writtenElsewhere === true ? "local" : "mount";
}

interface Top {
  readonly suffix: string;
  readonly path: string;
}

interface Input {
  readonly path?: string;
  readonly given: JsonObject;
}

const pathOf = ({ path = "" }: Input) => path;
const help = (mount: ForeignMount, request: EngineRequest): Promise<PathHelp | null> =>
  mount.help(request);

function setAt(
  set: PathSet,
  kind: "auth" | "secret",
  { suffix, path }: Top,
): Endpoint<ForeignMount>[] {
  const end = `${suffix}${SUFFIX[set]}`;
  const input = {
    ...(path === "/" ? {} : { path: wire.path("path").string("Path below the mount.") }),
    given: wire.given("data", GIVEN),
  };
  /** A way in of an auth method: judged as such, whoever asks. */
  const login = set === "open" && kind === "auth";
  const common = {
    path,
    access: ACCESS[set],
    input,
    output: ANSWER,
    help,
    runs: "active" as const,
  };
  return [
    endpoint({
      ...common,
      name: `readPlugin${end}`,
      method: "GET",
      summary: "Read from a plugin.",
      belongs: belongsOfRead,
      login,
      handler: (mount, read, request) => mount.answer("read", pathOf(read), read.given, request),
    }),
    endpoint({
      ...common,
      name: `listPlugin${end}`,
      method: "LIST",
      summary: "List what a plugin has.",
      belongs: belongsOfRead,
      handler: (mount, read, request) => mount.answer("list", pathOf(read), read.given, request),
    }),
    endpoint({
      ...common,
      name: `writePlugin${end}`,
      method: "POST",
      summary: "Write to a plugin.",
      belongs: login ? belongsOfRead : "mount",
      login,
      exists: (mount, { path: at = "" }, request) => mount.exists(at, request),
      existsElsewhere: true,
      handler: async (mount, read, request) => {
        const operation = (await request.creates()) ? "create" : "update";
        return await mount.answer(operation, pathOf(read), read.given, request);
      },
    }),
    endpoint({
      ...common,
      name: `patchPlugin${end}`,
      method: "PATCH",
      summary: "Change something in a plugin.",
      belongs: "mount",
      handler: (mount, read, request) => mount.answer("patch", pathOf(read), read.given, request),
    }),
    endpoint({
      ...common,
      name: `deletePlugin${end}`,
      method: "DELETE",
      summary: "Delete something in a plugin.",
      belongs: "mount",
      handler: (mount, read, request) => mount.answer("delete", pathOf(read), read.given, request),
    }),
  ];
}

function setOf(set: PathSet, kind: "auth" | "secret"): readonly Endpoint<ForeignMount>[] {
  const tops = [
    { suffix: "Top", path: "/" },
    { suffix: "", path: "/:path+" },
  ];
  return tops.flatMap((top) => setAt(set, kind, top));
}

function setsOf(
  kind: "auth" | "secret",
): Readonly<Record<PathSet, readonly Endpoint<ForeignMount>[]>> {
  return {
    ordinary: setOf("ordinary", kind),
    sudo: setOf("sudo", kind),
    open: setOf("open", kind),
  };
}

/** Made once: tables of routes are kept by them. */
export const SETS = { auth: setsOf("auth"), secret: setsOf("secret") } as const;
