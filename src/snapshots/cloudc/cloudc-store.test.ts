import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import test from "node:test";
import { startFakeGcs } from "../../../tests/fakes/stores/cloudc-store.ts";
import { settingsOf } from "../../../tests/support/snapshots/settings.ts";
import { someBytes, sourceOf } from "../../../tests/support/snapshots/sources.ts";
import { targetNeeds } from "../../../tests/support/snapshots/target-needs.ts";
import { openTarget } from "../targets/open-target.ts";
import type { CloudCSettings } from "../targets/settings.ts";
import { nameAt } from "../targets/target.ts";

const { signal } = new AbortController();
const NAME = nameAt("nightly", 1n);

test("one access token serves many requests, and another is had before it ends", async (t) => {
  const fake = await startFakeGcs();
  t.after(() => fake.close());
  const needs = targetNeeds(t);
  let ahead = 0n;
  const clock = { now: () => needs.clock.now() + ahead };
  const target = await openTarget(settingsOf.cloudc(fake), { ...needs, clock });
  await target.probe(signal);
  await target.list(signal);
  const wanted = () => fake.actions().filter((action) => action === "Token").length;
  assert.equal(wanted(), 1);
  ahead = 3_290n * 1_000_000_000n;
  await target.list(signal);
  assert.equal(wanted(), 1);
  ahead = 3_310n * 1_000_000_000n;
  fake.faults.push({
    action: "Token",
    kind: "refuse",
    answer: { status: 400, body: '{"error":"invalid_grant","error_description":"Invalid JWT"}' },
  });
  await assert.rejects(
    target.list(signal),
    /asking for an access token: .* 400: invalid_grant: "Invalid JWT"/,
  );
});

test("without an endpoint it is the provider's; what contradicts itself is refused", async (t) => {
  const fake = await startFakeGcs();
  t.after(() => fake.close());
  const needs = targetNeeds(t);
  const open = (change: Partial<CloudCSettings>) =>
    openTarget(settingsOf.cloudc(fake, change), needs);
  const usual = await open({
    endpoint: "",
    serviceAccountKey: secure(fake.serviceAccountKey),
    disableTls: false,
  });
  assert.equal(usual.urlOf("x"), "https://storage.googleapis.com/backups/east/daily/x");
  const bare = await open({ endpoint: `127.0.0.1:${fake.port}` });
  await bare.probe(signal);
  await assert.rejects(open({ endpoint: "https://store.example" }), /contradict/);
  await assert.rejects(open({ endpoint: "http://store.example", disableTls: false }), /https/);
  // The statement of who we are must not go over an open line either.
  await assert.rejects(open({ endpoint: "", disableTls: false }), /token_uri.*https/);
});

test("an upload that was cut goes on where the store stands", async (t) => {
  const fake = await startFakeGcs();
  t.after(() => fake.close());
  const target = await openTarget(settingsOf.cloudc(fake), targetNeeds(t));
  const bytes = someBytes(9 * 1024 * 1024);
  fake.faults.push({ action: "SessionPut", kind: "half" });
  await target.put(NAME, sourceOf(bytes), { signal });
  assert.ok(fake.objects.get(`east/daily/${NAME}`)?.bytes.equals(bytes));
  const ranges = fake.log
    .filter(({ action }) => action === "SessionPut")
    .map(({ headers }) => headers["content-range"]);
  assert.equal(ranges[0], `bytes */${bytes.length}`);
  assert.match(String(ranges[1]), /^bytes [1-9]\d+-/);
});

test("what the store got otherwise never becomes an object", async (t) => {
  const fake = await startFakeGcs();
  t.after(() => fake.close());
  const target = await openTarget(settingsOf.cloudc(fake), targetNeeds(t));
  const bytes = someBytes(1000);
  const source = sourceOf(bytes);
  let reads = 0;
  const turning = {
    ...source,
    read: (from: number, to: number) => {
      reads++;
      return source.read(from, to);
    },
  };
  const changing = {
    ...turning,
    read: async function* (from: number, to: number) {
      for await (const chunk of turning.read(from, to)) {
        yield reads === 1 ? chunk : Buffer.alloc(chunk.length);
      }
    },
  };
  await assert.rejects(
    target.put(NAME, changing, { signal }),
    /Provided MD5 hash .* doesn't match/,
  );
  assert.equal(fake.objects.size, 0);
});

test("an identity that is left out comes from the file that the environment names: an account or a user", async (t) => {
  const home = mkdtempSync(join(tmpdir(), "cloudc-"));
  t.after(() => rmSync(home, { recursive: true }));
  const fake = await startFakeGcs();
  t.after(() => fake.close());
  const file = join(home, "credentials.json");
  const listed = async (environment: Record<string, string>) => {
    const settings = settingsOf.cloudc(fake, { serviceAccountKey: "" });
    return (await openTarget(settings, targetNeeds(t, { environment }))).list(signal);
  };
  const named = { GOOGLE_APPLICATION_CREDENTIALS: file };
  await assert.rejects(listed(named), /cloudc_service_account_key is not set/);
  writeFileSync(file, fake.serviceAccountKey);
  await listed(named);
  writeFileSync(file, fake.userFile);
  await listed(named);
  writeFileSync(file, '{"type":"external_account","secret":"hidden-word"}');
  await assert.rejects(listed(named), (error: Error) => {
    assert.match(error.message, /holds neither a service account nor a user/);
    return !error.message.includes("hidden-word");
  });
});

test("a key that is none is refused with what is wrong, and nothing of it", async (t) => {
  const fake = await startFakeGcs();
  t.after(() => fake.close());
  const whole = JSON.parse(fake.serviceAccountKey) as Record<string, string>;
  const cases: readonly [string, RegExp][] = [
    ["hidden-word", /no JSON object/],
    [JSON.stringify({ ...whole, type: "user" }), /"type" is not "service_account"/],
    [JSON.stringify({ ...whole, client_email: "" }), /no "client_email"/],
    [JSON.stringify({ ...whole, private_key: undefined }), /no "private_key"/],
    [JSON.stringify({ ...whole, private_key: "hidden-word" }), /no RSA key in PEM form/],
  ];
  for (const [serviceAccountKey, text] of cases) {
    await assert.rejects(
      openTarget(settingsOf.cloudc(fake, { serviceAccountKey }), targetNeeds(t)),
      (error: Error) => {
        assert.match(error.message, text);
        return !error.message.includes("hidden-word");
      },
    );
  }
});

function secure(key: string): string {
  const token_uri = "https://oauth2.googleapis.com/token";
  return JSON.stringify({ ...(JSON.parse(key) as object), token_uri });
}
