// A process that dies at any step of writing, checking, naming and deleting local snapshots, and a disk that fills
// up: what is visible under one of our names is whole, and what is left is cleared away by the next.

import assert from "node:assert/strict";
import { mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import test, { type TestContext } from "node:test";
import type { HeldDirectory, SnapshotFiles, WrittenFile } from "@holdfast/shared/world";
import { fileFailed } from "@holdfast/shared/failures";
import { settingsOf } from "../../../tests/support/snapshots/settings.ts";
import { someBytes, sourceOf } from "../../../tests/support/snapshots/sources.ts";
import { targetNeeds } from "../../../tests/support/snapshots/target-needs.ts";
import { SystemSnapshotFiles } from "../../system/snapshot-files.ts";
import { openTarget } from "./open-target.ts";
import { nameAt, type Target } from "./target.ts";

const { signal } = new AbortController();
const DEAD = "the process is gone";

/** From the n-th call on nothing reaches the disk any more, the clearing up after an error included. */
class DyingFiles extends SystemSnapshotFiles {
  readonly #lives: number;
  calls = 0;

  constructor(lives: number) {
    super();
    this.#lives = lives;
  }

  step(): void {
    if (++this.calls > this.#lives) throw new Error(DEAD);
  }

  override async hold(path: string): Promise<HeldDirectory | null> {
    const held = await super.hold(path);
    return held === null ? null : this.#dying(held);
  }

  #dying(held: HeldDirectory): HeldDirectory {
    const alive = async <T>(call: () => Promise<T>): Promise<T> => {
      this.step();
      return call();
    };
    return {
      facts: held.facts,
      names: () => alive(() => held.names()),
      look: (name) => alive(() => held.look(name)),
      create: (name) => alive(async () => this.#file(await held.create(name))),
      read: (name, from, to) => held.read(name, from, to),
      rename: (from, to) => alive(() => held.rename(from, to)),
      remove: (name) => alive(() => held.remove(name)),
      sync: () => alive(() => held.sync()),
      freeBytes: () => held.freeBytes(),
      close: () => held.close(),
    };
  }

  #file(file: WrittenFile): WrittenFile {
    const alive = async (call: () => Promise<void>): Promise<void> => {
      this.step();
      return call();
    };
    return {
      write: (bytes) => alive(() => file.write(bytes)),
      sync: () => alive(() => file.sync()),
      close: () => file.close(),
    };
  }
}

async function place(t: TestContext) {
  const root = realpathSync(mkdtempSync(join(tmpdir(), "local-crash-")));
  t.after(() => rmSync(root, { recursive: true }));
  const needs = targetNeeds(t, { roots: [root] });
  const open = (files: SnapshotFiles): Promise<Target> =>
    openTarget(settingsOf.local({ pathPrefix: root }), {
      ...needs,
      local: { ...needs.local, files },
    });
  return { root, open };
}

test("whatever step of a put is the last, what has our name is whole, and the next clears the rest away", async (t) => {
  const { root, open } = await place(t);
  const bytes = someBytes(350_000);
  const name = nameAt("nightly", 1n);
  const { size, sha256 } = sourceOf(bytes);
  let steps = 0;
  for (let ended = false; !ended; steps++) {
    const dying = await open(new DyingFiles(steps));
    ended = await dying.put(name, sourceOf(bytes), { signal }).then(
      () => true,
      (error: Error) => {
        assert.equal(error.message, DEAD);
        return false;
      },
    );
    const visible = readdirSync(root).filter((file) => !file.startsWith("."));
    for (const file of visible) assert.ok(readFileSync(join(root, file)).equals(bytes), `${steps}`);
    const next = await open(new SystemSnapshotFiles());
    const stays = await next.settle({ name, size, sha256, handle: null }, signal);
    assert.equal(stays, visible.length === 1);
    assert.deepEqual(readdirSync(root), visible, `after step ${steps} something is left`);
    await next.delete(name, signal);
  }
  assert.ok(steps > 12, `${steps} steps`);
});

test("a disk that is full or nearly so fails the attempt and costs nothing that is there", async (t) => {
  const { root, open } = await place(t);
  const first = nameAt("nightly", 1n);
  const bytes = someBytes(200_000);
  await (await open(new SystemSnapshotFiles())).put(first, sourceOf(bytes), { signal });

  class FullFiles extends SystemSnapshotFiles {
    readonly free: number;
    readonly room: number;

    constructor({ free, room }: { readonly free: number; readonly room: number }) {
      super();
      this.free = free;
      this.room = room;
    }

    override async hold(path: string): Promise<HeldDirectory | null> {
      const held = await super.hold(path);
      if (held === null) return null;
      const create = async (name: string): Promise<WrittenFile> => {
        const file = await held.create(name);
        let written = 0;
        const write = async (chunk: Uint8Array) => {
          written += chunk.length;
          if (written > this.room) throw fileFailed(`cannot write ${name}: ENOSPC`);
          await file.write(chunk);
        };
        return { write, sync: () => file.sync(), close: () => file.close() };
      };
      return {
        facts: held.facts,
        names: () => held.names(),
        look: (name) => held.look(name),
        create,
        read: (name, from, to) => held.read(name, from, to),
        rename: (from, to) => held.rename(from, to),
        remove: (name) => held.remove(name),
        sync: () => held.sync(),
        freeBytes: async () => this.free,
        close: () => held.close(),
      };
    }
  }

  const cases = [
    [{ free: 100_000_000, room: Infinity }, /100000000 bytes are free there, 200000 are needed/],
    [{ free: 1e12, room: 150_000 }, /ENOSPC/],
  ] as const;
  for (const [disk, text] of cases) {
    const target = await open(new FullFiles(disk));
    await assert.rejects(target.put(nameAt("nightly", 2n), sourceOf(bytes), { signal }), text);
    assert.deepEqual(readdirSync(root), [first]);
    assert.ok(readFileSync(join(root, first)).equals(bytes));
  }
});
