import assert from "node:assert/strict";
import test from "node:test";
import { readable } from "./siblings.ts";

test("of what a primary says of another member only ids, serials, digests and addresses are kept", () => {
  const cluster = "0b8e2f3e-0000-4000-8000-000000000002";
  const digests = ["a4".repeat(32)];
  const addresses = ["https://10.0.0.9:8201"];
  const right = { id: "paris", cluster, addresses, serials: ["4a"], digests };
  assert.deepEqual(readable(right), right);
  const text = "10.0.0.9:8201\n\u001b[31mrun this";
  const wrong = { id: text, cluster: text, addresses: [text], serials: ["4a", text, ""] };
  assert.deepEqual(readable({ ...wrong, digests: [...digests, text, "a4", "A4".repeat(32)] }), {
    id: "",
    cluster: "",
    addresses: [],
    serials: ["4a"],
    digests,
  });
  const other = {
    ...right,
    cluster: cluster.toUpperCase(),
    serials: ["04a", "4A", "f".repeat(41)],
  };
  assert.deepEqual(readable(other), { ...right, cluster: "", serials: [] });
});

test("each digest stays beside its serial, and one that is none stands for no digest", () => {
  const cluster = "0b8e2f3e-0000-4000-8000-000000000002";
  const [a, b] = ["a4".repeat(32), "b4".repeat(32)];
  const named = { id: "paris", cluster, addresses: [] };
  const kept = (serials: string[], digests: string[]) => {
    const { serials: all, digests: each } = readable({ ...named, serials, digests });
    return [all, each];
  };
  assert.deepEqual(kept(["4a", "4A", "4b"], [a, a, b]), [
    ["4a", "4b"],
    [a, b],
  ]);
  assert.deepEqual(kept(["4a", "4b"], ["", b]), [
    ["4a", "4b"],
    ["", b],
  ]);
  assert.deepEqual(kept(["4a", "4b"], ["none", b]), [
    ["4a", "4b"],
    ["", b],
  ]);
  assert.deepEqual(kept(["4a", "4b"], []), [["4a", "4b"], []]);
});
