import assert from "node:assert/strict";
import test from "node:test";
import { Client } from "./client.ts";
import type { Transport } from "./transport.ts";
import { ApiError } from "./api-error.ts";

test("of a wrapped answer there is no data, whatever stands there, and the token is hidden", async () => {
  const text = JSON.stringify({
    request_id: "r",
    data: null,
    wrap_info: {
      token: "hvs.secret",
      accessor: "a",
      ttl: 60,
      creation_time: "",
      creation_path: "",
    },
  });
  const transport = {
    address: "http://127.0.0.1:1",
    send: async () => ({
      status: 200,
      header: (name: string) => (name === "content-type" ? "application/json" : undefined),
      body: new TextEncoder().encode(text),
    }),
    close: () => {},
  } as unknown as Transport;
  const client = new Client({ transport, token: null, namespace: "", region: "" });
  const answer = await client.call({ method: "GET", path: "a", answer: "auth" });
  assert.equal(answer.data, undefined);
  assert.equal(answer.wrapInfo?.token.reveal(), "hvs.secret");
  assert.doesNotMatch(String(answer.wrapInfo?.token), /hvs/);
});

function refusing(headers: Record<string, string>): Transport {
  return {
    address: "http://127.0.0.1:1",
    send: async () => ({
      status: 400,
      header: (name: string) => headers[name.toLowerCase()],
      body: new TextEncoder().encode('{"errors":["no"]}'),
    }),
    close: () => {},
  } as unknown as Transport;
}

test("a refusal has the word that the server tells, and the status alone where none was told", async () => {
  const codeOf = async (headers: Record<string, string>) => {
    const json = { "content-type": "application/json", ...headers };
    const client = new Client({
      transport: refusing(json),
      token: null,
      namespace: "",
      region: "",
    });
    const error: unknown = await client.request("GET", "a").then(
      () => null,
      (refused: unknown) => refused,
    );
    assert.ok(error instanceof ApiError);
    return error.code;
  };
  assert.equal(await codeOf({ "x-service-error": "kv_cas_mismatch" }), "kv_cas_mismatch");
  assert.equal(await codeOf({}), "status-400");
  assert.equal(await codeOf({ "x-service-error": "<b>" }), "status-400");
});
