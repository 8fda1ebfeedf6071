// The examples of docs/policies/acl.md, read out of the page: what it shows is what happens.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import test from "node:test";
import type { JsonObject } from "@holdfast/shared/json/json";
import { type AclCapability, CAPABILITIES } from "../../../src/acl/capability.ts";
import { CompiledAcl } from "../../../src/acl/compile.ts";
import { decide } from "../../../src/acl/decide.ts";
import { parseAclDocument } from "../../../src/acl/document.ts";
import { NOT_ENFORCED, RULE_KEYS } from "../../../src/acl/body.ts";

const page = readFileSync(join(import.meta.dirname, "../../../docs/policies/acl.md"), "utf8");

function compiled(text: string): CompiledAcl {
  const document = parseAclDocument(text);
  const policy = { name: "p", namespaceId: "root", document, written: 1n, expires: null };
  return CompiledAcl.compile([policy], { now: 0n });
}

/** The rows of the table whose head begins with these cells. */
function rows(...head: readonly string[]): string[][] {
  const lines = page.split("\n");
  const cells = (line: string) =>
    line
      .split("|")
      .slice(1, -1)
      .map((cell) => cell.trim());
  const at = lines.findIndex((line) => head.every((cell, i) => cells(line)[i] === cell));
  assert.ok(at >= 0, `there is no table ${head.join(", ")}`);
  const end = lines.findIndex((line, i) => i > at && !line.startsWith("|"));
  return lines.slice(at + 2, end).map(cells);
}

const bare = (cell = "") => cell.replaceAll("`", "");

function isWord(text: string): text is Exclude<AclCapability, "sudo"> {
  return text !== "sudo" && (CAPABILITIES as readonly string[]).includes(text);
}

const precedence = rows("Rules", "Request", "Answer");
for (const [rules, request, answer] of precedence) {
  test(`${bare(rules)} – ${bare(request)} is ${answer}`, () => {
    const text = bare(rules)
      .split(";")
      .map((one) => {
        const [path = "", words = ""] = one.split(":");
        const capabilities = words.split(",").map((word) => word.trim());
        return `path "${path.trim()}" { capabilities = ${JSON.stringify(capabilities)} }`;
      });
    const [word = "", path = ""] = bare(request).split(" ");
    assert.ok(isWord(word), word);
    const question = { path, capability: word, sudo: false, data: {}, wrapTtl: null };
    const { allowed } = decide(compiled(text.join("\n")), question);
    assert.equal(allowed ? "allowed" : "denied", answer);
  });
}

const parameters = rows("Rule", "Data", "Answer");
for (const [rule, data, answer] of parameters) {
  test(`${bare(rule)} – ${bare(data)} is ${answer}`, () => {
    const acl = compiled(`path "p" { capabilities = ["update"] ${bare(rule)} }`);
    const parsed = JSON.parse(bare(data)) as JsonObject;
    const question = { path: "p", sudo: false, data: parsed, wrapTtl: null };
    const { allowed } = decide(acl, { ...question, capability: "update" });
    assert.equal(allowed ? "allowed" : "denied", answer);
  });
}

test("the page has its examples, and every document in it is one", () => {
  assert.ok(precedence.length >= 20 && parameters.length >= 15);
  const documents = [...page.matchAll(/```(?:hcl|json)\n(.*?)```/gs)].map(([, text = ""]) => text);
  assert.ok(documents.length >= 3);
  for (const text of documents) assert.ok(parseAclDocument(text).rules.length > 0, text);
});

test("the page names every capability and every key, and those that are refused", () => {
  const words = rows("Word", "Grants").map(([word]) => bare(word));
  assert.deepEqual(words.toSorted(), [...CAPABILITIES, "deny"].toSorted());
  const keys = rows("Key in a `path` block").flatMap(([cell]) => bare(cell).split(", "));
  assert.deepEqual(keys.toSorted(), [...RULE_KEYS].toSorted());
  for (const key of NOT_ENFORCED) assert.ok(page.includes(`\`${key}\``), key);
});
