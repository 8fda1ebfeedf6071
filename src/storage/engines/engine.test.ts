// The engines under the contract that all of them keep.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after } from "node:test";
import { engineContract } from "../../../tests/contract/engine.ts";
import { SystemFs } from "../../system/fs.ts";
import type { StorageEngine } from "./engine.ts";
import { MemoryDisk, MemoryEngine } from "./memory.ts";
import { SqliteEngine } from "./sqlite.ts";

engineContract("memory", async () => {
  const disk = new MemoryDisk();
  const engine = new MemoryEngine(disk);
  let last = engine;
  const reopen = async () => {
    await last.close();
    return (last = new MemoryEngine(disk));
  };
  return { engine, reopen };
});

const root = mkdtempSync(join(tmpdir(), "holdfast-engines-"));
after(() => rmSync(root, { recursive: true }));
let stores = 0;

const makeSqlite = async () => {
  const directory = join(root, `${stores++}`);
  const open = () => SqliteEngine.open({ directory, fs: new SystemFs() });
  const engine = await open();
  let last: StorageEngine = engine;
  const reopen = async () => {
    await last.close();
    return (last = await open());
  };
  return { engine, reopen };
};
engineContract("sqlite", makeSqlite, { histories: 15 }); // each starts a thread
