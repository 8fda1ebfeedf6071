// The list of events on docs/operations/disaster-recovery.md: those that the program writes, and no others.

import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import test from "node:test";
import { readPage } from "../support/page.ts";

const ROOT = join(import.meta.dirname, "..", "..");
const FAMILIES = ["replication", "operation-token"];
/** Codes of attention, refusals and metrics have dots or dashes too: events are named where a line is written. */
const WRITTEN = /(?:event: |= )["`]((?:replication|operation-token)\.[a-z-]+)["`]/g;
const CHANGED = /\.tell\("([a-z-]+)"/g;
const BY_PARTS = /\$\{EVENT\}\.([a-z-]+)/g;

test("every event of replication is on the page, and the page has no other", () => {
  const files = globSync("src/**/*.ts", { cwd: ROOT }).filter((one) => !one.endsWith(".test.ts"));
  const written = new Set<string>();
  for (const file of files) {
    const text = readFileSync(join(ROOT, file), "utf8");
    for (const [, event = ""] of text.matchAll(WRITTEN)) written.add(event);
    if (!file.startsWith("src/replication/")) continue;
    for (const [, event = ""] of [...text.matchAll(CHANGED), ...text.matchAll(BY_PARTS)]) {
      written.add(`replication.${event}`);
    }
  }
  assert.ok(written.size > 15);
  const rows = [...readPage("operations/disaster-recovery.md").matchAll(/^\| `([a-z.-]+)` +\|/gm)];
  const listed = rows
    .map(([, event = ""]) => event)
    .filter((event) => FAMILIES.includes(event.split(".")[0] ?? "") && event.includes("."));
  assert.deepEqual(listed.toSorted(), [...written].toSorted());
});
