import assert from "node:assert/strict";
import {
  chmodSync,
  linkSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import test, { type TestContext } from "node:test";
import { settingsOf } from "../../../tests/support/snapshots/settings.ts";
import { someBytes, sourceOf } from "../../../tests/support/snapshots/sources.ts";
import { targetNeeds } from "../../../tests/support/snapshots/target-needs.ts";
import { openTarget } from "./open-target.ts";
import type { LocalSettings } from "./settings.ts";
import { nameAt } from "./target.ts";

const { signal } = new AbortController();

async function place(t: TestContext, change: Partial<LocalSettings> = {}) {
  const top = realpathSync(mkdtempSync(join(tmpdir(), "local-target-")));
  t.after(() => rmSync(top, { recursive: true }));
  const root = join(top, "snapshots");
  const data = join(top, "store");
  mkdirSync(root, { mode: 0o700 });
  mkdirSync(data, { mode: 0o700 });
  const needs = targetNeeds(t, { roots: [root], forbidden: [data] });
  const open = (pathPrefix: string) =>
    openTarget(settingsOf.local({ pathPrefix, ...change }), needs);
  return { top, root, data, open };
}

test("a snapshot is ours alone from its first byte, and has its name when it is whole", async (t) => {
  const { root, open } = await place(t);
  const target = await open(root);
  const name = nameAt("nightly", 1n);
  let during: string[] = [];
  let mode = 0;
  const progress = () => {
    during = readdirSync(root);
    mode = statSync(join(root, during[0] ?? "")).mode & 0o7777;
  };
  await target.put(name, sourceOf(someBytes(300_000)), { signal, progress });
  assert.match(during.join(), /^\.nightly-0000000000000000001\.snap\.[0-9a-f]{12}\.tmp$/);
  assert.equal(mode, 0o600);
  assert.deepEqual(readdirSync(root), [name]);
  assert.equal(statSync(join(root, name)).mode & 0o7777, 0o600);
  assert.equal(target.urlOf(name), `file://${root}/${name}`);
});

test("T-L05: what is no directory of ours below a root is refused, whatever way leads there", async (t) => {
  const { top, root, data, open } = await place(t);
  mkdirSync(join(root, "good"), { mode: 0o700 });
  mkdirSync(join(top, "outside"), { mode: 0o700 });
  mkdirSync(join(root, "loose"));
  chmodSync(join(root, "loose"), 0o770);
  symlinkSync(join(top, "outside"), join(root, "link"));
  symlinkSync(join(root, "good"), join(root, "inner"));
  mkdirSync(join(top, "outside", "below"), { mode: 0o700 });
  writeFileSync(join(root, "file"), "");
  const refused = [
    "snapshots",
    "",
    `${root}/../outside`,
    `${root}/good/..`,
    `${root}//good`,
    `${root}/./good`,
    `${root}\n`,
    join(top, "outside"),
    "/",
    "/tmp",
    data,
    join(root, "link"),
    join(root, "link", "below"),
    join(root, "inner"),
    join(root, "loose"),
    join(root, "file"),
    join(root, "missing"),
  ];
  for (const path of refused) {
    const target = await open(path);
    const isRefusal = { code: "snapshot-directory-refused", kind: "invalid" };
    await assert.rejects(target.probe(signal), isRefusal, path);
    await assert.rejects(
      target.put(nameAt("nightly", 1n), sourceOf(someBytes(1)), { signal }),
      isRefusal,
    );
  }
  for (const path of [root, `${root}/`, join(root, "good"), `${root}/good/`]) {
    await (await open(path)).probe(signal);
  }
  assert.deepEqual(readdirSync(join(top, "outside")), ["below"]);
  assert.deepEqual(readdirSync(data), []);
});

test("a root that is itself a link is taken by either name; the first one is made", async (t) => {
  const { top } = await place(t);
  mkdirSync(join(top, "real"), { mode: 0o700 });
  symlinkSync(join(top, "real"), join(top, "named"));
  const needs = targetNeeds(t, { roots: [join(top, "named"), join(top, "unmade")] });
  for (const name of ["named", "real"]) {
    const settings = settingsOf.local({ pathPrefix: join(top, name) });
    await (await openTarget(settings, needs)).probe(signal);
  }
  const unmade = { roots: [join(top, "unmade")] };
  const first = settingsOf.local({ pathPrefix: join(top, "unmade") });
  await (await openTarget(first, targetNeeds(t, unmade))).probe(signal);
  assert.equal(statSync(join(top, "unmade")).mode & 0o7777, 0o700);
});

test("T-L06: links, directories, second names and names that look alike are neither counted nor touched", async (t) => {
  const { top, root, open } = await place(t, { maxSpace: 1000 });
  writeFileSync(join(top, "victim"), "x".repeat(5000));
  symlinkSync(join(top, "victim"), join(root, nameAt("nightly", 1n)));
  mkdirSync(join(root, nameAt("nightly", 2n)));
  linkSync(join(top, "victim"), join(root, nameAt("nightly", 3n)));
  const alike = [
    "nightly-1.snap",
    `${nameAt("nightly", 4n)}.bak`,
    `x${nameAt("nightly", 5n)}`,
    nameAt("nightly-2", 6n),
    `.${nameAt("other", 7n)}.0123456789ab.tmp`,
    `.${nameAt("nightly", 8n)}.tmp`,
  ];
  for (const name of alike) writeFileSync(join(root, name), "x".repeat(5000));
  const target = await open(root);
  await target.put(nameAt("nightly", 9n), sourceOf(someBytes(900)), { signal });
  assert.deepEqual(await target.list(signal), [{ name: nameAt("nightly", 9n), size: 900 }]);
  for (const at of [1n, 2n, 3n]) await target.delete(nameAt("nightly", at), signal);
  for (const name of alike) await target.delete(name, signal);
  assert.equal(readdirSync(root).length, alike.length + 4);
  assert.equal(readFileSync(join(top, "victim"), "utf8").length, 5000);
  assert.ok(lstatSync(join(root, nameAt("nightly", 1n))).isSymbolicLink());
});

test("what has the name already is never written over, also through a link", async (t) => {
  const { top, root, open } = await place(t);
  writeFileSync(join(top, "victim"), "precious");
  symlinkSync(join(top, "victim"), join(root, nameAt("nightly", 1n)));
  const target = await open(root);
  await assert.rejects(
    target.put(nameAt("nightly", 1n), sourceOf(someBytes(10)), { signal }),
    /there is something called/,
  );
  assert.equal(readFileSync(join(top, "victim"), "utf8"), "precious");
});

test("T-L07: when the allowance is short nothing is written and nothing deleted, also when it fills up meanwhile", async (t) => {
  const { root, open } = await place(t, { maxSpace: 1000 });
  const target = await open(root);
  await target.put(nameAt("nightly", 1n), sourceOf(someBytes(600)), { signal });
  await assert.rejects(
    target.checkRoom(401, signal),
    /local_max_space is 1000 bytes; 1 snapshots have 600/,
  );
  await target.checkRoom(400, signal);
  await assert.rejects(
    target.put(nameAt("nightly", 2n), sourceOf(someBytes(401)), { signal }),
    /local_max_space/,
  );
  assert.deepEqual(readdirSync(root), [nameAt("nightly", 1n)]);
  const progress = () => writeFileSync(join(root, nameAt("nightly", 3n)), "x".repeat(300));
  await assert.rejects(
    target.put(nameAt("nightly", 2n), sourceOf(someBytes(300)), { signal, progress }),
    /local_max_space/,
  );
  assert.deepEqual(readdirSync(root), [nameAt("nightly", 1n), nameAt("nightly", 3n)]);
});

test("what cannot be read to its end, or is stopped, leaves nothing; what a crash left is removed", async (t) => {
  const { root, open } = await place(t);
  const target = await open(root);
  const name = nameAt("nightly", 1n);
  const source = sourceOf(someBytes(300_000));
  const broken = {
    ...source,
    read: async function* () {
      yield Buffer.alloc(1000);
      throw new Error("the disk is gone");
    },
  };
  await assert.rejects(target.put(name, broken, { signal }), /the disk is gone/);
  const stop = new AbortController();
  const progress = () => stop.abort();
  await assert.rejects(
    target.put(name, source, { signal: stop.signal, progress }),
    /the server is stopping/,
  );
  assert.deepEqual(readdirSync(root), []);
  writeFileSync(join(root, `.${name}.0123456789ab.tmp`), "half");
  const { size, sha256 } = source;
  assert.equal(await target.settle({ name, size, sha256, handle: null }, signal), false);
  assert.deepEqual(readdirSync(root), []);
});
