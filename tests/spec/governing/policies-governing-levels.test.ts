// What a failure does, what is told of it, and the settings.

import assert from "node:assert/strict";
import test from "node:test";
import { governedServer, OVERRIDE } from "../../support/servers/governed-server.ts";
import { type Answer, at, errorsOf } from "../../support/http-client.ts";

const HARD = "hard-mandatory";
const SOFT = "soft-mandatory";
const LOOKUP = "/v1/auth/token/lookup-self";
const DENIED =
  '2 errors occurred:\n\t* rgp standard policy "root/no" evaluation resulted in denial.\n';

function errorOf(answer: Answer): string {
  assert.equal(answer.status, 403, answer.text);
  return String(at(answer, "errors", 0));
}

test("a warning of an advisory policy stands in the answer, whatever its shape", async (t) => {
  const server = await governedServer(t);
  await server.egp("hint", "false", "advisory", ["*"]);
  const warning = 'advisory egp policy "root/hint" failed';
  const { secret: token } = await server.client(["other"]);
  const enveloped = await server.call("GET", LOOKUP, { token });
  assert.deepEqual(at(enveloped, "warnings"), [warning]);
  const acl = await server.call("GET", "/v1/acl/token/self", { token });
  assert.equal(acl.status, 200);
  assert.equal(acl.headers["x-service-warning"], warning);
  // 204 has no room for it.
  const without = await server.call("POST", "/v1/auth/token/revoke-self", { token });
  assert.equal(without.status, 200, without.text);
  assert.deepEqual(at(without, "warnings"), [warning]);
});

test("an error at an advisory level lets pass too", async (t) => {
  const server = await governedServer(t);
  await server.rgp("hint", 'token.metadata.team == "a"', "advisory");
  const { secret: token } = await server.client(["hint"]);
  const answer = await server.call("GET", LOOKUP, { token });
  assert.deepEqual(at(answer, "warnings"), ['advisory rgp policy "root/hint" failed']);
});

test("an error at a soft level is overridden, at a hard one never", async (t) => {
  const server = await governedServer(t);
  const { secret: token } = await server.client(["no"]);
  for (const [level, status] of [
    [SOFT, 200],
    [HARD, 403],
  ] as const) {
    await server.rgp("no", 'token.metadata.team == "a"', level);
    assert.equal((await server.call("GET", LOOKUP, { token })).status, 403, level);
    const answer = await server.call("GET", LOOKUP, { token, headers: OVERRIDE });
    assert.equal(answer.status, status, level);
  }
});

test("disable_policy_trace leaves the first sentence", async (t) => {
  const server = await governedServer(t, { settings: { disable_policy_trace: true } });
  await server.rgp("no", "false", HARD);
  const { secret: token } = await server.client(["no"]);
  const answer = await server.call("GET", LOOKUP, { token });
  assert.equal(errorOf(answer), `${DENIED}\t* permission denied\n\n`);
});

test("every policy that fails is in the answer, those after the first as well", async (t) => {
  const server = await governedServer(t, { settings: { disable_policy_trace: true } });
  await server.rgp("no", "false", HARD);
  await server.egp("fine", "true", HARD, ["auth/*"]);
  await server.egp("no", "false", SOFT, ["*"]);
  const { secret: token } = await server.client(["no"]);
  const text = errorOf(await server.call("GET", LOOKUP, { token }));
  const named = [...text.matchAll(/([er]gp) standard policy "([^"]+)"/g)];
  assert.deepEqual(
    named.map(([, kind, name]) => [kind, name]),
    [
      ["rgp", "root/no"],
      ["egp", "root/no"],
    ],
  );
  assert.ok(text.startsWith("3 errors occurred:\n"));
});

test("T-C04: policy_override_requires_sudo lets override whom sudo on the path is given", async (t) => {
  const server = await governedServer(t, { settings: { policy_override_requires_sudo: true } });
  const audit = await server.audit();
  const grant = (...words: string[]) =>
    `path "sys/key-status" { capabilities = ${JSON.stringify(words)} }`;
  await server.acl("weak", grant("read"));
  await server.acl("strong", grant("read", "sudo"));
  await server.egp("no", "false", SOFT, ["sys/key-status"]);
  const ask = async (policy: string) => {
    const { secret: token } = await server.client([policy]);
    return server.call("GET", "/v1/sys/key-status", { token, headers: OVERRIDE });
  };
  assert.match(errorOf(await ask("weak")), /egp standard policy "root\/no"/);
  assert.deepEqual(overrideOf(audit().at(-1)), [true, true]);
  assert.equal((await ask("strong")).status, 200);
  assert.deepEqual(overrideOf(audit().at(-1)), [true, true]);
});

test("nobody without a token overrides where the override needs sudo", async (t) => {
  const login = async (settings: object) => {
    const server = await governedServer(t, { settings });
    const secret = await server.oneTime(await server.client(["other"]));
    await server.egp("no", "false", SOFT, ["*"]);
    return server.exchange(secret, { headers: OVERRIDE });
  };
  assert.equal((await login({})).status, 200);
  const refused = await login({ policy_override_requires_sudo: true });
  assert.deepEqual([refused.status, errorsOf(refused)], [403, ["Permission denied"]]);
});

test("every result is on record, for a login too, and whether an override was needed", async (t) => {
  const server = await governedServer(t);
  const audit = await server.audit();
  await server.rgp("fine", "true", HARD);
  const client = await server.client(["fine"]);
  const secret = await server.oneTime(client);
  await server.egp("hint", "false", "advisory", ["*"]);
  await server.egp("soft", 'token.metadata.team == "a"', SOFT, ["*"]);
  const results = () => {
    const { request } = audit().at(-1) ?? assert.fail();
    const found = (request as { governing_policies?: readonly Governed[] }).governing_policies;
    return found?.map(({ type, name, result }) => `${type} ${name} ${result}`);
  };
  const token = client.secret;
  assert.equal((await server.call("GET", LOOKUP, { token })).status, 403);
  assert.deepEqual(results(), ["rgp fine pass", "egp hint fail", "egp soft error"]);
  assert.deepEqual(overrideOf(audit().at(-1)), [false, undefined]);
  assert.match(JSON.stringify(audit().at(-1)?.auth), /"policy_results":{"allowed":false/);
  await server.call("GET", LOOKUP, { token, headers: OVERRIDE });
  assert.deepEqual(overrideOf(audit().at(-1)), [true, true]);
  assert.match(JSON.stringify(audit().at(-1)?.auth), /"policy_results":{"allowed":true/);
  assert.equal((await server.exchange(secret)).status, 403);
  assert.deepEqual(results(), ["egp hint fail", "egp soft error"]);
  await server.must("DELETE", "/v1/sys/policies/egp/soft", { headers: OVERRIDE });
  assert.deepEqual(overrideOf(audit().at(-1)), [true, false]); // management, whom none judges
  assert.equal(results(), undefined);
});

interface Governed {
  readonly type: string;
  readonly name: string;
  readonly result: string;
}

function overrideOf(record: unknown): unknown[] {
  const { request } = record as { request: Record<string, unknown> };
  return [request["policy_override"], request["policy_override_needed"]];
}

test("overrides and advice are in the log, with the policy and the request", async (t) => {
  const server = await governedServer(t);
  await server.egp("soft", "false", SOFT, ["auth/*"]);
  const { secret: token } = await server.client(["other"]);
  const answer = await server.call("GET", LOOKUP, { token, headers: OVERRIDE });
  const line = server.test.lines.find((text) => text.includes("a policy was overridden")) ?? "";
  assert.match(line, /WARN|warn/);
  assert.match(line, /root\/soft/);
  assert.ok(line.includes(String(at(answer, "request_id"))));
});

test("metrics count evaluations, failures by level, and would-be denials by policy", async (t) => {
  const server = await governedServer(t);
  await server.must("POST", "/v1/sys/namespaces/team");
  await server.egp("hint", "false", "advisory", ["auth/*"]);
  await server.rgp("hint/two", "false", "advisory");
  await server.egp("soft", "false", SOFT, ["auth/*"]);
  const { secret: token } = await server.client(["hint/two"]);
  for (let i = 0; i < 3; i++) await server.call("GET", LOOKUP, { token, headers: OVERRIDE });
  const { text } = await server.must("GET", "/v1/sys/metrics?format=prometheus");
  for (const line of [
    'holdfast_policy_would_deny_total{kind="egp",namespace_id="root",policy="hint"} 3',
    'holdfast_policy_would_deny_total{kind="rgp",namespace_id="root",policy="hint/two"} 3',
    'holdfast_policy_failures_total{kind="egp",level="soft-mandatory"} 3',
    'holdfast_policy_failures_total{kind="egp",level="advisory"} 3',
    'holdfast_policy_eval_seconds_count{kind="egp"} 6',
    'holdfast_policy_eval_seconds_count{kind="rgp"} 3',
  ]) {
    assert.ok(text.includes(`${line}\n`), line);
  }
  assert.doesNotMatch(text, /would_deny_total\{[^}]*"soft"/);
});
