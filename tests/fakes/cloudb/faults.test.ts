import assert from "node:assert/strict";
import test from "node:test";
import { at, call } from "../../support/http-client.ts";
import { graphCode, rawClient, type RawClient } from "./raw-client.ts";

function create(client: RawClient) {
  return client.graph("POST", "/applications", { displayName: "new" });
}

function applications(client: RawClient): number {
  return client.fake.control.state().applications.length - 1;
}

test("throttling and outages say when to come back, or do not", async (t) => {
  const client = await rawClient(t);
  const { control } = client.fake;
  control.fault({ action: "graph", effect: { kind: "throttle", retryAfter: 3 } });
  const first = await create(client);
  assert.deepEqual([first.status, first.headers["retry-after"]], [429, "3"]);
  control.fault({ action: "graph", effect: { kind: "unavailable" } });
  const second = await create(client);
  assert.deepEqual([second.status, second.headers["retry-after"]], [503, undefined]);
  assert.equal((await create(client)).status, 201);
  assert.equal(applications(client), 1);
});

test("calls over the rate of a second are throttled, until the next", async (t) => {
  let now = 1_767_225_600_000;
  const client = await rawClient(t, { now: () => now });
  client.fake.control.set({ perSecond: { graph: 1 }, retryAfter: 1 });
  assert.equal((await create(client)).status, 201);
  assert.equal((await create(client)).status, 429);
  now += 1000;
  assert.equal((await create(client)).status, 201);
});

test("a lost answer has had its effect, a reset connection has not", async (t) => {
  const client = await rawClient(t);
  const { control } = client.fake;
  control.fault({ action: "createApplication", effect: { kind: "reset" } });
  await assert.rejects(create(client));
  assert.equal(applications(client), 0);
  control.fault({ action: "createApplication", effect: { kind: "lost" } });
  await assert.rejects(create(client));
  assert.equal(applications(client), 1);
});

test("a fault can skip calls, strike each second one, and be ordered by name", async (t) => {
  const client = await rawClient(t);
  const { control } = client.fake;
  const effect = { kind: "refuse", status: 418, code: "Teapot" } as const;
  control.fault({ action: "createApplication", effect, skip: 1 });
  const statuses: number[] = [];
  for (let i = 0; i < 3; i++) statuses.push((await create(client)).status);
  assert.deepEqual(statuses, [201, 418, 201]);
  control.fault({ action: "createApplication", effect, every: 2, times: 0 });
  for (let i = 0; i < 4; i++) statuses.push((await create(client)).status);
  assert.deepEqual(statuses.slice(3), [201, 418, 201, 418]);
  control.clearFaults();
  assert.equal((await create(client)).status, 201);
});

test("a call that is held before its effect has none if its caller goes, after it has", async (t) => {
  const client = await rawClient(t);
  const { control, endpoints } = client.fake;
  const headers = await client.bearer("graph");
  let last = 0;
  for (const when of ["before", "after"] as const) {
    control.fault({ action: "createApplication", effect: { kind: "hold", when } });
    const gone = new AbortController();
    const body = JSON.stringify({ displayName: when });
    const sent = fetch(`${endpoints.graph}/v1.0/applications`, {
      method: "POST",
      headers: { ...headers, "content-type": "application/json" },
      body,
      signal: gone.signal,
    });
    [last = 0] = await control.held(last);
    gone.abort();
    await assert.rejects(sent);
    assert.equal(applications(client), when === "before" ? 0 : 1);
  }
  control.fault({ action: "createApplication", effect: { kind: "hold", when: "before" } });
  const sent = create(client);
  await control.held(last);
  control.release();
  assert.equal((await sent).status, 201);
});

test("the log of calls shows who asked for what, in order, and no secret", async (t) => {
  const client = await rawClient(t);
  const { control, clientId, clientSecret } = client.fake;
  await create(client);
  assert.deepEqual(control.actions(), ["token", "createApplication"]);
  const [token, made] = control.calls();
  assert.equal(made?.clientId, clientId);
  assert.equal(made?.keyId, token?.keyId);
  assert.deepEqual(made?.params, { displayName: "new" });
  assert.deepEqual([made?.status, made?.method], [201, "POST"]);
  assert.ok(!JSON.stringify(control.calls()).includes(clientSecret));
  assert.ok(!JSON.stringify(control.state()).includes(clientSecret));
});

test("all of it can be ordered over HTTP", async (t) => {
  const client = await rawClient(t);
  const { url } = client.fake;
  const order = async (method: string, path: string, body?: unknown) => {
    const answer = await call(url, method, `/_fake/${path}`, body === undefined ? {} : { body });
    assert.equal(answer.status, 200, answer.text);
    return answer;
  };
  await order("POST", "settings", { denied: ["createApplication"] });
  assert.deepEqual(graphCode(await create(client)), [403, "Authorization_RequestDenied"]);
  await order("POST", "settings", { denied: [] });
  const effect = { kind: "refuse", status: 400, code: "Odd" };
  await order("POST", "faults", { action: "createApplication", effect });
  assert.deepEqual(graphCode(await create(client)), [400, "Odd"]);
  assert.equal((await create(client)).status, 201);
  const lines = (await order("GET", "inventory")).json as string[];
  assert.equal(lines.filter((line) => line.startsWith("application ")).length, 2);
  const made = await order("POST", "applications", { displayName: "by hand", passwords: 2 });
  assert.equal((at(made, "passwords") as unknown[]).length, 2);
  await order("POST", "remove", { id: at(made, "id") });
  const state = await order("GET", "state");
  assert.equal((at(state, "deletedItems") as unknown[]).length, 2);
  const calls = (await order("GET", "calls")).json as unknown[];
  assert.equal(calls.length, 6);
  assert.equal((await call(url, "GET", "/_fake/nothing")).status, 404);
});

test("an echo repeats the secrets it was sent, so that their way can be followed", async (t) => {
  const client = await rawClient(t);
  client.fake.control.fault({ action: "token", effect: { kind: "echo", status: 400 } });
  const answer = await client.token(client.credentials());
  const { clientSecret } = client.fake;
  assert.ok(decodeURIComponent(answer.text).includes(clientSecret));
});
