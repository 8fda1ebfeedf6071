// Files on the server's machine that somebody names who configures a plugin, or puts where its images are.

import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import {
  mkdirSync,
  mkdtempSync,
  rmSync,
  symlinkSync,
  truncateSync,
  unlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import test, { type TestContext } from "node:test";
import { makeCertificate } from "@holdfast/plugin-sdk/wire/certificate";
import { SystemChildProcesses } from "../../../src/system/child-processes.ts";
import { SystemClock } from "../../../src/system/clock.ts";
import { SystemRandom } from "../../../src/system/random.ts";
import { errorsOf } from "../../support/http-client.ts";
import { putPlugin } from "../../support/databases/postgresql-plugin.ts";
import { putImage } from "../../support/plugins/image-place.ts";
import { PluginServer } from "../../support/plugins/mounted-plugins.ts";
import { runs } from "../../support/plugins/plugin-place.ts";
import { makeImage, plainLayer, tarOf } from "../../../src/plugins/images/made-image.ts";

const SECRET = "a line of a secret file";

/** What lies about on a machine, by where it is. */
function oddFiles(t: TestContext): { readonly place: string; readonly files: readonly string[] } {
  const place = mkdtempSync(join(tmpdir(), "holdfast-odd-"));
  t.after(() => rmSync(place, { recursive: true, force: true }));
  const at = (name: string) => join(place, name);
  writeFileSync(at("secret.pem"), `${SECRET}\n`);
  const [begin, end] = ["BEGIN", "END"].map((word) => `-----${word} CERTIFICATE-----`);
  writeFileSync(at("half.pem"), `${begin}\n${SECRET}\n${end}\n`);
  writeFileSync(at("large.pem"), "");
  truncateSync(at("large.pem"), 1024 ** 3);
  writeFileSync(at("empty.pem"), "");
  mkdirSync(at("folder"));
  execFileSync("mkfifo", [at("pipe.pem")]);
  symlinkSync(at("secret.pem"), at("link.pem"));
  // What a link leads to is not taken, also where it would do.
  const world = { clock: new SystemClock(), random: new SystemRandom() };
  writeFileSync(at("real"), makeCertificate(world).certificatePem);
  symlinkSync(at("real"), at("link-to-real.pem"));
  const own = [
    "secret.pem",
    "half.pem",
    "large.pem",
    "empty.pem",
    "pipe.pem",
    "link.pem",
    "link-to-real.pem",
    "folder",
  ];
  const everywhere = ["/etc/shadow", "/proc/self/environ", "/dev/zero", "/nowhere/at/all"];
  return { place, files: [...everywhere, ...own.map(at)] };
}

test("T-H12: a file that a connection names to say whom it trusts is told of with one text, whatever it is", async (t) => {
  const { place, files } = oddFiles(t);
  const server = await PluginServer.start(t);
  const sha256 = putPlugin(server.place);
  await server.register({
    type: "database",
    name: "postgresql",
    command: "postgresql.mjs",
    sha256,
    args: [],
  });
  await server.ok("POST", "sys/mounts/database", { type: "database" });
  const texts = new Set<string>();
  for (const file of files) {
    const query = `sslmode=verify-full&sslrootcert=${encodeURIComponent(file)}`;
    const answer = await server.call("POST", "database/config/pg", {
      body: {
        plugin_name: "postgresql",
        connection_url: `postgresql://{{username}}:{{password}}@127.0.0.1:1/x?${query}`,
        username: "u",
        password: "p",
        allowed_roles: ["*"],
      },
    });
    assert.equal(answer.status, 400, `${file}: ${answer.text}`);
    for (const part of [SECRET, place, "root:", "ENOENT", "EACCES", "PATH="]) {
      assert.ok(!answer.text.includes(part), answer.text);
    }
    texts.add(String(errorsOf(answer)));
  }
  assert.equal(texts.size, 1, [...texts].join("\n"));
  const restarts = server.test.server.plugins.processes.figures?.of("postgresql").restarts ?? 0;
  assert.equal(restarts, 0, "none of them has ended the plugin");
});

test("T-H12: what lies in the place of an image's own documents is not read, whatever it is", async (t) => {
  const { place, files } = oddFiles(t);
  const server = await PluginServer.start(t, { settings: { plugin_oci_runtimes: ["runc"] } });
  await server.ok("POST", "sys/plugins/runtimes/catalog/container/r", { oci_runtime: "runc" });
  const image = makeImage([plainLayer(tarOf([]))], { Entrypoint: ["/x"] }, process.arch);
  const sha256 = putImage(server.place.directory, "team/odd", image);
  const index = join(server.place.directory, "images", "team", "odd", "index.json");
  for (const file of files) {
    unlinkSync(index);
    symlinkSync(file, index);
    const body = { oci_image: "team/odd", sha256, runtime: "r" };
    const answer = await server.call("POST", "sys/plugins/catalog/secret/odd", { body });
    assert.equal(answer.status, 400, `${file}: ${answer.text}`);
    for (const part of [SECRET, place, "root:", "PATH="]) {
      assert.ok(!answer.text.includes(part), answer.text);
    }
  }
  // The same without a link: nobody waits for a pipe, and what is large is not read to its end.
  unlinkSync(index);
  execFileSync("mkfifo", [index]);
  const body = { oci_image: "team/odd", sha256, runtime: "r" };
  const tried = () => server.call("POST", "sys/plugins/catalog/secret/odd", { body });
  assert.match((await tried()).text, /index\.json is no file/);
  unlinkSync(index);
  writeFileSync(index, "");
  truncateSync(index, 1024 ** 3);
  assert.match((await tried()).text, /has more than \d+ bytes/);
  for (const oci_image of ["../../etc", "/etc/shadow", "a/../../b", ".", "a//b"]) {
    const answer = await server.call("POST", "sys/plugins/catalog/secret/odd", {
      body: { ...body, oci_image },
    });
    assert.equal(answer.status, 400, oci_image);
    assert.match(answer.text, /oci_image must be the name of an image/, oci_image);
  }
});

test("T-H13: what an earlier run has noted is ended only where it is the same process still", async (t) => {
  const server = await PluginServer.start(t);
  const children = new SystemChildProcesses();
  const [innocent, leftover] = await Promise.all(
    [1, 2].map(async () => {
      const child = spawn("/bin/sleep", ["600"], { detached: true, stdio: "ignore" });
      await once(child, "spawn");
      return { child, pid: child.pid ?? 0, began: children.look(child.pid ?? 0)?.began ?? "" };
    }),
  );
  assert.ok(innocent !== undefined && leftover !== undefined);
  t.after(() => void innocent.child.kill("SIGKILL"));
  await server.ok("POST", "sys/seal");
  const run = join(server.place.temporary, "holdfast-0123456789ab");
  mkdirSync(run, { mode: 0o700 });
  writeFileSync(join(run, "server"), `${process.pid} 1\n`); // our number, at another time
  writeFileSync(join(run, "1.group"), `${innocent.pid} ${Number(innocent.began) + 1}\n`);
  writeFileSync(join(run, "2.group"), `${leftover.pid} ${leftover.began}\n`);
  const gone = once(leftover.child, "exit");
  await server.test.unseal(server.opened.shares);
  await gone;
  assert.ok(runs(innocent.pid), "another process has that number by now");
  assert.deepEqual(server.place.runs(), []);
});
