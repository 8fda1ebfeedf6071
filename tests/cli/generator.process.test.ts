// The generator of the client: what it makes of declarations, and that the client in the repository is
// what it makes of ours.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { generateClient, typeOf } from "../../scripts/client-functions.ts";
import {
  clientFiles,
  ENDPOINTS_FILE,
  endpointsDocument,
  ERRORS_FILE,
  errorsDocument,
  formatted,
  leftOver,
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
    belongs: "local",
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
    belongs: "local",
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
const mounted = [
  endpoint({
    name: "boxDelete",
    method: "DELETE",
    path: "/data/:path+",
    summary: "Delete",
    access: access.capability,
    belongs: "local",
    input: { path: wire.path("path").string("Where") },
    output: out.nothing,
    handler: () => undefined,
  }),
];
const groups = [
  { group: "things", at: "", endpoints: sample },
  { group: "box", at: "auth/<box>", endpoints: mounted },
];
const texts = generateClient(groups);
const made = formatted(new Map([["things.ts", texts.get("things") ?? ""]])).get("things.ts") ?? "";

test("a function for every endpoint, with typed input and answer", () => {
  for (const part of [
    "export type WriteThingInput = {",
    "readonly kind: string;",
    "readonly path: string;",
    "readonly max_age?: string | number | undefined;",
    'readonly mode?: "a" | "b" | undefined;',
    'readonly "dry-run"?: boolean | undefined;',
    "readonly made?: string;",
    "readonly by: number | null;",
    "readonly more: Readonly<Record<string, readonly number[]>>;",
    "readonly any: JsonValue;",
    "/** Write a thing * / and more */",
    "export async function deleteThing(",
    "export async function readText(client: Caller, options?: CallOptions): Promise<Answer<string>> {",
  ]) {
    assert.ok(made.includes(part), `${part}\n${made}`);
  }
  assert.equal(
    (texts.get("") ?? "").match(/^export .*$/gm)?.join("\n"),
    'export * as things from "./api/things.ts";\nexport * as box from "./api/box.ts";',
  );
});

async function running(text: string): Promise<Record<string, (...args: unknown[]) => unknown>> {
  const { stripTypeScriptTypes } = await import("node:module");
  const source = stripTypeScriptTypes(text).replace(
    "../request-path.ts",
    new URL("../../client/request-path.ts", import.meta.url).href,
  );
  return import(`data:text/javascript,${encodeURIComponent(source)}`);
}

test("what was made runs: fields go where their declaration says, under their names on the wire", async () => {
  const { writeThing, deleteThing, readText } = await running(made);
  const calls: unknown[] = [];
  const client = { call: (...call: unknown[]) => calls.push(call) };
  writeThing?.(client, { kind: "k", path: "a b/c", max_age: "5s", "dry-run": true });
  deleteThing?.(client, { nonce: "n" }, { accept: [404] });
  deleteThing?.(client);
  readText?.(client);
  assert.deepEqual(calls, [
    [
      {
        method: "POST",
        path: "things/k/a%20b/c",
        query: { "dry-run": true },
        body: { max_age: "5s" },
        answer: "data",
      },
      undefined,
    ],
    [
      { method: "DELETE", path: "things", body: { nonce: "n" }, answer: "nothing" },
      { accept: [404] },
    ],
    [{ method: "DELETE", path: "things", body: {}, answer: "nothing" }, undefined],
    [{ method: "GET", path: "text", answer: "text" }, undefined],
  ]);
  await assert.rejects(async () => writeThing?.(client, { kind: "a/b", path: "c" }), /slash/);
});

test("functions of engines take the mount, and are called by the group and what they do", async () => {
  const box = await running(texts.get("box") ?? "");
  const calls: unknown[] = [];
  box["delete"]?.({ call: (call: unknown) => calls.push(call) }, "/my/box/", { path: "a/b c" });
  assert.deepEqual(calls, [
    { method: "DELETE", path: "auth/my/box/data/a/b%20c", answer: "nothing" },
  ]);
  await assert.rejects(async () => box["delete"]?.({}, "/", { path: "a" }), /mount is empty/);
});

test("two endpoints of one name are refused, and types of one text are one", () => {
  const twice = [{ group: "things", at: "", endpoints: [...sample, sample[0]!] }];
  assert.throws(() => generateClient(twice), /two endpoints are called things.writeThing/);
  const other = { ...sample[0]!, name: "putThing" };
  const both = generateClient([{ group: "t", at: "", endpoints: [sample[0]!, other] }]).get("t");
  assert.match(both ?? "", /export type PutThingInput = WriteThingInput;/);
  assert.equal(typeOf({ type: "object" }), "JsonObject");
});

test("an endpoint that streams has a function that gives a stream, and never the whole", () => {
  const streamed = { ...sample[2]!, output: out.stream("application/gzip", "a") };
  const group = { group: "t", at: "", endpoints: [streamed] };
  const text = [...generateClient([group]).values()].join("\n");
  assert.match(text, /readText\([\s\S]*?\): Promise<StreamedAnswer>/);
  assert.match(text, /client\.stream\(/);
});

test("the client is up to date: `node scripts/gen.ts` makes it", async () => {
  const files = await clientFiles();
  for (const [file, text] of files) assert.equal(readFileSync(file, "utf8"), text, file);
  assert.deepEqual(leftOver(files), []);
});

test("T-A19: docs/endpoints.md is up to date, so that a change of access is seen in review", async () => {
  assert.equal(readFileSync(ENDPOINTS_FILE, "utf8"), await endpointsDocument());
});

test("docs/errors.md is up to date", async () => {
  assert.equal(readFileSync(ERRORS_FILE, "utf8"), await errorsDocument());
});
