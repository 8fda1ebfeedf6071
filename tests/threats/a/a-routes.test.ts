// Threats A that concern every route at once: one reading of a path for all who look at it, denials that beat
// what everybody is given, and no route without its check. Through HTTP, against a whole server.

import assert from "node:assert/strict";
import { Agent } from "node:http";
import test from "node:test";
import { mountedSurface } from "../../../src/surface.ts";
import { type Answer, at } from "../../support/http-client.ts";
import { MovableClock } from "../../support/servers/sealed-node.ts";
import { Dice } from "../dice.ts";
import { auditLines, EVERYTHING, rule, scene, type Scene } from "../scene.ts";
import { misspell } from "../spelling.ts";

/** Every key of a key/value mount of version 1, by its own lists. */
async function storedBelow(stage: Scene, folder: string): Promise<string[]> {
  const list = await stage.server.call("LIST", `/v1/${folder}`, { token: stage.root });
  if (list.status === 404) return [];
  const keys = at(list, "data", "keys") as string[];
  const found = keys.map(async (key) => {
    const path = `${folder}${key.split("/").map(encodeURIComponent).join("/")}`;
    return key.endsWith("/") ? storedBelow(stage, path) : [decodeURIComponent(path)];
  });
  return (await Promise.all(found)).flat();
}

test("T-A05: what rules judge, what is recorded and what is stored is one path, however it was spelt", async (t) => {
  const stage = await scene(t);
  const file = await stage.audit();
  await stage.must("POST", "/v1/sys/mounts/one", {
    body: { type: "kv", options: { version: "1" } },
  });
  const token = await stage.clientWith(
    rule("one/open/*", EVERYTHING) + rule("one/open/locked/*", ["deny"]),
  );
  const dice = new Dice(20_261_105);
  const paths = ["/v1/one/open/x/y", "/v1/one/open/locked/z", "/v1/one/else/w"] as const;
  const targets = Array.from({ length: 600 }, (_, i) => misspell(dice.of(paths), dice) + `-${i}`);
  // What must be escaped, and is.
  targets.push(
    "/v1/one/open/a%20b",
    "/v1/one/open/%C3%A9",
    "/v1/one/open/100%25",
    "/v1/one/open/p",
  );
  const recorded = new Set<string>();
  const statuses = new Set<number>();
  const body = JSON.stringify({ a: "b" });
  for (const target of targets) {
    const answer = await stage.raw(
      `POST ${target} HTTP/1.1\r\nHost: localhost\r\nX-Service-Token: ${token}\r\n` +
        `Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
    );
    statuses.add(answer.status);
    if (answer.status >= 300) continue;
    const { path } = auditLines(file).at(-1)?.request ?? { path: "" };
    assert.ok(path.startsWith("one/open/") && !path.startsWith("one/open/locked/"), target);
    recorded.add(path);
  }
  assert.deepEqual(
    [...statuses].toSorted((a, b) => a - b),
    [204, 400, 403],
    "all three happened",
  );
  assert.ok(recorded.size >= 4, `${recorded.size} were stored`);
  const stored = (await storedBelow(stage, "one/")).toSorted();
  assert.deepEqual(stored, [...recorded].toSorted());
});

const VERBS: Readonly<Record<string, string>> = {
  read: "GET",
  update: "POST",
  create: "POST",
  delete: "DELETE",
  list: "LIST",
};

test("T-A12: a policy that denies beats every right that all tokens are given", async (t) => {
  const stage = await scene(t);
  const text = String(
    at(await stage.must("GET", "/v1/sys/policies/acl/default"), "data", "policy"),
  );
  // Of these no policy decides: in acl/ a token is management, or its own, or neither; and whoever has a
  // wrapping token may look it up.
  const granted = Array.from(
    text.matchAll(
      /path "(?!acl\/|sys\/wrapping\/lookup)([^"]+)"\s*\{ capabilities = \[([^\]]+)\] \}/g,
    ),
    ([, path = "", words = ""]) => ({ path, words: words.replaceAll('"', "").split(", ") }),
  );
  assert.ok(granted.length > 10, "the default policy was read");
  const kept = await stage.client(["default"]);
  const isDenied = ({ status, text: words }: Answer) =>
    status === 403 && words.includes("permission denied");
  for (const { path, words } of granted) {
    const denied = await stage.clientWith(rule(path, ["deny"]));
    for (const word of words) {
      const verb = VERBS[word] ?? assert.fail(word);
      const target = `/v1/${path.replace("*", verb === "LIST" ? "" : "mine")}`;
      const body = verb === "POST" ? {} : undefined;
      const label = `${verb} ${target}`;
      // Not the token that the others are compared with: it would end itself.
      const twin = path.endsWith("revoke-self") ? await stage.client(["default"]) : kept;
      const granting = await stage.server.call(verb, target, { token: twin, body });
      assert.equal(isDenied(granting), false, `${label} is granted: ${granting.text}`);
      const denying = await stage.server.call(verb, target, { token: denied, body });
      assert.equal(isDenied(denying), true, `${label}: ${denying.status} ${denying.text}`);
    }
  }
});

/** Mounts of every type, each with its declared paths. */
async function mountedRoutes(stage: Scene): Promise<{ method: string; path: string }[]> {
  const routes: { method: string; path: string }[] = [];
  const open: string[] = [];
  for (const [number, { title, at: place, endpoints }] of mountedSurface.entries()) {
    const [type = "", version] = title.split(", version ");
    if (title.startsWith("every type")) continue;
    const name = `m${number}`;
    const where = place.replace(/<.*>/, name);
    if (where.endsWith(name)) {
      const table = where.startsWith("auth/") ? "auth" : "mounts";
      const options = version === undefined ? {} : { options: { version } };
      await stage.must("POST", `/v1/sys/${table}/${name}`, { body: { type, ...options } });
    }
    for (const { method, path, access } of endpoints) {
      if (access.kind === "open") open.push(`${type} ${method} ${path}`);
      else routes.push({ method, path: `/${where}${path}` });
    }
  }
  const logins = ["userpass POST /login/:username", "approle POST /login"];
  assert.deepEqual(open, logins, "whoever logs in has no token yet; nothing else is open");
  return routes;
}

test("T-A15: no route of the server or of any mount is without its check", async (t) => {
  const clock = new MovableClock();
  const stage = await scene(t, { world: { clock } });
  const agent = new Agent({ keepAlive: true, maxSockets: 8 });
  t.after(() => agent.destroy());
  await stage.namespaces("other");
  const { tokens } = stage.server.server;
  const expires = clock.now() + 3_600_000_000_000n;
  const expired = await tokens.writes.create({
    type: "management",
    policies: [],
    namespaceId: "root",
    global: true,
    expires,
  });
  const bare = await stage.must("POST", "/v1/auth/token/create", {
    body: { policies: ["no-such-policy"], no_default_policy: true },
  });
  const stranger = await stage.clientWith(rule("*", [...EVERYTHING, "sudo"]), "other");
  clock.ahead += 7_200_000_000_000n;
  const own = stage.server.server.endpoints.filter(
    ({ access: { kind } }) => !["open", "ceremony", "drOperation"].includes(kind),
  );
  const routes = [...own, ...(await mountedRoutes(stage))];
  // Whoever has a token at all may do these, without a right of its own.
  const ofAnyToken = own.filter(({ access }) => access.kind === "token");
  assert.ok(routes.length > 200 && ofAnyToken.length < 12, `${routes.length} ${ofAnyToken.length}`);
  const callers = {
    nobody: undefined,
    expired: expired.secret.reveal(),
    "of another namespace": stranger,
    "without a policy": String(at(bare, "auth", "client_token")),
  };
  for (const [who, token] of Object.entries(callers)) {
    for (const route of routes) {
      if (who === "without a policy" && ofAnyToken.some((it) => it === route)) continue;
      const path = `/v1${route.path.replaceAll(/:(\w+)\+?/g, "x-$1")}`;
      const body = ["POST", "PATCH"].includes(route.method) ? {} : undefined;
      const answer = await stage.server.call(route.method, path, { token, body, agent });
      // What unwraps calls every credential that is none a wrapping that is none.
      const none = "unwraps" in route && route.unwraps && who === "expired";
      const expected = none ? 400 : 403;
      assert.equal(answer.status, expected, `${who}: ${route.method} ${path}: ${answer.text}`);
    }
  }
});

test("T-A15: an auth method is reached below sys/auth alone, but for its tuning", async (t) => {
  const stage = await scene(t);
  await stage.must("POST", "/v1/sys/auth/up2", { body: { type: "userpass" } });
  const token = await stage.clientWith(
    rule("sys/mounts/*", [...EVERYTHING, "sudo"]) + rule("sys/auth/*", ["deny"]),
  );
  const call = (method: string, path: string, body?: object) =>
    stage.server.call(method, `/v1/sys/${path}`, {
      token,
      ...(body === undefined ? {} : { body }),
    });
  assert.equal((await call("DELETE", "auth/up2")).status, 403);
  for (const path of ["mounts/auth/up2", "mounts/auth/none"]) {
    for (const method of ["GET", "DELETE"]) {
      const answer = await call(method, path);
      assert.equal(answer.status, 400, `${method} ${path}: ${answer.text}`);
      assert.match(answer.text, /sys\/auth\//);
    }
    assert.equal((await call("POST", path, { type: "userpass" })).status, 403);
  }
  assert.equal((await call("GET", "mounts/auth/up2/tune")).status, 200);
  const tuned = await call("POST", "mounts/auth/up2/tune", { description: "x" });
  assert.equal(tuned.status, 204, tuned.text);
  await stage.must("GET", "/v1/sys/auth/up2");
});
