import assert from "node:assert/strict";
import test from "node:test";
import { selected } from "./hostile.ts";

test("a soak that is asked for payloads that are not there is no soak, and says so", () => {
  const all = ["a chunk", "deep", "wide", "long", "deeper"].map((name) => ({ name }));
  assert.throws(() => selected(all, "nothing", false), /no payload has "nothing" in its name/);
  assert.deepEqual(selected(all, "deep", true), [{ name: "deep" }, { name: "deeper" }]);
  assert.deepEqual(selected(all, "", true), [{ name: "a chunk" }, { name: "deeper" }]);
  assert.equal(selected(all, "", false).length, 5);
});
