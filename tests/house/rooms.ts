// Which room may import which, and which workspace. The plan of the house in one table; a new room is a
// new row.

import { posix } from "node:path";
import { ROOMS as LISTED } from "../../src/server/rooms.ts";
import { importsOf, lineAt, readCode } from "./source.ts";

/** Rooms of equal rank: they never import each other, save the type of a record. */
const ROOMS: readonly string[] = Object.keys(LISTED);
const FOUNDATION = ["base", "crypto", "storage", "barrier"];
/** Policies as values: documents, the ACL decision, programs. Pure, and below every room. */
const POLICIES_AS_VALUES = ["document", "acl", "program"];
/** Signed reports as values: their form, their envelope, and the checks that need no server. Pure. */
const SIGNED = "signed";
/** What a room is, and how rooms live together. */
const HOUSE = "house";
const BELOW_ROOMS = [...FOUNDATION, "endpoint", HOUSE, ...POLICIES_AS_VALUES, SIGNED];
const BELOW_SERVER = [
  ...BELOW_ROOMS,
  ...ROOMS,
  "system",
  "core",
  "http",
  "@engines",
  "outbound",
  "cluster",
  "forwarding",
  "@plugin-sdk",
  "config",
];

/** Workspaces, by what each may import; "@" tells them from rooms. Everybody may import the first. */
const WORKSPACES: ReadonlyMap<string, readonly string[]> = new Map([
  ["@shared", []],
  ["@plugin-sdk", []],
  ["@client", []],
  ["@engines", ["@plugin-sdk"]], // so that one could move into a plugin
  ["@plugins", ["@plugin-sdk"]], // each is one file when it runs, with all that it imports
]);

const MAY_IMPORT: ReadonlyMap<string, readonly string[]> = new Map([
  ...WORKSPACES,
  ["base", []],
  ["system", ["base"]], // the real machine behind the interfaces of shared/world.ts
  ["crypto", FOUNDATION.slice(0, 1)],
  ["storage", FOUNDATION.slice(0, 2)],
  ["barrier", FOUNDATION.slice(0, 3)],
  ["endpoint", ["base"]],
  ["cluster", ["base"]], // links between clusters; who replicates stands above it
  [HOUSE, FOUNDATION],
  ["document", ["base"]],
  [SIGNED, ["base"]],
  ["acl", ["base", "document"]],
  ["program", ["base", "document", "acl"]], // paths are matched as there
  ...ROOMS.map((room): [string, string[]] => [
    room,
    // Those that call engines, are engines outside, show what engines count, or call outside as they do, speak their language.
    ["mounts", "leases", "introspection", "snapshots", "plugins"].includes(room)
      ? [...BELOW_ROOMS, "@plugin-sdk"]
      : BELOW_ROOMS,
  ]),
  // Clusters of one set: it has the links, calls outside, and takes over the keys that another cluster keeps.
  ["replication", [...BELOW_ROOMS, "cluster", "outbound", "@plugin-sdk", "seal"]],
  ["core", [...BELOW_ROOMS, ...ROOMS]],
  ["http", [...BELOW_ROOMS, "core"]], // it knows endpoints and the pipeline, no room
  // Requests that one cluster sends another: it takes them from the pipeline, and hands them to one.
  ["forwarding", [...BELOW_ROOMS, "core", "cluster"]],
  ["outbound", ["base", "@plugin-sdk"]],
  // It reads archives and opens them with shares by itself: they are of use without a server too.
  // Whether plugins can be run here it finds out by running some, as the server's configuration says.
  [
    "cli",
    ["base", "system", "@client", ...POLICIES_AS_VALUES, SIGNED, "snapshots", "seal"].concat([
      "plugins",
      "config",
    ]),
  ],
  ["config", ["base", "document"]],
  ["surface.ts", [HOUSE, "mounts", "server", "@engines"]], // every declaration, without a server around it
  ["server", BELOW_SERVER],
  ["daemon", [...BELOW_SERVER, "server", "@client"]], // the process around the server
  ["main.ts", ["base", "system", "cli", "daemon"]],
]);

/** Packages of others that a workspace declares; "" is the server's own. */
export type Packages = (workspace: string) => {
  readonly shipped: readonly string[];
  readonly forTests: readonly string[];
};

/** `@shared` for a file of that workspace, a room's name for one of the server, null for the rest. */
function placeOf(path: string): string | null {
  const [top = "", room = ""] = path.split("/");
  if (top === "src") return room;
  return WORKSPACES.has(`@${top}`) ? `@${top}` : null;
}

/** Where its packages are declared; empty: with the server's own. */
function workspaceOf(path: string, place: string): string {
  if (place === "@plugins") return path.split("/", 2).join("/");
  return place.startsWith("@") ? place.slice(1) : "";
}

/** The direction of imports, and that packages are declared where they are needed. */
export function importDirection(path: string, source: string, packages: Packages): string[] {
  const place = placeOf(path);
  if (place === null) return [];
  const may = MAY_IMPORT.get(place);
  if (may === undefined) return [`${path}: src/${place} is not in the plan of the house`];
  const isTest = path.endsWith(".test.ts");

  return importsOf(readCode(source)).flatMap(({ to, typeOnly, line }) => {
    const refuse = (what: string) => [`${path}:${line}: ${what}`];
    if (to === null) return refuse("a computed import() cannot be checked");
    if (to.startsWith("node:")) return [];
    const workspace = /^@holdfast\/([^/]+)/.exec(to)?.[1];
    if (!to.startsWith(".") && workspace === undefined) {
      const { shipped, forTests } = packages(workspaceOf(path, place));
      const known = isTest ? [...shipped, ...forTests] : shipped;
      const name = to.split("/", to.startsWith("@") ? 2 : 1).join("/");
      return known.includes(name) ? [] : refuse(`${name} is not among the dependencies`);
    }
    const target = posix.join(posix.dirname(path), to);
    const [targetTop = ""] = target.split("/");
    // Tests may lean on the simulator and on the contract tests; the product may not.
    if (isTest && (targetTop === "sim" || targetTop === "tests")) return [];
    const goal = workspace === undefined ? placeOf(target) : `@${workspace}`;
    if (isTest && goal === "system") return []; // nor is a fake better than the real part
    if (goal === place) {
      if (workspace !== undefined) return refuse(`${goal} names itself; write a relative path`);
      const apart = place === "@engines" && !sameEngine(path, target);
      return apart ? refuse(`an engine may not import another (${target})`) : [];
    }
    if (goal === null) return refuse(`${place} may not import ${target}`);
    if (workspace === undefined && (goal.startsWith("@") || place.startsWith("@"))) {
      return refuse(`${target} is in another workspace; it has a name`);
    }
    if (goal === "@shared" || may.includes(goal)) return [];
    // A record's type may be named across rooms; http is shown it by the endpoint's output. What the
    // machine is asked has its type beside its answer.
    if (typeOnly && [...ROOMS, "system"].includes(goal) && ROOMS.includes(place)) return [];
    return refuse(`${place} may not import ${goal}`);
  });
}

const SERVERS_OWN = /\b(?:RequestContext|endpointsOf)\b/g;

/** An engine sees of a request what an engine may see: its endpoints are declared with engineEndpoints. */
export function engineView(path: string, source: string): string[] {
  if (!path.startsWith("engines/") || path.endsWith(".test.ts")) return [];
  const { text } = readCode(source);
  return Array.from(text.matchAll(SERVERS_OWN), ({ 0: word, index }) => {
    const instead = word === "endpointsOf" ? "engineEndpoints" : "EngineRequest";
    return `${path}:${lineAt(text, index)}: ${word} is for the server's own rooms; take ${instead}`;
  });
}

/** What the engines of clouds share, and which imports none of them. */
const SHARED_BY_ENGINES = "cloud";

function sameEngine(path: string, target: string): boolean {
  const engine = target.split("/")[1];
  return path.split("/")[1] === engine || engine === SHARED_BY_ENGINES;
}
