// Threats C: what RGPs and EGPs judge, whom, and what it costs. Through HTTP, against a whole server.

import assert from "node:assert/strict";
import { Agent } from "node:http";
import test from "node:test";
import { MemoryDisk } from "../../../src/storage/engines/memory.ts";
import { at, errorsOf } from "../../support/http-client.ts";
import { OVERRIDE, GovernedServer, governedServer } from "../../support/servers/governed-server.ts";
import { keepsNobodyWaiting } from "../../support/processor-time.ts";
import { startServer } from "../../support/servers/test-server.ts";
import { RawClient } from "../../support/http-front.ts";
import { loginServer, PASSWORD } from "../../support/servers/login-server.ts";
import { Dice } from "../dice.ts";
import { EVERYTHING, rule } from "../scene.ts";
import { misspell } from "../spelling.ts";

const HARD = "hard-mandatory";
const SOFT = "soft-mandatory";
const ALL = rule("*", EVERYTHING);

test("T-C01: an EGP of a namespace binds nothing outside it", async (t) => {
  const server = await governedServer(t);
  await server.must("POST", "/v1/sys/namespaces/a");
  await server.must("POST", "/v1/sys/namespaces/b");
  for (const namespace of [undefined, "a", "b"]) await server.acl("all", ALL, namespace);
  const root = await server.client(["all"]);
  const b = await server.client(["all"], "b");
  const a = await server.client(["all"], "a");
  const admin = await server.must("POST", "/v1/acl/token", {
    body: { Type: "management", Name: "admin of a" },
    namespace: "a",
  });
  const token = String(at(admin, "SecretID"));
  for (const paths of [
    "../sys/*",
    "../*",
    "/sys/*",
    "root/*",
    "*",
    "/",
    "//sys/*",
    "a/../../sys/*",
    "b/*",
    "./*",
    "%2e%2e/*",
  ]) {
    const body = { policy: "false", enforcement_level: HARD, paths };
    const path = "/v1/sys/policies/egp/trap";
    const answer = await server.call("POST", path, { token, body, namespace: "a" });
    assert.ok(answer.status < 300 || answer.status === 400, `${paths}: ${answer.text}`);
    for (const [who, namespace] of [
      [root, undefined],
      [b, "b"],
    ] as const) {
      for (const wanted of ["secret/x", "sys/namespaces/x"]) {
        const seen = await server.call("GET", `/v1/${wanted}`, { token: who.secret, namespace });
        assert.notEqual(seen.status, 403, `${paths}: ${wanted} in ${namespace ?? "root"}`);
      }
    }
    if (paths === "*") {
      const own = await server.call("GET", "/v1/secret/x", { token: a.secret, namespace: "a" });
      assert.equal(own.status, 403, "but there it does");
    }
  }
  const outside = await server.call("POST", "/v1/sys/policies/egp/trap", {
    token,
    body: { policy: "false", enforcement_level: HARD, paths: "*" },
  });
  assert.equal(outside.status, 403);
});

test("T-C02: the very first request after an update, a restart or an unseal is judged", async (t) => {
  const disk = new MemoryDisk();
  const first = await startServer({ disk });
  const { token: root, shares } = await first.open();
  const before = new GovernedServer(first, shares, root);
  await before.acl("all", ALL);
  const caller = await before.client(["all", "rgp"]);
  const ask = (server: GovernedServer, path = "secret/x") =>
    server.call("GET", `/v1/${path}`, { token: caller.secret });
  assert.equal((await ask(before)).status, 404);
  await before.egp("egp", 'request.path != "secret/x"', HARD, ["*"]);
  assert.equal((await ask(before)).status, 403, "written");
  await before.egp("egp", 'request.path != "secret/y"', HARD, ["*"]);
  assert.deepEqual(
    [(await ask(before)).status, (await ask(before, "secret/y")).status],
    [404, 403],
  );
  await before.rgp("rgp", 'request.path != "secret/z"', HARD);
  assert.equal((await ask(before, "secret/z")).status, 403, "an RGP of a name it had");
  await first.crash();

  const second = await startServer({ disk });
  t.after(() => second.stop());
  const after = new GovernedServer(second, shares, root);
  assert.equal((await ask(after)).status, 503, "sealed: nobody is let in without policies");
  await second.unseal(shares);
  const answers = ["secret/y", "secret/z", "secret/x"].map((path) => ask(after, path));
  assert.deepEqual(
    (await Promise.all(answers)).map(({ status }) => status),
    [403, 403, 404],
  );
  for (let i = 0; i < 3; i++) {
    await after.must("POST", "/v1/sys/seal");
    // Requests that wait at the door while it opens.
    const agent = new Agent({ keepAlive: true });
    const seen: number[] = [];
    let open = false;
    const hammer = async () => {
      while (!open) {
        const answer = await after.call("GET", "/v1/secret/y", { token: caller.secret, agent });
        seen.push(answer.status);
      }
    };
    const hammers = [hammer(), hammer()];
    try {
      await second.unseal(shares);
      assert.equal((await ask(after, "secret/y")).status, 403);
    } finally {
      open = true;
      await Promise.all(hammers);
      agent.destroy();
    }
    assert.deepEqual(
      [...new Set(seen)].filter((status) => status !== 503 && status !== 403),
      [],
    );
  }
});

/** Uses up the budget of a program. */
function costly(): string {
  const ten = "[0,1,2,3,4,5,6,7,8,9]";
  return ["a", "b", "c", "d", "e", "f"].reduceRight(
    (inner, name) => `${ten}.all(${name}, ${inner})`,
    "true",
  );
}

const HEAVY = 160;

test("T-C03: programs of one namespace that use up their budget do not stop another", async (t) => {
  const server = await governedServer(t);
  const agents = { a: new Agent({ keepAlive: true }), b: new Agent({ keepAlive: true }) };
  t.after(() => [agents.a, agents.b].forEach((agent) => agent.destroy()));
  for (const namespace of ["a", "b"]) {
    await server.must("POST", `/v1/sys/namespaces/${namespace}`);
    await server.acl("all", ALL, namespace);
  }
  const names = Array.from({ length: 10 }, (_, i) => `costly-${i}`);
  for (const name of names) await server.rgp(name, costly(), HARD, "a");
  const a = await server.client(["all", ...names], "a");
  const b = await server.client(["all"], "b");
  const ask = (namespace: "a" | "b", token: string) =>
    server.call("GET", "/v1/secret/x", { token, namespace, agent: agents[namespace] });
  // Connected beforehand, since that takes as long as what they ask for.
  const free = await server.client(["all"], "a");
  const connected = Array.from({ length: HEAVY }, () => ask("a", free.secret));
  for (const answer of await Promise.all([...connected, ask("b", b.secret)]))
    assert.equal(answer.status, 404);
  // In turns on the loop, however many wait: were a program of each request run in every turn, a
  // handful of the others would be answered until the end, be there ten or a hundred.
  const answeredBetween = async (): Promise<number> => {
    let running = true;
    let between = 0;
    const all = Array.from({ length: HEAVY }, () => ask("a", a.secret));
    const heavy = Promise.all(all).finally(() => {
      running = false;
    });
    while (running) {
      const answer = await ask("b", b.secret);
      assert.equal(answer.status, 404, answer.text);
      between += 1;
    }
    for (const answer of await heavy) {
      assert.equal(answer.status, 403);
      assert.match(String(at(answer, "errors", 0)), /^11 errors occurred/);
    }
    return between;
  };
  // A machine that is taken away for a moment has the same look, once: the best of some tries counts.
  let between = 0;
  for (let tries = 0; tries < 5 && between <= 5; tries++) {
    between = Math.max(between, await answeredBetween());
  }
  assert.ok(between > 5, `${between} requests of the other namespace were answered meanwhile`);
});

const SEARCHES: readonly [name: string, program: string, body: Record<string, unknown>][] = [
  [
    "the last place of a part that nearly matches everywhere",
    "request.data.a.lastIndexOf(request.data.b) == 1",
    { a: "a".repeat(600_000), b: `${"a".repeat(30_000)}b` },
  ],
  [
    "a part with its difference in the middle",
    "request.data.a.contains(request.data.b)",
    { a: "a".repeat(600_000), b: `${"a".repeat(15_000)}b${"a".repeat(15_000)}` },
  ],
  [
    "a short part, looked for again and again",
    'request.data.l.all(x, request.data.s.replace("ab", "c") != "")',
    { s: "a".repeat(60_000), l: Array.from({ length: 4_000 }, (_, i) => i) },
  ],
  [
    "errors that nobody sees",
    "!request.data.l.all(x, x || x || x || x || int('x') == 1 || true)",
    { l: Array.from({ length: 4_000 }, (_, i) => i) },
  ],
];

for (const [name, program, body] of SEARCHES) {
  test(`T-C03 T-C14: ${name} – the server is not held up`, async (t) => {
    const server = await governedServer(t);
    await server.acl("all", ALL);
    const paths = ["sys/quotas/config"];
    for (let i = 0; i < 10; i++) await server.egp(`search-${i}`, program, HARD, paths);
    const { secret: token } = await server.client(["all"]);
    const ask = async () => {
      const answer = await server.call("POST", "/v1/sys/quotas/config", { token, body });
      assert.equal(answer.status, 403, answer.text);
    };
    await ask(); // and the code is warm
    await keepsNobodyWaiting(name, ask);
  });
}

test("T-C04: hard is never overridden, soft by whom the setting lets, advisory is told", async (t) => {
  const settings = { policy_override_requires_sudo: true };
  const server = await governedServer(t, { settings });
  const audit = await server.audit();
  await server.acl("all", ALL);
  await server.acl("sudo", rule("*", [...EVERYTHING, "sudo"]));
  await server.rgp("soft", "false", SOFT);
  await server.rgp("hard", "false", HARD);
  await server.rgp("hint", "false", "advisory");
  const status = async (policies: readonly string[], headers: Record<string, string> = {}) => {
    const { secret: token } = await server.client(policies);
    return (await server.call("GET", "/v1/secret/x", { token, headers })).status;
  };
  assert.equal(await status(["sudo", "hard"], OVERRIDE), 403);
  assert.equal(await status(["all", "hard"], OVERRIDE), 403);
  assert.equal(await status(["all", "soft"], OVERRIDE), 403, "without the right");
  assert.equal(await status(["sudo", "soft"], OVERRIDE), 404, "with the right");
  assert.equal(await status(["sudo", "soft"]), 403, "not asked for");
  assert.equal(await status(["all", "hint"]), 404);
  const log = server.test.lines.join("\n");
  assert.match(log, /hint/, "an advisory failure is in the log");
  const overridden = audit().filter(({ request }) => request.policy_override === true);
  assert.equal(overridden.length, 2 * 4, "asked for four times, on both records of each");
});

test("T-C05: nothing that a program can read holds a credential", async (t) => {
  const server = await governedServer(t);
  await server.acl("all", ALL);
  // Names that would be a secret are no names.
  for (const property of [
    "token.secret",
    "token.secret_id",
    "token.SecretID",
    "token.id",
    "token.client_token",
    "request.token",
    "request.client_token",
    "request.secret",
    "request.body",
    "request.raw",
    "request.connection.token",
  ]) {
    const body = { policy: `${property} != ""`, enforcement_level: HARD };
    const answer = await server.manage("POST", "/v1/sys/policies/rgp/p", { body });
    assert.equal(answer.status, 400, property);
  }
  // Everything that there is (5.7), compared with the secret that the caller sends along for it.
  const texts = [
    "request.id",
    "request.path",
    "request.operation",
    "request.connection.remote_addr",
    "request.mount_point",
    "request.mount_type",
    "request.mount_accessor",
    "token.accessor",
    "token.display_name",
    "token.type",
    "token.creation_time",
    "token.expire_time",
    "token.path",
    "token.role",
    "token.entity_id",
    "token.namespace.id",
    "token.namespace.path",
    "namespace.id",
    "namespace.path",
    "replication.dr.mode",
    "replication.performance.mode",
  ];
  const parts = [
    ...texts.map((text) => `${text}.contains(request.data.s)`),
    "token.policies.exists(p, p.contains(request.data.s))",
    "token.metadata.exists(k, token.metadata[k].contains(request.data.s))",
    "request.headers.exists(k, request.headers[k].exists(v, v.contains(request.data.s)))",
    'request.data.exists(k, k != "s" && string(request.data[k]).contains(request.data.s))',
  ];
  // Headers that are audited are what programs see: not even a careless setting shows these.
  for (const name of ["X-Service-Token", "X-Vault-Token", "Authorization", "X-Shown"]) {
    const path = `/v1/sys/config/auditing/request-headers/${name}`;
    await server.manage("POST", path, { body: { hmac: false } });
  }
  for (const [i, part] of parts.entries()) {
    await server.rgp(`part-${i}`, `!(${part})`, HARD);
    const { secret } = await server.client(["all", `part-${i}`]);
    const headers = { "X-Shown": "seen" };
    const call = (s: string, how: object) =>
      server.call("POST", "/v1/sys/quotas/config", { body: { s }, headers, ...how });
    const answer = await call(secret, { token: secret });
    assert.equal(answer.status, 200, `${part}: ${answer.text}`);
    const bearer = await call(secret, {
      headers: { ...headers, Authorization: `Bearer ${secret}` },
    });
    assert.equal(bearer.status, 200, `${part}: ${bearer.text}`);
    if (part.includes("request.headers")) {
      assert.equal((await call("seen", { token: secret })).status, 403, "headers are looked at");
    }
  }
  const log = server.test.lines.join("\n");
  assert.doesNotMatch(log, /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}.*secret/i);
});

test("T-C05: a denial tells rules and results, never values", async (t) => {
  const server = await governedServer(t);
  await server.acl("all", ALL);
  const document = `rule marked { request.data.s == "marker-of-the-policy" }
rule broken { int(request.data.s) > 1 }
main { rule.marked || rule.broken }`;
  await server.rgp("values", document, HARD);
  const { secret: token } = await server.client(["all", "values"]);
  const body = { s: "marker-of-the-request" };
  const answer = await server.call("POST", "/v1/sys/quotas/config", { token, body });
  assert.equal(answer.status, 403);
  assert.match(answer.text, /Rule \\"marked\\" \(root\/values:1:1\) = false/);
  assert.doesNotMatch(answer.text, /marker/);
  assert.doesNotMatch(server.test.lines.join("\n"), /marker-of-the-request/);
});

test("T-C13: a pattern that others take for ever on is answered, and its size is bounded", async (t) => {
  const server = await governedServer(t);
  await server.acl("all", ALL);
  await server.rgp("pattern", 'request.data.s.matches("^(a+)+$")', HARD);
  await server.rgp("either", 'request.data.s.matches("^(a|a)*b$")', HARD);
  const status = async (policy: string, s: string) => {
    const { secret: token } = await server.client(["all", policy]);
    return (await server.call("POST", "/v1/sys/quotas/config", { token, body: { s } })).status;
  };
  const long = "a".repeat(64 * 1024 - 1);
  assert.ok((await status("pattern", long)) < 300);
  assert.equal(await status("pattern", `${long}!`), 403);
  assert.equal(await status("either", `${long}!`), 403);
  assert.equal(await status("pattern", "a".repeat(64 * 1024 + 1)), 403, "too long to look at");
  const body = { policy: `request.path.matches("${"a".repeat(513)}")`, enforcement_level: HARD };
  await server.manage("POST", "/v1/sys/policies/rgp/wide", { body }); // refused now, or at run
  const { secret: token } = await server.client(["all", "wide"]);
  const wide = await server.manage("GET", "/v1/sys/policies/rgp/wide");
  if (wide.status === 200) {
    assert.equal((await server.call("GET", "/v1/secret/x", { token })).status, 403);
  }
  // The pattern may come with the request.
  await server.rgp("given", "request.path.matches(request.data.p)", HARD);
  const client = await server.client(["all", "given"]);
  const ask = async (p: string) => {
    const options = { token: client.secret, body: { p } };
    return (await server.call("POST", "/v1/sys/quotas/config", options)).status;
  };
  assert.equal(await ask("^sys/quotas/config$"), 200);
  assert.equal(await ask("("), 403);
  assert.equal(await ask("a".repeat(513)), 403);
});

const bombs: readonly [name: string, program: string][] = [
  ["loops in loops", costly()],
  ["a string that doubles", `${'["a"]'}.map(x, ${doubled("x", 24)}).size() > 0`],
  ["a list that doubles", `${doubledList(24)}.size() > 0`],
  [
    "loops over what the request brings",
    "request.data.l.all(a, request.data.l.all(b, request.data.l.all(c, true)))",
  ],
];

/** `((x + x) + (x + x)) + …`, whose text is short because each level names the one below. */
function doubled(name: string, levels: number): string {
  let program = name;
  for (let i = 0; i < levels; i++) program = `[${program}].map(y${i}, y${i} + y${i})[0]`;
  return program;
}

function doubledList(levels: number): string {
  let program = "[1, 2]";
  for (let i = 0; i < levels; i++) program = `[${program}].map(y${i}, y${i} + y${i})[0]`;
  return program;
}

for (const [name, program] of bombs) {
  test(`T-C14: ${name} – ended at the limit of cost, with a no`, async (t) => {
    const server = await governedServer(t);
    await server.acl("all", ALL);
    const body = { policy: program, enforcement_level: HARD };
    const made = await server.manage("POST", "/v1/sys/policies/rgp/bomb", { body });
    assert.ok(made.status < 300, made.text);
    const { secret: token } = await server.client(["all", "bomb"]);
    const l = Array.from({ length: 1_000 }, (_, i) => i);
    const answer = await server.call("POST", "/v1/sys/quotas/config", { token, body: { l } });
    assert.equal(answer.status, 403, answer.text);
    assert.doesNotMatch(answer.text, /<nil>/, "not because it said no");
    const soft = await server.call("POST", "/v1/sys/policies/rgp/bomb", {
      token: server.root,
      body: { ...body, enforcement_level: SOFT },
    });
    assert.ok(soft.status < 300);
    assert.equal(
      (await server.call("POST", "/v1/sys/quotas/config", { token, body: { l } })).status,
      403,
    );
    await server.must("GET", "/v1/sys/health");
  });
}

test("T-A05: no other spelling of a path gets past the EGP that guards it", async (t) => {
  const login = await loginServer(t);
  const { server } = login;
  await login.people({ token_policies: "all" });
  await server.acl("all", rule("*", [...EVERYTHING, "sudo"]));
  await server.acl("admin", rule("kept", ["read"]));
  const { secret } = await server.client(["all"]);
  const guarded = [
    "sys/policies/acl/admin",
    "auth/people/login/ada",
    "auth/people/users/ada",
  ] as const;
  await server.egp("guard", "false", HARD, guarded);
  const dice = new Dice(5);
  const client = () => RawClient.connect(Number(new URL(server.test.url).port));
  let connection = await client();
  t.after(() => connection.destroy());
  const answered = new Map<number, number>();
  for (let i = 0; i < 600; i++) {
    const path = `/${dice.of(guarded)}`;
    const spelt = dice.below(3) === 0 ? inOtherCase(path, dice) : misspell(path, dice);
    const verb = dice.of(["POST", "DELETE", "PUT", "GET"]);
    const body = JSON.stringify({ password: PASSWORD, policy: rule("*", ["read"]) });
    const sends = verb === "GET" ? "" : body;
    const head = [
      `${verb} /v1${spelt} HTTP/1.1`,
      "Host: localhost",
      ...(path.startsWith("/auth") ? [] : [`X-Service-Token: ${secret}`]),
      "Content-Type: application/json",
      `Content-Length: ${Buffer.byteLength(sends)}`,
    ];
    const { status, headers } = await connection.ask(`${head.join("\r\n")}\r\n\r\n${sends}`);
    // Refused as no path, by the guard, or as another path on which there is nothing.
    assert.ok([400, 403, 404, 405].includes(status), `${status} ${verb} ${spelt}`);
    answered.set(status, (answered.get(status) ?? 0) + 1);
    if (headers.get("connection") !== "close") continue;
    connection.destroy();
    connection = await client();
  }
  assert.ok((answered.get(403) ?? 0) > 50, "the guard was met");
  const kept = await server.must("GET", "/v1/sys/policies/acl/admin");
  assert.equal(at(kept, "data", "policy"), rule("kept", ["read"]));
  await server.must("DELETE", "/v1/sys/policies/egp/guard");
  assert.equal((await login.login()).status, 200, "with the password that she had");
});

/** Some letters of the last segment become large ones. */
function inOtherCase(path: string, dice: Dice): string {
  const cut = path.lastIndexOf("/") + 1;
  const last = path
    .slice(cut)
    .replaceAll(/[a-z]/g, (letter) => (dice.below(2) === 0 ? letter.toUpperCase() : letter));
  return `${path.slice(0, cut)}${last}`;
}

test("T-C15: a namespace binds the management tokens below it, and tells them no names", async (t) => {
  const server = await governedServer(t);
  for (const path of ["a", "a/b"]) await server.must("POST", `/v1/sys/namespaces/${path}`);
  const tokens = new Map<string, { secret: string; accessor: string }>();
  for (const namespace of ["", "a", "a/b"]) {
    const body = { Type: "management", Name: `of ${namespace}` };
    const made = await server.must("POST", "/v1/acl/token", { body, namespace });
    const [secret, accessor] = [String(at(made, "SecretID")), String(at(made, "AccessorID"))];
    tokens.set(namespace, { secret, accessor });
  }
  // Real and described, by the token of one namespace in another.
  const denied = async (owner: string, namespace: string) => {
    const { secret: token = "", accessor: token_accessor = "" } = tokens.get(owner) ?? {};
    const real = await server.call("LIST", "/v1/sys/policies/acl", { token, namespace });
    const described = { token_accessor, operation: "list", path: "sys/policies/acl", namespace };
    const said = await server.inspect(described);
    assert.equal(at(said, "data", "allowed"), real.status !== 403, said.text);
    return real.status === 403 ? String(at(real, "errors", 0)) : "";
  };
  const program = "# The word behind it\nmain { token.type != 'management' }";
  await server.egp("hidden-name", program, HARD, ["a/*"]);
  assert.equal(await denied("", ""), "");
  assert.equal(await denied("", "a"), "", "of the namespace that has the policy");
  const text = await denied("a", "a");
  assert.match(text, /egp standard policy of a namespace above evaluation resulted in denial/);
  assert.match(await denied("a/b", "a/b"), /of a namespace above/);
  for (const refusal of [text, await denied("a", "a/b")]) {
    assert.doesNotMatch(refusal, /hidden-name|root|The word|main/);
  }
  await server.egp("hidden-name", "false", HARD, ["a/*"]);
  await server.acl("reaches", rule("a/*", ["list"]));
  const { secret: above } = await server.client(["reaches"]);
  const known = await server.call("LIST", "/v1/sys/policies/acl", { token: above, namespace: "a" });
  assert.match(String(at(known, "errors", 0)), /"root\/hidden-name"/, "its own are named");
  // Whoever is bound cannot loosen what binds him, and describing a request shows no more.
  const { secret: tenant = "", accessor = "" } = tokens.get("a") ?? {};
  await server.egp("hidden-name", "request.operation != 'list'", HARD, ["a/*"]);
  const body = { token_accessor: accessor, operation: "list", path: "sys/policies/acl" };
  const options = { token: tenant, namespace: "a", body };
  const seen = await server.call("POST", "/v1/sys/inspect/request", options);
  assert.equal(at(seen, "data", "allowed"), false, seen.text);
  assert.deepEqual(at(seen, "data", "steps"), [
    { kind: "egp", name: "", namespace_id: "", level: HARD, result: "fail" },
  ]);
  await server.egp("hidden-name", "false", "advisory", ["a/*"]);
  const hinted = await server.call("LIST", "/v1/sys/policies/acl", {
    token: tenant,
    namespace: "a",
  });
  assert.deepEqual(at(hinted, "warnings"), ["advisory egp policy of a namespace above failed"]);
  await server.must("DELETE", "/v1/sys/policies/egp/hidden-name");
  // The own ones bind nobody who manages the namespace, nor anybody above it.
  await server.egp("own", "false", HARD, ["*"], "a");
  assert.equal(await denied("a", "a"), "");
  assert.equal(await denied("", "a"), "");
  assert.equal(await denied("a", "a/b"), "", "what it manages below as well");
  assert.match(await denied("a/b", "a/b"), /of a namespace above/);
});

test("T-C15: one rule for management tokens, wherever it is asked", async (t) => {
  const server = await governedServer(t);
  await server.must("POST", "/v1/sys/namespaces/a");
  await server.egp("never", "false", HARD, ["sys/*", "secret/*"]);
  await server.egp("never", "false", HARD, ["*"], "a");
  const made = await server.must("POST", "/v1/acl/token", {
    body: { Type: "management", Name: "other" },
  });
  const own = await server.must("POST", "/v1/acl/token", {
    body: { Type: "management", Name: "of a" },
    namespace: "a",
  });
  for (const [answer, namespace] of [
    [made, undefined],
    [made, "a"],
    [own, "a"],
  ] as const) {
    const token = String(at(answer, "SecretID"));
    const token_accessor = String(at(answer, "AccessorID"));
    const real = await server.call("GET", "/v1/sys/namespaces", { token, namespace });
    assert.equal(
      (await server.call("LIST", "/v1/sys/namespaces", { token, namespace })).status < 405,
      true,
    );
    assert.notEqual(real.status, 403);
    const said = await server.inspect({
      token_accessor,
      operation: "list",
      path: "sys/namespaces/",
      namespace: namespace ?? "",
    });
    assert.equal(at(said, "data", "allowed"), true, said.text);
    const steps = at(said, "data", "steps") as { readonly kind: string }[];
    assert.deepEqual(
      steps.filter(({ kind }) => kind === "egp" || kind === "rgp"),
      [],
    );
    const capabilities = await server.call("POST", "/v1/sys/capabilities-self", {
      token,
      namespace,
      body: { paths: ["secret/x"] },
    });
    assert.deepEqual(at(capabilities, "data", "secret/x"), ["root"]);
  }
  // The same for a client: denied by request, denied by inspection.
  await server.acl("all", ALL);
  const client = await server.client(["all"]);
  const real = await server.call("GET", "/v1/secret/x", { token: client.secret });
  assert.equal(real.status, 403);
  assert.match(JSON.stringify(errorsOf(real)), /egp standard policy/);
  const said = await server.inspect({
    token_accessor: client.accessor,
    operation: "read",
    path: "secret/x",
  });
  assert.equal(at(said, "data", "allowed"), false);
});
