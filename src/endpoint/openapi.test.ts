import assert from "node:assert/strict";
import test from "node:test";
import { Validator } from "@seriousme/openapi-schema-validator";
import { SECOND } from "@holdfast/shared/text/duration";
import type { JsonObject } from "@holdfast/shared/json/json";
import { access } from "@holdfast/shared/endpoint/access";
import { inAuth } from "@holdfast/shared/endpoint/auth";
import { endpointsOf } from "@holdfast/shared/endpoint/endpoint";
import { helpFor } from "./help.ts";
import { openapiDocument, pathsOf } from "./openapi.ts";
import { out, TextBody } from "@holdfast/shared/endpoint/output";
import { wire } from "@holdfast/shared/endpoint/wire";

const endpoint = endpointsOf<null>();
const path = wire.path("path").string("Where it is");
const thing = out.object({
  id: out.string("Its id"),
  at: out.nullable(out.time("When")),
  tags: out.optional(out.mapOf(out.string("Tag"), "Tags")),
});

const all = [
  endpoint({
    name: "readThing",
    method: "GET",
    path: "/sys/things/:path+",
    summary: "Read a thing",
    access: access.capability,
    input: { path, deep: wire.query("deep").boolean("All of it").default(false) },
    output: thing,
    handler: () => ({ id: "", at: null }),
  }),
  endpoint({
    name: "listThings",
    method: "LIST",
    path: "/sys/things/:path+",
    summary: "List things",
    access: access.capability,
    input: { path, limit: wire.param("limit").integer("How many", { min: 1 }).optional() },
    output: out.keys("Names"),
    handler: () => ({ keys: [] }),
  }),
  endpoint({
    name: "writeThing",
    method: "POST",
    path: "/sys/things/:name",
    summary: "Write a thing",
    description: "Or two.",
    access: access.sudo,
    belongs: "local",
    rootOnly: true,
    exists: () => false,
    input: {
      name: wire.path("name").string("What it is called"),
      secret: wire.body("secret").secret("A secret"),
      ttl: wire.param("ttl").duration("How long").default(SECOND, "1s"),
      kind: wire.param("kind").oneOf(["a", "b"], "Which kind").optional(),
    },
    output: out.nothing,
    handler: () => undefined,
  }),
  endpoint({
    name: "patchThing",
    method: "PATCH",
    path: "/sys/things/:name",
    summary: "Patch a thing",
    access: access.management,
    belongs: "local",
    input: {
      name: wire.path("name").string("Name"),
      tags: wire.body("tags").texts("Tags").optional(),
    },
    output: out.nothing,
    handler: () => undefined,
  }),
  endpoint({
    name: "health",
    method: "GET",
    path: "/sys/health",
    summary: "Ask how it is",
    access: access.open,
    answers: "always",
    family: "bare",
    rateLimited: false,
    head: true,
    input: {},
    output: thing,
    handler: () => ({ id: "", at: null }),
  }),
  endpoint({
    name: "metrics",
    method: "GET",
    path: "/sys/metrics",
    summary: "Numbers",
    access: access.capabilityUnlessOpen("metrics"),
    family: "bare",
    input: {},
    output: out.text(["text/plain"], "Lines"),
    handler: () => new TextBody("application/json", ""),
  }),
  endpoint({
    name: "unseal",
    method: "POST",
    path: "/sys/unseal",
    summary: "Give a share",
    access: access.ceremony,
    belongs: "local",
    input: { key: wire.body("key").secret("The share").optional() },
    output: out.nullable(out.json("Anything")),
    handler: () => null,
  }),
  endpoint({
    name: "look",
    method: "GET",
    path: "/sys/look",
    summary: "Look around",
    access: access.openWithCaller,
    input: {},
    output: out.anyObject("Whatever there is"),
    handler: () => ({}),
  }),
  endpoint({
    name: "self",
    method: "GET",
    path: "/acl/token/self",
    summary: "Who am I",
    access: access.token,
    family: "acl",
    input: {},
    output: thing,
    handler: () => ({ id: "", at: null }),
  }),
];

const about = { title: "Test", version: "0.0.1" };
const paths = pathsOf(all);

/** What stands at the end of a way through the document. */
function at(from: unknown, ...way: readonly (string | number)[]): unknown {
  return way.reduce<unknown>(
    (value, key) => (value as Record<string | number, unknown> | undefined)?.[key],
    from,
  );
}

function fresh(document: JsonObject): Record<string, unknown> {
  return JSON.parse(JSON.stringify(document)) as Record<string, unknown>;
}

test("the document is valid OpenAPI", async () => {
  const validator = new Validator();
  const result = await validator.validate(fresh(openapiDocument(all, about)));
  assert.deepEqual(result.errors ?? [], []);
  assert.equal(result.valid, true);
  assert.equal(validator.version, "3.0");
  assert.doesNotThrow(() => validator.resolveRefs());
});

test("the validator would see a mistake", async () => {
  const broken = fresh(openapiDocument(all, about));
  broken["paths"] = { "/a": { get: { responses: {} } } };
  assert.equal((await new Validator().validate(broken)).valid, false);
});

test("every declaration is in the document once, under its own name, and nothing else is", () => {
  const ids = Object.values(paths).flatMap((item) =>
    Object.values(item).map((operation) => String(at(operation, "operationId"))),
  );
  const expected = [...all.map(({ name }) => name), "healthHead"];
  assert.deepEqual(ids.toSorted(), expected.toSorted());
});

test("the same declarations in another order give the same text", () => {
  const text = JSON.stringify(openapiDocument(all, about));
  assert.equal(JSON.stringify(openapiDocument(all.toReversed(), about)), text);
});

test("a list stands under its path with a slash, as GET with list=true", () => {
  const list = at(paths, "/sys/things/{path}/", "get");
  assert.equal(at(list, "operationId"), "listThings");
  assert.equal(at(list, "x-service-list"), true);
  const names = (at(list, "parameters") as { name: string }[]).map(({ name }) => name);
  assert.deepEqual(names, ["path", "list", "limit"]);
  assert.equal(at(list, "parameters", 1, "required"), true);
});

test("paths that differ in the names of parameters only are one path", () => {
  const item = at(paths, "/sys/things/{name}");
  assert.deepEqual(Object.keys(item as object).toSorted(), ["get", "patch", "post"]);
  assert.equal(at(paths, "/sys/things/{path}"), undefined);
  assert.equal(at(item, "get", "parameters", 0, "name"), "name");
  assert.match(String(at(item, "get", "parameters", 0, "description")), /several segments/);
});

test("fields stand where they are read: path, query, body", () => {
  const write = at(paths, "/sys/things/{name}", "post");
  const schema = at(write, "requestBody", "content", "application/json", "schema");
  assert.deepEqual(Object.keys(at(schema, "properties") as object), ["secret", "ttl", "kind"]);
  assert.deepEqual(at(schema, "required"), ["secret"]);
  assert.equal(at(schema, "properties", "secret", "format"), "password");
  assert.equal(at(schema, "properties", "ttl", "default"), "1s");
  assert.equal((at(write, "parameters") as unknown[]).length, 1);
  const read = at(paths, "/sys/things/{name}", "get");
  assert.equal(at(read, "parameters", 1, "in"), "query");
  assert.equal(at(read, "parameters", 1, "schema", "default"), false);
  const patch = at(paths, "/sys/things/{name}", "patch", "requestBody", "content");
  assert.deepEqual(Object.keys(patch as object), ["application/merge-patch+json"]);
});

test("a body of whatever the caller likes is an object, and the top of a mount is a path", () => {
  const document = pathsOf([
    endpoint({
      name: "writeAnything",
      method: "POST",
      path: "/:path+",
      summary: "Write",
      access: access.capability,
      belongs: "local",
      input: { path, data: wire.whole("data", "What is kept") },
      output: out.nothing,
      handler: () => undefined,
    }),
    endpoint({
      name: "listTop",
      method: "LIST",
      path: "/",
      summary: "List",
      access: access.capability,
      input: {},
      output: out.keys("Names"),
      handler: () => ({ keys: [] }),
    }),
  ]);
  assert.deepEqual(Object.keys(document).toSorted(), ["/", "/{path}"]);
  const { post } = document["/{path}"] as { post: { requestBody: unknown } };
  assert.deepEqual(post.requestBody, {
    content: { "application/json": { schema: { type: "object", description: "What is kept" } } },
  });
});

test("answers are wrapped as their family says", () => {
  const schema = (path: string) =>
    at(paths, path, "get", "responses", "200", "content", "application/json", "schema");
  const enveloped = schema("/sys/things/{name}");
  assert.equal(at(enveloped, "allOf", 0, "$ref"), "#/components/schemas/Envelope");
  assert.deepEqual(at(enveloped, "allOf", 1, "properties", "data", "required"), ["id", "at"]);
  assert.equal(
    at(enveloped, "allOf", 1, "properties", "data", "properties", "at", "nullable"),
    true,
  );
  for (const path of ["/sys/health", "/acl/token/self"]) {
    assert.equal(at(schema(path), "properties", "id", "type"), "string", path);
  }
  const text = at(paths, "/sys/metrics", "get", "responses", "200", "content");
  assert.deepEqual(Object.keys(text as object), ["text/plain"]);
  const nothing = at(paths, "/sys/things/{name}", "post", "responses");
  assert.deepEqual(Object.keys(nothing as object).toSorted(), [
    "200",
    "204",
    "400",
    "403",
    "404",
    "429",
    "503",
    "default",
  ]);
});

test("what is answered in auth is told there", () => {
  const login = endpointsOf<null>()({
    name: "login",
    method: "POST",
    path: "/auth/login",
    summary: "Log in.",
    access: access.open,
    belongs: "local",
    input: {},
    output: inAuth,
    handler: () => undefined,
  });
  const document = JSON.stringify(openapiDocument([login], { title: "t", version: "1" }));
  assert.match(document, /"properties":\{"auth":\{"type":"object","required":\["client_token"/);
  assert.match(helpFor([login]).help, /Answer: in auth:\n +client_token \(string\)/);
});

test("who may call is told by security and extensions", () => {
  const token = [{ token: [] }, { bearer: [] }];
  const security = (path: string, verb = "get") => at(paths, path, verb, "security");
  assert.deepEqual(security("/sys/health"), []);
  assert.deepEqual(security("/sys/look"), [{}, ...token]);
  assert.deepEqual(security("/sys/unseal", "post"), [{}, ...token]);
  assert.deepEqual(security("/sys/metrics"), [{}, ...token]);
  assert.deepEqual(security("/acl/token/self"), token);
  const marks = (path: string, verb: string) =>
    Object.keys(at(paths, path, verb) as object).filter((key) => key.startsWith("x-service-"));
  assert.deepEqual(marks("/sys/things/{name}", "post"), [
    "x-service-sudo",
    "x-service-restricted",
    "x-service-create-supported",
  ]);
  assert.deepEqual(marks("/sys/health", "get"), ["x-service-unauthenticated"]);
  assert.deepEqual(marks("/sys/unseal", "post"), ["x-service-ceremony"]);
  assert.deepEqual(marks("/sys/things/{name}", "patch"), ["x-service-management"]);
  assert.deepEqual(marks("/acl/token/self", "get"), []);
});
