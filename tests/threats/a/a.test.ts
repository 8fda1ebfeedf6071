// Threats A: paths, routing, the matching of rules. Through HTTP, against a whole server.

import assert from "node:assert/strict";
import test from "node:test";
import { isOfCopying } from "@holdfast/shared/endpoint/access";
import { everyEndpoint } from "../../../src/surface.ts";
import { Dice } from "../dice.ts";
import { at } from "../../support/http-client.ts";
import { auditLines, EVERYTHING, lastIndex, rule, scene, visible } from "../scene.ts";
import { misspell } from "../spelling.ts";

const TEAM = "/v1/sys/namespaces/team";

test("T-A01: nothing that could be cleaned into another path reaches beyond a grant", async (t) => {
  const stage = await scene(t);
  await stage.namespaces("team", "team/sub", "other");
  await stage.must("POST", "/v1/sys/namespaces/other", { body: { custom_metadata: { a: "b" } } });
  const token = await stage.clientWith(rule("sys/namespaces/team/*", EVERYTHING));
  const before = await lastIndex(stage);
  const attempts = [
    `${TEAM}/%2e%2e/other`,
    `${TEAM}/%2E%2E/other`,
    `${TEAM}/../other`,
    `${TEAM}/./sub/../../other`,
    `${TEAM}/./sub`,
    `${TEAM}//sub`,
    `${TEAM}%2fsub`,
    `${TEAM}%2Fsub`,
    `${TEAM}\\sub`,
    `${TEAM}%5csub`,
    `${TEAM}%5Csub`,
    `${TEAM}/..;/other`,
    `${TEAM}/..%2Fother`,
    `${TEAM}/%252e%252e/other`,
    `${TEAM}/sub/.%2e/../other`,
    `http://localhost${TEAM}/../other`,
  ];
  for (const verb of ["DELETE", "GET", "LIST"]) {
    for (const target of attempts) {
      const { status } = await stage.target(verb, target, `X-Service-Token: ${token}`);
      assert.equal(status, 400, `${verb} ${target}`);
    }
  }
  assert.equal(await lastIndex(stage), before, "nothing was written");
  assert.equal(
    (await stage.server.call("DELETE", "/v1/sys/namespaces/other", { token })).status,
    403,
  );
  const other = await stage.must("GET", "/v1/sys/namespaces/other");
  assert.deepEqual(at(other, "data", "custom_metadata"), { a: "b" });
  assert.equal(
    (await stage.server.call("DELETE", `${TEAM}/sub`, { token })).status,
    202,
    "the grant",
  );
});

test("T-A02: a path has one spelling, for management too", async (t) => {
  const stage = await scene(t);
  const token = `X-Service-Token: ${stage.root}`;
  for (const target of [
    "/v1/%73ys/key-status",
    "/v1/sys/%6Bey-status",
    "/v1/sys/key%2Dstatus",
    "/%76%31/sys/key-status",
    "/v1/sys/key-statu%73",
    "/v1/sys/namespaces/a%c3%a9", // lower-case hex
    "/v1/sys/namespaces/%C0%AE%C0%AE", // overlong
    "/v1/sys/namespaces/%E0%80%AF",
    "/v1/sys/namespaces/%u002e",
    "/v1/sys/namespaces/%00",
    "/v1/sys/namespaces/a%0d%0ab",
    "/v1/sys/namespaces/%ED%A0%80", // half of a surrogate pair
    "/v1/sys/namespaces/e%CC%81", // not composed
    "/v1/sys/namespaces/a%2",
    "/v1/sys/namespaces/a%",
    "/v1/sys/key-status#x",
    "/v1/sys/key-status*",
    "/v1/sys/+/key-status",
    "//sys/key-status",
    "/v1//sys/key-status",
  ]) {
    const { status } = await stage.target("GET", target, token);
    assert.equal(status, 400, target);
  }
  assert.equal((await stage.target("GET", "/v1/sys/key-status", token)).status, 200);
});

test("T-A03 T-A04: of a thousand spellings none gets past a deny, and each leaves its two records", async (t) => {
  const stage = await scene(t);
  const token = await stage.clientWith(
    rule("sys/namespaces/*", EVERYTHING) + rule("sys/namespaces/locked/*", ["deny"]),
  );
  await stage.namespaces("locked", "locked/x");
  const file = await stage.audit();
  const path = "/sys/namespaces/locked/x";
  assert.equal((await stage.server.call("GET", `/v1${path}`, { token })).status, 403);
  const before = auditLines(file).length;
  const dice = new Dice(3);
  const client = await stage.connect();
  t.after(() => client.destroy());
  const sent: string[] = [];
  let connection = client;
  for (let i = 0; i < 1000; i++) {
    const target = `/v1${misspell(path, dice)}`;
    const verb = dice.of(["GET", "DELETE", "LIST"]);
    const bytes = `${verb} ${target} HTTP/1.1\r\nHost: localhost\r\nX-Service-Token: ${token}\r\n\r\n`;
    const { status, headers } = await connection.ask(bytes);
    assert.ok(status === 400 || status === 403, `${status} ${verb} ${target}`);
    sent.push(target.slice("/v1".length).split(/[?#]/)[0]!); // what a query may hold is in no record
    if (headers.get("connection") === "close") {
      connection.destroy();
      connection = await stage.connect();
    }
  }
  connection.destroy();
  assert.ok(new Set(sent).size > 600, `${new Set(sent).size} spellings`);
  const lines = auditLines(file).slice(before);
  assert.equal(lines.filter(({ type }) => type === "request").length, sent.length);
  assert.equal(lines.filter(({ type }) => type === "response").length, sent.length);
  for (const { request, error } of lines) {
    const { path: canonical, raw_path: raw } = request;
    assert.notEqual(error, "");
    if (raw === undefined) assert.match(canonical, /^sys\/namespaces\/locked/);
    else assert.ok(sent.includes(raw), `quoted as it came: ${raw}`);
  }
  assert.equal((await stage.must("GET", `/v1${path}`)).status, 200, "it is still there");
});

test("T-A06: a list is denied where the deny is, in every form of it", async (t) => {
  const stage = await scene(t);
  await stage.namespaces("team");
  const grant = rule("sys/*", ["list", "read"]);
  for (const deny of ["sys/namespaces/*", "sys/namespaces", "sys/namespaces/"]) {
    const token = await stage.clientWith(grant + rule(deny, ["deny"]));
    for (const [verb, path] of [
      ["LIST", "/v1/sys/namespaces"],
      ["LIST", "/v1/sys/namespaces/"],
      ["GET", "/v1/sys/namespaces?list=true"],
      ["GET", "/v1/sys/namespaces/?list=true"],
      ["GET", "/v1/sys/namespaces?list=1"],
      ["LIST", "/sys/namespaces"],
    ] as const) {
      const { status } = await stage.server.call(verb, path, { token });
      assert.equal(status, 403, `deny ${deny}: ${verb} ${path}`);
    }
    const { status } = await stage.server.call("LIST", "/v1/sys/version-history", { token });
    assert.equal(status, 200, "what the grant is for");
  }
});

test("T-A06: a rule that matches the folder's name without its slash counts for a list", async (t) => {
  const stage = await scene(t);
  const list = async (token: string, path = "/v1/sys/namespaces") =>
    (await stage.server.call("LIST", path, { token })).status;
  await stage.namespaces("team");
  // `+` is one segment: these match sys/namespaces, and not sys/namespaces/.
  const denied = rule("sys/*", ["list"]) + rule("sys/+", ["deny"]);
  const granted = rule("sys/+", ["list"]);
  for (const slash of ["", "/"]) {
    const path = `/v1/sys/namespaces${slash}`;
    assert.equal(await list(await stage.clientWith(denied), path), 403);
    assert.equal(await list(await stage.clientWith(granted), path), 200);
  }
  // Whoever decides for both forms decides: what a broader rule grants is not added, with + or without.
  for (const broad of ["sys/*", "sys/+/*", "+/policies/*", "+/+/*"]) {
    const rules = rule(broad, ["list"]) + rule("sys/policies/acl/*", ["read"]);
    await stage.writePolicy("team/app", rule("a", ["read"]));
    const token = await stage.clientWith(rules);
    assert.equal(await list(token, "/v1/sys/policies/acl/team"), 403, broad);
  }
});

test("T-A07: a right below a path is none beside it", async (t) => {
  const stage = await scene(t);
  await stage.namespaces("ab", "abc", "ab/in");
  const token = await stage.clientWith(rule("sys/namespaces/ab/*", EVERYTHING));
  for (const name of ["abc", "ab", "a"]) {
    const answer = await stage.server.call("DELETE", `/v1/sys/namespaces/${name}`, { token });
    assert.equal(answer.status, 403, name);
  }
  await stage.must("GET", "/v1/sys/namespaces/abc");
  const inside = await stage.server.call("DELETE", "/v1/sys/namespaces/ab/in", { token });
  assert.equal(inside.status, 202);
});

test("T-A08: a token has the policy of its name and no other", async (t) => {
  const stage = await scene(t);
  await stage.namespaces("team");
  await stage.writePolicy("app", rule("sys/namespaces/*", EVERYTHING));
  const status = async (policy: string) => {
    const token = await stage.client([policy]);
    return (await stage.server.call("GET", "/v1/sys/namespaces/team", { token })).status;
  };
  assert.equal(await status("app"), 200);
  for (const other of ["app-2", "ap", "app.old", "apps"])
    assert.equal(await status(other), 403, other);
});

test("T-A09: a policy does not reach into a namespace that is made after it", async (t) => {
  const stage = await scene(t);
  const text = rule("team/+/namespaces/*", EVERYTHING) + rule("team/sys/namespaces/*", EVERYTHING);
  await stage.writePolicy("old", text);
  const token = await stage.client(["old"]);
  await stage.namespaces("team", "team/x");
  const ways: readonly (readonly [string, string | undefined])[] = [
    ["/v1/team/sys/namespaces/x", undefined],
    ["/v1/sys/namespaces/x", "team"],
  ];
  for (const [path, namespace] of ways) {
    const answer = await stage.server.call("GET", path, { token, namespace });
    assert.equal(answer.status, 403, path);
  }
  await stage.writePolicy("old", text); // whoever writes it now knows the namespace
  for (const [path, namespace] of ways) {
    const answer = await stage.server.call("GET", path, { token, namespace });
    assert.equal(answer.status, 200, path);
  }
});

test("T-A11: a lone deny, a deny beside a grant, and an empty policy all deny", async (t) => {
  const stage = await scene(t);
  await stage.namespaces("team");
  await stage.writePolicy("deny", rule("sys/namespaces/team", ["deny"]));
  await stage.writePolicy("grant", rule("sys/namespaces/team", EVERYTHING));
  await stage.writePolicy("empty", rule("sys/namespaces/team", []));
  await stage.writePolicy("nothing", "# no rules\n");
  const status = async (...names: readonly string[]) => {
    const token = await stage.client(names);
    return (await stage.server.call("GET", TEAM, { token })).status;
  };
  assert.equal(await status("grant"), 200);
  for (const names of [["deny"], ["deny", "grant"], ["grant", "deny"], ["empty"], ["nothing"]]) {
    assert.equal(await status(...names), 403, names.join("+"));
  }
});

test("T-A13: a denied value is denied in a list, in any case, in the query, and given twice", async (t) => {
  const stage = await scene(t);
  const path = "/v1/sys/quotas/config";
  const denied = 'denied_parameters = { "rate_limit_exempt_paths" = ["sys/seal"] }';
  const token = await stage.clientWith(rule("sys/quotas/config", EVERYTHING, denied));
  const file = await stage.audit();
  const exempt = (value: unknown) => ({ rate_limit_exempt_paths: value });
  const before = await lastIndex(stage);
  for (const [query, body, expected] of [
    ["", exempt(["x", "sys/seal"]), 403],
    ["", exempt("x,sys/seal"), 403],
    ["", { Rate_Limit_Exempt_Paths: ["sys/seal"] }, 403],
    ["?rate_limit_exempt_paths=sys/seal", undefined, 403],
    ["?rate_limit_exempt_paths=sys/seal", {}, 403],
    ["?rate_limit_exempt_paths=x,sys%2Fseal", {}, 403],
    ["?rate_limit_exempt_paths=sys/seal", exempt(null), 403], // null is not given: the query counts
    ["?rate_limit_exempt_paths=sys/seal", exempt(["x"]), 400],
    ["", '{"rate_limit_exempt_paths":["x"],"rate_limit_exempt_paths":["sys/seal"]}', 400],
    ["", '{"rate_limit_exempt_paths":["x"],"rate_limit_exempt\\u005fpaths":["sys/seal"]}', 400],
  ] as const) {
    const answer = await stage.server.call("POST", path + query, { token, body });
    assert.equal(answer.status, expected, `${query} ${JSON.stringify(body)} ${answer.text}`);
  }
  assert.equal(await lastIndex(stage), before, "nothing was written");
  const allowed = await stage.server.call("POST", `${path}?rate_limit_exempt_paths=x`, { token });
  assert.equal(allowed.status, 204);
  const data = auditLines(file).at(-1)?.request.data;
  assert.deepEqual(Object.keys(data ?? {}), ["rate_limit_exempt_paths"], "the query is on record");
});

test("T-A14: without a token everything looks alike, there or not", async (t) => {
  const stage = await scene(t);
  await stage.namespaces("team");
  await stage.audit();
  const seen = async (verb: string, path: string, namespace?: string) => {
    const body = ["POST", "DELETE"].includes(verb) ? {} : undefined;
    return visible(await stage.server.call(verb, path, { namespace, body }));
  };
  for (const verb of ["GET", "POST", "DELETE", "LIST"]) {
    const like = await seen(verb, "/v1/sys/namespaces/nope");
    for (const [path, namespace] of [
      ["/v1/sys/namespaces/team"],
      ["/v1/sys/namespaces"],
      ["/v1/sys/audit/file"],
      ["/v1/sys/audit/nope"],
      ["/v1/sys/key-status"],
      ["/v1/sys/nothing"],
      ["/v1/secret/x"],
      ["/v1/auth/nope/login"],
      ["/v1/team/sys/namespaces/x"],
      ["/v1/nope/sys/namespaces/x"],
      ["/v1/sys/key-status", "team"],
      ["/v1/sys/key-status", "nope"],
      ["/v1/sys/namespaces/x", "team"],
      ["/v1/sys/namespaces/x", "nope"],
    ] as const) {
      assert.deepEqual(
        await seen(verb, path, namespace),
        like,
        `${verb} ${path} ${namespace ?? ""}`,
      );
    }
  }
  const health = await seen("GET", "/v1/sys/health", "team"); // open, but not in a child namespace
  assert.deepEqual(await seen("GET", "/v1/sys/health", "nope"), health);
});

test("T-A16: a query changes neither who asks nor where, and says each thing once", async (t) => {
  const stage = await scene(t);
  await stage.namespaces("team");
  const made = await stage.must("POST", "/v1/sys/namespaces/child?namespace=team");
  assert.equal(at(made, "data", "path"), "child/");
  for (const query of ["limit=1&limit=2", "limit=1&%6Cimit=2", "after=a&after=b"]) {
    const answer = await stage.server.call("LIST", `/v1/sys/namespaces?${query}`, {
      token: stage.root,
    });
    assert.equal(answer.status, 400, query);
  }
});

test("T-A18: an operation is named by the verb alone", async (t) => {
  const stage = await scene(t);
  await stage.namespaces("team");
  const { root: token } = stage;
  const body = { operation: "delete", method: "DELETE", _method: "DELETE" };
  const written = await stage.server.call("POST", TEAM, { token, body });
  assert.equal(written.status, 200);
  assert.match(String(at(written, "warnings", 0)), /operation/);
  for (const name of ["X-HTTP-Method-Override", "X-HTTP-Method", "X-Method-Override"]) {
    const headers = { [name]: "DELETE" };
    assert.equal((await stage.server.call("POST", TEAM, { token, headers })).status, 400, name);
  }
  for (const verb of ["REVOKE", "RENEW", "ROLLBACK", "HELP", "SCAN", "LINK", "UNLINK", "list"]) {
    const { status } = await stage.target(verb, TEAM, `X-Service-Token: ${token}`);
    assert.ok(status === 400 || status === 405, `${verb} ${status}`);
  }
  await stage.must("GET", TEAM);
});

// The declarations, seen as a list of rights: an endpoint that becomes open, loses its sudo or falls
// into child namespaces shows up here, whatever prefix it lies under.
const OPEN = [
  "GET /acl/policy/anonymous",
  "GET /acl/replication",
  "GET /identity/oidc/plugins/.well-known/keys",
  "GET /identity/oidc/plugins/.well-known/openid-configuration",
  "GET /sys/evidence/keys",
  "GET /sys/health",
  "GET /sys/init",
  "GET /sys/internal/specs/openapi",
  "GET /sys/internal/ui/mounts",
  "GET /sys/internal/ui/namespaces",
  "GET /sys/leader",
  "GET /sys/replication/dr/status",
  "GET /sys/replication/performance/status",
  "GET /sys/replication/status",
  "GET /sys/seal-status",
  "GET /sys/wrapping/pubkey",
  "POST /acl/bootstrap",
  "POST /acl/token/onetime/exchange",
  "POST /sys/init",
  "POST /sys/storage/raft/snapshot-init",
  "POST /sys/unseal",
  "POST /sys/wrapping/lookup",
];
const CEREMONY =
  /^\/sys\/(?:generate-root(?:-token)?|replication\/dr\/secondary\/generate-operation-token|re(?:key|key-recovery-key)|rotate\/(?:root|recovery))\/(?:attempt|init|update|verify)$/;
/** Those that an operation token opens on a disaster-recovery secondary, beside what is done there alone. */
const OPERATIONS = [
  "GET /sys/attention",
  "GET /sys/attention/history",
  "GET /sys/evidence/:id",
  "GET /sys/evidence/receipts/:id+",
  "GET /sys/metrics",
  "GET /sys/replication/divergent",
  "GET /sys/replication/divergent/:id",
  "GET /sys/storage/raft/snapshot",
  "LIST /sys/evidence",
  "LIST /sys/evidence/receipts",
  "POST /sys/replication/dr/secondary/generate-public-key",
  "POST /sys/seal",
];
/** Those that are done there alone. */
const OF_DR_SECONDARY = /^POST \/sys\/replication\/dr\/secondary\/[a-z-]+(?:\/[a-z-]+)?$/;
/** Those that ask for sudo, as far as they are built. */
const SUDO = [
  /^POST \/auth\/token\/revoke-orphan$/,
  / \/sys\/(?:seal|step-down|rotate|rotate\/keyring|remount)$/,
  /^(?:POST|DELETE) \/sys\/auth\//,
  / \/sys\/auth\/.*\/tune$/,
  /^(?:GET|LIST) \/sys\/leases(?:\/lookup|\/lookup\/.*)?$/,
  / \/sys\/(?:leases\/)?revoke-(?:prefix|force)\//,
  / \/sys\/audit(?:-hash|-verify)?(?:\/|$)/,
  / \/sys\/(?:rekey(?:-recovery-key)?|rotate\/(?:root|recovery))\/backup$/,
  / \/sys\/config\/(?:cors$|auditing\/|ui\/|reload\/)/,
  / \/auth\/token\/accessors$/,
  / \/sys\/inspect\/request$/,
  /^POST \/sys\/storage\/raft\/snapshot(?:-force)?$/,
  / \/sys\/storage\/raft\/snapshot-auto\/(?:config|run|drill)(?:\/|$)/,
  / \/sys\/storage\/raft\/snapshot-load(?:\/|$)/,
  / \/sys\/evidence\/receipts(?:\/|$)/,
  / \/sys\/attention\/(?:history|:code\/snooze)$/,
  / \/sys\/plugins\/catalog\/:type\/:name$/,
  / \/sys\/plugins\/runtimes\/catalog(?:\/|$)/,
  / \/sys\/replication\/(?:dr\/primary\/(?:secondary-token|operator-ticket)|performance\/primary\/secondary-token|reindex|divergent(?:\/:id)?)$/,
];
/** Those that also exist in a child namespace, beside the tokens, policies and mounts of each. */
const TOKENS = /^\/(?:auth\/token\/|acl\/token)/;
const POLICIES = /^\/(?:sys\/polic(?:y|ies)|sys\/capabilities|sys\/inspect|acl\/polic(?:y|ies))\b/;
const MOUNTS =
  /^\/sys\/(?:mounts|auth|remount|leases|renew|revoke|revoke-prefix|revoke-force|wrapping|internal\/ui\/mounts)(?:\/|$)/;
const IN_CHILDREN = [
  "/acl/replication",
  "/sys/attention",
  "/sys/attention/:code/snooze",
  "/sys/attention/history",
  "/sys/evidence",
  "/sys/evidence/:id",
  "/sys/evidence/receipts",
  "/sys/evidence/receipts/:id+",
  "/sys/ha-status",
  "/sys/internal/specs/openapi",
  "/sys/internal/ui/namespaces",
  "/sys/internal/ui/resultant-acl",
  "/sys/namespaces",
  "/sys/namespaces/:path+",
  "/sys/seal-status",
  "/sys/version-history",
  "/sys/replication/dr/status",
  "/sys/replication/performance/status",
  "GET /sys/replication/dr/secondary/generate-operation-token/attempt", // its other methods do not
];

/** An operation token opens these as long as the first copy of a performance secondary is under way. */
const WHILE_COPYING = [
  "POST /sys/replication/performance/secondary/disable",
  "POST /sys/replication/performance/secondary/generate-public-key",
  "POST /sys/replication/performance/secondary/promote",
  "POST /sys/replication/performance/secondary/update-primary",
  "POST /sys/replication/recover",
];

test("T-A19: what is open, what needs sudo and what exists in child namespaces is a list somebody read", () => {
  const named = (all: typeof everyEndpoint) =>
    all.map(({ method, path }) => `${method} ${path}`).toSorted();
  assert.deepEqual(named(everyEndpoint.filter(({ access }) => access.kind === "open")), OPEN);
  const opened = everyEndpoint.filter(
    ({ access }) => access.kind === "capability" && access.operation !== undefined,
  );
  const isCopying = ({ access }: (typeof everyEndpoint)[number]) => isOfCopying(access);
  assert.deepEqual(named(opened.filter((one) => !isCopying(one))), OPERATIONS);
  assert.deepEqual(named(opened.filter(isCopying)), WHILE_COPYING);
  for (const { method, path, access, rootOnly } of everyEndpoint) {
    const name = `${method} ${path}`;
    if (access.kind === "capability") {
      assert.equal(
        access.sudo,
        SUDO.some((pattern) => pattern.test(name)),
        `${name}: sudo`,
      );
    }
    assert.equal(access.kind === "ceremony", CEREMONY.test(path), `${name}: ceremony`);
    if (access.kind === "drOperation") assert.match(name, OF_DR_SECONDARY);
    const child =
      [TOKENS, POLICIES, MOUNTS].some((part) => part.test(path)) ||
      [path, name].some((one) => IN_CHILDREN.includes(one));
    assert.equal(!rootOnly, child, `${name}: child namespaces`);
  }
});

test("T-A20: a policy that was changed or deleted counts for the very next request", async (t) => {
  const stage = await scene(t);
  await stage.namespaces("team");
  const { policies } = stage.server.server;
  const token = await stage.clientWith(rule("sys/namespaces/*", ["read"]));
  const status = async () => (await stage.server.call("GET", TEAM, { token })).status;
  for (let i = 0; i < 20; i++) {
    assert.equal(await status(), 200);
    await stage.writePolicy("rules-1", rule("sys/namespaces/*", ["deny"]));
    assert.equal(await status(), 403);
    await stage.writePolicy("rules-1", rule("sys/namespaces/*", ["read"]));
  }
  assert.equal(await status(), 200);
  await policies.delete("root", "rules-1");
  assert.equal(await status(), 403);
});

test("T-A22: what is not yours and what is not there are told apart by nothing", async (t) => {
  const stage = await scene(t);
  await stage.namespaces("team", "other", "mine", "theirs");
  const { tokens } = stage.server.server;
  const administrator = await tokens.writes.create({
    type: "management",
    namespaceId: stage.idOf("team"),
    global: true,
  });
  const own = administrator.secret.reveal();
  assert.equal(
    (await stage.server.call("GET", "/v1/sys/namespaces/x", { token: own, namespace: "team" }))
      .status,
    404,
  );
  const seen = async (token: string, path: string, namespace?: string) =>
    visible(await stage.server.call("GET", path, { token, namespace }));
  const foreign = await seen(own, "/v1/sys/namespaces/x", "other");
  assert.equal((foreign as { status: number }).status, 403);
  assert.deepEqual(await seen(own, "/v1/sys/namespaces/x", "nope"), foreign);
  assert.deepEqual(await seen(own, "/v1/other/sys/namespaces/x"), foreign);
  assert.deepEqual(await seen(own, "/v1/nope/sys/namespaces/x"), foreign);
  assert.deepEqual(await seen(own, "/v1/sys/namespaces/other"), foreign);
  const weak = await stage.clientWith(rule("sys/namespaces/mine", ["read"]));
  assert.deepEqual(
    await seen(weak, "/v1/sys/namespaces/theirs"),
    await seen(weak, "/v1/sys/namespaces/nope"),
  );
});
