// A change of an RGP or EGP counts for the next request, everywhere; and what becomes of a stored one
// that is no program any more.

import assert from "node:assert/strict";
import { Agent } from "node:http";
import test from "node:test";
import { ROOT_NAMESPACE } from "@holdfast/shared/endpoint/request";
import {
  governingCodec,
  governingPolicies,
} from "../../../src/policies/governing/governing-record.ts";
import { StoppableClock } from "../../support/servers/acl-server.ts";
import {
  governedServer,
  type GovernedServer,
  OVERRIDE,
} from "../../support/servers/governed-server.ts";
import { at } from "../../support/http-client.ts";

const HARD = "hard-mandatory";
const LOOKUP = "/v1/auth/token/lookup-self";

test("while 32 connections hammer a path, no request after the acknowledgement is judged by the old text", async (t) => {
  const server = await governedServer(t);
  await server.egp("gate", "true", HARD, ["auth/token/lookup-self"]);
  const { secret: token } = await server.client(["other"]);
  const agent = new Agent({ keepAlive: true, maxSockets: 32 });
  t.after(() => agent.destroy());
  let open = true; // as last acknowledged
  let moves = 0; // beginnings and ends of changes
  let over = false;
  let compared = 0;
  const wrong: string[] = [];
  const hammer = async () => {
    while (!over) {
      const before = moves;
      const { status } = await server.call("GET", LOOKUP, { token, agent });
      // While a change was under way it may count or not.
      if (before % 2 === 1 || before !== moves) continue;
      compared++;
      if ((status === 200) !== open) wrong.push(`${status} while ${open ? "open" : "shut"}`);
    }
  };
  const running = Array.from({ length: 32 }, hammer);
  try {
    for (let i = 0; i < 6; i++) {
      moves++;
      await server.egp("gate", String(!open), HARD, ["auth/token/lookup-self"]);
      open = !open;
      moves++;
      const answers = Array.from({ length: 8 }, () => server.call("GET", LOOKUP, { token }));
      for (const { status } of await Promise.all(answers)) assert.equal(status, open ? 200 : 403);
    }
  } finally {
    over = true;
  }
  await Promise.all(running);
  assert.deepEqual(wrong, []);
  assert.ok(compared > 50, `${compared} were compared`);
});

test("level and paths change with the text, and a deleted RGP restricts no more", async (t) => {
  const server = await governedServer(t);
  await server.rgp("bound", "false", HARD);
  await server.egp("gate", "false", HARD, ["auth/*"]);
  const { secret: token } = await server.client(["bound"]);
  const status = async () => (await server.call("GET", LOOKUP, { token })).status;
  assert.equal(await status(), 403);
  await server.egp("gate", "false", HARD, ["sys/*"]);
  assert.equal(await status(), 403); // the RGP
  await server.rgp("bound", "false", "advisory");
  assert.equal(await status(), 200);
  await server.rgp("bound", "false", HARD);
  assert.equal(await status(), 403);
  await server.must("DELETE", "/v1/sys/policies/rgp/bound");
  assert.equal(await status(), 200);
  await server.rgp("bound", "false", HARD); // the token still has its name
  assert.equal(await status(), 403);
});

test("one that ends by itself judges until then", async (t) => {
  const clock = new StoppableClock();
  const server = await governedServer(t, { world: { clock } });
  const body = { policy: "false", enforcement_level: HARD, paths: ["auth/*"], ttl: "10m" };
  await server.must("POST", "/v1/sys/policies/egp/short", { body });
  const { secret: token } = await server.client(["other"]);
  const status = async () => (await server.call("GET", LOOKUP, { token })).status;
  assert.equal(await status(), 403);
  clock.stoppedAt = clock.now() + 11n * 60n * 1_000_000_000n;
  assert.equal(await status(), 200);
});

test("a stored program that does not compile any more denies at both mandatory levels, and is logged", async (t) => {
  const server = await governedServer(t);
  const { secret: token } = await server.client(["other"]);
  const ask = (headers = {}) => server.call("GET", LOOKUP, { token, headers });
  for (const [level, plain, overridden] of [
    [HARD, 403, 403],
    ["soft-mandatory", 403, 200],
    ["advisory", 200, 200],
  ] as const) {
    await server.egp("old", "true", level, ["auth/*"]);
    await spoil(server, "old");
    assert.equal((await ask()).status, plain, level);
    assert.equal((await ask(OVERRIDE)).status, overridden, level);
  }
  const text = String(at(await refused(server, token), "errors", 0));
  assert.match(text, /The specific error was:\nfailed to parse policy: 1:\d+: /);
  const line = server.test.lines.find((one) => one.includes("does not compile any more")) ?? "";
  assert.match(line, /ERROR|error/);
  assert.match(line, /root\/old/);
  await server.egp("old", "true", HARD, ["auth/*"]); // written anew
  assert.equal((await ask()).status, 200);
});

async function refused(server: GovernedServer, token: string) {
  await server.egp("old", "true", HARD, ["auth/*"]);
  await spoil(server, "old");
  return server.call("GET", LOOKUP, { token });
}

/** As an older version may have stored it. */
async function spoil(server: GovernedServer, name: string): Promise<void> {
  const { shared } = server.test.server.tokens.rows;
  await shared.sub(governingPolicies("egp", ROOT_NAMESPACE.id)).write((tx) => {
    const record = tx.get(name, governingCodec);
    assert.ok(record !== null);
    tx.put(name, { ...record, text: "no_such_name" }, governingCodec);
  });
}

test("programs of namespaces above and of the own one judge together, and a child's ends at the child", async (t) => {
  const server = await governedServer(t);
  for (const path of ["team", "team/deep", "beside"]) {
    await server.must("POST", `/v1/sys/namespaces/${path}`);
  }
  const who = new Map<string, string>();
  for (const namespace of ["team", "team/deep", "beside"]) {
    who.set(namespace, (await server.client(["other"], namespace)).secret);
  }
  const rootToken = (await server.client(["other"])).secret;
  const refusalIn = async (namespace: string) => {
    const token = who.get(namespace) ?? rootToken;
    const answer = await server.call("GET", LOOKUP, { token, namespace });
    const text = answer.status === 200 ? "" : String(at(answer, "errors", 0));
    const names = [
      ...text.matchAll(/egp standard policy (?:"[^/]+\/([^"]+)"|of a namespace (above))/g),
    ];
    return names.map(([, own, other]) => own ?? other).join(" ");
  };
  await server.egp("at-root", "false", HARD, ["team/*"]);
  await server.egp("at-team", "false", HARD, ["auth/token/lookup-self", "deep/auth/*"], "team");
  await server.egp("at-deep", "false", HARD, ["*"], "team/deep");
  assert.equal(await refusalIn(""), "");
  assert.equal(await refusalIn("beside"), "");
  assert.equal(await refusalIn("team"), "at-team above");
  assert.equal(await refusalIn("team/deep"), "above at-deep above");
  await server.must("DELETE", "/v1/sys/policies/egp/at-team", { namespace: "team" });
  assert.equal(await refusalIn("team/deep"), "at-deep above");
});
