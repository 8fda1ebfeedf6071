// The endpoints of ACL policies (cases 76–93 of docs/cases/policies.md), through
// HTTP.

import assert from "node:assert/strict";
import test from "node:test";
import { at, type CallOptions } from "../../support/http-client.ts";
import {
  dataOf,
  done,
  grants,
  policyServer,
  refused,
  warningsOf,
} from "../../support/servers/policy-server.ts";

const READS = grants("kv/*", "read");

test("77, 85: a policy is written, read and listed, in base64 too; root reads as empty", async (t) => {
  const server = await policyServer(t);
  await server.write("acl/dev", { policy: READS });
  const { modified, ...data } = dataOf(await server.sys("GET", "policies/acl/dev"));
  assert.match(String(modified), /^\d{4}-\d\d-\d\dT[\d:.]+Z$/);
  assert.deepEqual(data, { name: "dev", policy: READS, version: 1, cas_required: false });
  const flat = await server.sys("GET", "policies/acl/dev");
  assert.equal(at(flat, "policy"), READS); // 4: repeated at top level

  await server.write("acl/coded", { policy: Buffer.from(READS).toString("base64") });
  assert.equal(dataOf(await server.sys("GET", "policies/acl/coded"))["policy"], READS);
  const put = await server.sys("PUT", "policies/acl/put", { policy: READS });
  done(put);

  const root = dataOf(await server.sys("GET", "policies/acl/root"));
  assert.equal(root["policy"], "");
  assert.equal("modified" in root, false);
  refused(await server.sys("GET", "policies/acl/none"), 404);
  refused(await server.sys("GET", "policies/acl/control-group"), 404);
  assert.match(
    String(dataOf(await server.sys("GET", "policies/acl/response-wrapping"))["policy"]),
    /sys\/wrapping\/unwrap/,
  );
});

test("76: a name in capitals is converted, told, and found by any spelling", async (t) => {
  const server = await policyServer(t);
  const written = await server.sys("POST", "policies/acl/Dev", { policy: READS });
  assert.deepEqual(warningsOf(written), ["policy name was converted to dev"]);
  assert.equal(at(written, "data"), null);
  assert.equal(dataOf(await server.sys("GET", "policies/acl/DEV"))["name"], "dev");
  done(await server.sys("DELETE", "policies/acl/dEv"));
  refused(await server.sys("GET", "policies/acl/dev"), 404);
});

test("what is no name is refused", async (t) => {
  const server = await policyServer(t);
  for (const name of ["a~b", "a,b", "a".repeat(129)]) {
    const answer = await server.sys("POST", `policies/acl/${name}`, { policy: READS });
    assert.equal(answer.status, 400, name);
    assert.match(String(at(answer, "errors", 0)), /^invalid policy name/);
  }
});

test("documents are refused with the texts that clients know", async (t) => {
  const server = await policyServer(t);
  const write = (policy: unknown) => server.sys("POST", "policies/acl/p", { policy });
  const missing = "'policy' parameter not supplied or empty";
  refused(await server.sys("POST", "policies/acl/p", {}), 400, missing);
  refused(await write(""), 400, missing);
  refused(await write(" \n"), 400, missing);
  refused(await write(7), 400, "policy must be a string");
  const keys = await write('name = "t"\nbad = "x"\nnope = "y"');
  assert.equal(keys.status, 400);
  assert.match(
    String(at(keys, "errors", 0)),
    /^failed to parse policy: 2 errors occurred:\n\t\* invalid key "bad" on line 2.*\n\t\* invalid key "nope" on line 3.*\n\n$/,
  );
  const typo = await write('path "a" {\n\n  capabilites = []\n}');
  assert.match(String(at(typo, "errors", 0)), /invalid key "capabilites" on line 3/);
  const wild = await write(grants("foo/+*", "read"));
  assert.match(String(at(wild, "errors", 0)), /invalid use of wildcards \('\+\*' is forbidden\)/);
  // Base64 by accident: refused as the text that it is.
  const accident = await write("abcd");
  assert.match(String(at(accident, "errors", 0)), /^failed to parse policy: At 1:5/);
  // Base64 on purpose, with a fault inside: the fault is told, not the base64.
  const faulty = await write(Buffer.from('path "a" {\n  bad = 1\n}\n').toString("base64"));
  assert.match(String(at(faulty, "errors", 0)), /invalid key "bad" on line 2/);
  refused(await server.sys("GET", "policies/acl/p"), 404);
});

test("what is legal and hardly ever meant is stored, with a warning", async (t) => {
  const server = await policyServer(t);
  const policy = grants("kv/*/x", "read") + grants("kv/a", "sudo");
  const warnings = warningsOf(await server.sys("POST", "policies/acl/p", { policy })) as string[];
  assert.equal(warnings.length, 2);
  assert.match(String(warnings[0]), /^path "kv\/\*\/x" on line 1: a \* that is not the last/);
  assert.match(String(warnings[1]), /^path "kv\/a" on line 2: sudo grants nothing alone/);
  assert.equal(dataOf(await server.sys("GET", "policies/acl/p"))["policy"], policy);
});

test("a rule that leads to no mount, or to no path of one, is stored with a warning", async (t) => {
  const server = await policyServer(t);
  await server.namespace("team");
  const mount = (path: string, type: string) => server.sys("POST", `mounts/${path}`, { type });
  done(await mount("secret", "kv"));
  done(await mount("apps/keys", "kv"));
  const warned = async (label: string, options: CallOptions = {}) => {
    const policy = grants(label, "read");
    const answer = await server.sys("POST", "policies/acl/p", { policy }, options);
    if (answer.status === 204) return null;
    const [warning, ...more] = warningsOf(answer) as string[];
    assert.deepEqual(more, []);
    return warning?.replace(`path ${JSON.stringify(label)} on line 1: `, "");
  };
  const right = [
    "*",
    "+/x",
    "sec*",
    "secret/*",
    "secret/data/app",
    "/secret/metadata/*",
    "secret/+/app",
    "secret/d*",
    "kv/whatever",
    "apps/*",
    "apps/keys/data/x",
    "cubbyhole/x",
    "sys/mounts",
    "auth/people/login/*",
    "team/*",
    "team/kv/x",
    "clouda/creds/deploy",
    "secret/{{token.name}}/x",
    "{{token.name}}/x",
  ];
  for (const label of right) assert.equal(await warned(label), null, label);
  assert.equal(await warned("none/x"), 'nothing is mounted at "none/"');
  assert.equal(await warned("team/none/x"), 'nothing is mounted at "none/"');
  assert.equal(await warned("apps/other/x"), 'nothing is mounted at "apps/"');
  assert.equal(
    await warned("secret/data/x", { namespace: "team" }),
    'nothing is mounted at "secret/"',
  );
  // The mistake of every first policy.
  assert.match(
    (await warned("secret/app")) ?? "",
    /^the mount secret\/ of type kv has no such path/,
  );
  assert.match((await warned("secret/app/*")) ?? "", /begin with .*data, .*metadata/);
  assert.match((await warned("clouda/role/x")) ?? "", /begin with config, creds, orphans, roles/);
});

test("84: built-in policies are protected, and default can be edited", async (t) => {
  const server = await policyServer(t);
  const write = (name: string) => server.sys("POST", `policies/acl/${name}`, { policy: READS });
  const remove = (name: string) => server.sys("DELETE", `policies/acl/${name}`);
  for (const name of ["root", "response-wrapping", "control-group"]) {
    refused(await write(name), 400, `cannot update "${name}" policy`);
    refused(await remove(name), 400, `cannot delete "${name}" policy`);
    const patched = await server.sys("PATCH", `policies/acl/${name}`, { policy: READS });
    refused(patched, 400, `cannot update "${name}" policy`);
  }
  refused(await remove("default"), 400, "cannot delete default policy");
  done(await write("default"));
  const { policy, version } = dataOf(await server.sys("GET", "policies/acl/default"));
  assert.deepEqual([policy, version], [READS, 2]);
});

test("86: LIST has default and root, in a child namespace no root", async (t) => {
  const server = await policyServer(t);
  assert.deepEqual(dataOf(await server.sys("LIST", "policies/acl")), {
    keys: ["default", "root"],
  });
  assert.deepEqual(at(await server.sys("GET", "policies/acl?list=true"), "keys"), [
    "default",
    "root",
  ]);
  await server.namespace("team");
  const team = { namespace: "team" };
  assert.deepEqual(dataOf(await server.sys("LIST", "policies/acl", undefined, team)), {
    keys: ["default"],
  });
  await server.write("acl/own", { policy: READS }, team);
  refused(await server.sys("GET", "policies/acl/own"), 404); // each namespace has its own set
  for (const path of ["policies/acl", "policies/acl/"]) {
    refused(await server.sys("GET", path), 405, "unsupported operation");
  }
  const nobody = await server.test.call("GET", "/v1/sys/policies/acl/");
  refused(nobody, 403, "missing client token");
});

test("names with slashes are listed whole, below a folder, and page by page", async (t) => {
  const server = await policyServer(t);
  for (const name of ["a", "team/dev", "team/ops", "team/x/deep", "zoo"]) {
    await server.write(`acl/${name}`, { policy: READS });
  }
  const keys = async (path: string) => dataOf(await server.sys("LIST", `policies/${path}`))["keys"];
  const all = ["a", "default", "team/dev", "team/ops", "team/x/deep", "zoo"];
  assert.deepEqual(await keys("acl"), [...all, "root"]);
  assert.deepEqual(await keys("acl/team"), ["dev", "ops", "x/"]);
  assert.deepEqual(await keys("acl/team/"), ["dev", "ops", "x/"]);
  assert.deepEqual(await keys("acl/team/x"), ["deep"]);
  refused(await server.sys("LIST", "policies/acl/none"), 404);
  refused(await server.sys("LIST", "policies/acl/a"), 404);

  const page = await server.sys("LIST", "policies/acl?limit=4");
  assert.deepEqual(dataOf(page)["keys"], all.slice(0, 4));
  assert.deepEqual(warningsOf(page), ["there are more; go on with after=team/ops"]);
  const rest = await server.sys("LIST", "policies/acl?limit=4&after=team/ops");
  assert.deepEqual(dataOf(rest)["keys"], [...all.slice(4), "root"]);
  assert.equal(warningsOf(rest), null);
  assert.deepEqual(await keys("acl/team?limit=1&after=dev"), ["ops"]);

  const detailed = dataOf(await server.sys("LIST", "policies/detailed/acl/team"));
  assert.deepEqual(detailed["keys"], ["dev", "ops", "x/"]);
  const info = detailed["key_info"] as Record<string, Record<string, unknown>>;
  assert.deepEqual(Object.keys(info), ["dev", "ops"]);
  assert.equal(info["dev"]?.["policy"], READS);
  assert.equal(info["dev"]?.["name"], "team/dev");
  const whole = dataOf(await server.sys("LIST", "policies/detailed/acl"));
  assert.deepEqual(whole["keys"], [...all, "root"]);
  assert.equal((whole["key_info"] as typeof info)["team/x/deep"]?.["version"], 1);
});

test("a list with documents is cut where it gets long, and goes on from there", async (t) => {
  const server = await policyServer(t);
  const filler = `${READS}# ${"x".repeat(250_000)}\n`;
  for (let i = 10; i < 30; i++) {
    await server.test.server.policies.write("root", { name: `p${i}`, text: filler });
  }
  let after = "";
  const all: string[] = [];
  for (;;) {
    const page = await server.sys("LIST", `policies/detailed/acl?after=${after}`);
    const keys = dataOf(page)["keys"] as string[];
    assert.ok(keys.length > 0 && page.text.length < 2 * 1024 * 1024, String(page.text.length));
    all.push(...keys);
    after = keys.at(-1) ?? "";
    if (warningsOf(page) === null) break;
    assert.deepEqual(warningsOf(page), [`there are more; go on with after=${after}`]);
  }
  assert.equal(all.length, 22);
  assert.equal(new Set(all).size, 22);
});

test("88: deleting what is not there is done", async (t) => {
  const server = await policyServer(t);
  done(await server.sys("DELETE", "policies/acl/none"));
  done(await server.sys("DELETE", "policy/none"));
});

test("90, 91: a write and a deletion count for the token's next request", async (t) => {
  const server = await policyServer(t);
  const path = "sys/namespaces";
  await server.write("acl/dev", { policy: READS });
  const { secret } = await server.client("dev");
  const list = () => server.test.call("LIST", `/v1/${path}`, { token: secret });
  refused(await list(), 403, "permission denied");
  await server.write("acl/dev", { policy: grants(path, "list") });
  refused(await list(), 404);
  done(await server.sys("DELETE", "policies/acl/dev"));
  refused(await list(), 403, "permission denied");
  const self = await server.test.call("GET", "/v1/auth/token/lookup-self", { token: secret });
  assert.deepEqual(dataOf(self)["policies"], ["default", "dev"]);
  await server.write("acl/dev", { policy: grants(path, "list") });
  refused(await list(), 404); // 1.4: the name arms the token again
});

test("92: check-and-set: one of two writers, -1 for none, required while repeated", async (t) => {
  const server = await policyServer(t);
  const mismatch = "check-and-set parameter did not match the current version";
  const required = "check-and-set parameter required for this call";
  const write = (body: object) => server.sys("POST", "policies/acl/p", { policy: READS, ...body });
  refused(await write({ cas: 1 }), 400, mismatch);
  refused(await write({ cas: 0 }), 400, mismatch);
  done(await write({ cas: -1 }));
  refused(await write({ cas: -1 }), 400, mismatch);
  const both = await Promise.all([write({ cas: 1 }), write({ cas: 1 })]);
  assert.deepEqual(new Set(both.map(({ status }) => status)), new Set([204, 400]));
  done(await write({ cas_required: true }));
  const read = dataOf(await server.sys("GET", "policies/acl/p"));
  assert.deepEqual([read["version"], read["cas_required"]], [3, true]);
  refused(await write({}), 400, required);
  done(await write({ cas: 3 })); // not repeated, so no longer required
  done(await write({}));
  done(await server.sys("DELETE", "policies/acl/p"));
  done(await write({ cas: -1 }));
  assert.equal(dataOf(await server.sys("GET", "policies/acl/p"))["version"], 1);
});

test("a policy ends at its expiration for reads, lists and decisions, and its name is free", async (t) => {
  const server = await policyServer(t);
  const start = server.clock.now();
  server.clock.stoppedAt = start;
  const list = grants("sys/namespaces", "list");
  await server.write("acl/team/brief", { policy: list, ttl: "1h" });
  await server.write("acl/other", { policy: list, expiration: "2999-01-01T00:00:00Z" });
  const read = dataOf(await server.sys("GET", "policies/acl/team/brief"));
  assert.equal(
    Date.parse(String(read["expiration"])),
    Number((start + 3_600_000_000_000n) / 1_000_000n),
  );
  const { secret } = await server.client("team/brief");
  const asks = () => server.test.call("LIST", "/v1/sys/namespaces", { token: secret });
  refused(await asks(), 404);

  server.clock.stoppedAt = start + 3_600_000_000_000n;
  refused(await asks(), 403, "permission denied");
  refused(await server.sys("GET", "policies/acl/team/brief"), 404);
  const keys = ["default", "other", "root"];
  assert.deepEqual(dataOf(await server.sys("LIST", "policies/acl"))["keys"], keys);
  refused(await server.sys("LIST", "policies/acl/team"), 404);
  refused(await server.sys("PATCH", "policies/acl/team/brief", { ttl: "1h" }), 404);
  await server.write("acl/team/brief", { policy: list, cas: -1 });
  assert.equal(dataOf(await server.sys("GET", "policies/acl/team/brief"))["version"], 1);
  assert.deepEqual(dataOf(await server.sys("LIST", "policies/acl/team"))["keys"], ["brief"]);
  refused(await asks(), 404);
});

test("what has ended leaves no rows behind once something else is written", async (t) => {
  const server = await policyServer(t);
  const start = server.clock.now();
  server.clock.stoppedAt = start;
  for (const name of ["a", "b"]) await server.write(`acl/${name}`, { policy: READS, ttl: 60 });
  server.clock.stoppedAt = start + 61_000_000_000n;
  await server.write("acl/c", { policy: READS });
  // With the clock set back they would be there again, if they were.
  server.clock.stoppedAt = start;
  assert.deepEqual(dataOf(await server.sys("LIST", "policies/acl"))["keys"], [
    "c",
    "default",
    "root",
  ]);
  refused(await server.sys("GET", "policies/acl/a"), 404);
});

test("two ends, an end in the past and what is no time are refused", async (t) => {
  const server = await policyServer(t);
  const write = (body: object) => server.sys("POST", "policies/acl/p", { policy: READS, ...body });
  const past = "expiration must lie in the future";
  refused(await write({ expiration: "2020-01-01T00:00:00Z" }), 400, past);
  for (const ttl of [0, "500ms"]) {
    assert.match(String(at(await write({ ttl }), "errors", 0)), /^ttl must be .*, at least 1s/);
  }
  const both = await write({ ttl: "1h", expiration: "2999-01-01T00:00:00Z" });
  refused(both, 400, "expiration and ttl say the same thing: give one of them");
  assert.match(String(at(await write({ expiration: "soon" }), "errors", 0)), /RFC 3339/);
  refused(await server.sys("GET", "policies/acl/p"), 404);
});

test("PATCH changes what is sent, and nothing else", async (t) => {
  const server = await policyServer(t);
  const patch = (body: object) => server.sys("PATCH", "policies/acl/p", body);
  const read = async () => dataOf(await server.sys("GET", "policies/acl/p"));
  refused(await patch({ policy: READS }), 404);
  refused(await patch({ policy: READS, cas: 3 }), 404);
  await server.write("acl/p", { policy: READS, expiration: "2999-01-01T00:00:00Z" });
  done(await patch({ cas_required: true }));
  const kept = await read();
  assert.deepEqual(
    [kept["policy"], kept["version"], kept["cas_required"], kept["expiration"]],
    [READS, 2, true, "2999-01-01T00:00:00Z"],
  );
  refused(await patch({}), 400, "check-and-set parameter required for this call");
  const other = grants("kv/x", "read");
  done(await patch({ policy: Buffer.from(other).toString("base64"), cas: 2, expiration: null }));
  const changed = await read();
  assert.deepEqual(
    [changed["policy"], changed["version"], changed["cas_required"], "expiration" in changed],
    [other, 3, true, false],
  );
  refused(await patch({ policy: null, cas: 3 }), 400, "'policy' parameter not supplied or empty");
  assert.match(
    String(at(await patch({ policy: "path", cas: 3 }), "errors", 0)),
    /^failed to parse/,
  );
  assert.deepEqual(await read(), changed);
  const wrong = await server.sys(
    "PATCH",
    "policies/acl/p",
    {},
    {
      headers: { "Content-Type": "application/json" },
    },
  );
  assert.equal(wrong.status, 415, wrong.text);
});

test("?dry_run=true checks everything, shows what would be stored, and stores nothing", async (t) => {
  const server = await policyServer(t);
  const dry = "policies/acl/P?dry_run=true";
  const tried = await server.sys("POST", dry, { policy: Buffer.from(READS).toString("base64") });
  assert.deepEqual(warningsOf(tried), ["policy name was converted to p"]);
  const { modified: _, ...visible } = dataOf(tried);
  assert.deepEqual(visible, { name: "p", policy: READS, version: 1, cas_required: false });
  refused(await server.sys("GET", "policies/acl/p"), 404);
  const before = await server.sys("GET", "policies/acl/default");
  assert.equal(
    dataOf(await server.sys("POST", "policies/acl/default?dry_run=true", { policy: READS }))[
      "version"
    ],
    2,
  );
  assert.deepEqual(dataOf(await server.sys("GET", "policies/acl/default")), dataOf(before));
  const mismatch = "check-and-set parameter did not match the current version";
  refused(await server.sys("POST", dry, { policy: READS, cas: 4 }), 400, mismatch);
  refused(await server.sys("PATCH", dry, { cas_required: true }), 404);
  assert.equal((await server.sys("POST", dry, { policy: "path" })).status, 400);
});

test("93: the older endpoints: keys and policies, rules, and the older name of the text", async (t) => {
  const server = await policyServer(t);
  done(await server.sys("POST", "policy/dev", { policy: READS }));
  const names = ["default", "dev", "root"];
  for (const [method, path] of [
    ["GET", "policy"],
    ["LIST", "policy"],
    ["GET", "policy?list=true"],
  ] as const) {
    assert.deepEqual(dataOf(await server.sys(method, path)), { keys: names, policies: names });
  }
  const read = dataOf(await server.sys("GET", "policy/dev"));
  assert.deepEqual([read["name"], read["rules"], "policy" in read], ["dev", READS, false]);
  const other = grants("kv/x", "read");
  const old = await server.sys("POST", "policy/dev", { rules: other });
  assert.deepEqual(warningsOf(old), ["'rules' is deprecated, please use 'policy' instead"]);
  assert.equal(dataOf(await server.sys("GET", "policies/acl/dev"))["policy"], other);
  const both = await server.sys("POST", "policy/dev", { policy: READS, rules: other });
  assert.deepEqual(warningsOf(both), ["unknown fields are ignored: rules"]); // policy wins
  assert.equal(dataOf(await server.sys("GET", "policy/dev"))["rules"], READS);
  refused(
    await server.sys("POST", "policy/dev", {}),
    400,
    "'policy' parameter not supplied or empty",
  );
  refused(
    await server.sys("POST", "policy/root", { policy: READS }),
    400,
    'cannot update "root" policy',
  );
  done(await server.sys("DELETE", "policy/dev"));
  refused(await server.sys("GET", "policy/dev"), 404);
});

test("4: the capability of the verb on the path is needed, and nothing more", async (t) => {
  const server = await policyServer(t);
  const path = "sys/policies/acl/p";
  const cases = [
    ["POST", "update", { policy: READS }, 204],
    ["GET", "read", undefined, 200],
    ["PATCH", "patch", { policy: READS }, 204],
    ["DELETE", "delete", undefined, 204],
  ] as const;
  for (const [method, word, body, status] of cases) {
    await server.write("acl/p", { policy: READS });
    const all = ["create", "read", "update", "patch", "delete", "list", "sudo"];
    await server.write("acl/has", { policy: grants(path, word) });
    await server.write("acl/lacks", { policy: grants(path, ...all.filter((one) => one !== word)) });
    const [has, lacks] = [await server.client("has"), await server.client("lacks")];
    const options = body === undefined ? {} : { body };
    const ask = (token: string) => server.test.call(method, `/v1/${path}`, { token, ...options });
    refused(await ask(lacks.secret), 403, "permission denied");
    assert.equal((await ask(has.secret)).status, status, method);
  }
});
