// Whether every room of the server is in its list, and everything that is declared is declared by a room.

import { readCode } from "./source.ts";

export interface ListedRoom {
  /** What the list calls it. */
  readonly key: string;
  /** What it calls itself. */
  readonly name: string;
  /** Files whose declarations it serves. */
  readonly files: readonly string[];
}

/** Served at every mount of a type, and by no room. */
const AT_MOUNTS = "src/mounts/api/api-orphans.ts";

export function roomsApart(
  files: readonly (readonly [path: string, source: string])[],
  listed: readonly ListedRoom[],
): string[] {
  const product = files.filter(([path]) => path.startsWith("src/") && !path.endsWith(".test.ts"));
  const names = new Set(listed.map(({ key }) => key));
  const declared = new Set(listed.flatMap((room) => room.files));
  const unlisted = product.flatMap(([path, source]) => {
    const [, folder = "", file = ""] = path.split("/");
    if (folder === "house" || folder === "server") return []; // what a room is, and the list
    const { text } = readCode(source);
    const declares = /\bendpointsOf</.test(text);
    if ((declares || file === "room.ts") && !names.has(folder)) {
      return [`${path}: the room ${folder} is not in the list of src/server/rooms.ts`];
    }
    const lists = declares && /\bexport const \w+Api\b/.test(text); // others make them for a list
    if (!lists || declared.has(path) || path === AT_MOUNTS) return [];
    return [`${path}: what it declares is not among what src/${folder}/room.ts declares`];
  });
  const paths = new Set(product.map(([path]) => path));
  const strange = listed.flatMap(({ key, name, files: served }) => [
    ...(paths.has(`src/${key}/room.ts`) ? [] : [`src/${key}/room.ts is not there`]),
    ...(key === name ? [] : [`the room ${key} calls itself ${name}`]),
    ...served
      .filter((path) => !path.startsWith(`src/${key}/`) || !paths.has(path))
      .map((path) => `the room ${key} declares ${path}, which is not its own`),
  ]);
  return [...unlisted, ...strange];
}

/** Endpoints are declared where people look for them: in an `api*.ts`. Types and tests of declarations are none. */
export function declaredElsewhere(
  files: readonly (readonly [path: string, source: string])[],
): string[] {
  return files.flatMap(([path, source]) => {
    const isOurs = /^(?:src|engines)\//.test(path) && !path.endsWith(".test.ts");
    if (!isOurs || /\/api(?:-[^/]*)?\.ts$/.test(path)) return [];
    const declares = /\b(?:endpointsOf|engineEndpoints)</.test(readCode(source).text);
    return declares ? [`${path}: endpoints are declared in an api*.ts`] : [];
  });
}
