import assert from "node:assert/strict";
import test from "node:test";
import { Client } from "./client.ts";
import type { Transport } from "./transport.ts";
import { ApiError } from "./api-error.ts";

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
