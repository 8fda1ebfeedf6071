// Leases and disabling on the server itself, with an engine that makes objects outside: what people see
// while many leases are revoked, and what they do about those that cannot be.

import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import { anyEngine } from "@holdfast/plugin-sdk/engine";
import { SystemClock } from "../../src/system/clock.ts";
import { Failure } from "@holdfast/shared/failure";
import { SystemFs } from "../../src/system/fs.ts";
import { SystemTimers } from "../../src/system/timers.ts";
import { SystemChildCommands } from "../../src/cli/exec/child-command.ts";
import { runCli } from "../../src/cli/run.ts";
import { SystemUserFiles } from "../../src/cli/line/user-file.ts";
import { countingEngine } from "../support/stores/counting-engine.ts";
import { Outside } from "../support/stores/outside.ts";
import { startServer } from "../support/servers/test-server.ts";
import { Keyboard, makeHome, run, Screen, type RunOptions } from "./harness.ts";
import { runTranscript } from "./transcript.ts";

async function serverFor(t: TestContext) {
  const outside = new Outside();
  const server = await startServer({ engineTypes: [anyEngine(countingEngine(outside))] });
  t.after(() => server.stop());
  const { token } = await server.open();
  const env = {
    HOLDFAST_ADDR: server.url,
    HOLDFAST_TOKEN: token,
    HOME: makeHome((call) => t.after(call)),
  };
  const cli = (args: readonly string[], options: RunOptions = {}) => run(args, { env, ...options });
  for (const args of [
    ["secrets", "enable", "counting"],
    ["write", "counting/roles/r", "ttl=3600"],
  ]) {
    const { code, all } = await cli(args);
    assert.equal(code, 0, all);
  }
  const issue = async (count: number) => {
    for (let i = 0; i < count; i++) {
      const { status, text } = await server.call("GET", "/v1/counting/creds/r", { token });
      assert.equal(status, 200, text);
    }
  };
  return { outside, server, env, cli, issue };
}

const ONE_LEASE = `
$ holdfast read counting/creds/r
Key                Value
---                -----
lease_id           {{lease}}
lease_duration     3600
lease_renewable    true
object             {{object}}
password           {{*}}

$ holdfast lease lookup {{lease}}
...
issue_time        {{*}} ({{*}})
expire_time       {{*}} (in {{*}})
last_renewal      <none>
...

$ holdfast lease list counting/creds
Keys
----
r/

$ holdfast lease renew -increment 2h {{lease}}
...
lease_duration     7200
lease_renewable    true

$ holdfast lease revoke -sync {{lease}}
Success! Revoked the lease: {{lease}}

$ holdfast lease lookup {{lease}}
! Error: POST sys/leases/lookup: invalid lease (status 400)
! Next: it is revoked or expired, or the id is wrong; \`holdfast lease list PREFIX\` shows ids
? 3

$ holdfast lease renew {{lease}}
! Error: POST sys/leases/renew: lease not found (status 400)
! Next: it is revoked or expired, or the id is wrong; \`holdfast lease list PREFIX\` shows ids
? 3

$ holdfast lease revoke {{lease}}
! Warning: no such lease: nothing was revoked
? 3
`;

test("a lease from its beginning to its end", async (t) => {
  const { outside, env } = await serverFor(t);
  await runTranscript("a lease", ONE_LEASE, env);
  assert.deepEqual(outside.objects, []);
});

const REFUSALS = `
$ holdfast audit hash none -
<- something secret
! Error: POST sys/audit-hash/none: no audit device at none/ (status 404)
! Next: \`holdfast audit list\` shows the devices
? 3

$ holdfast audit enable file file_path=/nowhere/audit.log
! Error: POST sys/audit/file: file_path must name {{*}}
! Next: \`holdfast read sys/config/state/sanitized\` shows audit_file_roots
? 1

$ holdfast policy read -format json none
! Error: GET sys/policies/acl/none: there is nothing at this path (status 404)
! Next: \`holdfast policy list\` shows the names
! Code: policy_not_found (docs/errors.md)
? 3

$ holdfast secrets tune -max-lease-ttl 500ms counting
! Error: POST sys/mounts/counting/tune: max_lease_ttl must be {{*}} (status 400)
! Next: see \`holdfast secrets tune -help\`; \`holdfast secrets list -detailed\` shows what is set
? 1

$ holdfast namespace create team/sub
! Error: POST sys/namespaces/team/sub: the parent namespace does not exist; create it first (status {{status}})
! Next: \`holdfast namespace create team\` makes it
? 1

$ holdfast namespace lookup none
! Error: GET sys/namespaces/none: there is nothing at this path (status 404)
! Next: \`holdfast namespace list\` shows what is there; check -namespace too
? 3

$ holdfast login
! Error: there is no terminal to ask on: token
! Next: give it on standard input with - as the argument, or run this in a terminal
? 2

$ holdfast token renew
! Error: POST auth/token/renew-self: lease is not renewable: {{*}} (status 400)
! Next: \`holdfast token lookup\` shows when it ends; \`holdfast login\` gets another
? 1
`;

test("refusals say what to do next, and to programs their code", async (t) => {
  const { env } = await serverFor(t);
  await runTranscript("refusals", REFUSALS, env);
});

const PATIENCE = { timeout: 30_000 };

test(
  "disabling tells how far it is, can be left by Ctrl-C, and is taken up again",
  PATIENCE,
  async (t) => {
    const { outside, env, cli, issue } = await serverFor(t);
    await issue(60);
    const [first, others] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    let passed = 0;
    outside.happen("revoke", async () => {
      await first.promise;
      if (++passed > 24) await others.promise;
    });
    const stdin = new Keyboard(false);
    stdin.end("");
    let interrupt = () => {};
    const stdout = new Screen(false);
    const stderr = new Screen(true, 80, () => {
      if (stderr.text.includes(" 0/60 leases revoked")) first.resolve();
      if (stderr.text.includes("24/60 leases revoked")) interrupt();
    });
    const ended = runCli(
      ["secrets", "disable", "counting"],
      {
        env,
        stdin,
        stdout,
        stderr,
        onInterrupt: (call) => {
          interrupt = call;
          return () => (interrupt = () => {});
        },
      },
      {
        clock: new SystemClock(),
        timers: new SystemTimers(),
        fs: new SystemFs(),
        files: new SystemUserFiles(),
        children: new SystemChildCommands(),
      },
    );
    assert.equal(await ended, 130, stderr.text);
    assert.match(stderr.text, /disabling counting\/: \[#{10}-{14}\] 24\/60 leases revoked/);
    assert.match(stderr.text, /`holdfast secrets disable counting`\s+follows it again/);
    const listed = await cli(["secrets", "list"]);
    assert.match(listed.stdout, /counting\/ .* disabling, 36 leases left/);

    others.resolve();
    const again = await cli(["secrets", "disable", "counting"], { typed: [] });
    // It went on meanwhile: the command finds it at its end, or finds nothing any more.
    const over = again.code === 3 && /nothing is mounted at counting/.test(again.stderr);
    assert.ok(again.code === 0 || over, again.all);
    assert.match(again.stdout, /Success! Disabled the secrets engine at: counting\/|^$/);
    assert.deepEqual(outside.objects, []);
    assert.equal(outside.removals(), 60, "each once");
    assert.doesNotMatch((await cli(["secrets", "list"])).stdout, /counting/);
  },
);

test("a lease that cannot be revoked stops it, and -force lets it go on", async (t) => {
  const { outside, cli, issue } = await serverFor(t);
  await issue(3);
  outside.fail("revoke", () => new Failure("upstream", "refused", "the provider refuses"));
  const stopped = await cli(["secrets", "disable", "counting"]);
  assert.equal(stopped.code, 1, stopped.all);
  assert.match(
    stopped.stderr,
    /the provider refuses.*it gives nothing out any more, and is not gone/,
  );
  assert.match(stopped.stderr, /`holdfast lease revoke -force -prefix counting`/);
  const listed = await cli(["secrets", "list"]);
  assert.match(
    listed.stdout,
    /disabling, 3 leases left, in trouble[^]*\ncounting\/: .*the provider refuses/,
  );
  const forced = await cli(["lease", "revoke", "-force", "-prefix", "counting"]);
  assert.equal(forced.code, 0, forced.all);
  assert.match(forced.stderr, /Warning: .*the provider refuses/);
  const again = await cli(["secrets", "disable", "counting"]);
  assert.equal(again.code, 0, again.all);
  assert.equal(outside.objects.length, 3, "what was given up is still there");
});

const LOGINS = `
$ holdfast auth enable userpass
Success! Enabled the userpass auth method at: auth/userpass/

$ holdfast write auth/userpass/users/anna password=- token_policies=default
<- correct horse
Success! Data written to: auth/userpass/users/anna

$ holdfast login -method userpass username=anna password=-
<- correct horse
Key                Value
---                -----
token_accessor     {{*}}
token_duration     {{*}}
token_renewable    true
token_policies     [default]
token_metadata     {"username":"anna"}
! Warning: HOLDFAST_TOKEN is set and goes before the token just kept
! Logged in. The token is kept in {{*}}; other commands use it from now on.

$ holdfast login -method userpass username=anna password=-
<- battery
! Error: POST auth/userpass/login/anna: invalid username or password (status 400)
! Next: check what was typed, -path and -namespace; after several failures a user is locked for a while
? 1

$ holdfast login -method userpass -path people username=anna password=-
<- battery
! Error: POST auth/people/login/anna: {{*}}
! Next: no such method is mounted there: \`holdfast auth list\` shows them; -path and -namespace say where
? 4

$ holdfast auth enable -path ci approle
Success! Enabled the approle auth method at: auth/ci/

$ holdfast write auth/ci/role/r token_policies=default
Success! Data written to: auth/ci/role/r

$ holdfast read -field role_id auth/ci/role/r/role-id
{{role}}

$ holdfast write -force -wrap-ttl 5m -field wrapping_token auth/ci/role/r/secret-id
{{wrapping}}

$ holdfast unwrap -field secret_id -
< {{wrapping}}
{{secret}}

$ holdfast login -no-store -field token_policies -format json -method approle -path ci role_id={{role}} secret_id=-
< {{secret}}
[
    "default"
]
`;

test("logins by both methods, with a secret id that is handed over wrapped", async (t) => {
  const { env, cli } = await serverFor(t);
  await runTranscript("logins", LOGINS, env);
  const { HOLDFAST_TOKEN: _, ...kept } = env;
  const self = await cli(["acl", "token", "self", "-field", "Policies"], { env: kept });
  assert.equal(self.code, 0, self.all);
});
