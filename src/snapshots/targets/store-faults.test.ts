// What befalls a store: throttling, faults of its own, cut and slow connections, refusals. The same for all three.

import assert from "node:assert/strict";
import test, { type TestContext } from "node:test";
import type { StoreAnswer, StoreFront } from "../../../tests/fakes/stores/front.ts";
import { s3Error, startFakeS3 } from "../../../tests/fakes/stores/clouda-store.ts";
import { blobError, startFakeBlob } from "../../../tests/fakes/stores/cloudb-blob.ts";
import { gcsError, startFakeGcs } from "../../../tests/fakes/stores/cloudc-store.ts";
import { settingsOf } from "../../../tests/support/snapshots/settings.ts";
import { collected, someBytes, sourceOf } from "../../../tests/support/snapshots/sources.ts";
import { type SomeNeeds, targetNeeds } from "../../../tests/support/snapshots/target-needs.ts";
import { until } from "../../../tests/support/until.ts";
import { openTarget } from "./open-target.ts";
import type { TargetSettings } from "./settings.ts";
import { nameAt, type Target } from "./target.ts";

const { signal } = new AbortController();
const NAME = nameAt("nightly", 1n);
const BYTES = someBytes(5 * 1024 * 1024 + 3);

interface Store {
  readonly fake: StoreFront & { readonly denied: Set<string> };
  readonly target: Target;
  readonly needs: SomeNeeds;
  /** What lies there under the name. */
  readonly stored: () => Buffer | null;
  /** Whether something of an upload lies there unseen. */
  readonly leftOver: () => boolean;
  readonly secrets: readonly string[];
  readonly other: (change: object) => Promise<Target>;
}

interface Kind {
  readonly name: string;
  readonly open: (t: TestContext) => Promise<Store>;
  /** What a put in parts calls, in order. */
  readonly steps: readonly string[];
  readonly error: (status: number) => StoreAnswer;
  readonly wrongPlace: object;
  readonly wrongKey: object;
}

const KINDS: readonly Kind[] = [
  {
    name: "clouda-store",
    open: async (t) => {
      const fake = await startFakeS3();
      return storeOf(
        t,
        Object.assign(fake, { denied: fake.control.denied }),
        settingsOf.clouda(fake),
        {
          stored: () => fake.objects.get(`east/daily/${NAME}`)?.bytes ?? null,
          leftOver: () => fake.uploads.size > 0,
          secrets: [fake.secretAccessKey],
        },
      );
    },
    steps: ["CreateMultipartUpload", "UploadPart", "CompleteMultipartUpload", "HeadObject"],
    error: (status) => s3Error(status, status === 503 ? "SlowDown" : "InternalError", "not now"),
    wrongPlace: { bucket: "no-such-bucket" },
    wrongKey: { secretAccessKey: "wJalr/XUtnFEMI+K7MDENGbPxRfiCX" },
  },
  {
    name: "cloudb-blob",
    open: async (t) => {
      const fake = await startFakeBlob();
      return storeOf(t, fake, settingsOf.cloudb(fake), {
        stored: () => fake.blobs.get(`east/daily/${NAME}`)?.bytes ?? null,
        leftOver: () => fake.blocks.size > 0,
        secrets: [fake.key],
      });
    },
    steps: ["PutBlock", "PutBlockList", "GetBlobProperties"],
    error: (status) =>
      blobError(status, status === 503 ? "ServerBusy" : "InternalError", "not now"),
    wrongPlace: { container: "no-such-container" },
    wrongKey: { accountKey: Buffer.from("another key").toString("base64") },
  },
  {
    name: "cloudc-store",
    open: async (t) => {
      const fake = await startFakeGcs();
      return storeOf(t, fake, settingsOf.cloudc(fake), {
        stored: () => fake.objects.get(`east/daily/${NAME}`)?.bytes ?? null,
        leftOver: () => [...fake.sessions.values()].some(({ done }) => !done),
        secrets: [fake.serviceAccountKey, "PRIVATE KEY"],
      });
    },
    steps: ["Token", "BeginUpload", "SessionPut", "Get"],
    error: (status) => gcsError(status, "backendError", "not now"),
    wrongPlace: { bucket: "no-such-bucket" },
    wrongKey: {},
  },
];

async function storeOf(
  t: TestContext,
  fake: Store["fake"],
  settings: TargetSettings,
  parts: Pick<Store, "stored" | "leftOver" | "secrets">,
): Promise<Store> {
  t.after(() => fake.close());
  const needs = targetNeeds(t);
  const target = await openTarget(settings, needs);
  const other = (change: object) => openTarget({ ...settings, ...change }, needs);
  return { fake, target, needs, other, ...parts };
}

/** Also that nothing in it is secret. */
function says(text: RegExp, secrets: readonly string[]) {
  return (error: unknown) => {
    const { message } = error as Error;
    assert.match(message, text);
    for (const secret of secrets) assert.ok(!message.includes(secret), message);
    return true;
  };
}

for (const { name: kind, open, steps, error, wrongPlace, wrongKey } of KINDS) {
  test(`${kind}: throttling and faults of the store are waited out, longer each time`, async (t) => {
    const { fake, target, needs, stored } = await open(t);
    for (const step of steps) {
      fake.faults.push({ action: step, kind: "refuse", answer: error(503), times: 2 });
      fake.faults.push({ action: step, kind: "refuse", answer: error(500) });
    }
    await target.put(NAME, sourceOf(BYTES), { signal });
    assert.ok(stored()?.equals(BYTES));
    assert.equal(fake.faults.length, 0);
    const [first = 0, second = 0, third = 0] = needs.pauses;
    assert.ok(first >= 250 && first < 500, `${first}`);
    assert.ok(second >= 500 && second < 1000 && third >= 1000, `${second}, ${third}`);
  });

  test(`${kind}: a store that says when is asked then`, async (t) => {
    const { fake, target, needs } = await open(t);
    const [action = ""] = steps.slice(-1);
    const answer = { ...error(503), headers: { "retry-after": "7" } };
    fake.faults.push({ action, kind: "refuse", answer });
    await target.put(NAME, sourceOf(BYTES), { signal });
    assert.deepEqual(needs.pauses, [7000]);
  });

  test(`${kind}: a connection that is cut, before or after the effect or in the middle, costs nothing`, async (t) => {
    const { fake, target, stored, other } = await open(t);
    for (const action of steps) {
      for (const fault of ["lost-before", "lost-after", "cut"] as const) {
        fake.faults.push({ action, kind: fault });
        const fresh = await other({}); // with no token yet
        await fresh.put(NAME, sourceOf(BYTES), { signal });
        assert.ok(stored()?.equals(BYTES), `${action} ${fault}`);
        assert.equal(fake.faults.length, 0, `${action} ${fault}`);
        await target.delete(NAME, signal);
      }
    }
    const body = steps.find((step) => /UploadPart|PutBlock$|SessionPut/.test(step)) ?? "";
    fake.faults.push({ action: body, kind: "half" }, { action: body, kind: "half", after: 1 });
    await target.put(NAME, sourceOf(BYTES), { signal });
    assert.ok(stored()?.equals(BYTES));
    assert.equal(fake.faults.length, 0);
  });

  test(`${kind}: what does not pass ends after five tries, with the store's words, and can be settled`, async (t) => {
    const { fake, target, stored, leftOver, secrets } = await open(t);
    for (const action of steps.slice(1, 3)) {
      fake.faults.push({ action, kind: "refuse", answer: error(500), times: 100 });
      const before = fake.log.length;
      const source = sourceOf(BYTES);
      let handle: string | null = null;
      const note = async (said: string) => void (handle = said);
      await assert.rejects(
        target.put(NAME, source, { signal, note }),
        says(/answered 500: \S/, secrets),
      );
      const tries = fake.log.slice(before).filter((logged) => logged.action === action).length;
      assert.ok(tries >= 5 && tries <= 6, `${action} was tried ${tries} times`);
      fake.faults.length = 0;
      const { size, sha256 } = source;
      // What was only not looked at stays: it is whole.
      const stays = await target.settle({ name: NAME, size, sha256, handle }, signal);
      assert.equal(stored()?.equals(BYTES) ?? false, stays);
      assert.equal(leftOver(), false);
      await target.delete(NAME, signal);
    }
  });

  test(`${kind}: a store that hangs is left when the signal comes, and what is left of the upload is cleared away`, async (t) => {
    const { fake, target, stored, leftOver } = await open(t);
    const body = steps.find((step) => /UploadPart|PutBlock$|SessionPut/.test(step)) ?? "";
    fake.faults.push({ action: body, kind: "hang", after: 1 });
    const stop = new AbortController();
    const source = sourceOf(BYTES);
    let handle: string | null = null;
    const note = async (said: string) => void (handle = said);
    const put = target.put(NAME, source, { signal: stop.signal, note });
    put.catch(() => {});
    await until(() => fake.hanging() === 1);
    stop.abort();
    await assert.rejects(put, /was given up/);
    assert.equal(leftOver(), true);
    assert.equal(stored(), null);
    const { size, sha256 } = source;
    assert.equal(await target.settle({ name: NAME, size, sha256, handle }, signal), false);
    assert.equal(leftOver(), false);
    assert.equal(stored(), null);
  });

  test(`${kind}: what is refused is told at once, in the store's words and without secrets`, async (t) => {
    const { fake, target, other, secrets } = await open(t);
    const allowed = steps.at(-2) ?? "";
    fake.denied.add(allowed);
    const before = fake.log.length;
    await assert.rejects(
      target.put(NAME, sourceOf(BYTES), { signal }),
      says(/the store answered 403: \S/, secrets),
    );
    assert.equal(fake.log.slice(before).filter(({ action }) => action === allowed).length, 1);
    fake.denied.clear();
    const elsewhere = await other(wrongPlace);
    await assert.rejects(elsewhere.probe(signal), says(/answered 404: \S+: \S/, secrets));
    if (Object.keys(wrongKey).length === 0) return;
    const stranger = await other(wrongKey);
    const theirs = Object.values(wrongKey) as string[];
    await assert.rejects(
      stranger.probe(signal),
      says(/answered 403: \S+: /, [...secrets.slice(1), ...theirs]),
    );
  });

  test(`${kind}: a listing that goes wrong is an error, not an empty one`, async (t) => {
    const { fake, target } = await open(t);
    for (const body of ["", "<a>", "<!DOCTYPE x><x/>", "[]"]) {
      fake.faults.push({ action: "*", kind: "refuse", answer: { status: 200, body }, times: 9 });
      await assert.rejects(target.list(signal), /such a store|no access token/);
      fake.faults.length = 0;
    }
  });

  test(`${kind}: what is cut while it is read is an error for whoever reads`, async (t) => {
    const { fake, target } = await open(t);
    await target.put(NAME, sourceOf(BYTES), { signal });
    const reading = { action: "*", kind: "cut" } as const;
    fake.faults.push(reading);
    const { chunks } = await target.read(NAME, signal);
    await assert.rejects(
      collected(chunks),
      /reading a snapshot: 127\.0\.0\.1 gave no whole answer/,
    );
  });

  test(`${kind}: a probe that may not list or not delete says so`, async (t) => {
    const { fake, target } = await open(t);
    for (const action of [
      "ListObjectsV2",
      "ListBlobs",
      "List",
      "DeleteObject",
      "DeleteBlob",
      "Delete",
    ]) {
      fake.denied.clear();
      fake.denied.add(action);
      const before = fake.log.length;
      const outcome = await target.probe(signal).catch((failed: Error) => failed.message);
      const called = fake.log.slice(before).some((logged) => logged.action === action);
      if (called)
        assert.match(
          String(outcome),
          /(listing snapshots|deleting an object): the store answered 403/,
        );
    }
  });
}
