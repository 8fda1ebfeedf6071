// `holdfast server --dev --dev-plugin-dir DIR`: every program of the folder that is a plugin is registered as what it is, mounted, and
// reloaded when it is replaced; what is none is said.

import assert from "node:assert/strict";
import { chmodSync, copyFileSync, mkdirSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { at, call } from "../support/http-client.ts";
import { served } from "../support/plugins/child-type.ts";
import { smallPlugin } from "../support/plugins/plugin-place.ts";
import { DevServer } from "./dev-server.ts";
import { makeHome } from "./harness.ts";

const WAY_IN = { file: "engines/userpass/userpass.ts", exported: "userpassType()" };
const MODULES = JSON.stringify(
  join(import.meta.dirname, "..", "..", "scripts", "find-own-modules.ts"),
);
const SERVE = JSON.stringify(
  join(import.meta.dirname, "..", "..", "plugin-sdk", "serve", "serve-database.ts"),
);
const DATABASE = `#!/usr/bin/env node
await import(${MODULES});
const { serveDatabase } = await import(${SERVE});
await serveDatabase({ name: "x", secretFields: [], maxUsername: 8, open: async () => ({ close: async () => {} }) });
`;

test("programs of a folder are mounted as what they are, by the names of their files; one that is replaced is reloaded, and one that comes is mounted", async (t) => {
  const home = makeHome((work) => t.after(work));
  const folder = join(home, "programs");
  mkdirSync(folder);
  const put = (name: string, text: string, mode = 0o755) => {
    // As an installation does it: whole, under its name.
    const path = join(home, name);
    writeFileSync(path, text);
    chmodSync(path, mode);
    renameSync(path, join(folder, name));
  };
  put("small-one", smallPlugin("one"));
  put("people.mjs", served(WAY_IN));
  put("stores", DATABASE);
  put("README", "no program", 0o644);
  put("not-one", "#!/bin/sh\necho not one\n");
  const server = await DevServer.start(t, home, ["--dev-plugin-dir", "programs"]);
  await server.says(/plugin small-one v1\.2\.3 is mounted at small-one\/; small-one is watched/);
  await server.says(/plugin people v\S+ is mounted at auth\/people\/; people\.mjs is watched/);
  await server.says(/plugin stores is registered: write database\/config\/NAME plugin_name=stores/);
  await server.says(/not-one: .*could not be started/);
  await server.says(/\] {2}ready/);
  assert.doesNotMatch(server.text, /README/);
  const ask = (method: string, path: string, body?: object) =>
    call(server.address, method, `/v1/${path}`, {
      token: server.token,
      ...(body === undefined ? {} : { body }),
    });
  assert.equal((await ask("POST", "small-one/kv/a", { value: "one" })).status, 204);
  const pid = async (path: string) => at(await ask("GET", `${path}/pid`), "data", "pid");
  const before = await pid("small-one");
  const catalog = await ask("GET", "sys/plugins/catalog");
  assert.ok((at(catalog, "data", "database") as string[]).includes("stores"));
  assert.match((await ask("GET", "sys/mounts")).text, /"database\/"/);

  put("small-one", smallPlugin("two"));
  await server.says(/plugin small-one v1\.2\.3 was replaced and reloaded/);
  assert.notEqual(await pid("small-one"), before);
  assert.equal(at(await ask("GET", "small-one/kv/a"), "data", "value"), "one", "with its data");
  put("small-one", "#!/bin/sh\nexit 3\n");
  await server.says(/small-one: .*could not be started/);
  assert.equal((await ask("GET", "small-one/kv/a")).status, 200, "the one before goes on");
  copyFileSync("/bin/true", join(folder, "true"));
  put("late", smallPlugin("late"));
  await server.says(/plugin late v1\.2\.3 is mounted at late\/; late is watched/);
  assert.equal(await server.stop(), 0);
});

test("a folder of programs is for development mode alone, is there, and goes with nothing that is kept", () => {
  assert.match(DevServer.refused(["--dev-plugin-dir", "x"]), /--dev-plugin-dir needs --dev/);
  assert.match(
    DevServer.refused(["--dev", "--dev-plugin-dir", "/nowhere/at/all"], 1),
    /--dev-plugin-dir: there is no folder \/nowhere\/at\/all/,
  );
  const kept = ["--dev", "--dev-plugin-dir", "x", "--dev-persist", "y"];
  assert.match(DevServer.refused(kept), /--dev-plugin-dir goes without --dev-persist/);
});
