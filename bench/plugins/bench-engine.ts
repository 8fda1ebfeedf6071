// An engine that does one thing at a time, so that each has its price: nothing, reads of what it keeps, a transaction, an answer
// as large as is asked for, and a wait.

import { jsonCodec } from "@holdfast/shared/codec";
import { access } from "@holdfast/shared/endpoint/access";
import { out } from "@holdfast/shared/endpoint/output";
import { wire } from "@holdfast/shared/endpoint/wire";
import { engineEndpoints, type EngineNeeds, type EngineType } from "@holdfast/plugin-sdk/engine";

const numbers = jsonCodec<number>();
const endpoint = engineEndpoints<EngineNeeds>();
const ANSWER = out.object({ n: out.integer("A number.") });

export const benchEngine: EngineType<EngineNeeds> = {
  type: "bench",
  kind: "secret",
  summary: "Has prices.",
  version: "v1.0.0",
  checkOptions: (options) => options,
  canChangeOptions: () => null,
  open: (needs) => needs,
  paths: () => [
    endpoint({
      name: "benchNothing",
      method: "GET",
      path: "/nothing",
      summary: "Answer.",
      access: access.capability,
      input: {},
      output: ANSWER,
      handler: async () => ({ n: 0 }),
    }),
    endpoint({
      name: "benchReads",
      method: "GET",
      path: "/reads",
      summary: "Read so often, one after the other.",
      access: access.capability,
      input: { times: wire.query("times").integer("How often.", { min: 0 }).default(1) },
      output: ANSWER,
      handler: async ({ storage }, { times }) => {
        for (let i = 0; i < times; i++) await storage.get("kept", numbers);
        return { n: times };
      },
    }),
    endpoint({
      name: "benchCounts",
      method: "POST",
      path: "/counts/:key",
      summary: "Count on under a key.",
      access: access.capability,
      belongs: "mount",
      input: { key: wire.path("key").string("The key.") },
      output: ANSWER,
      handler: async ({ storage }, { key }) => {
        const n = await storage.write((tx) => {
          const next = (tx.get(`counts/${key}`, numbers) ?? 0) + 1;
          tx.put(`counts/${key}`, next, numbers);
          return next;
        });
        return { n };
      },
    }),
    endpoint({
      name: "benchLarge",
      method: "GET",
      path: "/large",
      summary: "Answer with so many characters.",
      access: access.capability,
      input: { size: wire.query("size").integer("How many.", { min: 0 }).default(0) },
      output: out.object({ text: out.string("So many.") }),
      handler: async (_, { size }) => ({ text: "x".repeat(size) }),
    }),
    endpoint({
      name: "benchWaits",
      method: "GET",
      path: "/waits",
      summary: "Wait until nobody asks any more.",
      access: access.capability,
      input: {},
      output: ANSWER,
      handler: async ({ timers }) => {
        await new Promise<void>((go) => void timers.after(60_000_000_000n, go));
        return { n: 0 };
      },
    }),
    endpoint({
      name: "benchFloods",
      method: "POST",
      path: "/floods",
      summary: "Print from now on, as fast as it is read.",
      access: access.capability,
      belongs: "mount",
      input: {},
      output: out.nothing,
      handler: async () => {
        const lines = Buffer.from(`${"y".repeat(99)}\n`.repeat(1000));
        const flood = () => void process.stderr.write(lines, flood);
        flood();
        return undefined;
      },
    }),
  ],
};
