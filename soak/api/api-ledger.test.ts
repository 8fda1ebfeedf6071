// What the experiments on the API judge by: a judge that overlooks something proves nothing.

import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { AuditTrail } from "./api-audit-trail.ts";
import { ApiLedger, parseEvent, showEvent } from "./api-ledger.ts";
import { metadataAfter, patchTo, writeOf } from "./api-metadata.ts";

test("an acknowledged change must be there, one that was only begun may be", () => {
  const ledger = new ApiLedger();
  ledger.begin("writer/1", "1");
  ledger.done("writer/1", "1");
  ledger.begin("writer/1", "2");
  assert.equal(ledger.known("writer/1"), null);
  for (const value of ["1", "2"]) {
    const copy = new ApiLedger();
    copy.done("writer/1", "1");
    copy.begin("writer/1", "2");
    assert.deepEqual(copy.found("writer/1", value), []);
  }
  assert.deepEqual(ledger.found("writer/1", ""), [
    "writer/1: 1 or 2 was acknowledged, nothing is there",
  ]);
});

test("what was seen once must stay, and what nobody wrote must not appear", () => {
  const ledger = new ApiLedger();
  ledger.begin("space/a", "7");
  assert.deepEqual(ledger.found("space/a", "7"), []);
  assert.equal(ledger.found("space/a", "").length, 1);
  assert.equal(ledger.found("space/b", "1").length, 1);
});

test("events survive being written down, also those that empty a register", () => {
  for (const value of ["", "17", '{"shares":["a b"]}']) {
    const event = { what: "done", register: "space/x/inner", value } as const;
    assert.deepEqual(parseEvent(showEvent(event)), event);
  }
  assert.throws(() => parseEvent("perhaps space/x 1"), /not an event/);
});

test("patches lead from each write's metadata to the next, and half of one shows", () => {
  for (let n = 2; n < 12; n++) {
    const state = new Map<string, string>(Object.entries(metadataAfter(3, n - 1)));
    for (const [name, value] of Object.entries(patchTo(3, n))) {
      if (value === null) assert.ok(state.delete(name));
      else state.set(name, value);
    }
    const whole = Object.fromEntries(state);
    assert.equal(writeOf(3, whole), n);
    assert.equal(writeOf(4, whole), null);
    assert.equal(writeOf(3, { ...whole, n: String(n - 1) }), null);
    assert.equal(writeOf(3, { ...whole, more: "" }), null);
  }
});

test("a change without its request or its response record is named", (t) => {
  const directory = mkdtempSync(join(tmpdir(), "holdfast-trail-"));
  t.after(() => rmSync(directory, { recursive: true }));
  const line = (type: string, id: string) => `${JSON.stringify({ type, request: { id } })}\n`;
  const [file, other] = [join(directory, "file.log"), join(directory, "other.log")];
  const whole = line("request", "a") + line("response", "a") + line("request", "b");
  writeFileSync(file, `{"type":"chain"}\n${whole}`);
  const trail = new AuditTrail(directory);
  const missing = trail.missing(new Map(["a", "b", "c"].map((id) => [id, `done ${id} 1`])));
  assert.deepEqual(missing, [
    '"done b 1" was acknowledged and has no response record: b',
    '"done c 1" was acknowledged and has no request record: c',
    '"done c 1" was acknowledged and has no response record: c',
  ]);
  // A line that is broken off is no record; another device's counts as well.
  writeFileSync(file, `{"type":"chain"}\n${whole}${line("request", "d").slice(0, -1)}`);
  writeFileSync(other, line("request", "e") + line("response", "e"));
  assert.equal(trail.missing(new Map([["d", "done d 1"]])).length, 2);
  assert.equal(trail.records, 5);
});
