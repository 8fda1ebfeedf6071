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
