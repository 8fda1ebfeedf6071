import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { madeKv } from "../../tests/support/made/made-kv.ts";

test("a list gives names and folders, in order, page by page", async () => {
  const kv = await madeKv();
  for (const path of ["b", "a", "a/x", "a/y/z", "c/1"]) await kv.put(path, {});
  assert.deepEqual(await kv.keys("metadata"), ["a", "a/", "b", "c/"]);
  assert.deepEqual(await kv.keys("metadata/a/"), ["x", "y/"]);
  assert.deepEqual(await kv.keys("metadata/b"), []);
  const page = await kv.ask("LIST", "metadata", { query: { limit: "2" } });
  assert.deepEqual(page.data["keys"], ["a", "a/"]);
  assert.deepEqual(page.warnings, ["there are more; go on with after=a/"]);
  assert.deepEqual(await kv.keys("metadata", { after: "a/" }), ["b", "c/"]);
  const last = await kv.ask("LIST", "metadata", { query: { limit: "4" } });
  assert.deepEqual(last.warnings, []);
});

test("deleted secrets are listed; removed ones are not", async () => {
  const kv = await madeKv();
  await kv.put("a", {});
  await kv.put("b", {});
  await kv.ask("DELETE", "data/a");
  await kv.ask("DELETE", "metadata/b");
  assert.deepEqual(await kv.keys("metadata"), ["a"]);
});

test("a scan lists all below a folder, relative to it", async () => {
  const kv = await madeKv();
  for (const path of ["a", "a/x", "a/y/z", "b/1"]) await kv.put(path, {});
  assert.deepEqual(await kv.keys("metadata", { scan: "true" }), ["a", "a/x", "a/y/z", "b/1"]);
  const answer = await kv.ask("GET", "metadata/a", { query: { scan: "true" } });
  assert.deepEqual(answer.data["keys"], ["x", "y/z"]);
  const page = await kv.ask("LIST", "metadata/a", { query: { scan: "true", limit: "1" } });
  assert.deepEqual(page.data["keys"], ["x"]);
  assert.deepEqual(page.warnings, ["there are more; go on with after=x"]);
  assert.deepEqual(await kv.keys("metadata/a", { scan: "true", after: "x" }), ["y/z"]);
});

test("a scan shows what listing folder after folder would show, page by page", async () => {
  const name = fc.constantFrom("a", "b", "a-", "a0");
  const path = fc.array(name, { minLength: 1, maxLength: 4 }).map((names) => names.join("/"));
  await fc.assert(
    fc.asyncProperty(
      fc.uniqueArray(path, { maxLength: 20 }),
      fc.array(path, { maxLength: 4 }),
      fc.integer({ min: 1, max: 5 }),
      async (paths, closed, limit) => {
        const kv = await madeKv();
        for (const one of paths) await kv.put(one, {});
        const folders = new Set(closed.map((one) => `engine/metadata/${one}/`));
        kv.may = (capability, where) => capability === "scan" && !folders.has(where);
        const byHand = async (folder: string): Promise<string[]> => {
          const found: string[] = [];
          for (const key of (await kv.keys(`metadata/${folder}`)) as string[]) {
            if (!key.endsWith("/")) found.push(folder + key);
            else if (!folders.has(`engine/metadata/${folder}${key}`)) {
              found.push(...(await byHand(folder + key)));
            }
          }
          return found;
        };
        const scanned: string[] = [];
        for (let after: string | undefined; ;) {
          const query = { scan: "true", limit: String(limit) };
          const page = await kv.ask("LIST", "metadata", {
            query: after === undefined ? query : { ...query, after },
          });
          const keys = page.data["keys"] as string[];
          scanned.push(...keys);
          if (page.warnings.length === 0) break;
          after = keys.at(-1);
        }
        assert.deepEqual(scanned.toSorted(), (await byHand("")).toSorted());
      },
    ),
    { numRuns: 60 },
  );
});

test("a detailed list shows the metadata of what the caller may read", async () => {
  const kv = await madeKv();
  for (const path of ["f/a", "f/b", "f/c/d"]) await kv.put(path, {});
  const held = ["list engine/metadata/f/", "read engine/metadata/f/a"];
  kv.may = (capability, path) => held.includes(`${capability} ${path}`);
  const { data } = await kv.ask("LIST", "detailed-metadata/f");
  assert.deepEqual(data["keys"], ["a", "b", "c/"]);
  const info = data["key_info"] as Record<string, { current_version: number }>;
  assert.deepEqual(Object.keys(info), ["a"]);
  assert.equal(info["a"]?.current_version, 1);
});
