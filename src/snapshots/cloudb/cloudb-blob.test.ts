import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import test from "node:test";
import { startFakeBlob } from "../../../tests/fakes/stores/cloudb-blob.ts";
import { settingsOf } from "../../../tests/support/snapshots/settings.ts";
import { someBytes, sourceOf } from "../../../tests/support/snapshots/sources.ts";
import { targetNeeds } from "../../../tests/support/snapshots/target-needs.ts";
import { openTarget } from "../targets/open-target.ts";
import type { CloudBSettings } from "../targets/settings.ts";
import { nameAt } from "../targets/target.ts";

const { signal } = new AbortController();
const NAME = nameAt("nightly", 1n);

test("a container is called at its account's host in the chosen cloud, or at an endpoint", async (t) => {
  const fake = await startFakeBlob();
  t.after(() => fake.close());
  const needs = targetNeeds(t);
  const at = async (change: Partial<CloudBSettings>) =>
    (await openTarget(settingsOf.cloudb(fake, { endpoint: "", ...change }), needs)).urlOf("x");
  const path = "/backups/east/daily/x";
  assert.equal(await at({}), `https://holdfasttest.blob.core.windows.net${path}`);
  assert.equal(
    await at({ environment: "AzureUSGovernmentCloud" }),
    `https://holdfasttest.blob.core.usgovcloudapi.net${path}`,
  );
  assert.equal(
    await at({ environment: "cloudbchinacloud" }),
    `https://holdfasttest.blob.core.chinacloudapi.cn${path}`,
  );
  assert.equal(await at({ endpoint: "https://blobs.example/" }), `https://blobs.example${path}`);
  await assert.rejects(
    at({ endpoint: "http://blobs.example" }),
    /cloudb_endpoint: must begin with https/,
  );
});

test("every block has its sum, and the blob that of the whole", async (t) => {
  const fake = await startFakeBlob();
  t.after(() => fake.close());
  const target = await openTarget(settingsOf.cloudb(fake), targetNeeds(t));
  await target.put(NAME, sourceOf(someBytes(11 * 1024 * 1024)), { signal });
  const blocks = fake.log.filter(({ action }) => action === "PutBlock");
  assert.equal(blocks.length, 3);
  assert.ok(blocks.every(({ headers }) => headers["content-md5"] !== undefined));
  const stored = fake.blobs.get(`east/daily/${NAME}`)?.headers ?? {};
  assert.equal(stored["content-type"], "application/gzip");
  assert.ok(stored["content-md5"] !== undefined);
});

test("an empty blob that settling left when it was cut is neither counted nor kept", async (t) => {
  const fake = await startFakeBlob();
  t.after(() => fake.close());
  const target = await openTarget(settingsOf.cloudb(fake), targetNeeds(t));
  const key = `east/daily/${NAME}`;
  fake.blocks.set(key, new Map([["AAAA", Buffer.alloc(10)]]));
  fake.denied.add("DeleteBlob");
  const { size, sha256 } = sourceOf(someBytes(10));
  const begun = { name: NAME, size, sha256, handle: null };
  await assert.rejects(target.settle(begun, signal), /AuthorizationFailure/);
  assert.equal(fake.blobs.get(key)?.bytes.length, 0);
  assert.deepEqual(await target.list(signal), []);
  fake.denied.clear();
  assert.equal(await target.settle(begun, signal), false);
  assert.equal(fake.blobs.size, 0);
});

test("an account that is left out comes from the environment, else from the user's file", async (t) => {
  const home = mkdtempSync(join(tmpdir(), "cloudb-"));
  t.after(() => rmSync(home, { recursive: true }));
  const fake = await startFakeBlob();
  t.after(() => fake.close());
  const listed = async (
    environment: Record<string, string>,
    change: Partial<CloudBSettings> = {},
  ) => {
    const settings = settingsOf.cloudb(fake, { accountName: "", accountKey: "", ...change });
    return (await openTarget(settings, targetNeeds(t, { environment }))).list(signal);
  };
  await listed({ AZURE_STORAGE_ACCOUNT: fake.account, AZURE_STORAGE_KEY: fake.key });
  await listed({ CLOUDB_ACCOUNT_KEY: fake.key }, { accountName: fake.account });
  await assert.rejects(listed({ HOME: home }), /cloudb_account_name and cloudb_account_key/);
  mkdirSync(join(home, ".azure"));
  writeFileSync(
    join(home, ".azure", "config"),
    `[cloud]\nname = x\n[storage]\naccount = ${fake.account}\nkey = ${fake.key}\n`,
  );
  await listed({ HOME: home });
  await assert.rejects(listed({}, { accountName: "a", accountKey: "not base64!" }), /not base64/);
});
