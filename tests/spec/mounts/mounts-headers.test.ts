// Headers that pass between clients and the engine of a mount, and other things that a mount is told
// which must have their effect or be refused.

import assert from "node:assert/strict";
import test from "node:test";
import { anyEngine, type EngineType } from "@holdfast/plugin-sdk/engine";
import { access } from "@holdfast/shared/endpoint/access";
import { endpointsOf } from "@holdfast/shared/endpoint/endpoint";
import { out } from "@holdfast/shared/endpoint/output";
import { reply } from "@holdfast/shared/endpoint/reply";
import { dataOf, done, engineServer, refused } from "../../support/servers/engine-server.ts";
import { at } from "../../support/http-client.ts";

const SEEN = ["X-Trace", "x-other", "X-Service-Token", "Authorization", "Host"];

/** Says which of some headers it was told of, and answers with two of its own. */
const echoing: EngineType<null> = {
  type: "echoing",
  kind: "secret",
  summary: "Headers.",
  version: "v1",
  checkOptions: (options) => options,
  open: () => null,
  paths: () => [
    endpointsOf<null>()({
      name: "echoHeaders",
      method: "GET",
      path: "/headers",
      summary: "Echo.",
      access: access.capability,
      input: {},
      output: out.anyObject("What it was told."),
      handler: (_, _input, context) => {
        const received = SEEN.flatMap((name) => {
          const value = context.header(name);
          return value === undefined ? [] : [[name, value]];
        });
        return reply(Object.fromEntries(received), {
          headers: { "X-Answer": "yes", "X-Secret-Thing": "no" },
        });
      },
    }),
  ],
};

const engineTypes = [anyEngine(echoing)];
const headers = { "x-trace": "t1", "X-Other": "o1" };

test("an engine is told of no header, and answers with none, unless its mount lists them", async (t) => {
  const server = await engineServer(t, { engineTypes });
  await server.enable("e", "echoing");
  const before = await server.ask("GET", "e/headers", undefined, { headers });
  assert.deepEqual(dataOf(before), {});
  assert.equal(before.headers["x-answer"], undefined);
  const config = {
    passthrough_request_headers: ["X-Trace"],
    allowed_response_headers: ["X-answer"],
  };
  done(await server.ask("POST", "sys/mounts/e/tune", config));
  const after = await server.ask("GET", "e/headers", undefined, { headers });
  assert.deepEqual(dataOf(after), { "X-Trace": "t1" });
  assert.equal(after.headers["x-answer"], "yes");
  assert.equal(after.headers["x-secret-thing"], undefined);
  const cleared = { passthrough_request_headers: [], allowed_response_headers: [] };
  done(await server.ask("POST", "sys/mounts/e/tune", cleared));
  assert.deepEqual(dataOf(await server.ask("GET", "e/headers", undefined, { headers })), {});
});

test("headers that carry credentials, frame an answer or are the server's own do not pass", async (t) => {
  const server = await engineServer(t, { engineTypes });
  await server.enable("e", "echoing");
  const bad: readonly (readonly [string, readonly string[]])[] = [
    [
      "passthrough_request_headers",
      [
        "X-Service-Token",
        "authorization",
        "Cookie",
        "X-Vault-Token",
        "x-nomad-token",
        "a b",
        "a\nb",
      ],
    ],
    [
      "allowed_response_headers",
      [
        "Set-Cookie",
        "content-length",
        "Access-Control-Allow-Origin",
        "X-Service-Index",
        "Location",
        "é",
      ],
    ],
  ];
  for (const [field, names] of bad) {
    for (const name of names) {
      const config = { [field]: [name] };
      const says = new RegExp(`^${field} has names of headers`);
      refused(await server.ask("POST", "sys/mounts/e/tune", config), 400, says);
      refused(await server.ask("POST", "sys/mounts/f", { type: "echoing", config }), 400, says);
    }
  }
});

test("what a mount cannot have is answered with a warning, and a key for identity tokens that is not there is refused", async (t) => {
  const server = await engineServer(t, { engineTypes });
  const wanted = { seal_wrap: true, external_entropy_access: true };
  const wrapped = await server.must("POST", "sys/mounts/e", { type: "echoing", ...wanted });
  assert.deepEqual(at(wrapped, "warnings"), [
    "seal_wrap has no effect: there is no second seal around single entries",
    "external_entropy_access has no effect: random bytes are those of the operating system",
  ]);
  const declined = { seal_wrap: false, external_entropy_access: false };
  const plain = await server.ask("POST", "sys/mounts/f", { type: "echoing", ...declined });
  assert.equal(plain.status, 204, "what existing clients send without a choice");
  done(await server.ask("POST", "sys/mounts/e/tune", { identity_token_key: "default" }));
  const answer = await server.ask("POST", "sys/mounts/e/tune", { identity_token_key: "mine" });
  refused(answer, 400, /^identity_token_key: there is one key/);
});
