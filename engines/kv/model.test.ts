import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { Failure } from "@holdfast/shared/failure";
import type { JsonObject } from "@holdfast/shared/json/json";
import { type MadeKv, madeKv } from "../../tests/support/made/made-kv.ts";
import { hasRow } from "./secret.ts";

interface ModelVersion {
  readonly data: JsonObject;
  readonly state: "live" | "deleted" | "destroyed";
}

interface ModelSecret {
  readonly max: number;
  readonly versions: ReadonlyMap<number, ModelVersion>;
}

/** What a mount should hold, in the simplest way there is to say it. */
type Model = Map<string, ModelSecret>;

type Step =
  | { readonly kind: "put"; readonly at: string; readonly size: number }
  | { readonly kind: "patch"; readonly at: string; readonly size: number }
  | {
      readonly kind: "delete" | "undelete" | "destroy";
      readonly at: string;
      readonly numbers: number[];
    }
  | { readonly kind: "bound"; readonly at: string; readonly max: number }
  | { readonly kind: "remove"; readonly at: string }
  | { readonly kind: "move" | "copy"; readonly at: string; readonly to: string };

const at = fc.constantFrom("a", "a/b", "c");
// In the record; in the record while newest; never in the record.
const size = fc.constantFrom(1, 300, 900, 5000, 17_000);
const numbers = fc.uniqueArray(fc.integer({ min: 1, max: 8 }), { minLength: 1, maxLength: 4 });
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 6, arbitrary: fc.record({ kind: fc.constant("put" as const), at, size }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("patch" as const), at, size }) },
  {
    weight: 5,
    arbitrary: fc.record({
      kind: fc.constantFrom("delete" as const, "undelete" as const, "destroy" as const),
      at,
      numbers,
    }),
  },
  fc.record({
    kind: fc.constant("bound" as const),
    at,
    max: fc.integer({ min: 1, max: 4 }),
  }),
  fc.record({ kind: fc.constant("remove" as const), at }),
  {
    weight: 2,
    arbitrary: fc.record({ kind: fc.constantFrom("move" as const, "copy" as const), at, to: at }),
  },
);

function newest({ versions }: ModelSecret): number {
  return Math.max(0, ...versions.keys());
}

/** Does a step to the model; says whether it should have been refused. */
function modelled(model: Model, one: Step, count: number): "done" | "refused" {
  const found = model.get(one.at);
  const append = (data: JsonObject): "done" => {
    const { max, versions } = found ?? { max: 10, versions: new Map<number, ModelVersion>() };
    const next = Math.max(0, ...versions.keys()) + 1;
    const all: [number, ModelVersion][] = [...versions, [next, { data, state: "live" }]];
    model.set(one.at, { max, versions: new Map(all.slice(-max)) });
    return "done";
  };
  switch (one.kind) {
    case "put":
      return append(dataOf(one, count));
    case "patch": {
      const last = found?.versions.get(newest(found));
      if (last?.state !== "live") return "refused";
      return append({ ...last.data, ...dataOf(one, count) });
    }
    case "delete":
    case "undelete":
    case "destroy": {
      if (found === undefined) return "done";
      const states = { delete: "deleted", undelete: "live", destroy: "destroyed" } as const;
      const versions = [...found.versions].map(([n, version]): [number, ModelVersion] => {
        const changes = one.numbers.includes(n) && version.state !== "destroyed";
        return [n, changes ? { ...version, state: states[one.kind] } : version];
      });
      model.set(one.at, { ...found, versions: new Map(versions) });
      return "done";
    }
    case "bound":
      model.set(one.at, { max: one.max, versions: found?.versions ?? new Map() });
      return "done";
    case "remove":
      model.delete(one.at);
      return "done";
    case "move":
    case "copy":
      if (one.at === one.to || found === undefined || model.has(one.to)) return "refused";
      model.set(one.to, found);
      if (one.kind === "move") model.delete(one.at);
      return "done";
  }
}

function dataOf({ size: length }: { readonly size: number }, count: number): JsonObject {
  return { count, [`k${count % 3}`]: "x".repeat(length) };
}

async function taken(kv: MadeKv, one: Step, count: number): Promise<unknown> {
  switch (one.kind) {
    case "put":
      return kv.put(one.at, dataOf(one, count));
    case "patch":
      return kv.ask("PATCH", `data/${one.at}`, { body: { data: dataOf(one, count) } });
    case "delete":
    case "undelete":
    case "destroy":
      return kv.post(`${one.kind}/${one.at}`, { versions: one.numbers });
    case "bound":
      return kv.post(`metadata/${one.at}`, { max_versions: one.max });
    case "remove":
      return kv.ask("DELETE", `metadata/${one.at}`);
    case "move":
    case "copy":
      return kv.post(one.kind, { from: one.at, to: one.to });
  }
}

/** Everything that can be read, and no row more than is needed for it. */
async function compare(kv: MadeKv, model: Model): Promise<void> {
  assert.deepEqual(await kv.keys("metadata", { scan: "true" }), [...model.keys()].toSorted());
  const expectedRows: string[] = [];
  for (const [path, { versions }] of model) {
    const secret = await kv.tested.engine.versioned.secret(path);
    assert.ok(secret !== null);
    assert.deepEqual(
      secret.versions.map((_, n) => secret.oldest + n),
      [...versions.keys()],
    );
    for (const [n, version] of versions) {
      const { status, data } = await kv.get(`data/${path}`, { version: String(n) });
      assert.equal(status, version.state === "live" ? null : 404);
      assert.deepEqual(data["data"], version.state === "live" ? version.data : null);
    }
    const rows = secret.versions.flatMap((version, n) =>
      hasRow(version) ? [secret.oldest + n] : [],
    );
    expectedRows.push(...rows.map((n) => `versions/${secret.id}/${n}`));
  }
  assert.deepEqual(await kv.rows("versions/"), expectedRows.toSorted());
}

test("whatever is done in whatever order, the mount holds what a simple model says", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 40, size: "max" }), async (steps) => {
      const kv = await madeKv();
      const model: Model = new Map();
      for (const [count, one] of steps.entries()) {
        const expected = modelled(model, one, count);
        const result = await taken(kv, one, count).then(
          () => "done",
          (error: unknown) => {
            assert.ok(error instanceof Failure, String(error));
            return "refused";
          },
        );
        assert.equal(result, expected, JSON.stringify(one));
      }
      await compare(kv, model);
    }),
    { numRuns: 100 },
  );
});
