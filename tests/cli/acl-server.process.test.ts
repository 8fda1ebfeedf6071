// What needs the server itself and a store of its own: the open bootstrap and its reset, and a watch over
// real blocking queries.

import assert from "node:assert/strict";
import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { SystemClock } from "../../src/system/clock.ts";
import { SystemFs } from "../../src/system/fs.ts";
import { SystemTimers } from "../../src/system/timers.ts";
import { SystemChildCommands } from "../../src/cli/exec/child-command.ts";
import { runCli } from "../../src/cli/run.ts";
import { SystemUserFiles } from "../../src/cli/line/user-file.ts";
import { at } from "../support/http-client.ts";
import { startServer } from "../support/servers/test-server.ts";
import { Keyboard, makeHome, run, Screen } from "./harness.ts";
import { runTranscript } from "./transcript.ts";

const OPEN = `
$ holdfast operator init -acl-bootstrap-open -key-shares 1 -key-threshold 1
Unseal Key 1: {{share}}
...
! ...

$ holdfast operator unseal -
< {{share}}
...

$ holdfast doctor
...
bootstrap     watch     anybody can make the first token    run \`holdfast acl bootstrap\` now
...

$ holdfast acl bootstrap -
< not-a-uuid
! Error: the bootstrap secret must be a UUID
! Next: see \`holdfast acl bootstrap -help\`
? 2

$ holdfast acl bootstrap -
< 0a1b2c3d-1111-4222-8333-444455556666
Accessor ID  = {{accessor}}
Secret ID    = 0a1b2c3d-1111-4222-8333-444455556666
Name         = Bootstrap Token
Type         = management
Global       = true
Create Time  = {{*}} ({{*}})
Expiry Time  = <none>
Create Index = {{reset}}
Modify Index = {{reset}}
Policies     = n/a
Roles        = n/a
! Next: run \`holdfast login\` with the secret

$ holdfast acl bootstrap status
Key          Value
---          -----
Bootstrap    done
! If every management token is lost: \`holdfast acl bootstrap reset\`

$ holdfast acl bootstrap reset -field index
{{reset}}

$ holdfast acl bootstrap
! Error: POST acl/bootstrap: ACL bootstrap already done (reset index: {{reset}}) (status 400)
! ...
? 1

$ holdfast login -
< 0a1b2c3d-1111-4222-8333-444455556666
Logged in. {{*}}
! ...

$ holdfast acl token list -field Name
Bootstrap Token
`;

const RESET = `
$ holdfast acl bootstrap reset -data-dir {{directory}}
Wrote {{reset}} to {{directory}}/server/acl-bootstrap-reset.
Next: run \`holdfast acl bootstrap\`: the next caller gets a management token

$ holdfast acl bootstrap -quiet
! Error: -quiet prints the accessor alone, and the secret would be lost
! Next: add -secret-out FILE, which keeps it
? 2

$ holdfast acl bootstrap -quiet -secret-out {{file}}
{{second}}
! ...

$ holdfast acl token info {{second}} -field Name
Bootstrap Token

$ holdfast acl token info {{accessor}} -field Type
management
`;

test("bootstrap and its reset, from an open server to a second first token", async (t) => {
  const server = await startServer();
  t.after(() => server.stop());
  const home = makeHome((call) => t.after(call));
  const env = { HOLDFAST_ADDR: server.url, HOME: home };
  const known = new Map([["file", join(home, "second")]]);
  await runTranscript("open", OPEN, env, known);
  known.set("directory", server.directory);
  await runTranscript("reset", RESET, env, known);
});

const USE = `
$ holdfast token create -name ci -policy default -ttl 1h
Accessor ID  = {{ci}}
Secret ID    = {{secret}}
...

$ holdfast token lookup {{ci}}
...
accessor {{ci}}
...

$ holdfast token lookup -field id {{ci}}
...

$ holdfast token capabilities sys/mounts auth/token/lookup-self
Path                      Capabilities
----                      ------------
sys/mounts                root
auth/token/lookup-self    root

$ holdfast token capabilities -accessor {{ci}} -field capabilities -format json auth/token/lookup-self
[
    "read"
]

$ holdfast token clone -name second {{ci}}
Accessor ID  = {{second}}
...
! Like the token {{ci}}, which stays as it is.

$ holdfast acl token info -field Policies {{second}}
[
    "default"
]

$ holdfast token renew -increment 2h {{ci}}
! ...
? 1

$ holdfast token revoke -yes {{second}}
Success! Revoked the token: {{second}}

$ holdfast token revoke -yes {{second}}
! Error: no token has this accessor
! Next: {{*}}
? 3

$ holdfast token lookup {{second}}
! Error: no token has this accessor
! Next: {{*}}
? 3

$ holdfast acl token delete -yes {{second}}
! Error: Cannot delete nonexistent tokens: {{second}}
! Next: {{*}}
? 3

$ holdfast acl token list -region nowhere
! Error: GET acl/tokens: No path to region (status 404)
! Next: check -region and HOLDFAST_REGION: {{*}}
? 3

$ holdfast token create -t {{dot}} -policy default
! Error: there are no output templates
! Next: use -field NAME, or -format json with a tool such as jq
? 2

$ holdfast acl token create -role-name x
! Error: there are no roles of tokens
! Next: give policies: -policy NAME
? 2

$ holdfast acl token create -wait-replicated 5s -policy default
! Error: there is nothing to wait for: a token is there when the region that was asked has answered
! Next: leave -wait-replicated out
? 2

$ holdfast acl replication status
Key              Value
---              -----
Enabled          no: this region is the authoritative one
Running          no
Source Region    <none>
Policy Index     0
Token Index      0
Last Success     <none>
Last Error       <none>
Error            <none>

$ holdfast ui
! Error: there is no console to open yet
! Next: the command line does everything: \`holdfast help\`
? 2

$ holdfast acl token export {{file}} {{ci}}
! Exported 1 tokens to {{file}}, which holds their secrets: remove it after use.

$ holdfast acl token import {{file}}
Imported 0 tokens; 1 are there already, 0 expired, 0 refused

$ holdfast acl token delete -yes {{ci}}
Token {{ci}} successfully deleted

$ holdfast acl token import -dry-run {{file}}
Would import 1 tokens; 0 are there already, 0 expired, 0 refused

$ holdfast acl token import {{file}}
Imported 1 tokens; 0 are there already, 0 expired, 0 refused

$ holdfast acl token info -show-secret -field SecretID {{ci}}
{{secret}}
`;

test("tokens are looked up, renewed, cloned, revoked, exported and imported", async (t) => {
  const server = await startServer();
  t.after(() => server.stop());
  const { token } = await server.open();
  const home = makeHome((call) => t.after(call));
  const env = { HOLDFAST_ADDR: server.url, HOLDFAST_TOKEN: token, HOME: home };
  const file = join(home, "tokens.json");
  const known = new Map([
    ["file", file],
    ["dot", "{{.Name}}"],
  ]);
  await runTranscript("use", USE, env, known);
  assert.equal(statSync(file).mode & 0o777, 0o600);
  assert.ok(readFileSync(file, "utf8").includes(known.get("secret")!));

  const made = await run(
    ["write", "-field", "token", "auth/token/create", "policies=default", "ttl=1h"],
    { env },
  );
  const own = { HOLDFAST_ADDR: server.url, HOME: home };
  assert.equal((await run(["login", "-"], { env: own, stdin: made.stdout })).code, 0);
  const renewed = await run(["token", "renew"], { env: own });
  assert.match(renewed.stdout, /token_duration +1h0m0s/, renewed.all);
  const looked = await run(["token", "lookup"], { env: own });
  assert.match(looked.stdout, /^ttl +(1h0m0s|59m\d+s)$/m, looked.all);
  for (const { all } of [renewed, looked]) assert.ok(!all.includes(made.stdout));
  const out = await run(["token", "revoke-self"], { env: own });
  assert.equal(
    out.stdout,
    `Success! Revoked the token from ${join(home, ".holdfast-token")}\n`,
    out.all,
  );
  assert.throws(() => statSync(join(home, ".holdfast-token")));
  const none = await run(["token", "revoke-self"], { env: own });
  assert.equal(none.code, 2);
});

test("a copy says which token it is like, and which of its limits it does not have", async (t) => {
  const server = await startServer();
  t.after(() => server.stop());
  const { token } = await server.open();
  const home = makeHome((call) => t.after(call));
  const env = { HOLDFAST_ADDR: server.url, HOLDFAST_TOKEN: token, HOME: home };
  const copyOf = async (body: object) => {
    const made = await server.call("POST", "/v1/auth/token/create", { token, body });
    const accessor = String(at(made, "auth", "accessor"));
    const copy = await run(["token", "clone", "-global", accessor], { env });
    assert.equal(copy.code, 0, copy.all);
    assert.ok(copy.stderr.includes(`Like the token ${accessor}, which stays as it is.`), copy.all);
    assert.match(copy.stdout, /^Accessor ID +=/);
    return copy.stderr;
  };
  const wide = { policies: ["readonly"], ttl: "1h" };
  assert.doesNotMatch(await copyOf(wide), /limits of that token/);
  assert.match(
    await copyOf({ ...wide, num_uses: 3, no_default_policy: true }),
    /Warning: limits of that token which the new one does not have: .*num_uses, 3 left.*, being without/,
  );
});

test("a client token makes others as its policies allow, and says what they are", async (t) => {
  const server = await startServer();
  t.after(() => server.stop());
  const { token: root } = await server.open();
  const home = makeHome((call) => t.after(call));
  const as = (token: string) => ({ HOLDFAST_ADDR: server.url, HOLDFAST_TOKEN: token, HOME: home });
  const words = '["create", "read", "update", "patch", "delete", "list", "scan", "sudo"]';
  const policies = [
    ["admin", `path "*" { capabilities = ${words} }`],
    ["maker", 'path "auth/token/create" { capabilities = ["update"] }'],
    ["shop", 'path "secret/*" { capabilities = ["read"] }'],
    ["mute", 'path "acl/token/self" { capabilities = ["deny"] }'],
  ] as const;
  const ask = (body: object) => ({ token: root, body });
  for (const [name, policy] of policies) {
    await server.call("POST", `/v1/sys/policies/acl/${name}`, ask({ policy }));
  }
  const tokenWith = async (...names: string[]) => {
    const made = await server.call("POST", "/v1/auth/token/create", ask({ policies: names }));
    return String(at(made, "auth", "client_token"));
  };
  const create = (token: string, ...args: string[]) =>
    run(["token", "create", ...args], { env: as(token) });

  const admin = await tokenWith("admin");
  const made = await create(admin, "-name", "ci", "-policy", "shop", "-ttl", "1h", "-json");
  assert.equal(made.code, 0, made.all);
  assert.match(made.stderr, /client token, with which it ends; .*auth\/token\/create-orphan/);
  const { SecretID, AccessorID, Type, Policies, ExpirationTime } = JSON.parse(made.stdout);
  assert.deepEqual([Type, Policies], ["client", ["shop"]]);
  assert.ok(Date.parse(ExpirationTime) - Date.now() <= 3_600_000);
  const self = await run(["token", "self", "-field", "AccessorID"], { env: as(SecretID) });
  assert.equal(self.stdout.trim(), AccessorID, self.all);

  const hidden = await create(admin, "-policy", "mute", "-field", "SecretID");
  assert.match(hidden.stdout, /^\S+$/, "a token that may not see itself is told all the same");

  const maker = await tokenWith("maker", "shop");
  assert.equal((await create(maker, "-policy", "shop")).code, 0);
  const more = await create(maker, "-policy", "admin");
  assert.match(more.stderr, /child policies must be subset of parent/);
  const poor = await create(await tokenWith("shop"), "-policy", "shop");
  assert.equal(poor.code, 4, poor.all);
  assert.match(poor.stderr, /a policy must allow it on auth\/token\/create/);
  for (const beyond of [
    ["-type", "management"],
    ["-policy", "shop", "-global"],
    ["-name", "x"],
  ]) {
    const refused = await create(admin, ...beyond);
    assert.equal(refused.code, 4, refused.all);
    assert.match(refused.stderr, /POST acl\/token: .*no management token; .* give -policy NAME/s);
  }
});

test("list -watch sees each change on the server, and info -watch the end of a token", async (t) => {
  const server = await startServer();
  t.after(() => server.stop());
  const { token } = await server.open();
  const env = {
    HOLDFAST_ADDR: server.url,
    HOLDFAST_TOKEN: token,
    HOME: makeHome((call) => t.after(call)),
  };
  const cli = async (...args: string[]) => {
    const { code, stdout, all } = await run(["acl", "token", ...args], { env });
    assert.equal(code, 0, all);
    return stdout.trim();
  };
  let interrupt = () => {};
  const watch = (...args: string[]) => {
    const [stdout, stderr, stdin] = [new Screen(false), new Screen(false), new Keyboard(false)];
    stdin.end("");
    const onInterrupt = (call: () => void) => {
      interrupt = call;
      return () => {};
    };
    const ended = runCli(
      ["acl", "token", ...args, "-watch"],
      { env, stdin, stdout, stderr, onInterrupt },
      {
        clock: new SystemClock(),
        timers: new SystemTimers(),
        fs: new SystemFs(),
        files: new SystemUserFiles(),
        children: new SystemChildCommands(),
      },
    );
    const shows = async (text: string) => {
      const end = Date.now() + 60_000;
      while (!stdout.text.includes(text)) {
        assert.ok(Date.now() < end, `${text}\nis missing in\n${stdout.text}${stderr.text}`);
        await new Promise((resolve) => setTimeout(resolve, 5));
      }
    };
    return { ended, shows, stdout, stderr };
  };

  const list = watch("list");
  await list.shows("Accessor ID");
  const accessor = await cli("create", "-name", "ci", "-policy", "default", "-quiet");
  await list.shows(`added    ${accessor}  client      ci\n`);
  const info = watch("info", accessor);
  await info.shows("= [default]");
  await cli("update", accessor, "-name", "ci two");
  await list.shows(`changed  ${accessor}  client      ci two\n`);
  await info.shows("\nName         = ci two\nModify Index = ");
  await cli("delete", accessor);
  await list.shows(`removed  ${accessor}  client      ci two\n`);
  assert.equal(await info.ended, 3, info.stderr.text);
  assert.equal(list.stdout.text.split(accessor).length, 4, "each change once");

  const second = watch("list");
  await second.shows("Accessor ID");
  interrupt();
  assert.equal(await second.ended, 130);
  // The first watch ends with its credential.
  const self = await cli("self", "-quiet");
  assert.equal((await run(["acl", "token", "delete", self], { env })).code, 0);
  assert.equal(await list.ended, 4, list.stderr.text);
});
