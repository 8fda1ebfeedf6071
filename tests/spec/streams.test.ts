// Bodies and answers that never lie in memory whole, through the whole server: judged and recorded like every
// other request, and waited for.

import assert from "node:assert/strict";
import { request } from "node:http";
import test from "node:test";
import { anyEngine, type EngineType } from "@holdfast/plugin-sdk/engine";
import { access } from "@holdfast/shared/endpoint/access";
import { endpointsOf } from "@holdfast/shared/endpoint/endpoint";
import { out } from "@holdfast/shared/endpoint/output";
import { StreamBody } from "@holdfast/shared/endpoint/stream";
import { wire } from "@holdfast/shared/endpoint/wire";
import { until } from "../support/until.ts";
import { done, engineServer } from "../support/servers/engine-server.ts";

const MIB = 1024 * 1024;
// A stream that stands still is a failure, and not the end of the run.
const BOUND = { timeout: 300_000 };
const PIECES = 512; // more than any system holds for a client that does not read
const endpoint = endpointsOf<{ kept: Uint8Array[]; made: number }>();

const streaming: EngineType<{ kept: Uint8Array[]; made: number }> = {
  type: "streaming",
  kind: "secret",
  summary: "Streams.",
  version: "v1",
  checkOptions: (options) => options,
  open: () => ({ kept: [], made: 0 }),
  paths: () => [
    endpoint({
      name: "streamIn",
      method: "POST",
      path: "/in",
      summary: "Take bytes.",
      access: access.capability,
      belongs: "local",
      family: "bare",
      bodyStream: {
        contentTypes: ["application/octet-stream"],
        maxBytes: 8 * MIB,
        description: "Bytes.",
      },
      input: { tag: wire.query("tag").string("A word.").optional() },
      output: out.anyObject("How many came."),
      async handler(_room, { tag }, context) {
        let bytes = 0;
        for await (const chunk of context.stream ?? []) bytes += chunk.length;
        return { bytes, tag: tag ?? null };
      },
    }),
    endpoint({
      name: "streamOut",
      method: "GET",
      path: "/out",
      summary: "Give bytes.",
      access: access.capability,
      family: "bare",
      input: {},
      output: out.stream("application/octet-stream", "Bytes."),
      handler: (room) =>
        new StreamBody(
          "application/octet-stream",
          (async function* () {
            for (; room.made < PIECES; room.made++) yield Buffer.alloc(65_536, 5);
          })(),
        ),
    }),
  ],
};

interface Sent {
  readonly status: number;
  readonly body: Buffer;
}

function send(
  url: string,
  method: string,
  headers: Record<string, string>,
  body?: Uint8Array,
): Promise<Sent> {
  const { promise, resolve, reject } = Promise.withResolvers<Sent>();
  const call = request(url, { method, headers }, (answer) => {
    const parts: Buffer[] = [];
    answer.on("data", (part: Buffer) => parts.push(part));
    answer.on("end", () => resolve({ status: answer.statusCode ?? 0, body: Buffer.concat(parts) }));
    answer.on("error", reject);
  });
  call.on("error", reject);
  call.end(body);
  return promise;
}

test(
  "a streamed body is taken beyond the listener's limit by who may, and by nobody else",
  BOUND,
  async (t) => {
    const server = await engineServer(t, { engineTypes: [anyEngine(streaming)] });
    await server.enable("s", "streaming");
    const at = (path: string) => `${server.test.url}/v1/${path}`;
    const type = { "Content-Type": "application/octet-stream" };
    const mine = { ...type, "X-Service-Token": server.root };
    const large = Buffer.alloc(5 * MIB, 9);

    const taken = await send(at("s/in?tag=x"), "POST", mine, large);
    assert.deepEqual(JSON.parse(taken.body.toString()), { bytes: large.length, tag: "x" });
    const stranger = await server.client('path "other/*" { capabilities = ["read"] }');
    const refused = await send(at("s/in"), "POST", { ...type, "X-Service-Token": stranger }, large);
    assert.equal(refused.status, 403);
    assert.equal((await send(at("s/in"), "POST", mine, Buffer.alloc(9 * MIB))).status, 413);
    assert.equal((await send(at("sys/mounts/s2"), "POST", mine, large)).status, 413);
    const json = { ...mine, "Content-Type": "application/json" };
    assert.equal((await send(at("s/in"), "POST", json, Buffer.from("{}"))).status, 415);
  },
);

test(
  "a streamed answer is recorded before it begins, is not wrapped, and runs until its end",
  BOUND,
  async (t) => {
    const server = await engineServer(t, { engineTypes: [anyEngine(streaming)] });
    await server.enable("s", "streaming");
    const headers = { "X-Service-Token": server.root };
    const url = `${server.test.url}/v1/s/out`;
    const whole = await send(url, "GET", headers);
    assert.equal(whole.status, 200);
    assert.equal(whole.body.length, PIECES * 65_536);
    const wrapped = await send(url, "GET", { ...headers, "X-Service-Wrap-TTL": "60s" });
    assert.equal(wrapped.status, 400);

    done(await server.ask("DELETE", "sys/mounts/s"));
    await server.enable("s", "streaming");
    const paused = request(url, { headers }, (answer) => answer.pause());
    paused.end();
    t.after(() => paused.destroy());
    const running = () => server.ask("GET", "sys/in-flight-req");
    await until(async () => JSON.stringify((await running()).json).includes("streamOut"));
    paused.destroy();
    await until(async () => !JSON.stringify((await running()).json).includes("streamOut"));
  },
);
