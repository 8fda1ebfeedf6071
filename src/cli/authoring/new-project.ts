// The files of a new plugin: an engine that counts, with its test. What stands in them is what the page on plugins explains.

export function newProject(name: string): Readonly<Record<string, string>> {
  return {
    [`${name}.ts`]: engine(name),
    [`${name}.test.ts`]: test(name),
    "package.json": `${JSON.stringify(
      { name, version: "1.0.0", private: true, type: "module", scripts: { test: "node --test" } },
      null,
      2,
    )}\n`,
    ".gitignore": "node_modules/\n*.mjs\n",
  };
}

function engine(name: string): string {
  return `// Counts, under as many names as one likes.

import { jsonCodec } from "@holdfast/shared/codec";
import { access } from "@holdfast/shared/endpoint/access";
import { out } from "@holdfast/shared/endpoint/output";
import { wire } from "@holdfast/shared/endpoint/wire";
import { engineEndpoints, type EngineNeeds, type EngineType } from "@holdfast/plugin-sdk/engine";

const count = jsonCodec<number>();
const endpoint = engineEndpoints<EngineNeeds>();
const counter = wire.path("name").string("Name of the counter.");
const output = out.object({ count: out.integer("How often it was counted.") });

const type: EngineType<EngineNeeds> = {
  type: "${name}",
  kind: "secret",
  summary: "Counts.",
  version: "v1.0.0",
  checkOptions: (options) => options,
  open: (needs) => needs,
  paths: () => [
    endpoint({
      name: "readCounter",
      method: "GET",
      path: "/:name",
      summary: "Read a counter",
      access: access.capability,
      input: { name: counter },
      output,
      handler: async ({ storage }, input) => ({
        count: (await storage.get(input.name, count)) ?? 0,
      }),
    }),
    endpoint({
      name: "count",
      method: "POST",
      path: "/:name",
      summary: "Count",
      access: access.capability,
      belongs: "mount",
      input: {
        name: counter,
        by: wire.body("by").integer("How much.", { min: 1, max: 100 }).default(1),
      },
      output,
      handler: async ({ storage }, input) => ({
        count: await storage.write((tx) => {
          const next = (tx.get(input.name, count) ?? 0) + input.by;
          tx.put(input.name, next, count);
          return next;
        }),
      }),
    }),
  ],
};

export default type;
`;
}

function test(name: string): string {
  return `import assert from "node:assert/strict";
import test from "node:test";
import { openEngine } from "@holdfast/plugin-sdk/testing";
import type from "./${name}.ts";

test("it counts, and refuses what is too much", async () => {
  const engine = await openEngine(type);
  await engine.ask("POST", "doors");
  assert.deepEqual((await engine.ask("POST", "doors", { body: { by: 2 } })).data, { count: 3 });
  await assert.rejects(engine.ask("POST", "doors", { body: { by: 1000 } }), /by must be/);
  assert.deepEqual((await engine.ask("GET", "doors")).data, { count: 3 });
});
`;
}
