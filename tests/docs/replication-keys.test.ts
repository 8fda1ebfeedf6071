// The rows below core/replication/dr/ stand in the document of the format, each by its key.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";
import { KEYS } from "../support/stores/key-table.ts";

const ROWS = "core/replication/dr/";

test("every key that replication stores is described, and no other", () => {
  const text = readFileSync(new URL("../../docs/formats/replication.md", import.meta.url), "utf8");
  const stored = text.slice(text.indexOf("## What a primary stores"), text.indexOf("## Calls"));
  const described = (name: string) =>
    ["`" + name + "`", "`" + name + "<", "`" + ROWS + name + "`"].some((one) =>
      stored.includes(one),
    );
  const names = KEYS.filter((key) => key.startsWith(ROWS)).map((key) =>
    key.slice(ROWS.length).replace(/(?::x|\*)$/, ""),
  );
  assert.ok(names.includes("role") && names.includes("secondaries/"));
  assert.deepEqual(
    names.filter((name) => !described(name)),
    [],
  );
  const first = /^\| `(?<key>[a-z/-]+)(?:<[a-z]+>)?` /gm;
  const tables = stored.slice(0, stored.indexOf("## Role")).matchAll(first);
  const listed = Array.from(tables, ({ groups }) => groups?.["key"] ?? "");
  assert.ok(listed.length >= 8, listed.join());
  assert.deepEqual(
    listed.filter((name) => !names.includes(name)),
    [],
  );
});
