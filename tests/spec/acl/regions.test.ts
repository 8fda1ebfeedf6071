// A region that was chosen goes with every request that has one: through the client's functions, and
// through the commands; what has none refuses it.

import assert from "node:assert/strict";
import test, { suite } from "node:test";
import * as sdk from "@holdfast/client";
import { Client, hasRegion } from "@holdfast/client/client";
import { parseServerAddress } from "@holdfast/client/server-address";
import { ownBytes } from "@holdfast/client/utf8";
import { Failure } from "@holdfast/shared/failure";
import { everyEndpoint } from "../../../src/surface.ts";

const SHAPES = { integer: 7, number: 7, boolean: true } as const;

type Call = (client: Client, ...inputs: readonly unknown[]) => Promise<unknown>;

const functions = new Map<string, unknown>(
  Object.values(sdk).flatMap((group) => (typeof group === "object" ? Object.entries(group) : [])),
);

/** What goes over the wire for a call. Whether the answer is one for it is of no concern here. */
async function sentBy(name: string, ...inputs: readonly unknown[]): Promise<URL> {
  const targets: string[] = [];
  const answer = {
    status: 200,
    header: (header: string) => (header === "content-type" ? "application/json" : undefined),
  };
  const client = new Client({
    transport: {
      address: parseServerAddress("http://127.0.0.1:8200"),
      send: async ({ target }) => (targets.push(target), { ...answer, body: ownBytes("{}") }),
      open: async ({ target }) => (
        targets.push(target),
        { ...answer, chunks: nothing(), trailer: () => undefined }
      ),
      close: () => {},
    },
    token: null,
    namespace: "",
    region: "elsewhere",
  });
  const call = functions.get(name) as Call;
  await call(client, ...inputs).catch((error: unknown) => {
    if (!(error instanceof Failure)) throw error;
  });
  assert.equal(targets.length, 1, name);
  return new URL(targets[0]!, "http://127.0.0.1");
}

async function* nothing(): AsyncGenerator<Uint8Array> {}

suite("each function of the client sends the parameters that its endpoint declares", () => {
  for (const { name, input: fields, path, bodyStream } of everyEndpoint) {
    if (!functions.has(name)) continue;
    const all = Object.values(fields);
    const ofPath = all.filter(({ source }) => source === "path").map((one) => [one.name, "x"]);
    const query = all.filter(({ source }) => source === "query");
    const body = bodyStream !== null ? [{ chunks: nothing(), length: 0, contentType: "x/y" }] : [];
    test(name, async () => {
      const bare = await sentBy(name, ...body, Object.fromEntries(ofPath));
      assert.equal(bare.searchParams.get("region"), hasRegion(path.slice(1)) ? "elsewhere" : null);
      const values = query.map((one) => {
        const { type } = one.schema;
        const value = typeof type === "string" && type in SHAPES ? SHAPES[type as "integer"] : "x";
        return [one.name, value] as const;
      });
      const whole = await sentBy(name, ...body, Object.fromEntries([...ofPath, ...values]));
      for (const [parameter, value] of values) {
        assert.equal(whole.searchParams.get(parameter), String(value), parameter);
      }
    });
  }
});

test("a region is declared by all that lies in acl/, but for what is done in one place", () => {
  const without = everyEndpoint
    .filter(({ path }) => hasRegion(path.slice(1)))
    .filter(({ input }) => !Object.values(input).some((field) => field.name === "region"));
  assert.deepEqual(
    without.map(({ name }) => name),
    ["bootstrapAcl"],
  );
});
