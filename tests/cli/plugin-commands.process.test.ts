// `holdfast plugin …` against a real server with a plugin directory.

import assert from "node:assert/strict";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { PluginServer } from "../support/plugins/mounted-plugins.ts";
import { makeHome, type Ran, run } from "./harness.ts";

const WIDTH = 80;

async function cliFor(t: TestContext) {
  const server = await PluginServer.start(t);
  const env = {
    HOLDFAST_ADDR: server.test.url,
    HOLDFAST_TOKEN: server.opened.token,
    HOME: makeHome((call) => t.after(call)),
    CI_KEY: "squeamish ossifrage",
    NO_COLOR: "1",
  };
  const cli = async (line: string, code = 0, typed?: readonly string[]): Promise<Ran> => {
    const keyboard = typed === undefined ? {} : { typed };
    const ran = await run(line.split(" "), { env, columns: WIDTH, ...keyboard });
    assert.equal(ran.code, code, `${line}: ${ran.all}`);
    const long = ran.stdout.split("\n").filter((one) => one.length > WIDTH);
    assert.deepEqual(long, [], line);
    return ran;
  };
  /** What a script gets. */
  const json = async (line: string): Promise<unknown> => {
    const { code, stdout, all } = await run([...line.split(" "), "-format", "json"], { env });
    assert.equal(code, 0, `${line}: ${all}`);
    return JSON.parse(stdout) as unknown;
  };
  return { server, cli, json };
}

test("a plugin is registered with the sum of its file and a variable of the environment, shown, pinned and removed", async (t) => {
  const { server, cli, json } = await cliFor(t);
  const sha256 = server.place.putSmall();
  const made = await cli(
    "plugin register -command small.mjs -version 1.2.3 -env CI_KEY -verify secret small",
  );
  assert.match(made.stderr, new RegExp(`SHA-256 of .*small\\.mjs: ${sha256}`));
  assert.match(made.stdout, /^Success! Registered secret small 1\.2\.3\.$/m);
  assert.ok(!made.all.includes("ossifrage"));
  const info = (await json("plugin info secret small")) as Record<string, unknown>;
  assert.deepEqual([info["version"], info["sha256"]], ["v1.2.3", sha256]);
  assert.ok(!("env" in info));
  const view = (await cli("plugin info -version v1.2.3 secret small")).stdout;
  assert.match(view, /^Command +small\.mjs$/m);
  assert.match(view, /^Mounts +none$/m);

  assert.match((await cli("plugin list secret")).stdout, /^secret +kv +built in$/m);
  assert.match((await cli("plugin list secret")).stdout, /^secret +small +registered$/m);
  await cli("plugin register -command small.mjs secret kv");
  assert.match((await cli("plugin list secret")).stdout, /^secret +kv +registered$/m);
  await cli("plugin deregister -yes secret kv");
  const detailed = (await cli("plugin list -detailed")).stdout;
  assert.match(detailed, new RegExp(`^secret +small +v1\\.2\\.3 +${sha256.slice(0, 12)} *$`, "m"));
  assert.match(detailed, /^auth +approle +v1\.0\.0\+builtin +built in *$/m);
  await cli("plugin list database", 3);

  await cli("plugin pins", 3);
  await cli("plugin pin secret small v1.2.3");
  assert.match((await cli("plugin pins")).stdout, /^secret +small +v1\.2\.3$/m);
  const pinned = await cli("plugin deregister -yes -version v1.2.3 secret small", 1);
  assert.match(pinned.stderr, /cannot delete a pinned version/);
  await cli("plugin unpin secret small");
  const none = await cli("plugin reload small");
  assert.match(none.stderr, /no plugins were reloaded/);
  const ordered = (await json("plugin reload -scope global small")) as { reload_id: string };
  await json(`plugin reload-status ${ordered.reload_id}`);
  await cli("plugin deregister -yes -version v1.2.3 secret small");
  await cli("plugin info secret small", 3);
});

test("what cannot be registered says so: no sum, no variable, a value on the line, a plugin that does not start", async (t) => {
  const { server, cli } = await cliFor(t);
  const sum = await cli("plugin register -command absent secret small", 2);
  assert.match(sum.stderr, /-sha256 is missing, and no \/.*\/absent can be read here/);
  const below = await cli("plugin register -command a/b secret small", 2);
  assert.match(below.stderr, /-sha256 is missing, and the file cannot be read here/);
  const missing = await cli("plugin register -sha256 ab -env NOT_THERE secret small", 2);
  assert.match(missing.stderr, /-env NOT_THERE: there is no such variable here/);
  const typed = await cli("plugin register -sha256 ab -env CI_KEY=secretvalue secret small", 2);
  assert.match(typed.stderr, /on a command line others read it/);
  assert.ok(!typed.all.includes("secretvalue"));
  server.place.putSmall();
  const warned = await cli("plugin register -command small.mjs -args --exits secret small");
  assert.match(warned.stderr, /could not be started/);
  assert.match(warned.stderr, /it begins badly/);
  const refused = await cli(
    "plugin register -command small.mjs -args --exits -verify -version 2 secret small",
    1,
  );
  assert.match(refused.stderr, /could not be started/);
  const file = await cli(
    `plugin register -file ${server.place.directory}/small.mjs -command small.mjs secret small`,
  );
  assert.match(file.stdout, /Success! Registered secret small\./);
});

test("runtimes are registered, listed, shown and removed", async (t) => {
  const { cli, json } = await cliFor(t);
  await cli("plugin runtime list", 3);
  await cli(
    "plugin runtime register -oci-runtime runc -memory-bytes 268435456 -cpu-nanos 500000000 small",
  );
  assert.match(
    (await cli("plugin runtime list")).stdout,
    /^small +runc +no +0\.5 CPU +256\.0 MiB +<none>$/m,
  );
  assert.match((await cli("plugin runtime info small")).stdout, /^oci_runtime +runc$/m);
  const [one] = (await json("plugin runtime list")) as { name: string }[];
  assert.equal(one?.name, "small");
  const refused = await cli("plugin runtime register -oci-runtime sh small", 1);
  assert.match(refused.stderr, /oci_runtime must be one of/);
  await cli("plugin runtime deregister small");
  await cli("plugin runtime info small", 3);
});

test("upgrade moves every mount to the new version, and back where one of them cannot have it", async (t) => {
  const { server, cli } = await cliFor(t);
  const { base, directory } = server.place;
  server.place.putSmall();
  await cli("plugin register -command small.mjs -version v1.2.3 secret small");
  await server.ok("POST", "sys/namespaces/team", {});
  await cli("secrets enable -plugin-version v1.2.3 small");
  const inTeam = await server.call("POST", "sys/mounts/small", {
    body: { type: "small" },
    namespace: "team",
  });
  assert.equal(inTeam.status, 204, inTeam.text);
  const running = async () => {
    const own = await server.data("sys/mounts/small");
    const other = await server.data("team/sys/mounts/small");
    return [own["running_plugin_version"], other["running_plugin_version"]];
  };
  const upgraded = await cli(
    "plugin upgrade -version v2.0.0 -command small.mjs -args --version=v2.0.0 secret small",
  );
  assert.match(upgraded.stdout, /^small\/ +v1\.2\.3 +v2\.0\.0$/m);
  assert.match(upgraded.stdout, /^team\/small\/ +v1\.2\.3 +v2\.0\.0$/m);
  assert.deepEqual(await running(), ["v2.0.0", "v2.0.0"]);
  const table = (await cli("plugin info -version v2.0.0 secret small")).stdout;
  assert.match(table, /^Mounts +small\/ team\/small\/\n\nProcess /m);

  const broken = await cli(
    "plugin upgrade -version v3.0.0 -command small.mjs -args --exits secret small",
    1,
  );
  assert.match(broken.stderr, /could not be started/);
  await cli("plugin info -version v3.0.0 secret small", 3);

  // It starts to be asked what it is and for the first mount, and not for the second one.
  const starts = join(base, "starts");
  server.place.put(
    "tired",
    `#!/bin/sh
printf x >> ${starts}
[ "$(wc -c < ${starts})" -le 2 ] || exit 3
exec ${directory}/small.mjs "$@"
`,
  );
  const half = await cli(
    "plugin upgrade -version v3.0.0 -command tired -args --version=v3.0.0 secret small",
    1,
  );
  assert.match(half.stderr, /Nothing has changed: what was done was undone\./);
  assert.deepEqual(await running(), ["v2.0.0", "v2.0.0"]);
  await cli("plugin info -version v3.0.0 secret small", 3);

  const back = await cli("plugin upgrade -version v1.2.3 -pin secret small");
  assert.match(back.stdout, /^small\/ +v2\.0\.0 +v1\.2\.3$/m);
  assert.deepEqual(await running(), ["v1.2.3", "v1.2.3"]);
  assert.match((await cli("plugin pins")).stdout, /^secret +small +v1\.2\.3$/m);
  const unclear = await cli("plugin upgrade -command small.mjs secret small", 2);
  assert.match(unclear.stderr, /-version is missing/);
  const twice = await cli("plugin upgrade -version v2.0.0 -command small.mjs secret small", 2);
  assert.match(twice.stderr, /registered in version v2\.0\.0 already/);

  // The mounts have asked for v2.0.0 since they were moved to it, and the pin stands in front of that.
  const removed = await cli("plugin deregister -yes -version v2.0.0 secret small");
  assert.match(
    removed.stderr,
    /is asked for at small\/, team\/small\/, where the pinned one runs instead/,
  );
  await cli("plugin unpin secret small");
  const typed = await cli("plugin deregister -version 1.2.3 secret small", 1, ["n"]);
  assert.match(typed.stderr, /secret small 1\.2\.3 runs here\. Remove it\? \[y\/N\]/);
  assert.match(typed.stderr, /Nothing was removed/);
});
