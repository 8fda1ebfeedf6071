// Threats N, T-N03 where the work is a password's: who floods waits behind itself. Through HTTP, with passwords
// that cost enough to have a line of them.

import assert from "node:assert/strict";
import { Agent } from "node:http";
import test from "node:test";
import { type LoginServer, loginServer, PASSWORD } from "../../support/servers/login-server.ts";

const COST = { n: 2 ** 13, r: 8, p: 1 };

interface After {
  after(call: () => Promise<void> | void): void;
}

async function floodedServer(t: After): Promise<{ logins: LoginServer; agent: Agent }> {
  const logins = await loginServer(t, { listener: { forwardedForFrom: ["127.0.0.1"] } }, COST);
  const agent = new Agent({ keepAlive: true, maxSockets: 200 });
  t.after(() => agent.destroy());
  return { logins, agent };
}

test("T-N03: of an address a few logins wait, the others are told so, and another's goes between", async (t) => {
  const { logins, agent } = await floodedServer(t);
  await logins.people();
  const from = (address: string, name: string, password: string) =>
    logins.server.call("POST", `/v1/auth/people/login/${name}`, {
      agent,
      body: { password },
      headers: { "X-Forwarded-For": address },
    });
  // Of one name, some wait anyway; of many, the address counts.
  const flood = Array.from({ length: 40 }, (_, i) => from("192.0.2.1", `nobody-${i}`, "x"));
  await Promise.race(flood); // they are at it
  const other = await from("192.0.2.2", "ada", PASSWORD);
  assert.equal(other.status, 200, other.text);
  const statuses = (await Promise.all(flood)).map(({ status }) => status);
  assert.deepEqual(new Set(statuses), new Set([400, 503]));
});

test("T-N03: one namespace's passwords keep nobody else from setting one, and a team is set up at once", async (t) => {
  const { logins, agent } = await floodedServer(t);
  const { server } = logins;
  await server.must("POST", "/v1/sys/namespaces/n1", { body: {} });
  await logins.people({}, {}, "n1");
  await logins.people();
  const set = (name: string, namespace?: string) =>
    server.manage("POST", `/v1/auth/people/users/${name}`, {
      agent,
      body: { password: PASSWORD },
      ...(namespace === undefined ? {} : { namespace }),
    });
  const flood = Array.from({ length: 120 }, (_, i) => set(`u${i}`, "n1"));
  let served = 0;
  const watched = flood.map(async (answering) => {
    const answer = await answering;
    if (answer.status === 204) served += 1;
    return answer;
  });
  await Promise.race(flood);
  const real = await set("real");
  assert.equal(real.status, 204, real.text);
  assert.ok(served < 30, `${served} of the flood were before it`);
  const team = await Promise.all(Array.from({ length: 30 }, (_, i) => set(`t${i}`)));
  assert.deepEqual(new Set(team.map(({ status }) => status)), new Set([204]));
  const refusals = (await Promise.all(watched)).filter(({ status }) => status !== 204);
  for (const answer of refusals) {
    assert.equal(answer.status, 503);
    assert.match(answer.text, /too many passwords are being set at once; try again/);
  }
});
