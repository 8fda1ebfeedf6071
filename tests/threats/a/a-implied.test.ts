// Threats A where one value stands for others: older names of whole settings are judged as what they come to.
// Through HTTP, against a whole server.

import assert from "node:assert/strict";
import test from "node:test";
import { EVERYTHING, rule, scene } from "../scene.ts";

const ADMIN = "arn:aws:iam::aws:policy/AdministratorAccess";
const READER = "arn:aws:iam::aws:policy/ReadOnlyAccess";
const ROLE = "arn:aws:iam::123456789012:role/deploy";
const DOCUMENT = '{"Version":"2012-10-17","Statement":[]}';

test("T-A13: rules on the fields of cloud A's roles hold for the deprecated ones", async (t) => {
  const stage = await scene(t);
  await stage.must("POST", "/v1/sys/mounts/a", { body: { type: "clouda" } });
  const denying = (values: object) => {
    const pairs = Object.entries(values).map(([k, v]) => `"${k}" = ${JSON.stringify(v)}`);
    return stage.clientWith(
      rule("a/roles/*", EVERYTHING, `denied_parameters = { ${pairs.join("\n")} }`),
    );
  };
  const tokens = {
    arns: await denying({ policy_arns: [ADMIN] }),
    users: await denying({ credential_type: ["iam_user"] }),
    roles: await denying({ role_arns: [ROLE] }),
    documents: await denying({ policy_document: [DOCUMENT] }),
  };
  const spaced = ` ${DOCUMENT.replaceAll(",", " , ")} `;
  for (const [who, body, expected] of [
    ["arns", { arn: ADMIN }, 403],
    ["arns", { policy: ADMIN }, 403],
    ["arns", { policy: "", arn: ` ${ADMIN} ` }, 403],
    ["arns", { credential_type: "iam_user", policy_arns: [ADMIN] }, 403],
    ["arns", { arn: READER }, 204],
    ["users", { arn: READER }, 403],
    ["users", { policy: DOCUMENT }, 403],
    ["users", { credential_type: " iam_user ", policy_arns: READER }, 403],
    ["users", { arn: ROLE }, 204],
    ["roles", { arn: ROLE }, 403],
    ["roles", { policy: ROLE }, 403],
    ["documents", { policy: spaced }, 403],
    ["documents", { arn: spaced }, 403],
    ["documents", { credential_type: "iam_user", policy_document: spaced }, 403],
  ] as const) {
    const answer = await stage.server.call("POST", "/v1/a/roles/x", { token: tokens[who], body });
    const ok = expected === 403 ? answer.status === 403 : answer.status < 300;
    assert.ok(ok, `${who} ${JSON.stringify(body)}: ${answer.status} ${answer.text}`);
  }
});

test("T-A13: what is denied by a pattern is denied inside lists and objects, as JSON and as its text", async (t) => {
  const stage = await scene(t);
  await stage.must("POST", "/v1/sys/mounts/a", { body: { type: "clouda" } });
  await stage.must("POST", "/v1/sys/mounts/b", { body: { type: "cloudb" } });
  await stage.must("POST", "/v1/sys/auth/approle", { body: { type: "approle" } });
  await stage.must("POST", "/v1/auth/approle/role/r", { body: {} });
  const token = await stage.clientWith(
    rule("b/roles/*", EVERYTHING, 'denied_parameters = { "cloudb_roles" = ["*Owner*"] }') +
      rule(
        "a/roles/*",
        EVERYTHING,
        'denied_parameters = { "iam_tags" = ["team=*"], "policy_document" = ["*iam:*"] }',
      ) +
      rule("auth/approle/*", EVERYTHING, 'denied_parameters = { "metadata" = ["team=*"] }'),
  );
  const owner = [{ role_name: "Owner", scope: "/subscriptions/x" }];
  const tags = { team: "ops" };
  const document = '{"Statement":[{"Effect":"Allow","Action":"IAM:*","Resource":"*"}]}';
  for (const [path, body, denied] of [
    ["b/roles/x", { cloudb_roles: owner }, true],
    ["b/roles/x", { cloudb_roles: JSON.stringify(owner) }, true],
    ["b/roles/x", { azure_roles: JSON.stringify(owner).replace("Owner", "OWNER") }, true],
    ["b/roles/x", { azure_roles: JSON.stringify(owner).replace("Owner", "OWN\\u0065r") }, true],
    ["b/roles/x", { cloudb_roles: JSON.stringify(owner).replace("Owner", "Reader") }, false],
    ["a/roles/x", { iam_tags: tags }, true],
    ["a/roles/x", { iam_tags: ["team = ops"] }, true],
    ["a/roles/x", { iam_tags: "team=ops" }, true],
    ["a/roles/x", { iam_tags: { part: "ops" } }, false],
    ["a/roles/x", { policy_document: document }, true],
    ["a/roles/x", { policy: document }, true],
    ["a/roles/x", { policy_document: document.replace("IAM", "s3") }, false],
    ["auth/approle/role/r/secret-id", { metadata: tags }, true],
    ["auth/approle/role/r/secret-id", { metadata: JSON.stringify(tags) }, true],
    ["auth/approle/role/r/secret-id", { metadata: '{"part":"ops"}' }, false],
  ] as const) {
    const { status } = await stage.server.call("POST", `/v1/${path}`, { token, body });
    assert.equal(status === 403, denied, `${path} ${JSON.stringify(body)}: ${status}`);
  }
});

test("T-A13: an element is named in a rule as it is in a request, whatever its spelling", async (t) => {
  const stage = await scene(t);
  await stage.must("POST", "/v1/sys/mounts/a", { body: { type: "clouda" } });
  await stage.must("POST", "/v1/sys/mounts/b", { body: { type: "cloudb" } });
  const owner = { role_name: "Owner", scope: "/subscriptions/X" };
  const reader = { role_name: "Reader", scope: "/subscriptions/X" };
  const group = { group_name: "Admins" };
  const loud = { scope: " /SUBSCRIPTIONS/x/ ", role_name: "OWNER" };
  const text = JSON.stringify;
  // Values of a rule, what it speaks of, and requests: whether one of the values is in it, whether all are.
  const cases: readonly (readonly [string, readonly unknown[], readonly Sent[]])[] = [
    ...[owner, [owner], loud, text(owner), text([owner])].map(
      (value) =>
        [
          "cloudb_roles",
          [value],
          [
            [[owner], true, true],
            [[loud], true, true],
            [text([owner]), true, true],
            [[owner, owner], true, true],
            [[reader, owner], true, false],
            [text([reader, owner]), true, false],
            [[reader], false, false],
            [[{ ...owner, scope: "/subscriptions/y" }], false, false],
          ],
        ] as const,
    ),
    [
      "cloudb_roles",
      [[reader, owner]],
      [
        [[reader, owner], true, true],
        [[owner], false, false],
      ],
    ],
    [
      "cloudb_groups",
      [group],
      [
        [[{ group_name: "admins" }], true, true],
        [[{ group_name: "b" }, group], true, false],
        [[{ group_name: "b" }], false, false],
      ],
    ],
    ...["iam_tags", "session_tags"].flatMap((name) =>
      [
        ["team=x", "b=y"],
        [" team = x ", "b=*"],
        [{ team: "x" }, ["b=y"]],
      ].map(
        (values) =>
          [
            name,
            values,
            [
              ["team=x", true, true],
              [["team=x"], true, true],
              [{ team: "x" }, true, true],
              [["team=x", "b=y"], true, true],
              [["b=y", "team = x"], true, true],
              [{ team: "x", b: "y" }, true, true],
              [["team=x", "c=z"], true, false],
              [{ c: "z", b: "y" }, true, false],
              [["team=xx", "c=z"], false, false],
              [{ x: "team" }, false, false],
            ],
          ] as const,
      ),
    ),
    [
      "iam_tags",
      [["b=y", "team=x"]],
      [
        [{ team: "x", b: "y" }, true, true],
        [{ team: "x" }, false, false],
      ],
    ],
    [
      "iam_tags",
      ["a=*"],
      [
        [{ a: "b=c" }, true, true],
        [{ "a=b": "c" }, true, false], // another name than any that a list could say
      ],
    ],
  ];
  for (const [name, values, requests] of cases) {
    const path = `${name.startsWith("cloudb") ? "b" : "a"}/roles/x`;
    const rules = (key: string) =>
      rule(path, EVERYTHING, `${key} = { "${name}" = ${text(values)} }`);
    const denying = await stage.clientWith(rules("denied_parameters"));
    const allowing = await stage.clientWith(rules("allowed_parameters"));
    for (const [value, caught, admitted] of requests) {
      const send = async (token: string) => {
        const answer = await stage.server.call("POST", `/v1/${path}`, {
          token,
          body: { [name]: value },
        });
        return answer.status !== 403;
      };
      const label = `${name} = ${text(values)}: ${text(value)}`;
      assert.equal(await send(denying), !caught, `denied ${label}`);
      assert.equal(await send(allowing), admitted, `allowed ${label}`);
    }
  }
});

type Sent = readonly [value: unknown, caught: boolean, admitted: boolean];

test("T-A13: a document is denied in every case and every spelling at once", async (t) => {
  const stage = await scene(t);
  await stage.must("POST", "/v1/sys/mounts/a", { body: { type: "clouda" } });
  const named = '{ "Statement": [ { "Effect": "Allow", "Action": "iam:PassRole" } ] }';
  const denied = `denied_parameters = { "policy_document" = [${JSON.stringify(named)}] }`;
  const token = await stage.clientWith(rule("a/roles/*", EVERYTHING, denied));
  for (const [policy_document, caught] of [
    [named, true],
    [named.replaceAll(" ", ""), true],
    [named.replaceAll(" ", "").replace("iam:P", "IAM:p"), true],
    [named.replace("iam", "s3"), false],
  ] as const) {
    const body = { credential_type: "iam_user", policy_document };
    const { status } = await stage.server.call("POST", "/v1/a/roles/x", { token, body });
    assert.equal(status === 403, caught, `${policy_document}: ${status}`);
  }
});

test("T-A13: a type is judged by what it is, not by an older name of it", async (t) => {
  const stage = await scene(t);
  const denied = 'denied_parameters = { "type" = ["clouda"] }';
  const token = await stage.clientWith(rule("sys/mounts/*", EVERYTHING, denied));
  const policy =
    'request.operation == "delete" || !has(request.data.options) || request.data.options.version != "1"';
  await stage.must("POST", "/v1/sys/policies/egp/versions", {
    body: { policy, paths: "sys/mounts/*", enforcement_level: "hard-mandatory" },
  });
  for (const [body, allowed] of [
    [{ type: "clouda" }, false],
    [{ type: "aws" }, false],
    [{ type: "kv", options: { version: "1" } }, false],
    [{ type: "kv-v1" }, false],
    [{ type: "generic" }, false],
    [{ type: "kv-v1", options: { version: "2" } }, false],
    [{ type: "kv-v2", options: { version: "1" } }, true],
  ] as const) {
    const answer = await stage.server.call("POST", "/v1/sys/mounts/m", { token, body });
    const label = `${JSON.stringify(body)}: ${answer.status} ${answer.text}`;
    assert.ok(allowed ? answer.status < 300 : answer.status === 403, label);
  }
  const mount = await stage.must("GET", "/v1/sys/mounts/m/tune");
  assert.match(mount.text, /"version":"2"/);
});
