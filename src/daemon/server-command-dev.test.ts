// Dev mode of the process around a server, with a host and a server that are made up.

import assert from "node:assert/strict";
import test from "node:test";
import {
  CONFIG_FILE,
  fakeDaemon,
  type FakeDaemon,
  LISTENER,
} from "../../tests/support/fake-daemon.ts";
import { dev, ends } from "../../tests/support/daemon/started-daemon.ts";

test("dev mode is memory on loopback, initialised and unsealed, with a banner and the token in its file", async () => {
  const daemon = fakeDaemon();
  daemon.server.initialised = false;
  const { ended, banner } = await dev(daemon, "-dev-root-token-id", "root-token");
  const [opened] = daemon.opened;
  assert.equal(opened?.config.storage.type, "memory");
  assert.deepEqual(opened?.parts.dev, { rootToken: "root-token", attached: new Map() });
  const [listener] = opened?.config.listeners ?? [];
  assert.ok(listener?.kind === "tcp" && listener.tls === null);
  assert.deepEqual([listener.host, listener.port], ["127.0.0.1", 8200]);
  assert.deepEqual(daemon.server.unsealedWith, ["c2hhcmU="]);
  assert.equal(daemon.files.texts.get("/home/me/.holdfast-token"), "root-token\n");
  for (const part of [
    "Address     http://127.0.0.1:8200\n",
    "Unseal key  c2hhcmU=\n",
    "Root token  root-token\n",
    "also in /home/me/.holdfast-token",
    "\n  export HOLDFAST_ADDR=http://127.0.0.1:8200\n  /opt/holdfast/bin/holdfast status\n  /opt/holdfast/bin/holdfast kv put secret/hello who=world\n  /opt/holdfast/bin/holdfast kv get secret/hello\n",
  ]) {
    assert.ok(banner.includes(part), `${part} in ${banner}`);
  }
  daemon.host.signal("SIGINT");
  assert.equal(await ended, 0);
  assert.deepEqual(daemon.host.removed, ["/tmp/holdfast-dev-x"]);
});

test("on a terminal of 80 columns banner and refusals fit, but for a path that does not", async () => {
  const refused = fakeDaemon({ [CONFIG_FILE]: LISTENER });
  refused.host.writable = false;
  refused.host.columns = 80;
  assert.equal(await ends(refused, "--config", CONFIG_FILE), 2);
  const daemon = fakeDaemon();
  daemon.server.initialised = false;
  daemon.host.home = "/home/somebody/with/a/longer/home";
  const { ended, banner } = await dev(daemon);
  assert.match(banner, /also in \/home\/somebody/);
  const lines = [...banner.split("\n"), ...refused.host.errors.join("").split("\n")];
  assert.ok(lines.length > 15);
  for (const line of lines) assert.ok(line.length <= 80, line);
  assert.match(refused.host.errors.join(""), /\n {10}\S/, "it goes on below its beginning");
  daemon.host.signal("SIGTERM");
  assert.equal(await ended, 0);
});

test("in a checkout too the banner's commands are paths: npx would ask a public registry elsewhere", async () => {
  const daemon = fresh(fakeDaemon());
  daemon.host.directory = daemon.host.root;
  const { ended, banner } = await dev(daemon);
  assert.match(banner, /\n {2}\/opt\/holdfast\/bin\/holdfast status\n/);
  assert.ok(!banner.includes("npx"));
  daemon.host.signal("SIGINT");
  await ended;
});

function fresh(daemon: FakeDaemon): FakeDaemon {
  daemon.server.initialised = false;
  return daemon;
}

test("a token of another server in the token file is left alone, and the banner's commands say the token", async () => {
  const daemon = fresh(fakeDaemon());
  daemon.files.texts.set("/home/me/.holdfast-token", "production\n");
  const { ended, banner } = await dev(daemon);
  assert.equal(daemon.files.texts.get("/home/me/.holdfast-token"), "production\n");
  assert.match(banner, /holds another token and was left as it\s+is/);
  assert.match(banner, /export HOLDFAST_ADDR=\S+\n {2}export HOLDFAST_TOKEN=root-token\n/);
  daemon.host.signal("SIGINT");
  await ended;
});

test("a dev server takes its token away at its end, and leaves that of one that runs", async () => {
  const daemon = fresh(fakeDaemon());
  const first = await dev(daemon);
  const other = fresh(fakeDaemon(Object.fromEntries(daemon.files.texts)));
  other.host.pid = 4712;
  other.host.alive.add(daemon.host.pid);
  other.server.rootToken = "another";
  const second = await dev(other);
  assert.equal(other.files.texts.get("/home/me/.holdfast-token"), "root-token\n");
  assert.match(second.banner, /holds\s+the\s+token\s+of\s+a\s+dev\s+server\s+that\s+runs\s+still/);
  assert.match(second.banner, /export HOLDFAST_ADDR=\S+\n {2}export HOLDFAST_TOKEN=another\n/);
  other.host.signal("SIGINT");
  await second.ended;
  assert.equal(other.files.texts.get("/home/me/.holdfast-token"), "root-token\n");
  daemon.host.signal("SIGINT");
  await first.ended;
  assert.ok(!daemon.files.texts.has("/home/me/.holdfast-token"));
  assert.ok(!daemon.files.texts.has("/home/me/.holdfast-token-dev"));
});

test("the token of a dev server that was killed is replaced", async () => {
  const daemon = fresh(fakeDaemon());
  const first = await dev(daemon);
  const left = Object.fromEntries(daemon.files.texts);
  daemon.host.signal("SIGINT");
  await first.ended;
  const next = fresh(fakeDaemon(left));
  next.server.rootToken = "another";
  const second = await dev(next);
  assert.equal(next.files.texts.get("/home/me/.holdfast-token"), "another\n");
  next.host.signal("SIGINT");
  await second.ended;
});

test("--dev-persist comes up unsealed again with the same key and token", async () => {
  const daemon = fresh(fakeDaemon());
  const first = await dev(daemon, "--dev-persist", "store");
  assert.equal(daemon.opened[0]?.config.directories.store, "/srv/store/store");
  assert.equal(daemon.opened[0]?.config.storage.type, "sqlite");
  daemon.host.signal("SIGINT");
  assert.equal(await first.ended, 0);
  assert.deepEqual(daemon.host.removed, []);
  const next = fakeDaemon(Object.fromEntries(daemon.files.texts));
  const second = await dev(next, "--dev-persist", "store");
  assert.deepEqual(next.server.unsealedWith, ["c2hhcmU="]);
  assert.match(second.banner, /Root token {2}root-token\n/);
  next.host.signal("SIGINT");
  assert.equal(await second.ended, 0);
});

test("--dev-persist refuses a store whose key it does not have, and another root token", async () => {
  const foreign = fakeDaemon();
  const { ended } = await dev(foreign, "--dev-persist", "/store");
  assert.equal(await ended, 1);
  assert.match(foreign.host.errors.join(""), /but not the dev-keys.json that opens it/);
  assert.equal(foreign.server.stops, 1);
  const keys = { "/store/dev-keys.json": '{"unseal_key": "k", "root_token": "one"}' };
  const other = fakeDaemon(keys);
  const run = await dev(other, "--dev-persist", "/store", "--dev-root-token-id", "two");
  assert.equal(await run.ended, 1);
  assert.match(other.host.errors.join(""), /made with another root token/);
  const broken = fakeDaemon({ "/store/dev-keys.json": '{"unseal_key": "s3cr3t"' });
  const last = await dev(broken, "--dev-persist", "/store");
  assert.equal(await last.ended, 1);
  assert.ok(!broken.host.errors.join("").includes("s3cr3t"));
});

test("an address that others reach needs --dev-insecure-listen", async () => {
  const daemon = fresh(fakeDaemon());
  const { ended } = await dev(daemon, "-dev-listen-address=0.0.0.0:9000", "-dev-insecure-listen");
  const [listener] = daemon.opened[0]?.config.listeners ?? [];
  assert.ok(listener?.kind === "tcp" && listener.port === 9000);
  daemon.host.signal("SIGINT");
  assert.equal(await ended, 0);
});

test("in dev mode a debugger is the developer's business, but NODE_OPTIONS is still refused", async () => {
  const daemon = fresh(fakeDaemon());
  daemon.host.runtime = { ...daemon.host.runtime, flags: ["--inspect"], inspecting: true };
  const { ended } = await dev(daemon);
  assert.match(daemon.host.errors.join(""), /\[WARN\].*--inspect/);
  daemon.host.signal("SIGINT");
  assert.equal(await ended, 0);
  const refused = fresh(fakeDaemon());
  refused.host.env = { NODE_OPTIONS: "--inspect" };
  assert.equal(await ends(refused, "--dev"), 2);
});
