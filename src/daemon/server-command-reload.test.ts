// Reloads of the process around a server, with a host and a server that are made up: what is taken over, and what is told.

import assert from "node:assert/strict";
import test from "node:test";
import { DAY, SECOND } from "@holdfast/shared/text/duration";
import { CONFIG_FILE, fakeDaemon, LISTENER } from "../../tests/support/fake-daemon.ts";
import { nextTurn } from "../../tests/support/fake-world.ts";
import { makeDevCertificate } from "./dev/dev-certificate.ts";
import { started, until, up } from "../../tests/support/daemon/started-daemon.ts";

test("SIGHUP takes over a new configuration: the server's part, the log level, and words on the rest", async () => {
  const { host, server, files, ended, log } = await up();
  files.texts.set(CONFIG_FILE, `${LISTENER} log_level = "warn" region = "elsewhere"`);
  server.problems = ["listener 1: the certificate is broken"];
  host.signal("SIGHUP");
  await until(() => server.reloads.length === 1);
  await nextTurn();
  assert.equal(server.reloads[0]?.region, "elsewhere");
  assert.match(log(), /could not reload everything: cause="listener 1: the certificate is broken"/);
  assert.match(log(), /takes effect at the next start: setting=region/);
  const before = host.errors.length;
  host.signal("SIGTERM");
  assert.equal(await ended, 0);
  assert.deepEqual(host.errors.slice(before), [], "stopping is logged at info, which is off now");
});

test("a broken configuration on SIGHUP is told and the old one stays", async () => {
  const { host, server, files, ended, log } = await up();
  files.texts.set(CONFIG_FILE, "ui = 3\nlistener {");
  host.signal("SIGHUP");
  await until(() => log().includes("could not reload everything"));
  assert.match(log(), /\/etc\/h.hcl:2:11: /);
  assert.deepEqual(server.reloads, []);
  host.signal("SIGTERM");
  assert.equal(await ended, 0);
});

test("the API's reload does what SIGHUP does, and tells the caller what went wrong", async () => {
  const { server, host, files, opened, ended } = await up();
  const reload = opened[0]?.parts.reload;
  assert.ok(reload !== undefined);
  await reload();
  assert.equal(server.reloads.length, 1);
  server.problems = ["listener 1: broken"];
  await assert.rejects(reload(), /listener 1: broken/);
  files.texts.set(CONFIG_FILE, "ui = 3");
  await assert.rejects(reload(), /h.hcl:1:6: "ui": expected true or false/);
  assert.equal(server.reloads.length, 2);
  host.signal("SIGTERM");
  assert.equal(await ended, 0);
});

test("a level turned over the API holds for the next line, and a reload turns it back", async () => {
  const { host, opened, log, ended } = await up();
  const parts = opened[0]?.parts;
  assert.ok(parts !== undefined);
  parts.log.debug("before");
  parts.dial.level = "debug";
  parts.log.debug("after");
  host.signal("SIGHUP");
  await until(() => log().includes("reloaded"));
  parts.log.debug("later");
  assert.deepEqual(log().match(/before|after|later/g), ["after"]);
  host.signal("SIGTERM");
  assert.equal(await ended, 0);
});

test("many SIGHUPs during one reload give one more, not many", async () => {
  const { host, server, ended } = await up();
  const reloading = Promise.withResolvers<void>();
  server.reloading = () => reloading.promise;
  for (let i = 0; i < 5; i++) host.signal("SIGHUP");
  await until(() => server.reloads.length === 1);
  for (let i = 0; i < 5; i++) host.signal("SIGHUP");
  reloading.resolve();
  await until(() => server.reloads.length === 2);
  for (let i = 0; i < 20; i++) await nextTurn();
  assert.equal(server.reloads.length, 2);
  host.signal("SIGTERM");
  assert.equal(await ended, 0);
});

test("tls_auto_reload asks for a reload when a certificate file changes, and only then", async () => {
  const tls = 'tls_cert_file = "/tls/c" tls_key_file = "/tls/k" tls_auto_reload = true';
  const daemon = fakeDaemon({
    [CONFIG_FILE]: `listener "tcp" { ${tls} }`,
    "/tls/c": "one",
    "/tls/k": "two",
  });
  const { ended } = started(daemon, "--config", CONFIG_FILE);
  await until(() => daemon.host.starts === 1);
  await daemon.timers.advance(61n * SECOND);
  assert.equal(daemon.server.reloads.length, 0);
  daemon.files.texts.set("/tls/c", "new");
  await daemon.timers.advance(31n * SECOND);
  await until(() => daemon.server.reloads.length === 1);
  await daemon.timers.advance(61n * SECOND);
  assert.equal(daemon.server.reloads.length, 1);
  daemon.host.signal("SIGTERM");
  assert.equal(await ended, 0);
});

test("a certificate that has expired is taken over with a warning, at the start, by SIGHUP and by itself", async () => {
  const tls = 'tls_cert_file = "/tls/c" tls_key_file = "/tls/k" tls_auto_reload = true';
  const daemon = fakeDaemon({ [CONFIG_FILE]: `listener "tcp" { ${tls} }` });
  const name = [{ type: "ip", value: "127.0.0.1" }] as const;
  const put = async (age: bigint) => {
    const { certificate, key } = await makeDevCertificate(name, daemon.clock.now() - age);
    daemon.files.texts.set("/tls/c", certificate);
    daemon.files.texts.set("/tls/k", key);
  };
  const warnings = () => daemon.host.errors.join("").match(/WARN.*expired on.*clients refuse/g);
  await put(0n);
  const { ended } = started(daemon, "--config", CONFIG_FILE);
  await until(() => daemon.host.starts === 1);
  assert.equal(warnings(), null);
  await put(4000n * DAY);
  daemon.host.signal("SIGHUP");
  await until(() => daemon.server.reloads.length === 1);
  await until(() => warnings()?.length === 1);
  await put(4001n * DAY);
  await daemon.timers.advance(31n * SECOND);
  await until(() => warnings()?.length === 2);
  daemon.host.signal("SIGTERM");
  assert.equal(await ended, 0);
});
