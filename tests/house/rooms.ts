// Which room may import which. The plan of the house in one table; a new room is a new row.

import { posix } from "node:path";
import { importsOf, readCode } from "./source.ts";

/** Rooms of equal rank: they never import each other, save the type of a record. */
const ROOMS = [
  "seal",
  "tokens",
  "policies",
  "leases",
  "mounts",
  "namespaces",
  "wrapping",
  "identity",
  "audit",
  "quotas",
  "browser",
  "introspection",
  "plugins",
  "regions",
  "replication",
  "snapshots",
];
const FOUNDATION = ["base", "crypto", "storage", "barrier"];
/** Policies as values: documents, the ACL decision, programs. Pure, and below every room. */
const POLICIES_AS_VALUES = ["document", "acl", "program"];
const BELOW_ROOMS = [...FOUNDATION, "endpoint", ...POLICIES_AS_VALUES];
const BELOW_SERVER = [
  ...BELOW_ROOMS,
  ...ROOMS,
  "core",
  "http",
  "engines",
  "outbound",
  "plugin-sdk",
  "config",
  "surface.ts",
];

const MAY_IMPORT: ReadonlyMap<string, readonly string[]> = new Map([
  ["base", []],
  ["crypto", FOUNDATION.slice(0, 1)],
  ["storage", FOUNDATION.slice(0, 2)],
  ["barrier", FOUNDATION.slice(0, 3)],
  ["endpoint", ["base"]],
  ["document", ["base"]],
  ["acl", ["base", "document"]],
  ["program", ["base", "document", "acl"]], // paths are matched as there
  ...ROOMS.map((room): [string, string[]] => [
    room,
    // Those that call engines speak their language.
    ["mounts", "leases"].includes(room) ? [...BELOW_ROOMS, "plugin-sdk"] : BELOW_ROOMS,
  ]),
  ["core", [...BELOW_ROOMS, ...ROOMS]],
  ["http", [...BELOW_ROOMS, "core"]], // it knows endpoints and the pipeline, no room
  ["engines", ["base", "endpoint", "plugin-sdk"]], // so that one could move into a plugin
  ["outbound", ["base", "plugin-sdk"]],
  ["client", ["base"]],
  ["cli", ["base", "client", ...POLICIES_AS_VALUES]],
  ["config", ["base", "document"]],
  ["surface.ts", ["endpoint", "engines", ...ROOMS]], // every declaration, without a server around it
  ["server", BELOW_SERVER],
  ["daemon", [...BELOW_SERVER, "server", "client"]], // the process around the server
  ["main.ts", ["base", "cli", "daemon"]],
]);

/** The direction of imports, and that packages are declared where they are needed. */
export function importDirection(
  path: string,
  source: string,
  packages: { readonly shipped: readonly string[]; readonly forTests: readonly string[] },
): string[] {
  const [top, room = ""] = path.split("/");
  if (top !== "src") return [];
  const may = MAY_IMPORT.get(room);
  if (may === undefined) return [`${path}: src/${room} is not in the plan of the house`];
  const isTest = path.endsWith(".test.ts");

  return importsOf(readCode(source)).flatMap(({ to, typeOnly, line }) => {
    const refuse = (what: string) => [`${path}:${line}: ${what}`];
    if (to === null) return refuse("a computed import() cannot be checked");
    if (to.startsWith("node:")) return [];
    if (!to.startsWith(".")) {
      const known = isTest ? [...packages.shipped, ...packages.forTests] : packages.shipped;
      const name = to.split("/", to.startsWith("@") ? 2 : 1).join("/");
      return known.includes(name) ? [] : refuse(`${name} is not among the dependencies`);
    }
    const target = posix.join(posix.dirname(path), to);
    const [targetTop = "", targetRoom = ""] = target.split("/");
    // Tests may lean on the simulator and on the contract tests; the product may not.
    if (isTest && (targetTop === "sim" || targetTop === "tests")) return [];
    const goal = targetTop === "src" ? targetRoom : targetTop;
    if (goal === room) {
      const apart = room === "engines" && !sameEngine(path, target);
      return apart ? refuse(`an engine may not import another (${target})`) : [];
    }
    if (may.includes(goal)) return [];
    // A record's type may be named across rooms; http is shown it by the endpoint's output.
    if (typeOnly && ROOMS.includes(goal) && ROOMS.includes(room)) return [];
    return refuse(`${room} may not import ${goal}`);
  });
}

/** What the engines of clouds share, and which imports none of them. */
const SHARED_BY_ENGINES = "cloud";

function sameEngine(path: string, target: string): boolean {
  const engine = target.split("/")[2];
  return path.split("/")[2] === engine || engine === SHARED_BY_ENGINES;
}
