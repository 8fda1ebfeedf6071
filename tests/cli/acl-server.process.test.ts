// What needs the server itself and a store of its own: the open bootstrap and its reset, and a watch over
// real blocking queries.

import assert from "node:assert/strict";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { SystemClock } from "../../src/base/clock.ts";
import { SystemFs } from "../../src/base/fs.ts";
import { SystemTimers } from "../../src/base/timers.ts";
import { SystemChildCommands } from "../../src/cli/child-command.ts";
import { runCli } from "../../src/cli/run.ts";
import { SystemUserFiles } from "../../src/cli/user-file.ts";
import { startServer } from "../support/test-server.ts";
import { Keyboard, makeHome, run, Screen } from "./harness.ts";
import { runTranscript } from "./transcript.ts";

const OPEN = `
$ holdfast operator init -acl-bootstrap-open -key-shares 1 -key-threshold 1
Unseal Key 1: {{share}}
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
  mkdirSync(join(server.directory, "server"), { recursive: true });
  writeFileSync(join(server.directory, "server", "acl-bootstrap-reset"), known.get("reset")!);
  await runTranscript("reset", RESET, env, known);
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
