// docs/policies/programs.md is true: it names every variable, function and limit, and its examples do what
// they say.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";
import * as limits from "../../../src/program/limits.ts";
import { parseProgram, runTests } from "../../../src/program/program.ts";
import { PROPERTIES } from "../../../src/program/request/properties.ts";
import { CALLABLE } from "../../../src/program/checking/signatures.ts";
import { governedServer } from "../../support/servers/governed-server.ts";

const PAGE = readFileSync(new URL("../../../docs/policies/programs.md", import.meta.url), "utf8");

/** What stands below a heading, up to the next of its kind. */
function section(heading: string): string {
  const [, text] = PAGE.split(`\n## ${heading}\n`);
  assert.ok(text !== undefined, `the page has ${heading}`);
  return text.split("\n## ")[0] ?? "";
}

function rows(heading: string): readonly (readonly string[])[] {
  return section(heading)
    .split("\n")
    .filter((line) => line.startsWith("| `"))
    .map((line) => line.split(" | ").map((cell) => cell.replaceAll(/^\| | \|$/g, "").trim()));
}

interface Example {
  readonly title: string;
  readonly text: string;
}

function examples(): readonly Example[] {
  const parts = section("Examples").split("\n### ").slice(1);
  return parts.map((part) => {
    const [, text] = /\n```cel\n([^]*?)\n```\n/.exec(part) ?? [];
    const title = part.slice(0, part.indexOf("\n"));
    assert.ok(text !== undefined, `${title} has a program`);
    return { title, text };
  });
}

test("the page names every variable that there is, by its kind, and no other", () => {
  const documented = rows("What a program sees").map(([name = "", kind = ""]) => `${name} ${kind}`);
  const there = PROPERTIES.map(({ path, kind }) => `\`${path}\` ${kind}`);
  assert.deepEqual(documented, there);
});

test("the page names every function that there is, and no other", () => {
  const documented = rows("Functions").flatMap(([forms = ""]) =>
    [...forms.matchAll(/(?<![.\w"])(?:\w+\.|"[^"]*"\.)?([A-Za-z_]+)\(/g)].map(([, name]) => name),
  );
  assert.deepEqual(new Set(documented), new Set(CALLABLE));
});

test("the page tells the limits as they are", () => {
  const text = section("Limits");
  for (const limit of [
    limits.DOCUMENT_LIMITS.bytes,
    limits.MAX_EXPRESSION,
    limits.MAX_NESTING,
    limits.MAX_NODES,
    limits.MAX_STEPS,
    limits.MAX_STEPS_TOGETHER,
    limits.MAX_TEXT,
    limits.MAX_ELEMENTS,
    limits.MAX_PATTERN,
  ]) {
    assert.match(text, new RegExp(`\\b${limit}\\b`), `${limit}`);
  }
});

test("the ten examples pass their tests, each with one that is let through and one that is not", () => {
  const all = examples();
  assert.equal(all.length, 10);
  for (const { title, text } of all) {
    const program = parseProgram(text);
    const outcomes = runTests(program);
    assert.deepEqual(
      outcomes.filter(({ passed }) => !passed),
      [],
      title,
    );
    assert.deepEqual(new Set(outcomes.map(({ want }) => want)), new Set([true, false]), title);
    const dry = program.warnings.filter((warning) => !warning.startsWith("on a made-up request"));
    assert.deepEqual(dry, [], title);
  }
});

test("a server takes every example as an EGP and as an RGP", async (t) => {
  const server = await governedServer(t);
  for (const [i, { text }] of examples().entries()) {
    await server.rgp(`example-${i}`, text, "hard-mandatory");
    await server.egp(`example-${i}`, text, "soft-mandatory", ["sys/policies/acl/*"]);
  }
});
