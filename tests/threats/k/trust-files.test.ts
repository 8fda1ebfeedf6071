// T-H12: files that an operator names over HTTP, to say whom a call trusts. Whatever lies there, the answer is one text, and
// nothing of it is told.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { makeCertificate } from "@holdfast/plugin-sdk/wire/certificate";
import { SystemClock } from "../../../src/system/clock.ts";
import { SystemRandom } from "../../../src/system/random.ts";
import { at } from "../../support/http-client.ts";
import { startCluster, startPrimary } from "../../support/replication/clusters.ts";

const SECRET = "a line of a secret file";

test("T-H12: a file that is no certificate is told of with one text, whatever it is", async (t) => {
  const place = mkdtempSync(join(tmpdir(), "holdfast-trust-"));
  t.after(() => rmSync(place, { recursive: true, force: true }));
  const file = (name: string) => join(place, name);
  writeFileSync(file("secret.pem"), `${SECRET}\n`);
  writeFileSync(
    file("half.pem"),
    `-----BEGIN CERTIFICATE-----\n${SECRET}\n-----END CERTIFICATE-----\n`,
  );
  writeFileSync(file("large.pem"), "");
  truncateSync(file("large.pem"), 1024 ** 3);
  writeFileSync(file("empty.pem"), "");
  mkdirSync(file("folder"));
  writeFileSync(join(file("folder"), "a.pem"), SECRET);
  execFileSync("mkfifo", [file("pipe.pem")]);
  symlinkSync(file("secret.pem"), file("link.pem"));
  // Good ones, and more of them than anybody trusts.
  const { certificatePem } = makeCertificate({
    clock: new SystemClock(),
    random: new SystemRandom(),
  });
  mkdirSync(file("many"));
  for (let i = 0; i < 257; i++) writeFileSync(join(file("many"), `${i}.pem`), certificatePem);
  const primary = await startPrimary(t, { settings: { api_addr: "https://primary.example:8200" } });
  const made = await primary.dr("primary/secondary-token", { id: "site-b" });
  const token = at(made, "wrap_info", "token");
  const other = await startCluster(t);
  const tried = async (trust: object) => {
    const { status, text } = await other.dr("secondary/enable", { token, ...trust });
    assert.equal(status, 400, text);
    for (const part of [SECRET, place, "root:", "ENOENT", "EACCES", "PATH="]) {
      assert.ok(!text.includes(part), text);
    }
    return text;
  };
  const files = [
    "/etc/shadow",
    "/etc/passwd",
    "/proc/self/environ",
    "/dev/zero",
    "/nowhere/at/all",
    ...["secret", "half", "large", "empty", "pipe", "link"].map((name) => file(`${name}.pem`)),
    file("folder"),
    file("secret.pem\0"),
  ];
  const texts = new Set<string>();
  for (const ca_file of files) texts.add(await tried({ ca_file }));
  assert.equal(texts.size, 1, [...texts].join("\n"));
  const below = new Set<string>();
  for (const ca_path of [
    file("folder"),
    place,
    "/etc",
    "/proc/self",
    "/nowhere",
    file("secret.pem"),
    file("many"),
    file("folder\0"),
  ]) {
    below.add(await tried({ ca_path }));
  }
  assert.equal(below.size, 1, [...below].join("\n"));
  assert.equal((await other.status())["mode"], "disabled");
});
