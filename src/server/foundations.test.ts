import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { fakeWorld } from "../../tests/support/fake-world.ts";
import { SystemFs } from "../system/fs.ts";
import { openGenerations } from "./foundations.ts";

test("a file with no store in it is named when the server starts on it, and nothing else is", async (t) => {
  const home = mkdtempSync(join(tmpdir(), "holdfast-empty-"));
  t.after(() => rmSync(home, { recursive: true, force: true }));
  const { log, lines } = fakeWorld();
  const claimed = async (store: string) => {
    const config = { storage: { type: "sqlite" }, directories: { store } } as const;
    const generations = await openGenerations(config, { fs: new SystemFs() }, log);
    await generations.close();
  };
  await claimed(join(home, "new"));
  assert.deepEqual(lines, []);
  const store = join(home, "emptied");
  mkdirSync(store, { mode: 0o700 });
  writeFileSync(join(store, "store.db"), "", { mode: 0o600 });
  await claimed(store);
  assert.equal(lines.length, 1);
  assert.match(lines[0] ?? "", /there is a file with no store in it.*emptied\/store\.db/);
});
