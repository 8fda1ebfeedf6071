// Threats E on the client's side: what a command could not show it does not print in its complaint.

import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import { makeHome, run } from "../cli/harness.ts";
import { at } from "../support/http-client.ts";
import { startServer } from "../support/servers/test-server.ts";

const VALUE = "s3cret-that-nobody-prints";

async function wrappedOn(t: TestContext) {
  const server = await startServer();
  t.after(() => server.stop());
  const { token } = await server.open();
  const env = {
    HOLDFAST_ADDR: server.url,
    HOLDFAST_TOKEN: token,
    HOME: makeHome((call) => t.after(call)),
  };
  const wrap = async () => {
    const made = await server.call("POST", "/v1/sys/wrapping/wrap", {
      token,
      body: { password: VALUE, nested: { deep: VALUE } },
      headers: { "X-Service-Wrap-TTL": "5m" },
    });
    return String(at(made, "wrap_info", "token"));
  };
  return { server, env, wrap };
}

/** The token comes from a pipe: on the command line it is refused. */
function unwrap(env: Record<string, string>, wrapping: string, ...flags: readonly string[]) {
  return run(["unwrap", ...flags, "-"], { env, stdin: `${wrapping}\n` });
}

test("T-E05: a field that is not there, or a form that is not known, fails without the value", async (t) => {
  const { env, wrap } = await wrappedOn(t);
  for (const flags of [
    ["-field", "pasword"],
    ["-field", "nested.none"],
    ["-format", "toml"],
  ]) {
    const wrapping = await wrap();
    const { code, all } = await unwrap(env, wrapping, ...flags);
    assert.notEqual(code, 0, flags.join(" "));
    assert.ok(!all.includes(VALUE), all);
    assert.ok(!all.includes(wrapping), all);
  }
  // And what can be shown is.
  const { code, stdout } = await unwrap(env, await wrap(), "-field", "password");
  assert.deepEqual([code, stdout.trimEnd()], [0, VALUE]);
});

test("T-E05: a wrapping token that failed is not repeated in the complaint", async (t) => {
  const { env, wrap } = await wrappedOn(t);
  const wrapping = await wrap();
  assert.equal((await unwrap(env, wrapping, "-field", "password")).code, 0);
  const again = await unwrap(env, wrapping);
  assert.notEqual(again.code, 0);
  assert.match(again.all, /wrapping token is not valid or does not exist/);
  assert.ok(!again.all.includes(wrapping), again.all);
});
