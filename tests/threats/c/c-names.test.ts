// Threats T-C07 and T-C08: the template that names of users and sessions are made by. It is written by who
// may configure the engine, and must neither run as code nor take what it likes.

import assert from "node:assert/strict";
import test from "node:test";
import { cloudaServer } from "../../support/servers/cloud-server.ts";
import { done, refused } from "../../support/servers/engine-server.ts";

const CODE = [
  "{{ constructor.constructor }}",
  "{{ .constructor }}",
  "{{ .__proto__ }}",
  "{{ .PolicyName.constructor }}",
  "{{ $.constructor }}",
  "{{ eval `1` }}",
  "{{ range .PolicyName }}x{{ end }}",
  '{{ define "a" }}{{ template "a" }}{{ end }}{{ template "a" }}',
  "{{ call .PolicyName }}",
  "{{ html .PolicyName }}",
];

const HUGE = [
  '{{ printf "%0999999999d" 1 }}',
  '{{ printf "%0999999999d" (len .PolicyName) }}',
  '{{ printf "%.999999999s" .PolicyName }}',
  '{{ 5 | printf "%-99999999d" }}',
  "{{ random 1000000000 }}",
  "{{ 1000000000 | random }}",
  "{{ random 0 }}",
  "{{ $n := 1000000000 }}{{ random $n }}",
  // In a branch that hardly anybody takes.
  '{{ if eq .PolicyName "x" }}{{ random 1000000000 }}{{ else }}{{ .PolicyName }}{{ end }}',
  '{{ if eq .PolicyName "x" }}{{ printf "%0999999999d" 1 }}{{ else }}a{{ end }}',
  `{{ random 1000 }}{{ random 1000 }}`,
  "{{ random 1024 | replace `` `aaaaaaaaaa` | replace `` `aaaaaaaaaa` }}",
];

test("T-C07: what is code, a loop or beyond every bound is refused when it is written", async (t) => {
  const server = await cloudaServer(t, { configured: false });
  for (const template of [...CODE, ...HUGE]) {
    const answer = await server.ask("POST", "clouda/config/root", { username_template: template });
    refused(answer, 400, /^username_template: line 1, column \d+: /);
    assert.equal((await server.ask("GET", "clouda/config/root")).status, 404, template);
  }
});

test("T-C07: what looks like code of another language is text, and is not run", async (t) => {
  const server = await cloudaServer(t);
  await server.configure({ username_template: "${1+1}-<%= 1+1 %>-#{1+1}-{{ random 8 }}" });
  await server.makeRole("r");
  server.fake.control.forgetCalls();
  const answer = await server.askCreds("clouda/creds/r");
  // No letters of a name: the provider refuses them, and nothing was computed.
  refused(answer, 400, /^iam:CreateUser: ValidationError/);
  const [call] = server.fake.control.calls("CreateUser");
  assert.match(
    String(call?.params["UserName"]),
    /^\$\{1\+1\}-<%= 1\+1 %>-#\{1\+1\}-[A-Za-z0-9]{8}$/,
  );
});

for (const [type, length, role] of [
  ["IAM", 65, { credential_type: "iam_user" }],
  ["STS", 33, { credential_type: "federation_token" }],
] as const) {
  test(`T-C08: a name of ${type} that is too long is 500, and nothing is made`, async (t) => {
    const server = await cloudaServer(t);
    await server.configure({ username_template: `{{ random ${length} }}` });
    await server.makeRole("r", role);
    server.fake.control.forgetCalls();
    const answer = await server.askCreds("clouda/creds/r");
    refused(answer, 500, `generated ${type} name has ${length} bytes, limit ${length - 1}`);
    assert.deepEqual(server.fake.control.actions(), []);
    await server.configure({ username_template: `{{ random ${length - 1} }}` });
    done(await server.ask("PUT", "clouda/config/lease", { lease: "1h", lease_max: "1h" }));
    assert.equal((await server.askCreds("clouda/creds/r")).status, 200);
  });
}
