// Threats E: response wrapping. Through HTTP, against a whole server.

import assert from "node:assert/strict";
import { Agent } from "node:http";
import test from "node:test";
import {
  dataOf,
  done,
  engineServer,
  type EngineServer,
  grants,
  refused,
  SECOND,
} from "../support/servers/engine-server.ts";
import { at, type CallOptions } from "../support/http-client.ts";

const INVALID = "wrapping token is not valid or does not exist";
const wrapFor = (ttl: string, more: Record<string, string> = {}): CallOptions => ({
  headers: { "X-Service-Wrap-TTL": ttl, ...more },
});

async function wrapped(server: EngineServer, ttl = "5m", more: Record<string, string> = {}) {
  const made = await server.must("POST", "sys/wrapping/wrap", { a: "b" }, wrapFor(ttl, more));
  return at(made, "wrap_info") as { readonly token: string; readonly accessor: string };
}

test("T-E01: of a hundred who unwrap at once one wins, through either form and any mix of doors", async (t) => {
  const server = await engineServer(t);
  const agent = new Agent({ keepAlive: true, maxSockets: 100 });
  t.after(() => agent.destroy());
  for (const form of ["token", "jwt"]) {
    const { token } = await wrapped(
      server,
      "5m",
      form === "jwt" ? { "X-Service-Wrap-Format": "jwt" } : {},
    );
    const doors = [
      () => server.test.call("POST", "/v1/sys/wrapping/unwrap", { token, agent }),
      () => server.ask("POST", "sys/wrapping/unwrap", { token }, { agent }),
      () => server.ask("PUT", "sys/wrapping/unwrap", { token }, { agent }),
      () => server.ask("POST", "sys/wrapping/rewrap", { token }, { agent }),
    ];
    const answers = await Promise.all(
      Array.from({ length: 100 }, (_, i) => doors[i % doors.length]!()),
    );
    const won = answers.filter(({ status }) => status === 200);
    assert.equal(won.length, 1, form);
    for (const answer of answers) if (answer.status !== 200) refused(answer, 400, INVALID);
    // Whoever won has it, or has the new wrapping of it.
    const fresh = at(won[0]!, "wrap_info", "token");
    const opened =
      typeof fresh === "string"
        ? await server.ask("POST", "sys/wrapping/unwrap", { token: fresh })
        : won[0]!;
    assert.deepEqual(dataOf(opened), { a: "b" });
  }
});

test("T-E02: a wrapping token opens its wrapping and nothing else", async (t) => {
  const server = await engineServer(t);
  await server.enable("kv", "kv");
  const { token } = await wrapped(server);
  for (const [method, path, body] of [
    ["GET", "auth/token/lookup-self", undefined],
    ["POST", "auth/token/renew-self", {}],
    ["POST", "auth/token/create", {}],
    ["GET", "cubbyhole/response", undefined], // where the oldest clients looked
    ["POST", "cubbyhole/response", { response: "swapped" }],
    ["LIST", "cubbyhole", undefined],
    ["POST", "cubbyhole/x", { a: 1 }],
    ["POST", "sys/capabilities-self", { paths: ["sys/mounts"] }],
    ["POST", "sys/wrapping/wrap", { a: 1 }],
    ["GET", "sys/mounts", undefined],
    ["GET", "kv/data/x", undefined],
    ["GET", "acl/token/self", undefined],
    ["POST", "acl/token/onetime", {}],
  ] as const) {
    const answer = await server.ask(method, path, body, { token, ...wrapFor("1m") });
    const plain = await server.ask(method, path, body, { token });
    for (const { status, text } of [answer, plain]) {
      assert.equal(status, 403, `${method} ${path}: ${status} ${text}`);
    }
  }
  const opened = await server.test.call("POST", "/v1/sys/wrapping/unwrap", { token });
  assert.deepEqual(dataOf(opened), { a: "b" }, "none of that has used it up");
});

test("T-E02: one wrapping token opens, renews or shows no other", async (t) => {
  const server = await engineServer(t);
  for (const format of ["token", "jwt"]) {
    const more = { "X-Service-Wrap-Format": format };
    const [own, other] = [await wrapped(server), await wrapped(server, "5m", more)];
    for (const path of ["unwrap", "rewrap", "lookup"]) {
      const body = { token: other.token };
      const answer = await server.ask("POST", `sys/wrapping/${path}`, body, { token: own.token });
      refused(answer, 400, INVALID);
    }
    for (const { token } of [own, other]) {
      const opened = await server.test.call("POST", "/v1/sys/wrapping/unwrap", { token });
      assert.deepEqual(dataOf(opened), { a: "b" });
    }
  }
});

test("T-E03: a look-up shows what a swapped token would not; another cluster's is none", async (t) => {
  const server = await engineServer(t);
  await server.enable("kv", "kv");
  await server.must("POST", "kv/data/app", { data: { a: 1 } });
  const real = await server.ask("GET", "kv/data/app", undefined, wrapFor("5m"));
  const swapped = await wrapped(server, "5m");
  const lookup = async (token: unknown) =>
    dataOf(await server.test.call("POST", "/v1/sys/wrapping/lookup", { body: { token } }));
  assert.equal((await lookup(at(real, "wrap_info", "token")))["creation_path"], "kv/data/app");
  assert.equal((await lookup(swapped.token))["creation_path"], "sys/wrapping/wrap");
  const other = await engineServer(t);
  for (const form of ["token", "jwt"]) {
    const { token } = await wrapped(
      other,
      "5m",
      form === "jwt" ? { "X-Service-Wrap-Format": "jwt" } : {},
    );
    refused(await server.ask("POST", "sys/wrapping/unwrap", { token }), 400, INVALID);
    refused(await server.ask("POST", "sys/wrapping/lookup", { token }), 400, INVALID);
    assert.deepEqual(dataOf(await other.ask("POST", "sys/wrapping/unwrap", { token })), { a: "b" });
  }
});

test("T-E03: a wrapping of another namespace does not look like one of root, and is not opened there", async (t) => {
  const server = await engineServer(t);
  await server.namespaces("team");
  const inTeam = { namespace: "team" };
  for (const where of [{}, inTeam]) {
    await server.must("POST", "sys/auth/approle", { type: "approle" }, where);
    await server.must("POST", "auth/approle/role/app", { token_policies: "default" }, where);
  }
  const ask = async (format: string, where: CallOptions) =>
    at(
      await server.must(
        "POST",
        "auth/approle/role/app/secret-id",
        {},
        {
          ...where,
          ...wrapFor("5m", { "X-Service-Wrap-Format": format }),
        },
      ),
      "wrap_info",
    ) as { readonly token: string; readonly creation_path: string };
  for (const format of ["token", "jwt"]) {
    const genuine = await ask(format, {});
    const swapped = await ask(format, inTeam);
    assert.equal(genuine.creation_path, "auth/approle/role/app/secret-id");
    assert.equal(swapped.creation_path, "team/auth/approle/role/app/secret-id");
    const { token } = swapped;
    for (const path of ["lookup", "unwrap", "rewrap"]) {
      refused(await server.ask("POST", `sys/wrapping/${path}`, { token }), 400, INVALID);
      refused(await server.test.call("POST", `/v1/sys/wrapping/${path}`, { token }), 400, INVALID);
    }
    const seen = await server.ask("POST", "sys/wrapping/lookup", { token }, inTeam);
    assert.equal(dataOf(seen)["creation_path"], swapped.creation_path);
    if (format === "jwt") {
      const claims = Buffer.from(token.split(".")[1] ?? "", "base64url").toString();
      assert.equal((JSON.parse(claims) as { ns: string }).ns, "team");
    }
    assert.equal((await server.ask("POST", "sys/wrapping/unwrap", { token }, inTeam)).status, 200);
  }
  // It goes with the namespace that it came from.
  const { token } = await ask("jwt", inTeam);
  await server.must("DELETE", "sys/auth/approle", undefined, inTeam);
  await server.must("DELETE", "sys/namespaces/team");
  refused(await server.ask("POST", "sys/wrapping/unwrap", { token }), 400, INVALID);
});

test("T-E03: a token in the form of a JWT has no second spelling", async (t) => {
  const server = await engineServer(t);
  const { token } = await wrapped(server, "5m", { "X-Service-Wrap-Format": "jwt" });
  const [head = "", payload = "", end = ""] = token.split(".");
  const others = ["=", "==", "A", "AA", "\t", "\n", " ", "+", "é"].flatMap((more) => [
    token + more,
    `${head}.${payload}${more}.${end}`,
    `${head}.${payload}.${more}${end}`,
    `${head}.${payload}.${end.slice(0, 9)}${more}${end.slice(9)}`,
  ]);
  for (const other of others) {
    const answer = await server.ask("POST", "sys/wrapping/lookup", { token: other });
    refused(answer, 400, INVALID);
  }
  assert.equal((await server.ask("POST", "sys/wrapping/unwrap", { token })).status, 200);
});

test("T-E04: times at and beyond the edge", async (t) => {
  const server = await engineServer(t);
  for (const [ttl, status] of [
    ["1s", 200],
    ["1", 200],
    ["32d", 200],
    ["768h", 200], // max_lease_ttl
    ["768h1s", 400],
    ["365d", 400],
    ["999999999999999999999", 400],
    ["-1s", 400],
    ["-1", 400],
    ["0.5s", 400],
    ["1ns", 400],
    ["soon", 400],
    ["NaN", 400],
  ] as const) {
    const answer = await server.ask("POST", "sys/wrapping/wrap", { a: "b" }, wrapFor(ttl));
    assert.equal(answer.status, status, `${ttl}: ${answer.text}`);
    assert.ok(status !== 400 || !answer.text.includes('"a"'), ttl);
  }
  // 0 asks for none, and this endpoint needs one.
  const none = await server.ask("POST", "sys/wrapping/wrap", { a: "b" }, wrapFor("0"));
  assert.equal(none.status, 400, none.text);
  // It ends while the node is sealed.
  const { token } = await wrapped(server, "60s");
  done(await server.ask("POST", "sys/seal"));
  await server.time.pass(61n * SECOND);
  await server.test.unseal(server.shares);
  refused(await server.ask("POST", "sys/wrapping/unwrap", { token }), 400, INVALID);
});

test("T-E04: unwrapping keeps nothing for longer than its maker might, whoever unwraps", async (t) => {
  const server = await engineServer(t);
  const short = 'path "sys/wrapping/wrap" { capabilities = ["update"] max_wrapping_ttl = "2m" }\n';
  const by = await server.client(short + grants("sys/wrapping/rewrap", "update"));
  refused(
    await server.ask("POST", "sys/wrapping/wrap", { a: "b" }, { token: by, ...wrapFor("24h") }),
    403,
    "permission denied",
  );
  const made = await server.must(
    "POST",
    "sys/wrapping/wrap",
    { a: "b" },
    { token: by, ...wrapFor("1m") },
  );
  const token = String(at(made, "wrap_info", "token"));
  const again =
    "what a wrapping token holds is not wrapped for another time; leave X-Service-Wrap-TTL out, and use " +
    "sys/wrapping/rewrap to put it behind a new token for as long as before";
  for (const path of ["unwrap", "rewrap", "lookup"]) {
    const ask = (body: object, credential: string) =>
      server.ask("POST", `sys/wrapping/${path}`, body, { token: credential, ...wrapFor("24h") });
    refused(await ask({}, token), 400, again);
    refused(await ask({ token }, by), 400, again);
    refused(await ask({ token }, server.root), 400, again);
  }
  // And none of that has used it up.
  const fresh = await server.must("POST", "sys/wrapping/rewrap", {}, { token });
  assert.equal(at(fresh, "wrap_info", "ttl"), 60);
  const opened = await server.test.call("POST", "/v1/sys/wrapping/unwrap", {
    token: String(at(fresh, "wrap_info", "token")),
  });
  assert.deepEqual(dataOf(opened), { a: "b" });
});

test("T-E04: what there is no room for is refused before the secret is made", async (t) => {
  const server = await engineServer(t);
  await server.counting();
  const token = await server.client(grants("count/creds/r", "read"));
  const large = { text: "x".repeat(1000 * 1024) };
  const wrap = () => server.ask("POST", "sys/wrapping/wrap", large, { token, ...wrapFor("24h") });
  let last = await wrap();
  for (let i = 0; last.status === 200 && i < 40; i++) last = await wrap();
  assert.equal(last.status, 429, last.text);
  const lost = await server.ask("GET", "count/creds/r", undefined, { token, ...wrapFor("1m") });
  assert.equal(lost.status, 429, lost.text);
  assert.deepEqual(server.outside.events, []);
  assert.equal((await server.ask("GET", "count/creds/r", undefined, { token })).status, 200);
  assert.equal(server.outside.objects.length, 1);
});
