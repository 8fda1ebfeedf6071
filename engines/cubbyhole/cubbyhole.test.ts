import assert from "node:assert/strict";
import test from "node:test";
import type { JsonObject } from "@holdfast/shared/json/json";
import { answering, MANAGEMENT } from "../../tests/support/answering.ts";
import { refused } from "../../tests/support/made/made-tokens.ts";
import { serve } from "@holdfast/shared/endpoint/endpoint";
import { Cubbyhole, type PrivateSpace, type PrivateSpaces } from "./cubbyhole.ts";
import { cubbyholeApi } from "./api.ts";
import { cubbyholeEngine } from "./engine.ts";

/** Spaces that note what they were asked for. */
class Noted implements PrivateSpaces {
  readonly entries = new Map<string, JsonObject>();
  readonly folders: string[] = [];

  read(space: PrivateSpace, path: string): JsonObject | null {
    return this.entries.get(keyOf(space, path)) ?? null;
  }

  list(space: PrivateSpace, folder: string): string[] {
    this.folders.push(keyOf(space, folder));
    return ["a", "b/"];
  }

  async replace(space: PrivateSpace, path: string, value: JsonObject): Promise<void> {
    this.entries.set(keyOf(space, path), value);
  }

  async delete(space: PrivateSpace, path: string): Promise<void> {
    this.entries.delete(keyOf(space, path));
  }
}

function keyOf({ owner, namespaceId }: PrivateSpace, path: string): string {
  return `${owner.namespaceId}:${owner.accessor}@${namespaceId}/${path}`;
}

test("whose and where is told by the caller and the namespace of the request, never by the request", async () => {
  const spaces = new Noted();
  const ask = answering(new Cubbyhole(spaces), cubbyholeApi);
  const caller = { ...MANAGEMENT, accessor: "me" };
  const namespace = { id: "t1", path: "team", created: 1n };
  await ask(
    "writeCubbyhole",
    { path: "deep/x", data: { accessor: "other" } },
    { caller, namespace },
  );
  assert.deepEqual([...spaces.entries], [["root:me@t1/deep/x", { accessor: "other" }]]);
  const read = await ask("readCubbyhole", { path: "deep/x" }, { caller, namespace });
  assert.deepEqual(read, { accessor: "other" });
  await assert.rejects(
    ask("readCubbyhole", { path: "deep/x" }, { caller }),
    refused("", "not-found"),
  );
  await ask("listCubbyhole", {}, { caller });
  await ask("listCubbyholeFolder", { path: "deep" }, { caller });
  assert.deepEqual(spaces.folders, ["root:me@root/", "root:me@root/deep/"]);
  await ask("deleteCubbyhole", { path: "deep/x" }, { caller, namespace });
  assert.equal(spaces.entries.size, 0);
});

test("a write needs create where there is nothing, and update where there is something", async () => {
  const spaces = new Noted();
  const ask = answering(new Cubbyhole(spaces), cubbyholeApi);
  const request = { ...ask.context, caller: MANAGEMENT };
  const write = serve(new Cubbyhole(spaces), cubbyholeApi).find(({ method }) => method === "POST");
  assert.equal(await write?.exists?.({ path: "x" }, request), false);
  await ask("writeCubbyhole", { path: "x", data: {} }, request);
  assert.equal(await write?.exists?.({ path: "x" }, request), true);
});

test("it takes no options", () => {
  const { checkOptions } = cubbyholeEngine(new Noted());
  assert.deepEqual(checkOptions({}), {});
  assert.throws(() => checkOptions({ version: "1" }), refused("a cubbyhole takes no options"));
});
