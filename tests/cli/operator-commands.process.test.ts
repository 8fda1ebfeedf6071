// `operator` against a server that answers as the real one does: initialising, sealing, and the ceremonies.

import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import type { FakeServer } from "./fakes/fake-server.ts";
import { ROOT_TOKEN } from "./fakes/fake-server.ts";
import { eachWithServer } from "./fakes/each-with-server.ts";

let server: FakeServer;
let home: string;
const cli = eachWithServer((...began) => ([server, home] = began));

test("operator init prints each share once, on standard output alone", async () => {
  const { code, stdout, stderr } = await cli(["operator", "init"]);
  assert.equal(code, 0);
  for (const [i, share] of server.shares.entries()) {
    assert.equal(stdout.split(share).length, 2);
    assert.ok(stdout.includes(`Unseal Key ${i + 1}: ${share}\n`));
    assert.ok(!stderr.includes(share));
  }
  assert.ok(stdout.includes(`\n\nInitial Root Token: ${ROOT_TOKEN}\n`));
  assert.deepEqual(server.posted?.body, {}, "the defaults are the server's");
});

test("operator init -format json gives programs the server's answer and nothing else", async () => {
  const args = ["operator", "init", "-key-shares=3", "--key-threshold", "2", "-json"];
  const { stdout } = await cli(args);
  const made = JSON.parse(stdout);
  assert.equal(made.keys_base64.length, 3);
  assert.equal(made.root_token, ROOT_TOKEN);
  assert.deepEqual(server.posted?.body, { secret_shares: 3, secret_threshold: 2 });
});

test("operator init takes PGP keys from files and can leave the bootstrap open", async () => {
  const armoured = join(home, "a.asc");
  const binary = join(home, "b.gpg");
  writeFileSync(armoured, "-----BEGIN PGP PUBLIC KEY BLOCK-----\n\nabc\n");
  writeFileSync(binary, Buffer.from([0x99, 1, 2, 3]));
  const flags = ["-key-shares", "2", "-key-threshold", "2", "-acl-bootstrap-open"];
  await cli(["operator", "init", `-pgp-keys=${armoured},${binary}`, ...flags]);
  const body = server.posted?.body;
  const armour = "-----BEGIN PGP PUBLIC KEY BLOCK-----\n\nabc";
  assert.deepEqual(body?.["pgp_keys"], [armour, "mQECAw=="]);
  assert.equal(body?.["acl_bootstrap"], "open");
});

test("operator unseal asks for shares without echo until the server is open", async () => {
  server.opened(["share-a", "share-b", "share-c"], 2);
  server.sealed = true;
  const typed = ["share-c", "wrong", "share-a"];
  const { code, stdout, stderr, all, raw } = await cli(["operator", "unseal"], { typed });
  assert.equal(code, 0);
  assert.equal(server.sealed, false);
  assert.match(stderr, /\[#+-+\] 1\/2/);
  assert.match(stderr, /Error: invalid key/);
  assert.match(stdout, /^Sealed +false$/m);
  assert.deepEqual(raw, [true, false], "echo is off from the first prompt to the last");
  for (const share of typed) assert.ok(!all.includes(share));
});

test("operator unseal takes several shares that are pasted at once", async () => {
  server.opened();
  server.sealed = true;
  const { code } = await cli(["operator", "unseal"], { typed: ["share-c\rshare-a"] });
  assert.equal(code, 0);
  assert.equal(server.sealed, false);
});

test("operator unseal takes one share from standard input or from its argument", async () => {
  server.opened();
  server.sealed = true;
  const piped = await cli(["operator", "unseal", "-"], { stdin: "share-a\n" });
  assert.equal(piped.code, 0);
  assert.match(piped.stdout, /^Unseal Progress +1\/2$/m);
  const ran = await cli(["operator", "unseal", "share-b"]);
  assert.equal(server.sealed, false);
  assert.match(ran.stderr, /Warning: .*history/);
  assert.ok(!ran.all.includes("share-b"));
});

test("operator unseal without anybody to ask says so and sends nothing", async () => {
  server.opened();
  server.sealed = true;
  for (const options of [{}, { typed: [] }] as const) {
    const { code, stderr } = await cli(["operator", "unseal", "-non-interactive"], options);
    assert.equal(code, 2);
    assert.match(stderr, /there is no terminal to ask on: share/);
  }
  assert.ok(server.seen.every(({ method }) => method === "GET"));
});

test("operator unseal -reset drops what was given", async () => {
  server.opened();
  server.sealed = true;
  server.unsealShares.add("share-a");
  const { stdout } = await cli(["operator", "unseal", "-reset"]);
  assert.match(stdout, /^Unseal Progress +0\/2$/m);
});

test("operator seal, rotate, key-status and step-down do what they say", async () => {
  server.opened();
  assert.match((await cli(["operator", "rotate"])).stdout, /Key Term +2/);
  assert.match((await cli(["operator", "key-status"])).stdout, /^Encryption Count +7$/m);
  const alone = await cli(["operator", "step-down"]);
  assert.equal(alone.code, 1);
  assert.match(alone.stderr, /a single node: there is no other to give way to/);
  server.instead.set("GET sys/leader", { status: 200, body: { ha_enabled: true } });
  assert.equal((await cli(["operator", "step-down"])).code, 0);
  const no = await cli(["operator", "seal"], { typed: ["n"] });
  assert.equal(no.code, 1);
  for (const line of no.stderr.split("\n")) assert.ok(line.length <= 80, line);
  assert.match(no.stderr, /Seal http:[^]*\[y\/N\] [^]*Nothing was sealed/);
  assert.equal(server.sealed, false);
  const sealed = await cli(["operator", "seal"]);
  assert.deepEqual([sealed.code, sealed.stdout], [0, "Success! The server is sealed.\n"]);
  assert.equal(server.sealed, true);
  const again = await cli(["operator", "seal"]);
  assert.deepEqual([again.code, again.stderr], [0, "The server is sealed already.\n"]);
  const share = () => cli(["operator", "unseal", "-"], { stdin: "share-a" });
  assert.doesNotMatch((await share()).stderr, /given already/);
  assert.match((await share()).stderr, /Warning: this share was given already/);
});

test("what cannot be meant of a ceremony is told before anything is asked or ended", async () => {
  server.opened();
  for (const ceremony of ["generate-root", "rekey"]) {
    const { code, stdout } = await cli(["operator", ceremony, "-cancel"]);
    assert.deepEqual([code, stdout], [3, ""], ceremony);
  }
  const more = ["-key-shares=2", "-key-threshold=3"];
  for (const words of [["init"], ["rekey", "-init"]]) {
    const { code, stderr } = await cli(["operator", ...words, ...more]);
    assert.equal(code, 2);
    assert.match(stderr, /-key-threshold 3 is more than -key-shares 2/);
  }
  const decode = await cli(["operator", "generate-root", "-decode", "x"], { typed: ["otp"] });
  assert.equal(decode.code, 2);
  assert.doesNotMatch(decode.stderr, /One-time password \(/);
});

test("operator generate-root on a terminal goes from start to a readable token", async () => {
  server.opened();
  const typed = ["share-a", "share-b"];
  const ran = await cli(["operator", "generate-root"], { typed });
  assert.equal(ran.code, 0);
  assert.match(ran.stdout, /^Root Token +made-by-generate-root-0123456789abcd$/m);
  assert.match(ran.stderr, /root-nonce/);
  for (const share of typed) assert.ok(!ran.all.includes(share));
});

test("operator generate-root in steps: init, shares, decode, cancel", async () => {
  server.opened();
  const started = await cli(["operator", "generate-root", "-init", "-format", "json"]);
  const { otp } = JSON.parse(started.stdout);
  await cli(["operator", "generate-root", "-"], { stdin: "share-a" });
  const last = await cli(["operator", "generate-root", "-json", "-"], { stdin: "share-b" });
  const { encoded_token: encoded } = JSON.parse(last.stdout);
  const decode = ["operator", "generate-root", "-decode", encoded];
  const decoded = await cli([...decode, "-otp", "-", "-field", "token"], { stdin: otp });
  assert.equal(decoded.stdout, "made-by-generate-root-0123456789abcd");
  const ran = await cli(decode, { typed: [otp] });
  assert.match(ran.stdout, /made-by-generate-root/);
  const wrong = await cli([...decode, "-otp", "-"], { stdin: "short" });
  assert.equal(wrong.code, 2);
  assert.match(wrong.stderr, /has 5 bytes; it must have 36/);

  const { stdout, stderr } = await cli(["operator", "generate-root", "-init"]);
  assert.match(stdout, /^Cancel Nonce +root-cancel$/m);
  assert.match(stderr, /generate-root -cancel -nonce/);
  const cancel = ["operator", "generate-root", "-cancel"];
  assert.equal((await cli(cancel)).code, 4, "the server is not asked what would be right");
  assert.deepEqual(server.seen.at(-1)?.body, {}, "and no nonce is put in that nobody gave");
  assert.equal((await cli([...cancel, "-nonce", "root-cancel"])).code, 0);
  assert.equal(server.attempt, null);
});

test("operator rekey makes new shares valid only after they were entered", async () => {
  server.opened();
  const old = server.shares;
  const args = ["operator", "rekey", "-key-shares", "3", "-key-threshold", "2"];
  const half = await cli(args, { typed: ["share-a", "share-b", "bmV3LXNoYXJl1"] });
  assert.equal(half.code, 0);
  assert.match(half.stdout, /^Key 3: bmV3LXNoYXJl2$/m);
  assert.equal(server.shares, old, "the answer could have been lost: the old ones must still do");
  assert.match(half.stderr, /old shares are still valid/);
  for (const words of [["rekey"], ["rekey", "-verify"]]) {
    const left = await cli(["operator", ...words], { typed: [""] });
    const status = await cli(["operator", "rekey", "-verify", "-status"]);
    assert.equal(left.stdout, status.stdout, "left with an empty line: how it stands");
    assert.match(left.stdout, /^Nonce +verify-nonce$[^]*^New Threshold +2$[^]*^Progress +1\/2$/m);
    assert.doesNotMatch(left.stdout, /<none>/);
  }
  const rest = await cli(["operator", "rekey"], { typed: ["bmV3LXNoYXJl0"] });
  assert.match(rest.stderr, /new shares are valid/);
  assert.deepEqual(server.shares, ["bmV3LXNoYXJl0", "bmV3LXNoYXJl1", "bmV3LXNoYXJl2"]);
});

test("operator rekey in steps, and without verification where that is asked for", async () => {
  server.opened();
  const sizes = ["-key-shares", "2", "-key-threshold", "2"];
  const begun = await cli(["operator", "rekey", "-init", ...sizes]);
  assert.equal(server.seen.at(-1)?.body["require_verification"], true);
  assert.match(begun.stdout, /^Cancel Nonce +rekey-cancel$/m);
  assert.equal((await cli(["operator", "rekey", "-cancel"])).code, 4);
  assert.equal((await cli(["operator", "rekey", "-cancel", "-nonce", "rekey-cancel"])).code, 0);
  assert.equal(server.rekey, null);

  await cli(["operator", "rekey", "-init", "-no-verification", ...sizes]);
  assert.equal(server.seen.at(-1)?.body["require_verification"], false);
  await cli(["operator", "rekey", "-"], { stdin: "share-a" });
  const { stdout } = await cli(["operator", "rekey", "-json", "-"], { stdin: "share-b" });
  assert.deepEqual(JSON.parse(stdout).keys_base64, server.shares);
});

test("a ceremony that is left with an empty line says how to go on with it", async () => {
  server.opened();
  for (const name of ["rekey", "generate-root"]) {
    const { code, stdout, stderr } = await cli(["operator", name], { typed: ["share-a", ""] });
    assert.equal(code, 0);
    assert.match(stdout, /^Progress +1\/2$/m);
    assert.match(
      stderr,
      new RegExp(`^Next: \`holdfast operator ${name}\` with more shares [^]*-cancel ends it$`, "m"),
    );
  }
});

test("a ceremony that nobody started is not fed", async () => {
  server.opened();
  for (const name of ["rekey", "generate-root"]) {
    const { code, stderr } = await cli(["operator", name, "-"], { stdin: "share-a" });
    assert.equal(code, 2);
    assert.match(stderr, /-init/);
  }
  assert.ok(server.seen.every(({ method }) => method === "GET"));
});

test("operator unseal says that there is nothing to unseal before it asks for a share", async () => {
  for (const options of [{ typed: ["share"] }, { stdin: "share" }]) {
    const args = ["operator", "unseal", ...("stdin" in options ? ["-"] : [])];
    const { code, stderr } = await cli(args, options);
    assert.equal(code, 1);
    assert.match(
      stderr,
      /^Error: the server is not initialised.*\nNext: run `holdfast operator init` [^]* its disk is not mounted/,
    );
  }
  assert.ok(server.seen.every(({ path }) => path === "sys/seal-status"));
});
