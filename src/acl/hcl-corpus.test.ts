// Documents as people write them, and what becomes of them when they are damaged: mutations, none of which may crash, hang, or be read as something that does not survive printing. How long the
// worst of them takes is a row of the bench, policies/parser-mutations.

import assert from "node:assert/strict";
import test from "node:test";
import fc from "fast-check";
import { Failure } from "@holdfast/shared/failure";
import { damagedDocuments, documents } from "../../tests/support/damaged-documents.ts";
import { parseAclDocument } from "./document.ts";
import { parseDocument } from "../document/document.ts";
import { DocumentFailure } from "../document/document-failure.ts";
import { type BodyShape, NO_BLOCKS } from "../document/document-shape.ts";
import type { Body, HclDocument, Value } from "../document/hcl-node.ts";
import { parseHcl } from "../document/hcl-parser.ts";
import { printHcl } from "../document/hcl-printer.ts";
import { POLICY_LIMITS, SourceText } from "../document/source-text.ts";
import { often } from "../../tests/support/often.ts";

const RUNS = often(10_000);
const POLICIES = often(5_000);
const LIMITS = { ...POLICY_LIMITS, bytes: 64 * 1024 * 1024 };
const SHAPE: BodyShape = new Map([
  ["path", { labels: 1, body: NO_BLOCKS }],
  ["storage", { labels: 1, body: new Map([["retry_join", { labels: 0, body: NO_BLOCKS }]]) }],
]);

function isJson(text: string): boolean {
  return text.trimStart().startsWith("{");
}

/** Nothing but what was said: no positions, and text in one form. */
function plain(body: Body): unknown {
  return body.items.map((item) =>
    item.kind === "block"
      ? [item.type.text, ...item.labels.map(({ text }) => text), plain(item.body)]
      : [item.key.text, "=", plainValue(item.value)],
  );
}

function plainValue(value: Value): unknown {
  if (value.kind === "object") return { object: plain(value.body) };
  if (value.kind === "list") return { list: value.elements.map(plainValue) };
  return value.kind === "bool" ? value.value : { [value.kind]: value.text };
}

function commentsOf({ notes }: HclDocument): string[] {
  const lists = [...notes.values()].flatMap(({ before, after, closing }) => [
    before,
    after,
    closing,
  ]);
  return lists
    .flat()
    .map(({ text }) => text)
    .toSorted();
}

/** Printing loses neither tree nor comments, and a second time changes nothing. */
function checkPrinting(text: string): void {
  const document = parseHcl(new SourceText(text, LIMITS));
  const printed = printHcl(document);
  const again = parseHcl(new SourceText(printed, LIMITS));
  assert.deepEqual(plain(again.body), plain(document.body));
  assert.deepEqual(commentsOf(again), commentsOf(document));
  assert.equal(printHcl(again), printed);
}

for (const [name, text] of Object.entries(documents)) {
  test(`${name}: read, and unchanged by printing`, () => {
    assert.ok(parseDocument(new SourceText(text), SHAPE).items.length > 0);
    if (!isJson(text)) checkPrinting(text);
  });
}

/** Null when it is refused, which must be at a place in the text and in few words. */
function readOrRefuse(text: string): Body | null {
  try {
    return parseDocument(new SourceText(text), SHAPE);
  } catch (error) {
    assert.ok(error instanceof DocumentFailure, String(error));
    const { position, message } = error;
    assert.ok(position !== null && position.offset <= text.length);
    assert.ok(message.startsWith(`At ${position.line}:${position.column}: `), message);
    assert.ok(message.length < 300, message);
    return null;
  }
}

/** Nothing in the tree comes from nowhere: a node for each character would be the most. */
function sizeOf(body: Body): number {
  const items = body.items.map((item) =>
    item.kind === "block" ? item.labels.length + sizeOf(item.body) : sizeOfValue(item.value),
  );
  return items.reduce((sum, size) => sum + size + 1, 0);
}

function sizeOfValue(value: Value): number {
  if (value.kind === "object") return 1 + sizeOf(value.body);
  if (value.kind !== "list") return 1;
  return value.elements.reduce((sum, element) => sum + sizeOfValue(element), 1);
}

test(`of ${RUNS} damaged documents each is read, and survives printing, or is refused at a place`, () => {
  let read = 0;
  fc.assert(
    fc.property(damagedDocuments, (text) => {
      const body = readOrRefuse(text);
      if (body === null) return;
      read += 1;
      assert.ok(sizeOf(body) <= text.length);
      if (!isJson(text.replace("\ufeff", ""))) checkPrinting(text);
    }),
    { numRuns: RUNS },
  );
  // Were all of them refused at once, nothing would have been tried.
  assert.ok(read > RUNS / 10, `${read} were read`);
});

test(`of ${POLICIES} damaged documents none is more than refused when it is read as a policy`, () => {
  let read = 0;
  fc.assert(
    fc.property(damagedDocuments, (text) => {
      try {
        parseAclDocument(text);
        read += 1;
      } catch (error) {
        assert.ok(error instanceof Failure && error.kind === "invalid", String(error));
        assert.match(error.message, /^failed to parse policy: /);
      }
    }),
    { numRuns: POLICIES },
  );
  assert.ok(read > POLICIES / 20, `${read} were read`);
});
