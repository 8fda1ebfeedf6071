import assert from "node:assert/strict";
import test from "node:test";
import fc from "fast-check";
import { bytesCodec } from "@holdfast/shared/codec";
import { DrivenWorld, MemoryStorage } from "@holdfast/plugin-sdk/testing";
import type { EngineStorage } from "@holdfast/plugin-sdk/storage";
import { often } from "../../../tests/support/often.ts";
import { keyRefused } from "./key-escape.ts";
import { MountKeys } from "./mount-keys.ts";
import { SpecialPaths } from "./special-paths.ts";

const NO_VALUE = new Uint8Array();
const special = SpecialPaths.fromJson({
  root: [],
  unauthenticated: [],
  localStorage: ["l*"],
});

/** Two storages, and how many names they have handed out. */
class Both {
  handedOut = 0;
  readonly keys: MountKeys;

  constructor() {
    const world = new DrivenWorld();
    const counted = (storage: EngineStorage): EngineStorage =>
      new Proxy(storage, {
        get: (target, name) => {
          if (name === "list") {
            return async (...asked: Parameters<EngineStorage["list"]>) => {
              const names = await target.list(...asked);
              this.handedOut += names.length;
              return names;
            };
          }
          const found: unknown = Reflect.get(target, name);
          return typeof found === "function" ? (found.bind(target) as unknown) : found;
        },
      });
    const needs = {
      storage: counted(new MemoryStorage(world)),
      localStorage: counted(new MemoryStorage(world)),
    };
    this.keys = new MountKeys(needs, () => special);
  }

  async put(...all: string[]): Promise<void> {
    for (const key of all) {
      await this.keys.write(key, (tx, escaped) => tx.put(escaped, NO_VALUE, bytesCodec));
    }
  }

  async pages(prefix: string, limit: number): Promise<string[]> {
    const names: string[] = [];
    for (;;) {
      const page = await this.keys.listPage(prefix, names.at(-1) ?? "", limit);
      names.push(...page);
      if (page.length < limit) return names;
    }
  }
}

test("a folder in pages costs what it holds, wherever they begin", async () => {
  const both = new Both();
  const names = Array.from({ length: 500 }, (_, i) => `n${String(i).padStart(3, "0")}`);
  await both.put(...names.map((name) => `folder/${name}`), "other");
  for (const prefix of ["folder/", "folder/n"]) {
    both.handedOut = 0;
    assert.equal((await both.pages(prefix, 10)).length, 500);
    assert.ok(both.handedOut <= 600, `${both.handedOut} names were read`);
  }
  assert.deepEqual(await both.keys.listPage("folder/", "n0041", 2), ["n005", "n006"]);
});

const character = fc.constantFrom("a", "l", "%", "/", " ", "\u0001", "\u007f", "é", "\u{1f600}");
const key = fc
  .string({ unit: character, minLength: 1, maxLength: 6 })
  .filter((text) => keyRefused(text) === null);

test("pages of any size are the whole list, of both sides, with every key that there can be", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(key, { maxLength: 20 }),
      fc.constantFrom("", "a", "a/", "l", "%", "/", "a/a"),
      fc.integer({ min: 1, max: 4 }),
      async (keys, prefix, limit) => {
        const both = new Both();
        await both.put(...keys);
        const expected = new Set(
          keys
            .filter((one) => one.startsWith(prefix) && one !== prefix)
            .map((one) => /^[^/]*\/?/.exec(one.slice(prefix.length))?.[0] ?? "")
            .filter((name) => name !== ""),
        );
        assert.deepEqual(await both.keys.list(prefix), [...expected].toSorted());
        assert.deepEqual((await both.pages(prefix, limit)).toSorted(), [...expected].toSorted());
      },
    ),
    { numRuns: often(500) },
  );
});
