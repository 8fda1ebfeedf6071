// Threats H: what an engine is told. Through HTTP, against a whole server.

import assert from "node:assert/strict";
import test from "node:test";
import { anyEngine, type EngineType } from "@holdfast/plugin-sdk/engine";
import { access } from "@holdfast/shared/endpoint/access";
import { endpointsOf } from "@holdfast/shared/endpoint/endpoint";
import { out } from "@holdfast/shared/endpoint/output";
import { dataOf, engineServer } from "../support/servers/engine-server.ts";

const CREDENTIALS = [
  "Authorization",
  "Proxy-Authorization",
  "Cookie",
  "X-Service-Token",
  "X-Vault-Token",
  "X-Nomad-Token",
];
const SPELLINGS = (name: string) => [name, name.toLowerCase(), name.toUpperCase()];

/** Tells every header that it can get at. */
const curious: EngineType<null> = {
  type: "curious",
  kind: "secret",
  summary: "Headers.",
  version: "v1",
  checkOptions: (options) => options,
  open: () => null,
  paths: () => [
    endpointsOf<null>()({
      name: "curiousHeaders",
      method: "GET",
      path: "/headers",
      summary: "Headers.",
      access: access.capability,
      input: {},
      output: out.anyObject("What it was told."),
      handler: (_, _input, context) => {
        const names = [...CREDENTIALS.flatMap(SPELLINGS), "X-Trace"];
        return Object.fromEntries(
          names.flatMap((name) => {
            const value = context.header(name);
            return value === undefined ? [] : [[name, value]];
          }),
        );
      },
    }),
  ],
};

test("T-H11: no credential reaches an engine, whatever headers its mount lets pass", async (t) => {
  const server = await engineServer(t, { engineTypes: [anyEngine(curious)] });
  await server.enable("c", "curious");
  for (const name of CREDENTIALS.flatMap(SPELLINGS)) {
    for (const list of [[name], ["X-Trace", name], [` ${name}`]]) {
      const config = { passthrough_request_headers: list };
      const tuned = await server.ask("POST", "sys/mounts/c/tune", config);
      assert.equal(tuned.status, 400, `${list.join()}: ${tuned.text}`);
      const made = await server.ask("POST", "sys/mounts/d", { type: "curious", config });
      assert.equal(made.status, 400, `${list.join()}: ${made.text}`);
    }
  }
  await server.must("POST", "sys/mounts/c/tune", { passthrough_request_headers: ["X-Trace"] });
  const headers = { Authorization: `Bearer ${server.root}`, Cookie: "a=b", "X-Trace": "t" };
  const answer = await server.ask("GET", "c/headers", undefined, { headers });
  assert.deepEqual(dataOf(answer), { "X-Trace": "t" });
});
