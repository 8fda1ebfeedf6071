// What a handler gets that reads query and body itself.

import assert from "node:assert/strict";
import test from "node:test";
import { access } from "./access.ts";
import { endpointsOf, serve } from "./endpoint.ts";
import { RequestInput } from "./input.ts";
import { out } from "./output.ts";
import { wire } from "./wire.ts";
import { readJson } from "../json/json-reader.ts";
import { parseQuery } from "../text/query.ts";
import { utf8 } from "../bytes.ts";

const [served] = serve(null, [
  endpointsOf<null>()({
    name: "anything",
    method: "POST",
    path: "/anything",
    summary: "Takes what there is.",
    access: access.token,
    belongs: "local",
    input: { data: wire.given("data", "Whatever it is.") },
    output: out.nothing,
    handler: () => undefined,
  }),
]);

function read(query: string, body: string) {
  assert.ok(served !== undefined);
  const parts = { path: {}, query: parseQuery(query), body: readJson(utf8(body)) };
  const input = new RequestInput(served, parts);
  return { input, read: input.read(new Set(["list", "scan", "help", "read_snapshot_id"])) };
}

test("query and body come together, numbers as they were written, and nobody warns of what is unknown", () => {
  const { input, read: found } = read(
    "a=1&bare&list=false&help=0&scan=0",
    '{"n":1.50,"z":{"b":[]}}',
  );
  assert.equal(JSON.stringify(found.input["data"]), '{"a":"1","bare":true,"n":1.50,"z":{"b":[]}}');
  assert.deepEqual(found.warnings, []);
  assert.equal(JSON.stringify(input.data), '{"a":"1","bare":true,"n":1.50,"z":{"b":[]}}');
});

test("what stands in both is refused", () => {
  assert.throws(() => read("a=1", '{"a":2}'), /in the body and in the query/);
});
