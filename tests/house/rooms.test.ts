import assert from "node:assert/strict";
import test from "node:test";
import { ROOMS } from "../../src/server/rooms.ts";
import { crowded, foldersApart, unknownFiles } from "./files.ts";
import { declaredElsewhere, roomsApart } from "./room-list.ts";
import { read, files, scripts } from "./tree.ts";

test("the list of rooms: the check finds what was planted and nothing else", () => {
  const api = "const endpoint = endpointsOf<Lamps>();";
  const lamps = { key: "lamps", name: "lamps", files: ["src/lamps/api.ts"] };
  const files = [
    ["src/lamps/room.ts", "// A room."],
    ["src/lamps/api.ts", `${api} export const lampsApi = [];`],
    ["src/lamps/api-pages.ts", `${api} export function pagesOf() {}`],
    ["src/lamps/api.test.ts", `${api} export const testApi = [];`],
    ["src/oil/oil.ts", "// endpointsOf<Oil>() would make it a room"],
  ] as const;
  assert.deepEqual(roomsApart(files, [lamps]), []);
  assert.equal(roomsApart(files, []).length, 3, "a room that is not in the list");
  const more = (path: string, source: string) => roomsApart([...files, [path, source]], [lamps]);
  assert.equal(more("src/oil/room.ts", "").length, 1);
  assert.equal(more("src/oil/deep/api.ts", "endpointsOf<Oil>();").length, 1);
  assert.equal(more("src/lamps/api-more.ts", `${api} export const moreApi = [];`).length, 1);
  assert.equal(roomsApart(files, [{ ...lamps, name: "oil" }]).length, 1);
  assert.equal(
    roomsApart(files, [{ ...lamps, files: [...lamps.files, "src/oil/oil.ts"] }]).length,
    1,
  );
  assert.equal(roomsApart(files.slice(1), [lamps]).length, 1);
});

test("every room is in the list, and whatever is declared is declared by one", () => {
  const listed = Object.entries(ROOMS).map(([key, { name, declares }]) => ({
    key,
    name,
    files: declares.map(({ file }) => file),
  }));
  assert.deepEqual(
    roomsApart(
      scripts.map((path) => [path, read(path)]),
      listed,
    ),
    [],
  );
});

test("no folder is crowded: the check finds what was planted, and nothing in the house", () => {
  const many = (count: number) => Array.from({ length: count }, (_, i) => `src/a/f${i}.ts`);
  assert.deepEqual(crowded([...many(20), "src/a/b/f.ts", "src/a/f.test.ts"]), []);
  assert.equal(crowded(many(21)).length, 1);
  assert.deepEqual(crowded(files), []);
});

test("the map names files that are there", () => {
  assert.deepEqual(unknownFiles("`core/a.ts` and `b.ts`", ["src/core/a.ts"]), ["b.ts"]);
  const map = read("ARCHITECTURE.md");
  assert.ok(map.includes("`pipeline.ts`"));
  assert.deepEqual(unknownFiles(map, files), []);
});

test("a row of the map that names folders names those that are there, and all of them", () => {
  const row = (text: string) =>
    `| Folder of \`src/\` | x |\n| \`lamps/\` | ${text} | \`lamp.ts\` |`;
  const lamps = ["src/lamps/oil/can.ts", "src/lamps/wick/wick.ts", "src/lamps/lamp.ts"];
  assert.deepEqual(foldersApart(row("lamps: `oil/`, `wick/` (what burns)"), lamps), []);
  assert.deepEqual(foldersApart(row("lamps"), lamps), [], "one that names none");
  assert.deepEqual(foldersApart(row("`oil/`"), lamps), ["`lamps/`: wick/ is not named"]);
  assert.equal(foldersApart(row("`oil/`, `wick/`, `gas/`"), lamps).length, 1);
  const map = read("ARCHITECTURE.md");
  assert.equal(
    foldersApart(map.replace("`cascades/`", "`falls/`"), files).length,
    2,
    "replication",
  );
  assert.equal(foldersApart(map.replace("`reload/`, ", ""), files).length, 1, "plugins");
  assert.deepEqual(foldersApart(map, files), []);
});

test("the walk sees the house", () => {
  for (const path of ["shared/world.ts", "src/storage/engines/engine.ts", "tests/house.test.ts"]) {
    assert.ok(files.includes(path), path);
  }
});

test("endpoints are declared in api*.ts alone; one that was planted elsewhere is found", () => {
  const kv = "const endpoint = engineEndpoints<Kv>();";
  assert.equal(declaredElsewhere([["engines/kv/engine.ts", kv]]).length, 1);
  assert.equal(declaredElsewhere([["src/lamps/rapi.ts", "endpointsOf<Lamps>();"]]).length, 1);
  const right = ["engines/kv/api/api-data.ts", "engines/kv/api.ts", "engines/kv/kv.test.ts"];
  assert.deepEqual(declaredElsewhere(right.map((path) => [path, kv] as const)), []);
  assert.deepEqual(declaredElsewhere(scripts.map((path) => [path, read(path)] as const)), []);
});
