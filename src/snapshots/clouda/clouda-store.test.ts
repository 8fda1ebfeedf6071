import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import test, { type TestContext } from "node:test";
import {
  s3Error,
  startFakeS3,
  type FakeS3Options,
} from "../../../tests/fakes/stores/clouda-store.ts";
import { settingsOf } from "../../../tests/support/snapshots/settings.ts";
import { someBytes, sourceOf } from "../../../tests/support/snapshots/sources.ts";
import { targetNeeds } from "../../../tests/support/snapshots/target-needs.ts";
import { openTarget } from "../targets/open-target.ts";
import type { CloudASettings } from "../targets/settings.ts";
import { nameAt } from "../targets/target.ts";
import { signed } from "./sigv4.ts";

const { signal } = new AbortController();
const NAME = nameAt("nightly", 1n);
const LARGE = 5 * 1024 * 1024 + 1;

async function store(
  t: TestContext,
  change: Partial<CloudASettings> = {},
  options: FakeS3Options & { readonly environment?: Record<string, string> } = {},
) {
  const { environment = {}, ...rest } = options;
  const fake = await startFakeS3(rest);
  t.after(() => fake.close());
  const needs = targetNeeds(t, { environment });
  const open = (more: Partial<CloudASettings> = {}) =>
    openTarget(settingsOf.clouda(fake, { ...change, ...more }), needs);
  return { fake, open };
}

test("a signature is that of the provider's own example", () => {
  const headers = signed(
    {
      method: "GET",
      url: new URL("https://examplebucket.s3.amazonaws.com/test.txt"),
      headers: { range: "bytes=0-9" },
      sha256: "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    },
    {
      accessKeyId: "AKIAIOSFODNN7EXAMPLE",
      secretAccessKey: "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
      sessionToken: "",
    },
    { region: "us-east-1", service: "s3" },
    BigInt(Date.UTC(2013, 4, 24)) * 1_000_000n,
  );
  assert.match(
    headers["authorization"] ?? "",
    /Signature=f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41$/,
  );
});

test("the bucket has a host of its own, or a path where that is asked for or must be", async (t) => {
  const { fake, open } = await store(t);
  const endpoint = `http://store.example:${fake.port}`;
  const own = await open({ endpoint });
  await own.probe(signal);
  assert.ok(fake.log.every(({ host }) => host === `backups.store.example:${fake.port}`));
  assert.ok(fake.log.some(({ path }) => path.startsWith("/east/daily/nightly-probe-")));
  assert.equal(own.urlOf("x"), `http://store.example:${fake.port}/backups/east/daily/x`);
  fake.log.length = 0;
  const byPath = await open({ endpoint, forcePathStyle: true });
  await byPath.probe(signal);
  assert.ok(fake.log.every(({ host }) => host === `store.example:${fake.port}`));
  assert.ok(fake.log.some(({ path }) => path.startsWith("/backups/east/daily/nightly-probe-")));
  fake.log.length = 0;
  const withoutScheme = await open({ endpoint: `127.0.0.1:${fake.port}` });
  await withoutScheme.probe(signal);
  assert.ok(fake.log.length > 0);
});

test("without an endpoint it is that of the region, over TLS unless that is switched off", async (t) => {
  const { open } = await store(t);
  const at = async (change: Partial<CloudASettings>) =>
    (await open({ endpoint: "", disableTls: false, ...change })).urlOf("x");
  const path = "/backups/east/daily/x";
  assert.equal(await at({ region: "eu-west-1" }), `https://s3.eu-west-1.amazonaws.com${path}`);
  assert.equal(await at({ region: "cn-north-1" }), `https://s3.cn-north-1.amazonaws.com.cn${path}`);
  assert.equal(
    await at({ region: "eu-west-1", disableTls: true }),
    `http://s3.eu-west-1.amazonaws.com${path}`,
  );
  await assert.rejects(open({ endpoint: "http://store.example", disableTls: false }), /https/);
  await assert.rejects(open({ endpoint: "https://store.example" }), /contradict/);
});

test("encryption is asked for as it is set, in one piece and in parts, and nothing is sent where it is not", async (t) => {
  const name = "x-amz-server-side-encryption";
  const key = `${name}-aws-kms-key-id`;
  const cases: readonly [Partial<CloudASettings>, string | undefined, string | undefined][] = [
    [{}, undefined, undefined],
    [{ serverSideEncryption: true }, "AES256", undefined],
    [{ enableKms: true }, "aws:kms", undefined],
    [{ enableKms: true, kmsKey: "alias/backups" }, "aws:kms", "alias/backups"],
  ];
  const { fake, open } = await store(t);
  for (const [change, kind, kmsKey] of cases) {
    const target = await open(change);
    for (const size of [10, LARGE]) {
      await target.put(NAME, sourceOf(someBytes(size)), { signal });
      const stored = fake.objects.get(`east/daily/${NAME}`)?.headers ?? {};
      assert.equal(stored[name], kind);
      assert.equal(stored[key], kmsKey);
      assert.equal(stored["content-type"], "application/gzip");
    }
  }
});

test("a session token goes with every request; one that has ended is told", async (t) => {
  const { fake, open } = await store(t);
  fake.control.session = { token: "a-session-token", expired: false };
  const target = await open({ sessionToken: "a-session-token" });
  await target.put(NAME, sourceOf(someBytes(LARGE)), { signal });
  assert.ok(fake.log.every(({ headers }) => headers["x-amz-security-token"] === "a-session-token"));
  fake.control.session = { token: "a-session-token", expired: true };
  await assert.rejects(target.list(signal), /ExpiredToken: "The provided token has expired/);
});

test("a wrong region, a wrong clock and an unknown key are told in the store's words", async (t) => {
  const { fake, open } = await store(t);
  const elsewhere = await open({ region: "us-west-2" });
  await assert.rejects(elsewhere.list(signal), /'us-west-2' is wrong; expecting 'eu-central-1'/);
  const stranger = await open({ accessKeyId: "AKIAUNKNOWN" });
  await assert.rejects(stranger.list(signal), /InvalidAccessKeyId/);
  fake.control.skewMs = 3_600_000;
  await assert.rejects((await open()).list(signal), /RequestTimeTooSkewed/);
});

test("an upload that ends in an error after its answer has begun is tried again", async (t) => {
  const { fake, open } = await store(t);
  const answer = { ...s3Error(500, "InternalError", "try again"), status: 200 };
  fake.faults.push({ action: "CompleteMultipartUpload", kind: "refuse", answer });
  await (await open()).put(NAME, sourceOf(someBytes(LARGE)), { signal });
  assert.equal(fake.actions().filter((action) => action === "CompleteMultipartUpload").length, 2);
});

test("a store that keeps no sums is checked by length and by what was noted of it", async (t) => {
  const { fake, open } = await store(t, {}, { checksums: false });
  const target = await open();
  await target.put(NAME, sourceOf(someBytes(LARGE)), { signal });
  const stored = fake.objects.get(`east/daily/${NAME}`);
  assert.ok(stored !== undefined);
  fake.objects.set(`east/daily/${NAME}`, { ...stored, headers: {} });
  const { size, sha256 } = sourceOf(someBytes(LARGE));
  assert.equal(await target.settle({ name: NAME, size, sha256, handle: null }, signal), false);
  assert.equal(fake.objects.size, 0);
});

test("a sum that the store shows and that is not ours is an error", async (t) => {
  const { fake, open } = await store(t);
  const answer = {
    status: 200,
    headers: {
      "content-length": "10",
      "x-amz-meta-sha256": Buffer.from(sourceOf(someBytes(10)).sha256).toString("hex"),
      "x-amz-checksum-sha256": "AAAA",
    },
  };
  fake.faults.push({ action: "HeadObject", kind: "refuse", answer });
  const target = await open();
  await assert.rejects(
    target.put(NAME, sourceOf(someBytes(10)), { signal }),
    /what the store holds is not what was sent/,
  );
});

test("only uploads of the name itself are aborted", async (t) => {
  const { fake, open } = await store(t);
  const key = `east/daily/${NAME}`;
  const upload = (named: string) => ({ key: named, headers: {}, parts: new Map() });
  fake.uploads.set("ours", upload(key));
  fake.uploads.set("like it", upload(`${key}.bak`));
  fake.uploads.set("another", upload("east/daily/weekly-1.snap"));
  const { size, sha256 } = sourceOf(someBytes(1));
  const target = await open();
  assert.equal(await target.settle({ name: NAME, size, sha256, handle: null }, signal), false);
  assert.deepEqual([...fake.uploads.keys()], ["like it", "another"]);
});

test("credentials that are left out come from the environment, else from the user's files", async (t) => {
  const home = mkdtempSync(join(tmpdir(), "clouda-"));
  t.after(() => rmSync(home, { recursive: true }));
  mkdirSync(join(home, ".aws"));
  const fake = await startFakeS3();
  t.after(() => fake.close());
  const { accessKeyId, secretAccessKey } = fake;
  const left = { accessKeyId: "", secretAccessKey: "" };
  const listed = async (environment: Record<string, string>) => {
    const needs = targetNeeds(t, { environment });
    return (await openTarget(settingsOf.clouda(fake, left), needs)).list(signal);
  };
  await listed({ AWS_ACCESS_KEY_ID: accessKeyId, AWS_SECRET_ACCESS_KEY: secretAccessKey });
  await listed({ CLOUDA_ACCESS_KEY: accessKeyId, CLOUDA_SECRET_KEY: secretAccessKey });
  fake.control.session = { token: "of-the-environment", expired: false };
  await listed({
    AWS_ACCESS_KEY_ID: accessKeyId,
    AWS_SECRET_ACCESS_KEY: secretAccessKey,
    AWS_SESSION_TOKEN: "of-the-environment",
  });
  fake.control.session = null;
  await assert.rejects(listed({ HOME: home }), /clouda_access_key_id is not set/);
  await assert.rejects(listed({ AWS_ACCESS_KEY_ID: accessKeyId }), /is not set/);
  const keys = `aws_access_key_id = ${accessKeyId}\naws_secret_access_key=${secretAccessKey}\n`;
  writeFileSync(join(home, ".aws", "credentials"), `# mine\n[default]\n${keys}`);
  await listed({ HOME: home });
  writeFileSync(join(home, ".aws", "credentials"), "[default]\nregion = x\n");
  writeFileSync(join(home, ".aws", "config"), `[profile backup]\n${keys}`);
  await listed({ HOME: home, AWS_PROFILE: "backup" });
  writeFileSync(join(home, "elsewhere"), `[backup]\n${keys}`);
  const named = { AWS_PROFILE: "backup", AWS_SHARED_CREDENTIALS_FILE: join(home, "elsewhere") };
  await listed(named);
});

test("an upload whose id is known is aborted also where uploads may not be listed", async (t) => {
  const { fake, open } = await store(t);
  const upload = { key: `east/daily/${NAME}`, headers: {}, parts: new Map() };
  fake.uploads.set("ours", upload);
  fake.control.denied.add("ListMultipartUploads");
  const { size, sha256 } = sourceOf(someBytes(1));
  const target = await open();
  const begun = { name: NAME, size, sha256 };
  await assert.rejects(target.settle({ ...begun, handle: null }, signal), /AccessDenied/);
  assert.equal(await target.settle({ ...begun, handle: "ours" }, signal), false);
  assert.equal(fake.uploads.size, 0);
});
