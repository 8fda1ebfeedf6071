// What is written inside an object of a request and read by nobody is told by name, as it is beside it. The
// first table is made from the declarations: a new endpoint is in it by itself.

import assert from "node:assert/strict";
import test from "node:test";
import type { Field } from "@holdfast/shared/endpoint/field";
import type { JsonValue } from "@holdfast/shared/json/json";
import type { Schema } from "@holdfast/shared/endpoint/schema";
import { everyEndpoint, mountedSurface } from "../../src/surface.ts";
import { at } from "../support/http-client.ts";
import { dataOf, engineServer, type EngineServer } from "../support/servers/engine-server.ts";

/** Whose members are the caller's own, or looked at one by one and refused by name. */
const OPEN = new Set([
  "POST /:path+ data", // secrets, and patches of them
  "PATCH /data/:path+ data",
  "POST /data/:path+ data",
  "POST /sys/inspect/request data", // a request that is told of
  "POST /sys/audit/:path+ options", // of the type, which refuses others
  "POST /acl/token Roles", // refused with anything in it
  "POST /acl/token/:accessor_id Roles",
]);

function takesMembers({ type, additionalProperties, items }: Schema): boolean {
  if (type === "array") return items !== undefined && takesMembers(items);
  return type === "object" && additionalProperties === undefined;
}

test("every field that is an object says of what, and tells what else is in it", () => {
  const all = [...everyEndpoint, ...mountedSurface.flatMap(({ endpoints }) => endpoints)];
  const found: string[] = [];
  for (const { method, path, input } of all) {
    for (const field of Object.values(input) as readonly Field<unknown>[]) {
      const shaped = field.members !== undefined || takesMembers(field.schema);
      const place = `${method} ${path} ${field.name}`;
      if (!shaped || field.source === "whole" || OPEN.has(place)) continue;
      found.push(place);
      assert.ok(field.members !== undefined, `${place}: of what?`);
      for (const value of valuesOf(field)) {
        const warned = (field.notice?.(value) ?? []).join();
        const whole = warned.endsWith(`are ignored: ${field.name}`);
        assert.ok(whole || warned.includes(`${field.name}.nobodys`), `${place}: ${warned}`);
      }
    }
  }
  const names = new Set(found.map((place) => place.split(" ")[2]));
  for (const name of ["config", "user_lockout_config", "options", "cloudb_roles", "documents"]) {
    assert.ok(names.has(name), name);
  }
});

/** With a member that nobody knows, and ones inside of those that are known. */
function valuesOf({ members = [] }: Field<unknown>): readonly JsonValue[] {
  const inner = members.filter((member) => member.members !== undefined);
  const nested = Object.fromEntries(inner.map(({ name }) => [name, { nobodys: 1 }]));
  return [{ nobodys: 1 }, [{ nobodys: 1 }], { ...nested, nobodys: 1 }];
}

const warnings = async (server: EngineServer, path: string, body: object) =>
  at(await server.must("POST", path, body), "warnings") ?? null;

test("a misspelt setting is named, in tune and in config, however deep it is", async (t) => {
  const server = await engineServer(t);
  const misspelt = { lockout_thres: 2, lockout_duration: "5m", lockout_counter_reset: "1m" };
  const config = { bogus: 1, user_lockout_config: misspelt };
  assert.deepEqual(await warnings(server, "sys/auth/up", { type: "userpass", config }), [
    "unknown fields are ignored: config.user_lockout_config.lockout_thres",
    "unknown fields are ignored: config.bogus",
  ]);
  assert.deepEqual(await warnings(server, "sys/auth/up/tune", { user_lockout_config: misspelt }), [
    "unknown fields are ignored: user_lockout_config.lockout_thres",
  ]);
  const kept = dataOf(await server.ask("GET", "sys/auth/up/tune"))["user_lockout_config"];
  assert.partialDeepStrictEqual(kept, { lockout_duration: 300 });
  const whole = { lockout_threshold: 2, lockout_disable: null };
  assert.equal(await warnings(server, "sys/auth/up/tune", { user_lockout_config: whole }), null);
});

test("settings of auth methods are told and not kept where there are no logins", async (t) => {
  const server = await engineServer(t);
  const settings = { token_type: "service", user_lockout_config: { lockout_threshold: 3 } };
  assert.deepEqual(await warnings(server, "sys/mounts/kv3", { type: "kv", config: settings }), [
    "settings of auth methods are ignored: config.token_type",
    "settings of auth methods are ignored: config.user_lockout_config",
  ]);
  assert.deepEqual(await warnings(server, "sys/mounts/kv3/tune", settings), [
    "settings of auth methods are ignored: token_type",
    "settings of auth methods are ignored: user_lockout_config",
  ]);
  const read = await server.ask("GET", "sys/mounts/kv3/tune");
  assert.ok(!read.text.includes("lockout") && !read.text.includes("token_type"), read.text);
  // Older clients send it empty for what they leave alone.
  assert.equal(await warnings(server, "sys/mounts/kv3/tune", { token_type: "" }), null);
  await server.must("POST", "sys/auth/up", { type: "userpass" });
  assert.equal(await warnings(server, "sys/auth/up/tune", settings), null);
});
