// `holdfast snapshot load`, `loaded`, `unload`, `-snapshot-id` and `recover` against the server itself.

import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { startServer } from "../support/servers/test-server.ts";
import { makeHome, run } from "./harness.ts";

const BOUND = { timeout: 300_000 };

async function stage(t: TestContext) {
  const server = await startServer();
  t.after(() => server.stop());
  const { token } = await server.open(1, 1);
  const home = makeHome((call) => t.after(call));
  const env = { HOLDFAST_ADDR: server.url, HOLDFAST_TOKEN: token, HOME: home };
  const cli = (...args: string[]) => run(args, { env });
  const must = async (...args: string[]) => {
    const done = await cli(...args);
    assert.equal(done.code, 0, `${args.join(" ")}: ${done.all}`);
    return done;
  };
  return { server, home, cli, must, file: join(home, "a.snap") };
}

test(
  "a secret that was overwritten is looked at in a snapshot, and comes back",
  BOUND,
  async (t) => {
    const { cli, must, file } = await stage(t);
    await must("secrets", "enable", "-path", "apps", "kv");
    await must("secrets", "enable", "-path", "plain", "kv-v1");
    await must("kv", "put", "apps/shop", "password=then");
    await must("kv", "put", "plain/shop", "password=then");
    await must("snapshot", "save", file);
    await must("kv", "put", "apps/shop", "password=now");
    await must("kv", "put", "plain/shop", "password=now");
    await must("kv", "put", "apps/later", "a=b");

    const none = await cli("snapshot", "loaded");
    assert.equal(none.code, 3);
    assert.match(none.stderr, /No snapshot is loaded/);
    const loaded = await must("snapshot", "load", file);
    const [, id = ""] = /^Id +(\S+)$/m.exec(loaded.stdout) ?? [];
    assert.match(id, /^[0-9a-f-]{36}$/);
    assert.match(loaded.stderr, new RegExp(`kv get -snapshot-id ${id}`));
    const listed = await must("snapshot", "loaded");
    assert.match(listed.stdout, new RegExp(id));

    const get = (...args: string[]) => must("kv", "get", "-field", "password", ...args);
    assert.equal((await get("apps/shop")).stdout, "now");
    assert.equal((await get("-snapshot-id", id, "apps/shop")).stdout, "then");
    assert.equal((await get("-snapshot-id", id, "plain/shop")).stdout, "then");
    const keys = await must("kv", "list", "-snapshot-id", id, "-format", "json", "apps");
    assert.deepEqual(JSON.parse(keys.stdout), ["shop"]);
    const typed = await must("read", "-snapshot-id", id, "-field", "password", "plain/shop");
    assert.equal(typed.stdout, "then");
    const names = await must("list", "-snapshot-id", id, "-format", "json", "apps/metadata");
    assert.deepEqual(JSON.parse(names.stdout), ["shop"]);

    const recovered = await must("kv", "recover", "-snapshot-id", id, "apps/shop");
    assert.match(recovered.all, /version 3|Version +3/);
    assert.equal((await get("apps/shop")).stdout, "then");
    await must("kv", "recover", "-snapshot-id", id, "plain/shop");
    assert.equal((await get("plain/shop")).stdout, "then");
    const absent = await cli("kv", "recover", "-snapshot-id", id, "apps/later");
    assert.equal(absent.code, 3, absent.all);
    assert.match(absent.stderr, /the snapshot holds nothing at this path/);

    await must("snapshot", "unload", id);
    const gone = await cli("kv", "get", "-snapshot-id", id, "apps/shop");
    assert.equal(gone.code, 3, gone.all);
    assert.match(gone.stderr, /no snapshot with that id is loaded: LIST .* shows which are \(/);
  },
);

test(
  "policies and roles come back with `recover`; a path of a secret is told its command",
  BOUND,
  async (t) => {
    const { cli, must, home, file } = await stage(t);
    await must("secrets", "enable", "-path", "apps", "kv");
    await must("write", "sys/policies/acl/dev", 'policy=path "apps/*" { capabilities = ["read"] }');
    await must("snapshot", "save", file);
    const id = (await must("snapshot", "load", "-field", "snapshot_id", file)).stdout.trim();
    await must("policy", "delete", "dev");
    assert.notEqual((await cli("policy", "read", "dev")).code, 0);
    assert.match((await must("policy", "read", "-snapshot-id", id, "dev")).stdout, /apps/);
    assert.match((await must("policy", "list", "-snapshot-id", id)).stdout, /^dev$/m);
    await must("recover", "-snapshot-id", id, "sys/policies/acl/dev");
    assert.match((await must("policy", "read", "dev")).stdout, /apps/);

    const stray = await cli("recover", "-snapshot-id", id, "apps/shop");
    assert.match(stray.stderr, /holdfast kv recover apps\/shop/);
    const nowhere = await cli("read", "-snapshot-id", id, "sys/mounts");
    assert.equal(nowhere.code, 1, nowhere.all);
    assert.match(nowhere.stderr, /nothing is answered from a snapshot here/);
    for (const words of [
      ["recover", "sys/policies/acl/dev"],
      ["kv", "recover", "apps/shop"],
    ]) {
      const missing = await cli(...words);
      assert.equal(missing.code, 2, missing.all);
      assert.match(missing.stderr, /-snapshot-id is missing/);
    }
    const both = await cli("kv", "list", "-deleted", "-snapshot-id", id, "apps");
    assert.match(both.stderr, /-deleted shows the bin of now/);
    assert.equal((await cli("snapshot", "load", join(home, "no-such"))).code, 2);
    writeFileSync(join(home, "foreign"), "no snapshot at all, but some text of forty bytes");
    const foreign = await cli("snapshot", "load", join(home, "foreign"));
    assert.equal(foreign.code, 1, foreign.all);
    assert.match(foreign.stderr, /^Next: check the file: it must be as `holdfast snapshot save`/m);
    for (const wrong of [
      ["snapshot", "unload", "nothing"],
      ["kv", "get", "-snapshot-id", "nothing", "apps/shop"],
    ]) {
      const { code, stderr } = await cli(...wrong);
      assert.equal(code, 3);
      assert.match(stderr, /Next: `holdfast snapshot loaded` shows which are/);
    }
  },
);
