// Everything stored, packed, in little memory whatever the rows have.

import assert from "node:assert/strict";
import test from "node:test";
import { MemoryEngine } from "./engines/memory.ts";
import { RecordReading } from "./record-reading.ts";
import { batchOf } from "../../tests/contract/engine.ts";

test("of large rows few are in memory at a time, and of small ones many come at once", async () => {
  const engine = new MemoryEngine();
  const row = (key: string, size: number) => ({ key, value: new Uint8Array(size) });
  const small = Array.from({ length: 64 }, (_, i) => row(`shared/a${String(i + 10)}`, 100));
  const large = Array.from({ length: 20 }, (_, i) => row(`shared/b${String(i + 10)}`, 1_000_000));
  await engine.commit(batchOf({ data: small }));
  await engine.commit(batchOf({ data: large }));
  const which = { expected: 0, without: [] };
  const reading = await RecordReading.begin(engine, which, { pause: async () => {} });
  const counts: number[] = [];
  for (let found = reading.next(); found !== null; found = reading.next()) counts.push(found.count);
  assert.deepEqual(counts.slice(0, 4), [16, 16, 16, 16]);
  assert.equal(
    counts.reduce((sum, count) => sum + count, 0),
    84,
  );
  assert.ok(
    counts.slice(5).every((count) => count <= 1),
    counts.join(),
  );
  await engine.close();
});
