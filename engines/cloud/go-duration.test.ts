import assert from "node:assert/strict";
import test from "node:test";
import { SECOND } from "@holdfast/shared/text/duration";
import { readGoDuration, showGoDuration } from "./go-duration.ts";

test("seconds in digits and text up to hours are read", () => {
  const read = (text: string) => Number(readGoDuration("lease", text) / SECOND);
  assert.deepEqual(
    ["90", "30m", "1h30m", "12h", "1.5h", "0", "0s"].map(read),
    [90, 1800, 5400, 43_200, 5400, 0, 0],
  );
});

test("days and what is no length at all are refused by the field's name", () => {
  for (const text of ["1d", "24h1d", "soon", "-5s", "", "5x"]) {
    assert.throws(() => readGoDuration("lease_max", text), /^Failure: lease_max must be /);
  }
});

test("what is shown has hours, minutes and seconds", () => {
  const texts = [90n, 3600n, 0n, 2_764_800n].map((length) => showGoDuration(length * SECOND));
  assert.deepEqual(texts, ["1m30s", "1h0m0s", "0s", "768h0m0s"]);
});
