// Cases 97 to 120 of docs/cases/policies.md: RGPs and EGPs in the way of a request. Each by a real request, and
// where it says something more, by sys/inspect/request.

import assert from "node:assert/strict";
import test from "node:test";
import { type Answer, at, type CallOptions, errorsOf } from "../../support/http-client.ts";
import {
  type After,
  type Client,
  type Level,
  OVERRIDE,
  type GovernedServer,
  governedServer,
} from "../../support/servers/governed-server.ts";

const TEAM = "sys/namespaces/team";
const HARD = "hard-mandatory";
const SOFT = "soft-mandatory";

interface Stage {
  readonly server: GovernedServer;
  /** May read namespaces and everything that has no route; policies are added to those. */
  readonly client: (...more: readonly string[]) => Promise<Client>;
  readonly read: (by: Client, options?: CallOptions & { path?: string }) => Promise<Answer>;
}

async function stage(t: After): Promise<Stage> {
  const server = await governedServer(t);
  await server.must("POST", `/v1/${TEAM}`);
  const all = '["create", "read", "update", "patch", "delete", "list"]';
  await server.acl("everything", `path "*" { capabilities = ${all} }`);
  return {
    server,
    client: (...more) => server.client(["everything", ...more]),
    read: ({ secret }, { path = TEAM, ...options } = {}) =>
      server.call("GET", `/v1/${path}`, { token: secret, ...options }),
  };
}

/** The text of a denial that is no error, with nothing known but the result. */
function denialOf(kind: string, name: string, place = "1:1"): string {
  return (
    `\t* ${kind} standard policy "${name}" evaluation resulted in denial.\n\n` +
    "The specific error was:\n<nil>\n\n" +
    `A trace of the execution for policy "${name}" is available:\n\nResult: false\n\n` +
    `Description: <none>\n\nRule "main" (${name}:${place}) = false\n`
  );
}

function denied(answer: Answer): string {
  assert.equal(answer.status, 403, answer.text);
  const errors = errorsOf(answer) as string[];
  assert.equal(errors.length, 1);
  return errors[0] ?? "";
}

test("97: what the ACL denies is denied without asking an RGP", async (t) => {
  const { server } = await stage(t);
  const audit = await server.audit();
  await server.rgp("yes", "true", HARD);
  await server.rgp("no", "false", HARD);
  await server.acl("nothing", `path "${TEAM}" { capabilities = ["deny"] }`);
  const client = await server.client(["nothing", "yes", "no"]);
  const answer = await server.call("GET", `/v1/${TEAM}`, { token: client.secret });
  assert.deepEqual([answer.status, errorsOf(answer)], [403, ["permission denied"]]);
  const record = JSON.stringify(audit().at(-1)?.auth);
  assert.doesNotMatch(record, /"rgp"/);
  const said = await server.inspect({
    token_accessor: client.accessor,
    operation: "read",
    path: TEAM,
  });
  assert.equal(at(said, "data", "allowed"), false);
  assert.deepEqual(kindsOf(said), ["acl"]);
});

interface Step {
  readonly kind: string;
  readonly name: string;
  readonly level?: string;
  readonly result: string;
}

function stepsOf(answer: Answer): Step[] {
  return at(answer, "data", "steps") as Step[];
}

function kindsOf(answer: Answer): string[] {
  return [...new Set(stepsOf(answer).map(({ kind }) => kind))];
}

test("98: a hard RGP that says no denies, and the body names it and its rules", async (t) => {
  const { server, client, read } = await stage(t);
  await server.rgp("never", "false", HARD);
  const text = denied(await read(await client("never")));
  assert.equal(
    text,
    `2 errors occurred:\n${denialOf("rgp", "root/never")}\t* permission denied\n\n`,
  );
});

test("98: the trace of a document with rules shows each rule once, in order", async (t) => {
  const { server, client, read } = await stage(t);
  const document = `# Office hours of the business.


# They are in
# Berlin.

rule workhours { 1 > 2 }



# not about main

main { rule.workhours }
`;
  await server.egp("business-hrs", document, HARD, ["*"]);
  const name = "root/business-hrs";
  assert.equal(
    denied(await read(await client())),
    `2 errors occurred:\n\t* egp standard policy "${name}" evaluation resulted in denial.\n\n` +
      "The specific error was:\n<nil>\n\n" +
      `A trace of the execution for policy "${name}" is available:\n\nResult: false\n\n` +
      `Description: <none>\n\nRule "main" (${name}:13:1) = false\n` +
      `Rule "workhours" (${name}:7:1) = false\n\t* permission denied\n\n`,
  );
  const described = "# Only when one is two.\n# Never.\nmain { 1 == 2 }";
  await server.egp("business-hrs", described, HARD, ["*"]);
  assert.match(
    denied(await read(await client())),
    /\n\nDescription: Only when one is two\.\nNever\.\n\nRule "main"/,
  );
});

test("99: an advisory RGP that says no lets pass, with a warning", async (t) => {
  const { server, client, read } = await stage(t);
  await server.rgp("hint", "false", "advisory");
  const answer = await read(await client("hint"));
  assert.equal(answer.status, 200, answer.text);
  assert.match(JSON.stringify(at(answer, "warnings")), /hint/);
});

test("100: a soft RGP denies without the override and lets pass with it; audit shows it", async (t) => {
  const { server, client, read } = await stage(t);
  const audit = await server.audit();
  await server.rgp("soft", "false", SOFT);
  const caller = await client("soft");
  assert.match(denied(await read(caller)), /rgp standard policy "root\/soft"/);
  assert.equal(audit().at(-1)?.request.policy_override, false);
  for (const value of ["true", "1", "t", "True", "T"]) {
    const headers = { "X-Service-Policy-Override": value };
    assert.equal((await read(caller, { headers })).status, 200, value);
    const records = audit().slice(-2);
    for (const record of records) {
      assert.equal(record.request.policy_override, true, value);
    }
    assert.match(JSON.stringify(records), /"soft"/, "the result of the program is on record");
  }
  for (const value of ["false", "0", "f"]) {
    const headers = { "X-Service-Policy-Override": value };
    assert.equal((await read(caller, { headers })).status, 403, value);
  }
  const headers = { "X-Vault-Policy-Override": "true" };
  assert.equal((await read(caller, { headers })).status, 200);
  // Asked for and not needed: on record as well.
  assert.equal((await read(await client(), { headers: OVERRIDE })).status, 200);
  assert.equal(audit().at(-1)?.request.policy_override, true);
});

const overrides: readonly [id: string, levels: readonly Level[], status: number][] = [
  ["101: of a soft and a hard one that say no, the hard one counts", [SOFT, HARD], 403],
  ["101: in the other order too", [HARD, SOFT], 403],
  ["102: two soft ones that say no are overridden together", [SOFT, SOFT], 200],
  ["103: a hard one is not overridden", [HARD], 403],
];
for (const [name, levels, status] of overrides) {
  test(`${name}, by RGP and by EGP`, async (t) => {
    const { server, client, read } = await stage(t);
    const names = levels.map((_, i) => `no-${i}`);
    for (const [i, level] of levels.entries()) await server.rgp(names[i] ?? "", "false", level);
    const answer = await read(await client(...names), { headers: OVERRIDE });
    assert.equal(answer.status, status, answer.text);
    for (const [i, level] of levels.entries()) {
      await server.egp(names[i] ?? "", "false", level, [TEAM]);
    }
    const other = await read(await client(), { headers: OVERRIDE });
    assert.equal(other.status, status, other.text);
    if (status === 403) {
      const hard = names[levels.indexOf(HARD)] ?? "";
      assert.match(denied(other), new RegExp(`egp standard policy "root/${hard}"`));
    }
  });
}

test("104: an override that is neither true nor false is refused", async (t) => {
  const { client, read } = await stage(t);
  const caller = await client();
  for (const name of ["X-Service-Policy-Override", "X-Vault-Policy-Override"]) {
    const answer = await read(caller, { headers: { [name]: "banana" } });
    assert.equal(answer.status, 400);
    const text = String(at(answer, "errors", 0));
    assert.ok(text.startsWith(`failed to parse ${name} header: `), text);
  }
});

test("105: all EGPs that match are evaluated, the longest path first", async (t) => {
  const { server, client, read } = await stage(t);
  await server.egp("c-exact", "false", HARD, ["secret/orders"]);
  await server.egp("b-glob", "false", HARD, ["secret/*"]);
  await server.egp("a-all", "false", HARD, ["*"]);
  const caller = await client();
  const text = denied(await read(caller, { path: "secret/orders" }));
  assert.equal(
    text,
    `4 errors occurred:\n${denialOf("egp", "root/c-exact")}${denialOf("egp", "root/b-glob")}` +
      `${denialOf("egp", "root/a-all")}\t* permission denied\n\n`,
  );
  const said = await server.inspect({
    token_accessor: caller.accessor,
    operation: "read",
    path: "secret/orders",
  });
  assert.deepEqual(
    stepsOf(said)
      .filter(({ kind }) => kind === "egp")
      .map(({ name, level, result }) => [name, level, result]),
    [
      ["c-exact", HARD, "fail"],
      ["b-glob", HARD, "fail"],
      ["a-all", HARD, "fail"],
    ],
  );
});

test("106: a glob with a slash does not reach beside it; an exact path reaches its folder", async (t) => {
  const { server, client, read } = await stage(t);
  await server.egp("below", "false", HARD, ["secret/*"]);
  await server.egp("exact", "false", HARD, ["other"]);
  const caller = await client();
  assert.equal((await read(caller, { path: "secretx" })).status, 404);
  assert.equal((await read(caller, { path: "secret" })).status, 404);
  denied(await read(caller, { path: "secret/x" }));
  assert.equal((await read(caller, { path: "other/x" })).status, 404);
  denied(await read(caller, { path: "other" }));
  denied(await server.call("LIST", "/v1/other", { token: caller.secret }));
});

const FROM_TEN = 'ip_in(request.connection.remote_addr, "10.0.0.0/8")';

test("107: an EGP on * judges a login", async (t) => {
  const { server, client } = await stage(t);
  const caller = await client();
  const secret = await server.oneTime(caller);
  await server.egp("network", FROM_TEN, HARD, ["*"]);
  const answer = await server.exchange(secret);
  assert.deepEqual([answer.status, errorsOf(answer)], [403, ["Permission denied"]]);
  await server.must("DELETE", "/v1/sys/policies/egp/network");
  const allowed = await server.exchange(secret);
  assert.equal(allowed.status, 200, "what was refused was not spent");
  assert.equal(at(allowed, "Token", "SecretID"), caller.secret);
});

test("108: a management token is not judged", async (t) => {
  const { server, client, read } = await stage(t);
  await server.egp("network", FROM_TEN, HARD, ["*"]);
  denied(await read(await client()));
  await server.must("GET", `/v1/${TEAM}`);
  await server.must("GET", "/v1/acl/token/self");
  await server.must("DELETE", "/v1/sys/policies/egp/network");
});

test("109: what nobody may be locked out of is answered", async (t) => {
  const { server } = await stage(t);
  await server.egp("never", "false", HARD, ["*", "sys/*", "sys/health", "sys/unseal", "acl/*"]);
  for (const [verb, path, body] of [
    ["GET", "sys/health", undefined],
    ["GET", "sys/seal-status", undefined],
    ["GET", "sys/leader", undefined],
    ["GET", "sys/init", undefined],
    ["POST", "sys/unseal", { key: server.shares[0] }],
    ["GET", "sys/generate-root/attempt", undefined],
    ["GET", "sys/rekey/init", undefined],
  ] as const) {
    const answer = await server.call(verb, `/v1/${path}`, body === undefined ? {} : { body });
    assert.equal(answer.status, 200, `${verb} ${path}: ${answer.text}`);
  }
  const bootstrap = await server.call("POST", "/v1/acl/bootstrap");
  assert.equal(bootstrap.status, 400, "spent, and not denied");
});

test("110: a missing key is an error, which counts as a no and names the key", async (t) => {
  const { server, client, read } = await stage(t);
  await server.rgp("team-a", 'token.metadata.team == "a"', HARD);
  const text = denied(await read(await client("team-a")));
  assert.match(text, /rgp standard policy "root\/team-a" evaluation resulted in denial/);
  assert.doesNotMatch(text, /<nil>/);
  assert.match(text, /The specific error was:\n[^\n]*team/);
});

test("111: what is true for somebody unknown lets a login pass", async (t) => {
  const { server, client, read } = await stage(t);
  const program = "request.unauthenticated || token.creation_time_unix > 0";
  await server.egp("known", program, HARD, ["*"]);
  const caller = await client();
  const exchanged = await server.exchange(await server.oneTime(caller));
  assert.equal(exchanged.status, 200, exchanged.text);
  assert.equal((await read(caller)).status, 200);
  await server.egp("known", "token.creation_time_unix > 0", HARD, ["*"]);
  const spare = await server.oneTime(caller);
  assert.equal((await server.exchange(spare)).status, 403, "without the first half it is an error");
});

test("112: an answer that is no boolean is refused at write, or fails", async (t) => {
  const { server, client, read } = await stage(t);
  for (const policy of ['"yes"', "1 + 1", "[true]"]) {
    const body = { policy, enforcement_level: HARD };
    const answer = await server.manage("POST", "/v1/sys/policies/rgp/no-boolean", { body });
    assert.equal(answer.status, 400, policy);
    assert.match(String(at(answer, "errors", 0)), /^failed to parse policy: 1:\d+: /);
  }
  const body = { policy: "request.data.x", enforcement_level: HARD };
  const late = await server.manage("POST", "/v1/sys/policies/rgp/late", { body });
  assert.ok(late.status < 300, late.text);
  const caller = await client("late");
  for (const value of ["yes", "1", "true"]) {
    // Values of a query are text.
    const text = denied(await read(caller, { path: `${TEAM}?x=${value}` }));
    assert.doesNotMatch(text, /<nil>/);
  }
});

test("113: a property that does not exist is refused at write, with what was meant", async (t) => {
  const { server } = await stage(t);
  const policy = 'request.operation == "read" &&\n  request.pth == "a"';
  for (const [path, more] of [
    ["rgp/p", {}],
    ["egp/p", { paths: "*" }],
  ] as const) {
    const body = { policy, enforcement_level: HARD, ...more };
    const answer = await server.manage("POST", `/v1/sys/policies/${path}`, { body });
    assert.equal(answer.status, 400);
    assert.match(
      String(at(answer, "errors", 0)),
      /^failed to parse policy: 2:\d+: unknown property "request\.pth"; did you mean "request\.path"\?$/,
    );
  }
});

test("114: a pattern that others take for ever on is answered", async (t) => {
  const { server, client } = await stage(t);
  await server.rgp("pattern", 'request.data.s.matches("^(a+)+$")', HARD);
  const { secret: token } = await client("pattern");
  const send = (s: string) => server.call("POST", "/v1/sys/quotas/config", { token, body: { s } });
  const matching = await send("a".repeat(10_000));
  assert.ok(matching.status < 300, matching.text);
  assert.equal((await send(`${"a".repeat(10_000)}!`)).status, 403);
});

test("115: loops in loops are ended by the budget", async (t) => {
  const { server, client, read } = await stage(t);
  const ten = "[0,1,2,3,4,5,6,7,8,9]";
  const bomb = ["a", "b", "c", "d", "e", "f"].reduceRight(
    (inner, name) => `${ten}.all(${name}, ${inner})`,
    "true",
  );
  await server.rgp("loops", bomb, HARD);
  const text = denied(await read(await client("loops")));
  assert.doesNotMatch(text, /<nil>/);
  assert.match(text, /The specific error was:\n[^\n]*20,?000/);
});

test("116: three thousand parentheses are refused at write", async (t) => {
  const { server } = await stage(t);
  const policy = `${"(".repeat(3_000)}true${")".repeat(3_000)}`;
  const body = { policy, enforcement_level: HARD };
  const answer = await server.manage("POST", "/v1/sys/policies/rgp/p", { body });
  assert.equal(answer.status, 400);
  assert.match(String(at(answer, "errors", 0)), /^failed to parse policy: .*nesting too deep/);
});

test("117: a main that is not about the request lets it pass", async (t) => {
  const { server, client, read } = await stage(t);
  await server.rgp("no-delete", 'main when request.operation == "delete" { false }', HARD);
  const caller = await client("no-delete");
  assert.equal((await read(caller)).status, 200);
  denied(await server.call("DELETE", `/v1/${TEAM}`, { token: caller.secret }));
  assert.equal((await read(caller)).status, 200);
});

test("118: an EGP that was deleted is evaluated on none of its paths", async (t) => {
  const { server, client, read } = await stage(t);
  const paths = ["secret/a", "secret/b/*", TEAM];
  await server.egp("many", "false", HARD, paths);
  const caller = await client();
  const statuses = async () => {
    const answers = ["secret/a", "secret/b/c", TEAM].map((path) => read(caller, { path }));
    return (await Promise.all(answers)).map(({ status }) => status);
  };
  assert.deepEqual(await statuses(), [403, 403, 403]);
  await server.egp("many", "false", HARD, paths.slice(1));
  assert.deepEqual(await statuses(), [404, 403, 403], "and not on those that were taken away");
  await server.must("DELETE", "/v1/sys/policies/egp/many");
  assert.deepEqual(await statuses(), [404, 404, 200]);
});

test("119: a token with nothing but an RGP is made, with a warning", async (t) => {
  const { server } = await stage(t);
  await server.rgp("only", "true", HARD);
  const body = { Type: "client", Name: "n", Policies: ["only"] };
  const made = await server.must("POST", "/v1/acl/token", { body });
  assert.match(JSON.stringify(made.headers["x-service-warning"]), /token has no ACL policy/);
  const token = String(at(made, "SecretID"));
  assert.equal((await server.call("GET", `/v1/${TEAM}`, { token })).status, 403);
  assert.equal((await server.call("GET", "/v1/auth/token/lookup-self", { token })).status, 200);
});

test("120: an EGP of a namespace judges requests in its children, and none beside or above", async (t) => {
  const { server } = await stage(t);
  await server.must("POST", "/v1/sys/namespaces/child", { namespace: "team" });
  await server.must("POST", "/v1/sys/namespaces/other");
  const reads = 'path "*" { capabilities = ["read"] }';
  for (const namespace of ["team", "team/child", "other"])
    await server.acl("reads", reads, namespace);
  const callers = {
    root: await server.client(["everything"]),
    team: await server.client(["reads"], "team"),
    "team/child": await server.client(["reads"], "team/child"),
    other: await server.client(["reads"], "other"),
  };
  const statuses = async () => {
    const answers = Object.entries(callers).map(([namespace, { secret: token }]) =>
      server.call("GET", "/v1/secret/x", {
        token,
        ...(namespace === "root" ? {} : { namespace }),
      }),
    );
    return (await Promise.all(answers)).map(({ status }) => status);
  };
  assert.deepEqual(await statuses(), [404, 404, 404, 404]);
  await server.egp("no", "false", HARD, ["*"], "team");
  assert.deepEqual(await statuses(), [404, 403, 403, 404]);
  await server.must("DELETE", "/v1/sys/policies/egp/no", { namespace: "team" });
  await server.egp("no", "false", HARD, ["*"]);
  assert.deepEqual(await statuses(), [403, 403, 403, 403]);
  await server.egp("no", "false", HARD, ["team/secret/*"]);
  assert.deepEqual(
    await statuses(),
    [404, 403, 404, 404],
    "paths of a parent lead into its children",
  );
});
