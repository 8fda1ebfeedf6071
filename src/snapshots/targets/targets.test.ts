// What every target does, against a real disk and fakes over real HTTP.

import assert from "node:assert/strict";
import { globSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import test, { type TestContext } from "node:test";
import { startFakeS3 } from "../../../tests/fakes/stores/clouda-store.ts";
import { startFakeBlob } from "../../../tests/fakes/stores/cloudb-blob.ts";
import { startFakeGcs } from "../../../tests/fakes/stores/cloudc-store.ts";
import { collected, someBytes, sourceOf } from "../../../tests/support/snapshots/sources.ts";
import { settingsOf } from "../../../tests/support/snapshots/settings.ts";
import { targetNeeds } from "../../../tests/support/snapshots/target-needs.ts";
import { openTarget } from "./open-target.ts";
import { nameAt, type Target } from "./target.ts";

const { signal } = new AbortController();
const FOREIGN = [
  "nightly-1.snap",
  "nightly-0000000000000000001.snap.bak",
  "nightly-00000000000000000011.snap",
  "nightly-2-0000000000000000001.snap",
  "nightly-notes.txt",
];

interface Kind {
  readonly name: string;
  readonly open: (t: TestContext) => Promise<{
    readonly target: Target;
    /** Puts something there past the target. */
    readonly place: (name: string, bytes: Buffer) => void;
    readonly names: () => string[];
  }>;
}

const KINDS: readonly Kind[] = [
  {
    name: "local",
    open: async (t) => {
      const { writeFileSync, readdirSync } = await import("node:fs");
      const root = mkdtempSync(join(tmpdir(), "targets-"));
      t.after(() => rmSync(root, { recursive: true }));
      const needs = targetNeeds(t, { roots: [root] });
      const settings = settingsOf.local({ pathPrefix: root });
      return {
        target: await openTarget(settings, needs),
        place: (name, bytes) => writeFileSync(join(root, name), bytes, { mode: 0o600 }),
        names: () => readdirSync(root),
      };
    },
  },
  {
    name: "clouda-store",
    open: async (t) => {
      const fake = await startFakeS3({ page: 2 });
      t.after(() => fake.close());
      const target = await openTarget(settingsOf.clouda(fake), targetNeeds(t));
      return {
        target,
        place: (name, bytes) => fake.objects.set(`east/daily/${name}`, { bytes, headers: {} }),
        names: () => [...fake.objects.keys()].map((key) => key.replace("east/daily/", "")),
      };
    },
  },
  {
    name: "cloudb-blob",
    open: async (t) => {
      const fake = await startFakeBlob({ page: 2 });
      t.after(() => fake.close());
      const target = await openTarget(settingsOf.cloudb(fake), targetNeeds(t));
      return {
        target,
        place: (name, bytes) => fake.blobs.set(`east/daily/${name}`, { bytes, headers: {} }),
        names: () => [...fake.blobs.keys()].map((key) => key.replace("east/daily/", "")),
      };
    },
  },
  {
    name: "cloudc-store",
    open: async (t) => {
      const fake = await startFakeGcs({ page: 2 });
      t.after(() => fake.close());
      const target = await openTarget(settingsOf.cloudc(fake), targetNeeds(t));
      const item = (bytes: Buffer) => ({ bytes, metadata: {}, contentType: "" });
      return {
        target,
        place: (name, bytes) => fake.objects.set(`east/daily/${name}`, item(bytes)),
        names: () => [...fake.objects.keys()].map((key) => key.replace("east/daily/", "")),
      };
    },
  },
];

for (const { name: kind, open } of KINDS) {
  test(`${kind}: what is put is listed, read back byte by byte and deleted, in one piece or in parts`, async (t) => {
    const { target } = await open(t);
    // Of one part, of several, and of a length that ends with a part.
    for (const [at, length] of [1, 70_001, 11 * 1024 * 1024 + 5, 10 * 1024 * 1024].entries()) {
      const bytes = someBytes(length, at + 1);
      const name = nameAt("nightly", BigInt(at + 1));
      const seen: number[] = [];
      await target.put(name, sourceOf(bytes), { signal, progress: (done) => seen.push(done) });
      assert.equal(seen.at(-1), length);
      const { size, chunks } = await target.read(name, signal);
      assert.equal(size, length);
      assert.ok((await collected(chunks)).equals(bytes), `${length} bytes came back otherwise`);
      assert.deepEqual((await target.list(signal)).at(-1), { name, size: length });
      await target.delete(name, signal);
      await target.delete(name, signal);
      assert.deepEqual(await target.list(signal), []);
    }
  });

  test(`${kind}: of several pages of objects exactly ours are listed, oldest first`, async (t) => {
    const { target, place, names } = await open(t);
    for (const name of FOREIGN) place(name, Buffer.from("foreign"));
    for (const at of [5n, 3n, 4n, 1n, 2n]) {
      place(nameAt("nightly", at), Buffer.alloc(Number(at), 1));
    }
    const expected = [1, 2, 3, 4, 5].map((size) => ({
      name: nameAt("nightly", BigInt(size)),
      size,
    }));
    assert.deepEqual(await target.list(signal), expected);
    assert.equal(names().length, 10);
  });

  test(`${kind}: a probe leaves nothing behind`, async (t) => {
    const { target, names } = await open(t);
    await target.probe(signal);
    assert.deepEqual(names(), []);
  });

  test(`${kind}: a source that changes while it is sent never becomes visible`, async (t) => {
    const { target, names } = await open(t);
    for (const length of [70_000, 7 * 1024 * 1024]) {
      const bytes = someBytes(length);
      const source = sourceOf(bytes);
      bytes[length - 1] = (bytes[length - 1] ?? 0) ^ 1;
      const name = nameAt("nightly", 7n);
      await assert.rejects(target.put(name, source, { signal }), /not what was written/);
      const { size, sha256 } = source;
      assert.equal(await target.settle({ name, size, sha256, handle: null }, signal), false);
      assert.deepEqual(names(), []);
    }
  });

  test(`${kind}: what has ended stays when it is settled, and shows where it lies`, async (t) => {
    const { target } = await open(t);
    const source = sourceOf(someBytes(1000));
    const name = nameAt("nightly", 9n);
    await target.put(name, source, { signal });
    const { size, sha256 } = source;
    assert.equal(await target.settle({ name, size, sha256, handle: null }, signal), true);
    assert.equal((await target.list(signal)).length, 1);
    assert.match(target.urlOf(name), /^(file|http):\/\/.*\/nightly-0000000000000000009\.snap$/);
  });
}

test("what speaks with a provider is imported by nobody else, and only when it is used", () => {
  const room = join(import.meta.dirname, "..");
  const files = globSync("**/*.ts", { cwd: room }).filter((file) => !file.endsWith(".test.ts"));
  assert.ok(files.length > 20);
  const importing = files.filter((file) => {
    const source = readFileSync(join(room, file), "utf8");
    return !/^cloud[abc]\//.test(file) && /from "[^"]*\/cloud[abc]\//.test(source);
  });
  assert.deepEqual(importing, []);
  const opening = readFileSync(join(room, "targets", "open-target.ts"), "utf8");
  assert.equal(opening.match(/await import\("\.\.\/cloud[abc]\//g)?.length, 3);
});
