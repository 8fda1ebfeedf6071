// The OpenAPI document names every route that answers, and none that does
// not; it is a valid one; and what it says of a path is what path-help explains.

import assert from "node:assert/strict";
import test from "node:test";
import { Validator } from "@seriousme/openapi-schema-validator";
import { everyEndpoint, mountedSurface } from "../../src/surface.ts";
import { orphansApi } from "../../src/mounts/api/api-orphans.ts";
import { at } from "../support/http-client.ts";
import { startServer } from "../support/servers/test-server.ts";

const DOCUMENT = "/v1/sys/internal/specs/openapi";

/** As the document writes it: parameters in braces, a list at the path with a slash. */
function documented({ method, path, head }: (typeof everyEndpoint)[number]): string[] {
  const named = path.replaceAll(/:(\w+)\+?/g, "{$1}");
  const key = method === "LIST" ? `get ${named}/` : `${method.toLowerCase()} ${named}`;
  return head ? [key, `head ${named}`] : [key];
}

test("the document has every endpoint, and nothing else, and it is valid", async (t) => {
  const server = await startServer();
  t.after(() => server.stop());
  const { token } = await server.open();
  const answer = await server.call("GET", DOCUMENT, { token });
  assert.equal(answer.status, 200);
  const { valid, errors } = await new Validator().validate(
    answer.json as Parameters<Validator["validate"]>[0],
  );
  assert.ok(valid, JSON.stringify(errors ?? []).slice(0, 500));
  const paths = at(answer, "paths") as Record<string, Record<string, unknown>>;
  const pageOperations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.keys(methods)
      .filter((method) => method !== "parameters" && method !== "put")
      .map((method) => `${method} ${path}`),
  );
  // A new server has the mount that every namespace has, and the two that are mounted by default.
  const mounted = ["cubbyhole", "clouda", "cloudb"].flatMap((place) => {
    const own = mountedSurface.find(({ title }) => title === place)?.endpoints ?? [];
    assert.ok(own.length > 3, place);
    const all = place === "cubbyhole" ? own : [...own, ...orphansApi];
    return all.map((endpoint) => ({
      ...endpoint,
      path: `/${place}${endpoint.path}`.replace(/\/$/, ""),
    }));
  });
  const declared = [...everyEndpoint, ...mounted].flatMap(documented);
  assert.deepEqual(pageOperations.toSorted(), declared.toSorted());
});

test("every request that takes fields says that they can be refused", async (t) => {
  const server = await startServer();
  t.after(() => server.stop());
  const { token } = await server.open();
  const document = await server.call("GET", DOCUMENT, { token });
  const refusal = at(document, "paths", "/sys/unseal", "post", "responses", "400");
  assert.deepEqual(refusal, { $ref: "#/components/responses/Error" });
});

test("mounts are described under their own paths, or by type", async (t) => {
  const server = await startServer();
  t.after(() => server.stop());
  const { token } = await server.open();
  const body = { type: "kv" };
  await server.call("POST", "/v1/sys/mounts/team/kv", { token, body });
  await server.call("POST", "/v1/sys/auth/people", { token, body: { type: "userpass" } });
  const pathsOf = async (query: string) => {
    const answer = await server.call("GET", DOCUMENT + query, { token });
    const { valid, errors } = await new Validator().validate(
      answer.json as Parameters<Validator["validate"]>[0],
    );
    assert.ok(valid, JSON.stringify(errors ?? []).slice(0, 500));
    return Object.keys(at(answer, "paths") as object);
  };
  const each = await pathsOf("");
  assert.ok(each.includes("/team/kv/data/{path}"));
  assert.ok(each.includes("/auth/people/login/{username}"));
  assert.ok(!each.some((path) => path.includes("mount_path")));
  const generic = await pathsOf("?generic_mount_paths=true");
  assert.ok(generic.includes("/{kv_mount_path}/data/{path}"));
  assert.ok(generic.includes("/auth/{userpass_mount_path}/login/{username}"));
  assert.ok(!generic.some((path) => path.startsWith("/team/kv")));
  const nobody = Object.keys(at(await server.call("GET", DOCUMENT), "paths") as object);
  assert.ok(!nobody.some((path) => path.includes("kv")), "mounts are told of nobody");
});

test("without a token it has what needs none", async (t) => {
  const server = await startServer();
  t.after(() => server.stop());
  await server.open();
  const paths = Object.keys(at(await server.call("GET", DOCUMENT), "paths") as object);
  assert.ok(paths.includes("/sys/health"));
  assert.ok(!paths.includes("/sys/seal"));
  assert.ok(!paths.some((path) => path.startsWith("/sys/audit")));
});

test("?help=1 explains a path in words: its fields, its access, its answer", async (t) => {
  const server = await startServer();
  t.after(() => server.stop());
  const { token } = await server.open();
  const help = String(at(await server.call("GET", "/v1/sys/unseal?help=1"), "help"));
  for (const word of ["sys/unseal", "key", "reset", "no token needed", "progress"]) {
    assert.ok(help.includes(word), word);
  }
  for (const endpoint of everyEndpoint) {
    const path = endpoint.path.replaceAll(/:(\w+)\+?/g, "x-$1");
    const answer = await server.call("GET", `/v1${path}?help=1`, { token });
    assert.equal(answer.status, 200, path);
    // Wrapped to the width of a terminal.
    const text = String(at(answer, "help"));
    assert.ok(text.replace(/\s+/g, " ").includes(endpoint.summary.replace(/\.$/, "")), path);
    assert.ok(!/\.\.$/m.test(text), `${path}: a sentence ends once`);
  }
});

test("?help=1 on a mount tells what it serves, and is answered for what a sealed node answers", async (t) => {
  const server = await startServer();
  t.after(() => server.stop());
  const { token } = await server.open();
  await server.call("POST", "/v1/sys/mounts/shop/secret", { token, body: { type: "kv" } });
  const help = String(at(await server.call("GET", "/v1/shop/secret?help=1", { token }), "help"));
  assert.match(help, /^shop\/secret\/ serves:$/m);
  assert.match(help, /^ {2}GET shop\/secret\/data\/:path\+\n {4}Read a version of a secret\.$/m);
  assert.equal((await server.call("GET", "/v1/shop?help=1", { token })).status, 404);
  assert.equal((await server.call("GET", "/v1/shop/secret?help=1")).status, 403);
  await server.call("POST", "/v1/sys/seal", { token });
  const sealed = await server.call("GET", "/v1/sys/unseal?help=1");
  assert.equal(sealed.status, 200);
  assert.match(String(at(sealed, "help")), /Give one share of the unseal key/);
  assert.equal((await server.call("GET", "/v1/sys/mounts?help=1", { token })).status, 503);
});

test("answers are what the document says of them: 202, empty 200, types of text, chosen codes, nulls", async (t) => {
  const server = await startServer();
  t.after(() => server.stop());
  const { token } = await server.open();
  const document = await server.call("GET", DOCUMENT, { token });
  const operationAt = (path: string, verb: string) =>
    at(document, "paths", path, verb, "responses") as Record<string, { content?: object }>;
  const says = async (verb: string, path: string, template: string, body?: object) => {
    const answer = await server.call(verb, `/v1${path}`, { token, ...(body ? { body } : {}) });
    const responses = operationAt(template, verb.toLowerCase());
    const found = responses[String(answer.status)] ?? responses["default"];
    assert.ok(found !== undefined, `${verb} ${path}: ${answer.status}`);
    const types = Object.keys(found.content ?? {});
    const type = String(answer.headers["content-type"] ?? "").split(";")[0] ?? "";
    assert.deepEqual(
      type === "" ? [] : types.filter((one) => one === type),
      type === "" ? types : [type],
    );
    return answer.status;
  };
  await server.call("POST", "/v1/sys/namespaces/team", { token });
  assert.equal(await says("DELETE", "/sys/namespaces/team", "/sys/namespaces/{path}"), 202);
  assert.equal(await says("POST", "/sys/leases/tidy", "/sys/leases/tidy", {}), 202);
  for (const path of ["/sys/leases/revoke", "/sys/leases/revoke-prefix/{prefix}", "/sys/revoke"]) {
    const responses = operationAt(path, "post") ?? {};
    assert.ok("202" in responses, path);
  }
  const made = await server.call("POST", "/v1/acl/token", {
    token,
    body: { Type: "client", Policies: ["default"] },
  });
  const accessor = String(at(made, "AccessorID"));
  const template = Object.keys(at(document, "paths") as object).find((path) =>
    /^\/acl\/token\/\{\w+\}$/.test(path),
  );
  assert.equal(await says("DELETE", `/acl/token/${accessor}`, template ?? ""), 200);
  assert.equal(await says("GET", "/sys/metrics", "/sys/metrics"), 200);
  assert.equal(await says("GET", "/sys/metrics?format=prometheus", "/sys/metrics"), 200);
  assert.equal(await says("GET", "/sys/health?activecode=446", "/sys/health"), 446);
  const health = JSON.stringify(operationAt("/sys/health", "get")["default"]);
  assert.match(health, /initialized/, "the body is the same under any code");
  const check = (value: unknown): void => {
    if (typeof value !== "object" || value === null) return;
    if ("nullable" in value) assert.ok("type" in value, JSON.stringify(value).slice(0, 200));
    Object.values(value).forEach(check);
  };
  check(document.json);
});
