// Cases 76 to 96 of docs/cases/policies.md: the endpoints of policies.

import assert from "node:assert/strict";
import test from "node:test";
import { at, errorsOf } from "../../support/http-client.ts";
import { governedServer } from "../../support/servers/governed-server.ts";

const ACL = "/v1/sys/policies/acl";
const RGP = "/v1/sys/policies/rgp";
const EGP = "/v1/sys/policies/egp";
const READS = 'path "sys/namespaces/*" { capabilities = ["read"] }';
const HARD = "hard-mandatory";

test("76: a name is folded to lower case, with a warning, on write and on read", async (t) => {
  const server = await governedServer(t);
  const made = await server.manage("POST", `${ACL}/Dev`, { body: { policy: READS } });
  assert.equal(made.status, 200);
  assert.ok((at(made, "warnings") as string[]).includes("policy name was converted to dev"));
  const read = await server.must("GET", `${ACL}/DEV`);
  assert.equal(at(read, "data", "name"), "dev");
  assert.equal(at(read, "data", "policy"), READS);
});

test("77: a policy in base64 is stored and read in clear, for all three kinds", async (t) => {
  const server = await governedServer(t);
  const base64 = (text: string) => Buffer.from(text, "utf8").toString("base64");
  const acl = await server.manage("POST", `${ACL}/p`, { body: { policy: base64(READS) } });
  assert.equal(acl.status, 204, acl.text);
  assert.equal(at(await server.must("GET", `${ACL}/p`), "data", "policy"), READS);
  const program = 'request.path.startsWith("a")';
  const body = { policy: base64(program), enforcement_level: HARD };
  assert.equal((await server.manage("POST", `${RGP}/q`, { body })).status, 204);
  assert.equal(at(await server.must("GET", `${RGP}/q`), "data", "policy"), program);
  const paths = ["*"];
  assert.equal((await server.manage("POST", `${EGP}/q`, { body: { ...body, paths } })).status, 204);
  assert.equal(at(await server.must("GET", `${EGP}/q`), "data", "policy"), program);
});

test("78: text that happens to be base64 but no document is refused as text, never stored as garbage", async (t) => {
  const server = await governedServer(t);
  for (const policy of ["cGF0aA==", "abcd", "AAAA", "Zm9v", "path"]) {
    const answer = await server.manage("POST", `${ACL}/p`, { body: { policy } });
    assert.equal(answer.status, 400, policy);
    assert.match(String(at(answer, "errors", 0)), /^failed to parse policy: /);
    assert.equal((await server.manage("GET", `${ACL}/p`)).status, 404);
  }
  // `true` is an expression as it stands, and also what base64 makes of three bytes.
  await server.rgp("q", "true", "advisory");
  assert.equal(at(await server.must("GET", `${RGP}/q`), "data", "policy"), "true");
});

test("79: a policy without text is refused", async (t) => {
  const server = await governedServer(t);
  for (const body of [{}, { policy: "" }]) {
    const answer = await server.manage("POST", `${ACL}/p`, { body });
    assert.deepEqual(
      [answer.status, errorsOf(answer)],
      [400, ["'policy' parameter not supplied or empty"]],
    );
  }
});

test("80: every unknown key at the top is named with its line", async (t) => {
  const server = await governedServer(t);
  const policy = 'name = "t"\nbad = "x"\nnope = "y"\n';
  const answer = await server.manage("POST", `${ACL}/p`, { body: { policy } });
  assert.equal(answer.status, 400);
  // Clients look for the inner text; where the column stands is ours.
  assert.match(
    String(at(answer, "errors", 0)),
    /^failed to parse policy: 2 errors occurred:\n\t\* invalid key "bad" on line 2\b.*\n\t\* invalid key "nope" on line 3\b.*\n\n$/,
  );
});

test("81: a misspelt key in a body is named with path and line", async (t) => {
  const server = await governedServer(t);
  const policy = '# comment\npath "secret/x" {\n  capabilites = ["read"]\n}';
  const answer = await server.manage("POST", `${ACL}/p`, { body: { policy } });
  assert.equal(answer.status, 400);
  assert.match(
    String(at(answer, "errors", 0)),
    /^failed to parse policy: path "secret\/x": invalid key "capabilites" on line 3/,
  );
});

test("82: +* is refused", async (t) => {
  const server = await governedServer(t);
  const policy = 'path "foo/+*" { capabilities = ["read"] }';
  const answer = await server.manage("POST", `${ACL}/p`, { body: { policy } });
  assert.equal(answer.status, 400);
  assert.match(
    String(at(answer, "errors", 0)),
    /^failed to parse policy: path "foo\/\+\*": invalid use of wildcards \('\+\*' is forbidden\)/,
  );
});

test("83: a document in JSON decides as the same one in HCL does", async (t) => {
  const server = await governedServer(t);
  await server.must("POST", "/v1/sys/namespaces/a");
  await server.acl("hcl", READS);
  await server.acl("json", '{"path":{"sys/namespaces/*":{"capabilities":["read"]}}}');
  for (const name of ["hcl", "json"]) {
    const { secret: token } = await server.client([name]);
    const status = async (verb: string, path: string) =>
      (await server.call(verb, `/v1/${path}`, { token })).status;
    assert.equal(await status("GET", "sys/namespaces/a"), 200, name);
    assert.equal(await status("DELETE", "sys/namespaces/a"), 403, name);
    assert.equal(await status("GET", "sys/key-status"), 403, name);
  }
});

test("84: built-in policies cannot be written or deleted", async (t) => {
  const server = await governedServer(t);
  const body = { policy: READS };
  for (const [verb, path, text] of [
    ["POST", "root", 'cannot update "root" policy'],
    ["DELETE", "root", 'cannot delete "root" policy'],
    ["DELETE", "default", "cannot delete default policy"],
    ["POST", "response-wrapping", 'cannot update "response-wrapping" policy'],
    ["DELETE", "response-wrapping", 'cannot delete "response-wrapping" policy'],
    ["POST", "control-group", 'cannot update "control-group" policy'],
    ["POST", "Root", 'cannot update "root" policy'],
  ] as const) {
    const answer = await server.manage(verb, `${ACL}/${path}`, verb === "POST" ? { body } : {});
    assert.deepEqual([answer.status, errorsOf(answer)], [400, [text]], `${verb} ${path}`);
  }
  const fresh = await server.must("GET", `${ACL}/default`);
  assert.match(String(at(fresh, "data", "policy")), /auth\/token\/lookup-self/);
  await server.acl("default", READS); // may be edited
  assert.equal(at(await server.must("GET", `${ACL}/default`), "data", "policy"), READS);
});

test("85: root is read as an empty text", async (t) => {
  const server = await governedServer(t);
  const answer = await server.must("GET", `${ACL}/root`);
  assert.equal(at(answer, "data", "policy"), "");
  assert.equal(at(answer, "data", "name"), "root");
  assert.equal(at(answer, "policy"), "", "data is repeated at the top");
});

test("86: a fresh server lists default and root, root last, and hides the rest", async (t) => {
  const server = await governedServer(t);
  const keys = async (method: string, path: string, namespace?: string) =>
    at(await server.must(method, path, { namespace }), "data", "keys");
  assert.deepEqual(await keys("LIST", ACL), ["default", "root"]);
  await server.acl("zebra", READS);
  assert.deepEqual(await keys("LIST", ACL), ["default", "zebra", "root"]);
  assert.deepEqual(await keys("GET", `${ACL}?list=true`), ["default", "zebra", "root"]);
  await server.must("POST", "/v1/sys/namespaces/child");
  assert.deepEqual(await keys("LIST", ACL, "child"), ["default"]);
});

test("87: without an RGP or EGP there is nothing to list", async (t) => {
  const server = await governedServer(t);
  for (const path of [RGP, EGP]) {
    const answer = await server.manage("LIST", path);
    assert.deepEqual([answer.status, errorsOf(answer)], [404, []]);
  }
});

test("88: deleting what is not there is no error, for all three kinds", async (t) => {
  const server = await governedServer(t);
  for (const path of [ACL, RGP, EGP]) {
    assert.equal((await server.manage("DELETE", `${path}/none`)).status, 204, path);
  }
});

test("89: ACL policies and RGPs share one name space, EGPs have their own", async (t) => {
  const server = await governedServer(t);
  const program = { policy: "true", enforcement_level: HARD };
  await server.acl("x", READS);
  await server.rgp("y", "true", HARD);
  const reused = "cannot reuse policy names between ACLs and RGPs";
  for (const [path, body] of [
    [`${RGP}/x`, program],
    [`${RGP}/X`, program],
    [`${RGP}/default`, program],
    [`${ACL}/y`, { policy: READS }],
    ["/v1/sys/policy/y", { policy: READS }],
  ] as const) {
    const answer = await server.manage("POST", path, { body });
    assert.deepEqual([answer.status, errorsOf(answer)], [400, [reused]], path);
  }
  await server.egp("x", "true", HARD, ["a"]);
  await server.egp("y", "true", HARD, ["a"]);
  await server.must("DELETE", `${ACL}/x`);
  await server.rgp("x", "true", HARD); // free again
});

test("90: an update is in force for the next request of the same token", async (t) => {
  const server = await governedServer(t);
  await server.must("POST", "/v1/sys/namespaces/a");
  await server.acl("p", READS);
  const { secret: token } = await server.client(["p"]);
  const status = async () => (await server.call("GET", "/v1/sys/namespaces/a", { token })).status;
  assert.equal(await status(), 200);
  await server.acl("p", 'path "sys/namespaces/*" { capabilities = ["list"] }');
  assert.equal(await status(), 403);
  await server.acl("p", READS);
  assert.equal(await status(), 200);
});

test("91: a token outlives its policy without the rights, and shows the name still", async (t) => {
  const server = await governedServer(t);
  await server.must("POST", "/v1/sys/namespaces/a");
  await server.acl("p", READS);
  const { secret: token } = await server.client(["p"]);
  await server.must("DELETE", `${ACL}/p`);
  assert.equal((await server.call("GET", "/v1/sys/namespaces/a", { token })).status, 403);
  const self = await server.call("GET", "/v1/auth/token/lookup-self", { token });
  assert.equal(self.status, 200);
  assert.deepEqual(at(self, "data", "policies"), ["default", "p"]);
});

test("92: of two writers with the same cas one succeeds", async (t) => {
  const server = await governedServer(t);
  const write = (cas: number, policy: string) =>
    server.manage("POST", `${ACL}/p`, { body: { policy, cas } });
  const made = await Promise.all([write(-1, READS), write(-1, READS)]);
  assert.deepEqual(made.map(({ status }) => String(status)).toSorted(), ["204", "400"]);
  const changed = await Promise.all([write(1, READS), write(1, READS)]);
  assert.deepEqual(changed.map(({ status }) => String(status)).toSorted(), ["204", "400"]);
  const refused = changed.find(({ status }) => status === 400);
  assert.deepEqual(refused === undefined ? null : errorsOf(refused), [
    "check-and-set parameter did not match the current version",
  ]);
  assert.equal(at(await server.must("GET", `${ACL}/p`), "data", "version"), 2);
});

test("93: the older endpoints answer in their own words", async (t) => {
  const server = await governedServer(t);
  await server.acl("dev", READS);
  for (const verb of ["GET", "LIST"]) {
    const list = await server.must(verb, "/v1/sys/policy");
    assert.deepEqual(at(list, "data", "policies"), ["default", "dev", "root"], verb);
    assert.deepEqual(at(list, "data", "keys"), ["default", "dev", "root"], verb);
  }
  const read = await server.must("GET", "/v1/sys/policy/dev");
  assert.equal(at(read, "data", "name"), "dev");
  assert.equal(at(read, "data", "rules"), READS);
  assert.equal(at(read, "data", "policy"), undefined);
  const old = await server.must("POST", "/v1/sys/policy/old", { body: { rules: READS } });
  assert.ok(
    (at(old, "warnings") as string[]).includes(
      "'rules' is deprecated, please use 'policy' instead",
    ),
  );
  assert.equal(at(await server.must("GET", `${ACL}/old`), "data", "policy"), READS);
  assert.equal((await server.manage("DELETE", "/v1/sys/policy/old")).status, 204);
});

test("94: capabilities of one path and of several, and of management", async (t) => {
  const server = await governedServer(t);
  await server.acl("p", 'path "a/*" { capabilities = ["read", "list"] }');
  const { secret: token, accessor } = await server.client(["p"]);
  const self = "/v1/sys/capabilities-self";
  const two = await server.call("POST", self, { token, body: { paths: ["a/b", "c"] } });
  assert.deepEqual(at(two, "data"), { "a/b": ["list", "read"], c: ["deny"] });
  const one = await server.call("POST", self, { token, body: { paths: ["a/b"] } });
  assert.deepEqual(at(one, "data"), { "a/b": ["list", "read"], capabilities: ["list", "read"] });
  const root = await server.must("POST", self, { body: { paths: ["a/b"] } });
  assert.deepEqual(at(root, "data"), { "a/b": ["root"], capabilities: ["root"] });
  for (const [path, who] of [
    ["sys/capabilities", { token }],
    ["sys/capabilities-accessor", { accessor }],
  ] as const) {
    const answer = await server.must("POST", `/v1/${path}`, { body: { ...who, paths: ["a/b"] } });
    assert.deepEqual(at(answer, "data", "a/b"), ["list", "read"], path);
  }
});

test("95: an EGP without paths, and levels that are none, are refused in its own words", async (t) => {
  const server = await governedServer(t);
  const write = async (body: object) => {
    const answer = await server.manage("POST", `${EGP}/p`, { body: { policy: "true", ...body } });
    assert.equal(answer.status, 400, JSON.stringify(body));
    return at(answer, "errors", 0);
  };
  const level = { enforcement_level: HARD };
  const three = 'must be one of "advisory", "soft-mandatory", "hard-mandatory"';
  assert.equal(await write(level), "'paths' parameter not supplied or empty");
  assert.equal(await write({ ...level, paths: [] }), "'paths' parameter not supplied or empty");
  assert.equal(await write({ ...level, paths: "" }), "'paths' parameter not supplied or empty");
  assert.equal(
    await write({ enforcement_level: "hard", paths: ["a"] }),
    `invalid enforcement_level "hard": ${three}`,
  );
  assert.equal(
    await write({ paths: ["a"] }),
    "'enforcement_level' parameter not supplied or empty",
  );
  assert.equal(
    await write({ ...level, paths: ["a/*/b"] }),
    "invalid EGP path \"a/*/b\": '*' is only allowed as the last character",
  );
  assert.equal(
    await write({ ...level, paths: ["a/+"] }),
    "invalid EGP path \"a/+\": '+' is not supported in EGP paths",
  );
});

test("96: EGPs are listed with their paths, stars cut off", async (t) => {
  const server = await governedServer(t);
  const body = { policy: "true", enforcement_level: "soft-mandatory" };
  const paths = "*, secret/* ,/transit/keys/a,secret/*";
  await server.must("POST", `${EGP}/breakglass`, { body: { ...body, paths } });
  await server.egp("another", "true", HARD, ["a"]);
  const list = await server.must("LIST", EGP);
  assert.deepEqual(at(list, "data", "keys"), ["another", "breakglass"]);
  const map = {
    another: [{ path: "a", glob: false }],
    breakglass: [
      { path: "", glob: true },
      { path: "secret/", glob: true },
      { path: "transit/keys/a", glob: false },
    ],
  };
  assert.deepEqual(at(list, "data", "name_path_map"), map);
  assert.deepEqual(at(list, "data", "key_info"), map);
  const read = await server.must("GET", `${EGP}/breakglass`);
  assert.deepEqual(at(read, "data", "paths"), ["*", "secret/*", "transit/keys/a"]);
  assert.equal(at(read, "data", "enforcement_level"), "soft-mandatory");
});
