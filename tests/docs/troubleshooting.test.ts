// docs/operations/troubleshooting.md: what it says that the program says, the program says.

import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import test from "node:test";
import { readPage } from "../support/page.ts";

const ROOT = join(import.meta.dirname, "..", "..");

test("every message on the page is one of the program's", () => {
  const files = [
    ...globSync("{src,shared,plugin-sdk,client,engines}/**/*.ts", { cwd: ROOT }),
    "bin/holdfast",
  ];
  const texts = files.filter((file) => !file.endsWith(".test.ts"));
  // Long texts are written in parts: "…" + "…".
  const program = texts
    .map((file) => readFileSync(join(ROOT, file), "utf8"))
    .join("\n")
    .replace(/["`] \+\s+["`]/g, "");
  const rows = [...readPage("operations/troubleshooting.md").matchAll(/^\| (`[^|]+?) *\|/gm)];
  const messages = rows.flatMap(([, cell = ""]) =>
    [...cell.matchAll(/`([^`]+)`/g)].map(([, one = ""]) => one),
  );
  assert.ok(messages.length > 20);
  for (const message of messages) {
    for (const part of message.split("…").filter((one) => one.trim().length > 3)) {
      assert.ok(program.includes(part.trim()), message);
    }
  }
});
