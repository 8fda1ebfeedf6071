// The generator of the client: what it makes of declarations, and that the client in the repository is
// what it makes of ours.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import {
  CLIENT_FILE,
  ENDPOINTS_FILE,
  endpointsDocument,
  ERRORS_FILE,
  errorsDocument,
  generateClient,
  generateFromSurface,
  typeOf,
} from "../../scripts/gen.ts";
import { access } from "@holdfast/shared/endpoint/access";
import { endpointsOf } from "@holdfast/shared/endpoint/endpoint";
import { out, TextBody } from "@holdfast/shared/endpoint/output";
import { wire } from "@holdfast/shared/endpoint/wire";

const endpoint = endpointsOf<object>();
const sample = [
  endpoint({
    name: "writeThing",
    method: "POST",
    path: "/things/:kind/:path+",
    summary: "Write a thing */ and more",
    access: access.capability,
    input: {
      kind: wire.path("kind").string("Its kind"),
      where: wire.path("path").string("Its place"),
      maxAge: wire.body("max_age").duration("How long").optional(),
      mode: wire.param("mode").oneOf(["a", "b"], "How").default("a"),
      dry: wire.query("dry-run").boolean("Try").optional(),
    },
    output: out.object({
      id: out.string("Id"),
      made: out.optional(out.time("When")),
      by: out.nullable(out.integer("Who")),
      more: out.mapOf(out.list(out.number("n"), "ns"), "m"),
      any: out.json("a"),
    }),
    handler: () => ({ id: "", by: null, more: {}, any: null }),
  }),
  endpoint({
    name: "delete-thing",
    method: "DELETE",
    path: "/things",
    summary: "Delete",
    access: access.capability,
    input: { nonce: wire.param("nonce").string("Which").optional() },
    output: out.nothing,
    handler: () => undefined,
  }),
  endpoint({
    name: "readText",
    method: "GET",
    path: "/text",
    summary: "Text",
    access: access.open,
    family: "bare",
    input: {},
    output: out.text(["text/plain"], "t"),
    handler: () => new TextBody("application/json", ""),
  }),
];
const made = generateClient(sample);

test("a function for every endpoint, with typed input and answer", () => {
  for (const part of [
    "export interface WriteThingInput {",
    "readonly kind: string;",
    "readonly where: string;",
    "readonly maxAge?: string | number | undefined;",
    'readonly mode?: "a" | "b" | undefined;',
    "readonly made?: string;",
    "readonly by: number | null;",
    "readonly more: Readonly<Record<string, readonly number[]>>;",
    "readonly any: JsonValue;",
    "/** Write a thing * / and more */",
    "export function deleteThing(",
    "export function readText(client: Caller): Promise<string> {",
  ]) {
    assert.ok(made.includes(part), `${part}\n${made}`);
  }
});

test("fields go where their declaration says, under their names on the wire", () => {
  assert.ok(made.includes("path: `things/${oneSegment(input.kind)}/${restOfPath(input.where)}`"));
  assert.ok(made.includes('query: { "dry-run": input.dry }'));
  assert.ok(made.includes("body: { max_age: input.maxAge, mode: input.mode }"));
  assert.ok(
    made.includes("query: { nonce: input.nonce }"),
    "a method without a body has the query",
  );
  assert.ok(made.includes('answer: "data"') && made.includes('answer: "nothing"'));
  assert.ok(made.includes('answer: "text"'));
});

test("what was made runs: it asks the client for just that", async () => {
  const { stripTypeScriptTypes } = await import("node:module");
  const source = stripTypeScriptTypes(made).replace(
    "./request-path.ts",
    new URL("../../client/request-path.ts", import.meta.url).href,
  );
  const module = await import(`data:text/javascript,${encodeURIComponent(source)}`);
  const calls: unknown[] = [];
  const client = { call: (call: unknown) => calls.push(call) };
  module.writeThing(client, { kind: "k", where: "a b/c", maxAge: "5s" });
  module.deleteThing(client);
  assert.deepEqual(calls, [
    {
      method: "POST",
      path: "things/k/a%20b/c",
      query: { "dry-run": undefined },
      body: { max_age: "5s", mode: undefined },
      answer: "data",
    },
    { method: "DELETE", path: "things", query: { nonce: undefined }, answer: "nothing" },
  ]);
  assert.throws(() => module.writeThing(client, { kind: "a/b", where: "c" }), /slash/);
});

test("two endpoints of one name are refused", () => {
  assert.throws(
    () => generateClient([...sample, sample[0]!]),
    /two endpoints are called writeThing/,
  );
  assert.equal(typeOf({ type: "object" }), "JsonObject");
});

test("client/api.ts is up to date: `node scripts/gen.ts` makes it", async () => {
  assert.equal(readFileSync(CLIENT_FILE, "utf8"), await generateFromSurface());
});

test("T-A19: docs/endpoints.md is up to date, so that a change of access is seen in review", async () => {
  assert.equal(readFileSync(ENDPOINTS_FILE, "utf8"), await endpointsDocument());
});

test("docs/errors.md is up to date", async () => {
  assert.equal(readFileSync(ERRORS_FILE, "utf8"), await errorsDocument());
});
