// What only the memory engine does: several engines on one disk.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { batchOf, bytes, HEAD, turn } from "../../../tests/contract/engine.ts";
import { CommitConflict } from "./engine.ts";
import { MemoryDisk, MemoryEngine } from "./memory.ts";

function putting(...keys: string[]) {
  return batchOf({ data: keys.map((key) => ({ key, value: bytes(key) })) });
}

describe("MemoryEngine", () => {
  test("a commit is told to the other engines on the disk, in order, and not to its own", async () => {
    const disk = new MemoryDisk();
    const [a, b, c] = [new MemoryEngine(disk), new MemoryEngine(disk), new MemoryEngine(disk)];
    const heard: string[] = [];
    a.watch((keys) => heard.push(`a ${keys.join()}`));
    b.watch((keys) => heard.push(`b ${keys.join()}`));
    c.watch((keys) => heard.push(`c ${keys.join()}`));
    await a.commit(putting("1", "2"));
    await b.commit(putting("3"));
    await a.commit(putting("4"));
    await turn();
    assert.deepEqual(heard, ["b 1,2", "c 1,2", "a 3", "c 3", "b 4", "c 4"]);
    assert.deepEqual(c.get("3"), bytes("3"));
  });

  test("a listener is called after the change is visible, never inside the commit", async () => {
    const disk = new MemoryDisk();
    const [a, b] = [new MemoryEngine(disk), new MemoryEngine(disk)];
    let seen: Uint8Array | null = null;
    b.watch(() => (seen = b.get("k")));
    const committed = a.commit(putting("k"));
    assert.equal(seen, null);
    await committed;
    await turn();
    assert.deepEqual(seen, bytes("k"));
  });

  test("nothing is told of a conflict, after the watch has ended, or to a closed engine", async () => {
    const disk = new MemoryDisk();
    const [a, b, c] = [new MemoryEngine(disk), new MemoryEngine(disk), new MemoryEngine(disk)];
    const heard: string[] = [];
    const stop = b.watch((keys) => heard.push(`b ${keys.join()}`));
    c.watch((keys) => heard.push(`c ${keys.join()}`));
    await c.close();
    const expect = { name: HEAD, value: bytes("other") };
    await assert.rejects(a.commit({ ...putting("lost"), expect }), CommitConflict);
    await a.commit(putting("kept"));
    await turn();
    stop();
    await a.commit(putting("later"));
    await turn();
    assert.deepEqual(heard, ["b kept"]);
  });

  test("of two engines that expect the same head only one commits", async () => {
    const disk = new MemoryDisk();
    const [a, b] = [new MemoryEngine(disk), new MemoryEngine(disk)];
    const claim = (name: string) => batchOf({ meta: [{ name: HEAD, value: bytes(name) }] });
    const results = await Promise.allSettled([a.commit(claim("a")), b.commit(claim("b"))]);
    assert.deepEqual(
      results.map((result) => result.status),
      ["fulfilled", "rejected"],
    );
    assert.deepEqual(b.meta(HEAD), bytes("a"));
  });

  test("engines without a common disk have nothing in common", async () => {
    const [a, b] = [new MemoryEngine(), new MemoryEngine()];
    await a.commit(putting("k"));
    assert.equal(b.get("k"), null);
  });
});
