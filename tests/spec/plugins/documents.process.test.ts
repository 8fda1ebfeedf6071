// What plugins of others say of their own paths stands in the OpenAPI document, and no plugin holds it up, or spoils it.

import assert from "node:assert/strict";
import test from "node:test";
import { Validator } from "@seriousme/openapi-schema-validator";
import { at } from "../../support/http-client.ts";
import { PluginServer } from "../../support/plugins/mounted-plugins.ts";

const DOCUMENT = "sys/internal/specs/openapi";
type Operation = Readonly<Record<string, unknown>>;
type Paths = Readonly<Record<string, Readonly<Record<string, Operation>>>>;

async function pathsOf(server: PluginServer, options: { token?: string | undefined } = {}) {
  const answer = await server.call("GET", DOCUMENT, options);
  assert.equal(answer.status, 200);
  const document = answer.json as Parameters<Validator["validate"]>[0];
  const { valid, errors } = await new Validator().validate(document);
  assert.ok(valid, JSON.stringify(errors ?? []).slice(0, 500));
  const all = at(answer, "paths") as Paths;
  const mounts = /^\/(?:small|mute|odd)(?:\/|$)/;
  return Object.fromEntries(Object.entries(all).filter(([path]) => mounts.test(path)));
}

test("paths that a plugin describes stand below its mount, by who may see them; one that says nothing is told of without, and nonsense is left out", async (t) => {
  const server = await PluginServer.start(t);
  await server.register();
  await server.mount("small");
  await server.mount("mute", { options: { documents: "never" } });
  await server.mount("odd", { options: { documents: "nonsense" } });

  const paths = await pathsOf(server);
  assert.deepEqual(Object.keys(paths).toSorted(), [
    "/mute",
    "/mute/",
    "/mute/{path}",
    "/mute/{path}/",
    "/odd/loop",
    "/odd/ok",
    "/small/config",
    "/small/kv/",
    "/small/kv/{key}",
    "/small/open/{what}",
  ]);
  assert.equal(paths["/small/kv/{key}"]?.["get"]?.["summary"], "Read a value.");
  const write = paths["/small/kv/{key}"]?.["post"] ?? {};
  assert.match(JSON.stringify(write["requestBody"]), /"required":\["value"\]/);
  assert.match(JSON.stringify(write["requestBody"]), /"What to keep\.".*"enum":\["red","blue"\]/);
  assert.match(JSON.stringify(write["parameters"]), /"name":"key","in":"path"/);
  assert.equal(paths["/small/kv/"]?.["get"]?.["x-service-list"], true);
  assert.equal(paths["/small/config"]?.["get"]?.["x-service-sudo"], true);
  assert.equal(paths["/small/open/{what}"]?.["get"]?.["x-service-unauthenticated"], true);
  assert.match(
    String(paths["/mute/{path}"]?.["get"]?.["description"]),
    /not known: it has not said/,
  );

  await server.ok("POST", "sys/policies/acl/few", {
    policy: 'path "small/kv/*" { capabilities = ["read"] }',
  });
  const made = await server.ok("POST", "auth/token/create", {
    policies: ["few"],
    no_default_policy: true,
  });
  const few = await pathsOf(server, { token: String(at(made, "auth", "client_token")) });
  assert.deepEqual(Object.keys(few).toSorted(), [
    "/small/kv/",
    "/small/kv/{key}",
    "/small/open/{what}",
  ]);
  assert.deepEqual(await pathsOf(server, { token: undefined }), {});

  // What it has said stays known while it is gone.
  const pid = await server.pid();
  process.kill(pid, "SIGKILL");
  await server.noticed(pid);
  assert.ok("/small/kv/{key}" in (await pathsOf(server)));
});
