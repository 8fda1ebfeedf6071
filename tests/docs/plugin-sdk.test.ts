// The page on engines: its example is run, with its test, as an author would.

import assert from "node:assert/strict";
import { stripTypeScriptTypes } from "node:module";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import test from "node:test";
import { blocksOf, readPage } from "../support/page.ts";

const PAGE = readPage("plugin-sdk.md");

test("the example of the page does what its test says", async () => {
  const blocks = blocksOf(PAGE).filter(({ kind }) => kind === "ts");
  assert.equal(blocks.length, 2, "the page was read");
  const source = stripTypeScriptTypes(blocks.map(({ text }) => text).join("\n"));
  const found = source.replaceAll(
    /from "(@holdfast\/[^"]+)"/g,
    (_, name: string) => `from ${JSON.stringify(import.meta.resolve(name))}`,
  );
  const example = (await import(`data:text/javascript,${encodeURIComponent(found)}`)) as {
    readonly testCounter: () => Promise<void>;
  };
  await example.testCounter();
});

test("the page names every entry of the package, and no other", () => {
  const path = join(import.meta.dirname, "../../plugin-sdk/package.json");
  const { exports } = JSON.parse(readFileSync(path, "utf8")) as {
    readonly exports: Readonly<Record<string, string>>;
  };
  const rows = PAGE.split("\n").filter((line) => line.startsWith("| `"));
  const named = rows.flatMap((row) => {
    const [, first = ""] = row.split("|");
    return [...first.matchAll(/`([^`]+)`/g)].map(([, name = ""]) => `./${name}`);
  });
  assert.deepEqual(named.toSorted(), Object.keys(exports).toSorted());
});
