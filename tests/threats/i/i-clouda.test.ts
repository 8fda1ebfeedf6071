// Threats I of the engine of cloud A, through a whole server and before the fake provider.

import assert from "node:assert/strict";
import test from "node:test";
import fc from "fast-check";
import { startFakeCloudA } from "../../fakes/clouda/fake.ts";
import { cloudaServer, READ_ONLY } from "../../support/servers/cloud-server.ts";
import { done } from "../../support/servers/engine-server.ts";
import type { Answer } from "../../support/http-client.ts";

test("T-I02: two mounts with the same names never get each other's credentials", async (t) => {
  const server = await cloudaServer(t);
  const other = await startFakeCloudA({ now: () => Number(server.time.clock.now() / 1_000_000n) });
  t.after(() => other.close());
  await server.enable("second", "clouda");
  const { url, accessKeyId, secretAccessKey } = other;
  const keys = { access_key: accessKeyId, secret_key: secretAccessKey };
  await server.configure({ ...keys, iam_endpoint: url, sts_endpoint: url }, "second");
  await server.makeRole("r");
  await server.makeRole("r", {}, "second");
  const mounts = ["clouda", "second", "clouda", "second", "clouda", "second"];
  const credentials = await Promise.all(mounts.map((mount) => server.creds(`${mount}/creds/r`)));
  const users = { clouda: server.fake, second: other };
  for (const [i, { username, accessKey }] of credentials.entries()) {
    const fake = mounts[i] === "second" ? users.second : users.clouda;
    const user = fake.control.state().users.find(({ name }) => name === username);
    assert.deepEqual(
      user?.keys.map(({ id }) => id),
      [accessKey],
    );
  }
  const signers = (fake: typeof other) =>
    new Set(fake.control.calls().map((call) => call.accessKeyId));
  assert.deepEqual(signers(server.fake), new Set([server.fake.accessKeyId]));
  assert.deepEqual(signers(other), new Set([accessKeyId]));
});

test("T-I06: a provider that repeats what it was sent gets no secret into an answer or the log", async (t) => {
  const server = await cloudaServer(t);
  const { control } = server.fake;
  const echo = { kind: "error", status: 400, code: "Bad", message: "said:", echo: true } as const;
  control.makeUser("app");
  control.makeUser("app2");
  await server.makeRole("r");
  const assumed = { credential_type: "assumed_role", policy_arns: [] };
  await server.makeRole("s", { ...assumed, role_arns: ["arn:aws:iam::123456789012:role/deploy"] });
  const kept = { username: "app2", rotation_period: 60 };
  await server.must("POST", "clouda/static-roles/kept", kept);
  const answers: Answer[] = [];
  const rows: readonly (readonly [string, string, string, object?])[] = [
    ["CreateUser", "GET", "clouda/creds/r"],
    ["CreateAccessKey", "GET", "clouda/creds/r"],
    ["AssumeRole", "GET", "clouda/sts/s"],
    ["GetUser", "POST", "clouda/config/rotate-root", {}],
    ["GetUser", "POST", "clouda/static-roles/app", { username: "app", rotation_period: 60 }],
    [
      "CreateAccessKey",
      "POST",
      "clouda/static-roles/app",
      { username: "app", rotation_period: 60 },
    ],
    ["CreateAccessKey", "POST", "clouda/static-roles/kept/rotate", {}],
    ["DeleteAccessKey", "DELETE", "clouda/static-roles/kept"],
  ];
  for (const [action, verb, path, body] of rows) {
    const id = control.fault({ ...echo, action, times: null });
    const answer = await server.timed(server.ask(verb, path, body));
    control.faults.remove(id);
    assert.equal(answer.status, 400, `${action}: ${answer.text}`);
    assert.match(answer.text, /: Bad: said:.*provider request id/);
    answers.push(answer);
  }
  control.fault({ ...echo, action: "CreateAccessKey", times: null });
  await server.passUntil(async () =>
    (await server.ask("GET", "clouda/static-roles/kept")).text.includes("Bad"),
  );
  answers.push(await server.ask("GET", "clouda/static-roles/kept"));
  const visible = [...answers.map(({ text }) => text), ...server.test.lines].join("\n");
  for (const secret of control.secrets()) {
    for (const form of [
      secret,
      encodeURIComponent(secret),
      Buffer.from(secret).toString("base64"),
    ]) {
      assert.equal(visible.includes(form), false);
    }
  }
});

test("T-I11: whatever a name or a tag holds arrives as it is, or is refused", async (t) => {
  const server = await cloudaServer(t);
  const { control } = server.fake;
  const odd = fc.string({
    unit: fc.constantFrom(...Array.from("aZ9'&=%+*()[]{}<>\"\r\n\t/?#;:, é")),
    minLength: 1,
    maxLength: 12,
  });
  await fc.assert(
    fc.asyncProperty(odd, odd, async (key, value) => {
      const written = await server.writeRole("r", {
        credential_type: "iam_user",
        policy_arns: [READ_ONLY],
        policy_document: JSON.stringify({
          Version: "2012-10-17",
          Statement: [{ Sid: value, Effect: "Allow", Action: "iam:ListUsers", Resource: "*" }],
        }),
        iam_tags: { [key]: value },
      });
      assert.ok(written.status < 300 || written.status === 400, written.text);
      if (written.status === 400) return;
      const answer = await server.askCreds("clouda/creds/r");
      assert.ok(answer.status === 200 || answer.status === 400, answer.text);
      const sent = control.calls("CreateUser").at(-1)?.params ?? {};
      assert.deepEqual([sent["Tags.member.1.Key"], sent["Tags.member.1.Value"]], [key, value]);
      assert.equal(Object.keys(sent).length, 4); // nothing has become a parameter of its own
    }),
    { numRuns: 30 },
  );
});

test("T-I12: revoking one user leaves what it shares with another as it is", async (t) => {
  const server = await cloudaServer(t);
  const shared = { iam_groups: ["developers"], policy_arns: [READ_ONLY] };
  await server.makeRole("one", shared);
  await server.makeRole("two", shared);
  const one = await server.creds("clouda/creds/one");
  const two = await server.creds("clouda/creds/two");
  const before = server.user(two.username);
  const groups = server.fake.control.state().groups;
  done(await server.revokeNow(one.lease));
  assert.deepEqual(server.users(), [two.username]);
  assert.deepEqual(server.user(two.username), before);
  assert.deepEqual(server.fake.control.state().groups, groups);
});
