// The endpoints of RGPs and EGPs (some of them
// cases of docs/cases/policies.md), through HTTP.

import assert from "node:assert/strict";
import test from "node:test";
import { at } from "../../support/http-client.ts";
import {
  dataOf,
  done,
  grants,
  policyServer,
  refused,
  warningsOf,
} from "../../support/servers/policy-server.ts";

const TRUE = "true";
const RGP = { policy: TRUE, enforcement_level: "advisory" };
const EGP = { policy: TRUE, enforcement_level: "advisory", paths: ["kv/*"] };

test("87: a list without entries is 404", async (t) => {
  const server = await policyServer(t);
  for (const path of ["rgp", "egp", "detailed/rgp", "detailed/egp", "rgp/team", "egp/team"]) {
    refused(await server.sys("LIST", `policies/${path}`), 404);
  }
});

test("an RGP is written, read, listed and deleted", async (t) => {
  const server = await policyServer(t);
  const policy = 'request.path.startsWith("secret/") || token.display_name != ""';
  const body = { policy, enforcement_level: "soft-mandatory" };
  await server.write("rgp/webapp", body);
  await server.write("rgp/database", { ...body, policy: Buffer.from(policy).toString("base64") });
  for (const name of ["webapp", "database"]) {
    const { modified, ...data } = dataOf(await server.sys("GET", `policies/rgp/${name}`));
    assert.match(String(modified), /Z$/);
    assert.deepEqual(data, { name, ...body, version: 1, cas_required: false });
  }
  assert.deepEqual(dataOf(await server.sys("LIST", "policies/rgp")), {
    keys: ["database", "webapp"],
  });
  await server.write("rgp/team/x", body);
  assert.deepEqual(dataOf(await server.sys("LIST", "policies/rgp/team")), { keys: ["x"] });
  const detailed = dataOf(await server.sys("LIST", "policies/detailed/rgp"));
  assert.deepEqual(detailed["keys"], ["database", "team/x", "webapp"]);
  assert.equal(at({ json: detailed } as never, "key_info", "webapp", "policy"), policy);
  done(await server.sys("DELETE", "policies/rgp/webapp"));
  refused(await server.sys("GET", "policies/rgp/webapp"), 404);
  done(await server.sys("DELETE", "policies/rgp/webapp"));
  refused(await server.sys("GET", "policies/egp/database"), 404);
});

test("96: LIST of EGPs maps names to paths, with the star cut off", async (t) => {
  const server = await policyServer(t);
  const paths = ["*", "kv/*", "kv/keys/a"];
  const body = { policy: TRUE, enforcement_level: "soft-mandatory" };
  await server.write("egp/breakglass", { ...body, paths });
  await server.write("egp/commas", { ...body, paths: " /kv/b , kv/b,c*" });
  const map = {
    breakglass: [
      { path: "", glob: true },
      { path: "kv/", glob: true },
      { path: "kv/keys/a", glob: false },
    ],
    commas: [
      { path: "kv/b", glob: false },
      { path: "c", glob: true },
    ],
  };
  const keys = ["breakglass", "commas"];
  const data = { keys, name_path_map: map, key_info: map };
  assert.deepEqual(dataOf(await server.sys("LIST", "policies/egp")), data);
  const read = dataOf(await server.sys("GET", "policies/egp/breakglass"));
  assert.deepEqual(
    [read["name"], read["enforcement_level"], read["paths"]],
    ["breakglass", "soft-mandatory", paths],
  );
  assert.deepEqual(dataOf(await server.sys("GET", "policies/egp/commas"))["paths"], ["kv/b", "c*"]);
});

test("95: what is missing or wrong is refused with the texts that clients know", async (t) => {
  const server = await policyServer(t);
  const rgp = (body: object) => server.sys("POST", "policies/rgp/p", body);
  const egp = (body: object) => server.sys("POST", "policies/egp/p", { ...EGP, ...body });
  const text = "'policy' parameter not supplied or empty";
  const level = "'enforcement_level' parameter not supplied or empty";
  const paths = "'paths' parameter not supplied or empty";
  refused(await rgp({}), 400, text);
  refused(await rgp({ policy: TRUE }), 400, level);
  refused(await rgp({ policy: TRUE, enforcement_level: "" }), 400, level);
  const hard =
    'invalid enforcement_level "hard": must be one of "advisory", "soft-mandatory", "hard-mandatory"';
  refused(await rgp({ policy: TRUE, enforcement_level: "hard" }), 400, hard);
  refused(await egp({ enforcement_level: "hard" }), 400, hard);
  refused(await egp({ policy: "" }), 400, text);
  for (const none of [undefined, null, "", [], ["", " "]]) {
    refused(await egp({ paths: none }), 400, paths);
  }
  const star = `invalid EGP path "a/*/b": '*' is only allowed as the last character`;
  refused(await egp({ paths: ["ok", "a/*/b"] }), 400, star);
  refused(
    await egp({ paths: "a/+" }),
    400,
    `invalid EGP path "a/+": '+' is not supported in EGP paths`,
  );
  refused(await server.sys("GET", "policies/egp/p"), 404);
});

test("112, 113, 116: documents are compiled at the write, and refused by line and column", async (t) => {
  const server = await policyServer(t);
  const write = async (policy: string) => {
    const answer = await server.sys("POST", "policies/rgp/p", { ...RGP, policy });
    assert.equal(answer.status, 400, answer.text);
    return String(at(answer, "errors", 0));
  };
  assert.match(await write("request.path =="), /^failed to parse policy: 1:\d+: /);
  assert.equal(
    await write('true\n&& request.pth == "a"'),
    'failed to parse policy: 2:12: unknown property "request.pth"; did you mean "request.path"?',
  );
  assert.match(await write(`${"(".repeat(3000)}true${")".repeat(3000)}`), /nesting too deep/);
  assert.match(await write('"text"'), /^failed to parse policy: 1:1: /);
  assert.match(await write(`true // ${"x".repeat(70_000)}`), /^failed to parse policy: /);
  refused(await server.sys("GET", "policies/rgp/p"), 404);
});

test("89: ACL policies and RGPs share their names, EGPs have their own", async (t) => {
  const server = await policyServer(t);
  const taken = "cannot reuse policy names between ACLs and RGPs";
  const policy = grants("kv/*", "read");
  await server.write("acl/x", { policy });
  refused(await server.sys("POST", "policies/rgp/X", RGP), 400, taken);
  refused(await server.sys("POST", "policies/rgp/x?dry_run=true", RGP), 400, taken);
  await server.write("rgp/y", RGP);
  refused(await server.sys("POST", "policies/acl/y", { policy }), 400, taken);
  refused(await server.sys("POST", "policies/acl/y?dry_run=true", { policy }), 400, taken);
  refused(await server.sys("POST", "policies/rgp/default", RGP), 400, taken);
  refused(await server.sys("POST", "policies/rgp/root", RGP), 400, 'cannot update "root" policy');
  await server.write("egp/x", EGP);
  await server.write("egp/y", EGP);
  await server.write("egp/root", EGP);
  done(await server.sys("DELETE", "policies/acl/x"));
  await server.write("rgp/x", RGP);
  // Of two that come at once, one gets it.
  const both = await Promise.all([
    server.sys("POST", "policies/rgp/z", RGP),
    server.sys("POST", "policies/acl/z", { policy }),
  ]);
  assert.deepEqual(new Set(both.map(({ status }) => status)), new Set([204, 400]));
});

test("the name of one that has ended is free for the other kind", async (t) => {
  const server = await policyServer(t);
  const start = server.clock.now();
  server.clock.stoppedAt = start;
  const policy = grants("kv/*", "read");
  await server.write("rgp/x", { ...RGP, ttl: "1m" });
  await server.write("acl/y", { policy, ttl: "1m" });
  server.clock.stoppedAt = start + 60_000_000_000n;
  await server.write("acl/x", { policy });
  await server.write("rgp/y", RGP);
  // What has ended does not come back when the clock is set back.
  server.clock.stoppedAt = start;
  refused(await server.sys("GET", "policies/rgp/x"), 404);
  refused(await server.sys("GET", "policies/acl/y"), 404);
});

test("cas, PATCH and expiration are as for ACL policies", async (t) => {
  const server = await policyServer(t);
  const path = "policies/egp/p";
  const read = async () => dataOf(await server.sys("GET", path));
  refused(await server.sys("PATCH", path, { enforcement_level: "advisory" }), 404);
  await server.write("egp/p", { ...EGP, cas: -1, expiration: "2999-01-01T00:00:00Z" });
  const wrong = "check-and-set parameter did not match the current version";
  refused(await server.sys("POST", path, { ...EGP, cas: 7 }), 400, wrong);
  done(await server.sys("PATCH", path, { enforcement_level: "soft-mandatory", cas: 1 }));
  const levelled = await read();
  assert.deepEqual(
    [levelled["policy"], levelled["enforcement_level"], levelled["paths"], levelled["version"]],
    [TRUE, "soft-mandatory", ["kv/*"], 2],
  );
  assert.equal(levelled["expiration"], "2999-01-01T00:00:00Z");
  done(await server.sys("PATCH", path, { paths: "kv/other/*", policy: "false", expiration: null }));
  const changed = await read();
  assert.deepEqual(
    [changed["policy"], changed["enforcement_level"], changed["paths"], "expiration" in changed],
    ["false", "soft-mandatory", ["kv/other/*"], false],
  );
  const missing = "'paths' parameter not supplied or empty";
  refused(await server.sys("PATCH", path, { paths: [] }), 400, missing);
  const level = "'enforcement_level' parameter not supplied or empty";
  refused(await server.sys("PATCH", path, { enforcement_level: null }), 400, level);
  assert.deepEqual(await read(), changed);
});

test("?dry_run=true compiles, tells what would be stored, and stores nothing", async (t) => {
  const server = await policyServer(t);
  const tried = await server.sys("POST", "policies/egp/New?dry_run=true", {
    policy: TRUE,
    enforcement_level: "hard-mandatory",
    paths: "/kv/*, kv/*",
  });
  const { modified: _, ...data } = dataOf(tried);
  assert.deepEqual(data, {
    name: "new",
    policy: TRUE,
    enforcement_level: "hard-mandatory",
    version: 1,
    cas_required: false,
    paths: ["kv/*"],
  });
  assert.deepEqual(warningsOf(tried), ["policy name was converted to new"]);
  refused(await server.sys("LIST", "policies/egp"), 404);
  const bad = await server.sys("POST", "policies/rgp/new?dry_run=true", { ...RGP, policy: "1 +" });
  assert.equal(bad.status, 400);
  await server.write("rgp/p", RGP);
  const patch = { enforcement_level: "soft-mandatory" };
  const patched = dataOf(await server.sys("PATCH", "policies/rgp/p?dry_run", patch));
  assert.deepEqual([patched["enforcement_level"], patched["version"]], ["soft-mandatory", 2]);
  assert.equal(dataOf(await server.sys("GET", "policies/rgp/p"))["version"], 1);
});

const TESTED = (want: boolean) => `
main { request.path.startsWith("secret/") }
test "inside" { input = { request = { path = "secret/a" } } want = true }
test "outside" { input = { request = { path = "kv/a" } } want = ${want} }
`;

test("a test block that fails refuses the write, and all that fail are told", async (t) => {
  const server = await policyServer(t);
  await server.write("rgp/p", { ...RGP, policy: TESTED(false) });
  for (const [method, path] of [
    ["POST", "policies/rgp/p"],
    ["POST", "policies/rgp/p?dry_run=true"],
    ["PATCH", "policies/rgp/p"],
  ] as const) {
    const answer = await server.sys(method, path, { ...RGP, policy: TESTED(true) });
    refused(answer, 400, 'test "outside" on line 4 failed: want true, got false');
  }
  const two = TESTED(true).replace('"secret/a"', '"x"');
  const egp = await server.sys("POST", "policies/egp/p", { ...EGP, policy: two });
  assert.equal(egp.status, 400);
  assert.equal((at(egp, "errors") as unknown[]).length, 2);
  assert.equal(dataOf(await server.sys("GET", "policies/rgp/p"))["version"], 1);
});

test("deleting one that is hard-mandatory needs sudo, and counts nothing", async (t) => {
  const server = await policyServer(t);
  const path = "sys/policies/+/p";
  await server.write("acl/deletes", { policy: grants(path, "delete") });
  await server.write("acl/sudo", { policy: grants(path, "delete", "sudo") });
  const [deletes, sudo] = [await server.client("deletes"), await server.client("sudo")];
  for (const [kind, body] of [
    ["rgp", RGP],
    ["egp", { ...EGP, paths: ["kv/nowhere"] }],
  ] as const) {
    const remove = (token: string) =>
      server.test.call("DELETE", `/v1/sys/policies/${kind}/p`, { token });
    await server.write(`${kind}/p`, { ...body, enforcement_level: "hard-mandatory" });
    const why = "deleting a hard-mandatory policy needs the capability sudo on this path";
    refused(await remove(deletes.secret), 403, "permission denied", why);
    assert.equal((await server.sys("GET", `policies/${kind}/p`)).status, 200);
    done(await remove(sudo.secret));
    refused(await server.sys("GET", `policies/${kind}/p`), 404);
    for (const level of ["advisory", "soft-mandatory"]) {
      await server.write(`${kind}/p`, { ...body, enforcement_level: level });
      done(await remove(deletes.secret));
    }
    done(await remove(deletes.secret)); // nothing there, nothing widens
  }
});

test("one that is hard-mandatory is changed with sudo alone, whatever of it changes", async (t) => {
  const server = await policyServer(t);
  const path = "sys/policies/+/p";
  await server.write("acl/writes", {
    policy: grants(path, "read", "create", "update", "patch", "delete"),
  });
  await server.write("acl/sudo", {
    policy: grants(path, "read", "create", "update", "patch", "sudo"),
  });
  const [writes, sudo] = [await server.client("writes"), await server.client("sudo")];
  const why = "changing a hard-mandatory policy needs the capability sudo on this path";
  const hard = { enforcement_level: "hard-mandatory" };
  for (const [kind, body] of [
    ["rgp", { ...RGP, ...hard }],
    ["egp", { ...EGP, ...hard, paths: ["kv/a", "kv/b"] }],
  ] as const) {
    const put = (change: object, token = writes.secret) =>
      server.test.call("POST", `/v1/sys/policies/${kind}/p`, {
        token,
        body: { ...body, ...change },
      });
    const patch = (change: object, token = writes.secret) =>
      server.test.call("PATCH", `/v1/sys/policies/${kind}/p`, { token, body: change });
    done(await put({})); // nothing was there
    const changes: readonly object[] = [
      { policy: "true || true" },
      { enforcement_level: "advisory" },
      { enforcement_level: "soft-mandatory" },
      { ttl: "2s" },
      { expiration: "2999-01-01T00:00:00Z" },
      ...(kind === "egp" ? [{ paths: ["kv/a"] }, { paths: ["kv/a", "kv/b", "kv/c"] }] : []),
    ];
    for (const change of changes) {
      refused(await put(change), 403, "permission denied", why);
      refused(await patch(change), 403, "permission denied", why);
      const tried = await server.test.call("POST", `/v1/sys/policies/${kind}/p?dry_run=true`, {
        token: writes.secret,
        body: { ...body, ...change },
      });
      refused(tried, 403, "permission denied", why);
    }
    const stored = dataOf(await server.sys("GET", `policies/${kind}/p`));
    assert.equal(stored["version"], 1);
    // What judges as before may be written by whoever may write.
    done(await put({ cas: 1 }));
    done(await patch({ cas_required: false }));
    if (kind === "egp") done(await put({ paths: ["kv/b", "kv/a"] }));
    for (const change of changes.slice(0, 2)) {
      done(await put(change, sudo.secret));
      await server.write(`${kind}/p`, body); // as management
    }
    done(await put({ enforcement_level: "soft-mandatory" }, sudo.secret));
    done(await put({ policy: "false" })); // nothing binds that is there
  }
});

test("the path of an EGP that no request has is refused, one that leads nowhere is warned of", async (t) => {
  const server = await policyServer(t);
  done(await server.sys("POST", "mounts/two", { type: "kv", options: { version: "2" } }));
  await server.namespace("team");
  const write = (paths: string) => server.sys("POST", "policies/egp/p", { ...EGP, paths });
  for (const [path, why] of [
    ["../x", '".." cannot stand in the path of a request'],
    ["a/./b*", '"." cannot stand in the path of a request'],
    ["a//b", "'//' is in no path of a request"],
    ["//sys/*", "'//' is in no path of a request"],
    ["a/\u0000/*", '"U+0000" cannot stand in the path of a request'],
    ["%2e%2e/*", '"%2e%2e" cannot stand in the path of a request'],
  ] as const) {
    const answer = await write(path);
    assert.equal(answer.status, 400, `${path}: ${answer.text}`);
    assert.ok(String(at(answer, "errors", 0)).includes(`: ${why}; paths look like`), answer.text);
  }
  for (const [path, why] of [
    ["v1/kv/*", 'path "v1/kv/*": nothing is mounted at "v1/": paths are written without v1/'],
    [
      "two/orders",
      'path "two/orders": the mount two/ of type kv has no such path: they begin with',
    ],
    ["nomount/*", 'path "nomount/*": nothing is mounted at "nomount/"'],
    ["sys/helth", 'path "sys/helth": there is no such path'],
    ["sys/health", 'path "sys/health": no EGP is asked here'],
    ["sys/unseal", 'path "sys/unseal": no EGP is asked here'],
    ["auth/none/login/x", 'path "auth/none/login/x": there is no such path'],
    ["sys/policies/acl/Admin", 'path "sys/policies/acl/Admin": names there have no capitals'],
    ["sys/policies/egp/Team*", 'path "sys/policies/egp/Team*": names there have no capitals'],
    ["team/none/*", 'path "team/none/*": nothing is mounted at "none/"'],
  ] as const) {
    const [said] = warningsOf(await write(path)) as readonly string[];
    assert.ok(said?.startsWith(why), `${path}: ${said}`);
  }
  for (const path of [
    "*",
    "kv/*",
    "kv/a",
    "kv/a/",
    "k*",
    "two/data/orders",
    "two/data/*",
    "team/kv/*",
    "sys/policies/acl/admin",
    "sys/mounts",
    "acl/token",
    "auth/token/create",
  ]) {
    done(await write(path));
  }
});

test("118: an EGP counts for the next request on its paths, and its deletion too", async (t) => {
  const server = await policyServer(t);
  const path = "sys/namespaces";
  await server.write("acl/dev", { policy: grants(path, "list") });
  const { secret } = await server.client("dev");
  const list = async () =>
    (await server.test.call("LIST", `/v1/${path}`, { token: secret })).status;
  assert.equal(await list(), 404);
  await server.write("egp/no", {
    policy: "false",
    enforcement_level: "hard-mandatory",
    paths: path,
  });
  assert.equal(await list(), 403);
  await server.write("egp/no", {
    policy: "true",
    enforcement_level: "hard-mandatory",
    paths: path,
  });
  assert.equal(await list(), 404);
  await server.write("egp/no", {
    policy: "false",
    enforcement_level: "hard-mandatory",
    paths: path,
  });
  assert.equal(await list(), 403);
  done(await server.sys("DELETE", "policies/egp/no"));
  assert.equal(await list(), 404);
});

test("119: a client token with nothing but RGPs is made, with a warning", async (t) => {
  const server = await policyServer(t);
  const { root: token } = server;
  await server.write("rgp/office", RGP);
  await server.write("acl/dev", { policy: grants("kv/*", "read") });
  const create = (Policies: string[]) =>
    server.test.call("POST", "/acl/token", { token, body: { Type: "client", Policies } });
  const bare = await create(["office"]);
  assert.equal(bare.status, 200, bare.text);
  assert.equal(bare.headers["x-service-warning"], "token has no ACL policy");
  assert.equal((await create(["office", "dev"])).headers["x-service-warning"], undefined);
  const body = { policies: ["office"], ttl: "1h" };
  const view = await server.test.call("POST", "/v1/auth/token/create", { token, body });
  assert.deepEqual(warningsOf(view), ["token has no ACL policy"]);
});

test("capability queries do not count RGPs and EGPs, and say so where some would judge", async (t) => {
  const server = await policyServer(t);
  await server.write("acl/dev", { policy: grants("kv/*", "read") });
  await server.write("rgp/never", { policy: "false", enforcement_level: "hard-mandatory" });
  await server.write("egp/guard", { ...EGP, policy: "false", paths: "kv/guarded" });
  const ask = async (accessor: string, path: string) => {
    const body = { accessor, paths: [path] };
    const answer = await server.sys("POST", "capabilities-accessor", body);
    assert.deepEqual(dataOf(answer)[path], ["read"]);
    return warningsOf(answer);
  };
  const warnings = ["RGPs and EGPs are not counted, and some judge what this token does there"];
  const plain = await server.client("dev");
  assert.equal(await ask(plain.accessor, "kv/a"), null);
  assert.deepEqual(await ask(plain.accessor, "kv/guarded"), warnings);
  const carrying = await server.client("dev", "never");
  assert.deepEqual(await ask(carrying.accessor, "kv/a"), warnings);
  const management = await server.sys("POST", "capabilities-self", { paths: ["kv/guarded"] });
  assert.equal(warningsOf(management), null);
});

test("each namespace has its own set", async (t) => {
  const server = await policyServer(t);
  await server.namespace("team");
  const team = { namespace: "team" };
  await server.write("rgp/p", RGP, team);
  await server.write("egp/p", EGP, team);
  refused(await server.sys("GET", "policies/rgp/p"), 404);
  refused(await server.sys("LIST", "policies/egp"), 404);
  assert.deepEqual(dataOf(await server.sys("LIST", "policies/egp", undefined, team))["keys"], [
    "p",
  ]);
  await server.write("acl/p", { policy: grants("kv/a", "read") }); // the name is free here
});
