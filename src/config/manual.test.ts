// docs/operations/configuration.md against the declaration it describes.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import test from "node:test";
import { memoryFiles } from "../../tests/support/memory-files.ts";
import { loadConfig } from "./load.ts";
import { absentKeys, manualTables, renderManual } from "./manual.ts";

const page = readFileSync(
  join(import.meta.dirname, "../../docs/operations/configuration.md"),
  "utf8",
);

/** Headings and rows of tables, without the blanks that formatting adds. */
function substance(markdown: string): string[] {
  return markdown
    .split("\n")
    .filter((line) => /^###? |^\| (?!Key |-)/.test(line))
    .map((line) => line.replace(/\s+/g, " ").trim());
}

test("the manual's tables are those of the declaration", () => {
  const part = page.slice(page.indexOf("## Every setting") + "## Every setting".length);
  const written = substance(part.slice(0, part.indexOf("\n## ")));
  assert.deepEqual(written, substance(renderManual()));
  assert.ok(written.length > 80);
});

test("every setting has a line, and every refusal a reason", () => {
  for (const { rows } of manualTables()) {
    for (const cells of rows)
      assert.ok(
        cells.every((cell) => cell.length > 0),
        cells.join("|"),
      );
  }
  assert.ok(absentKeys().every(([, why]) => why.length > 5));
});

test("the manual's examples are accepted, in every notation", async () => {
  const examples = [...page.matchAll(/```(hcl|json|yaml)\n([\s\S]*?)```/g)];
  assert.ok(examples.length >= 3);
  for (const [, notation, text = ""] of examples) {
    const name = `/etc/h.${notation}`;
    const files = memoryFiles({ [name]: text, "/run/secrets/seal-key": "k" });
    const env = { HOLDFAST_SEAL_KEY: "k" };
    await loadConfig({ paths: [name], env, files, directory: "/srv", hostname: "h" });
  }
});
