// What goes over the wire to the provider, against one that a test scripts: tokens, pages, and answers
// that no honest provider gives.

import assert from "node:assert/strict";
import test from "node:test";
import { utf8 } from "@holdfast/shared/bytes";
import { MINUTE, SECOND } from "@holdfast/shared/text/duration";
import type { JsonObject } from "@holdfast/shared/json/json";
import { OutboundError, type OutboundRequest } from "@holdfast/plugin-sdk/outbound";
import { openEngine } from "../../../tests/support/engine-host.ts";
import { fakeWorld } from "../../../tests/support/fake-world.ts";
import { cloudbType } from "../cloudb.ts";
import type { Connection } from "./connection.ts";
import { withPatience } from "./patience.ts";
import { ProviderError } from "../../cloud/provider-error.ts";

interface Scripted {
  readonly status?: number;
  readonly body?: JsonObject | string;
  readonly headers?: Readonly<Record<string, string>>;
}

const TOKEN = { body: { access_token: "t0ken-of-the-service", expires_in: 3599 } };
const { signal } = new AbortController();

async function connected(
  answer: (request: OutboundRequest) => Scripted,
  config: JsonObject = { client_secret: "the-client-secret" },
) {
  const world = fakeWorld();
  const sent: OutboundRequest[] = [];
  const outbound = {
    endpoint: (_field: string, text: string) => new URL(text),
    send: async (request: OutboundRequest) => {
      sent.push(request);
      const { status = 200, body = "", headers = {} } = answer(request);
      return {
        status,
        headers,
        body: utf8(typeof body === "string" ? body : JSON.stringify(body)),
      };
    },
  };
  const tested = await openEngine(cloudbType, world, { around: { outbound } });
  const body = { subscription_id: "sub", tenant_id: "ten/../ant", client_id: "id", ...config };
  await tested.ask("POST", "config", { body });
  const { connections } = tested.engine;
  return { world, sent, tested, connection: await connections.current(), connections };
}

const isToken = ({ url }: OutboundRequest) =>
  url.pathname.endsWith("/oauth2/v2.0/token") || url.pathname.startsWith("/metadata/");

function refusal(work: Promise<unknown>): Promise<ProviderError> {
  return work.then(
    () => assert.fail("it was accepted"),
    (error: unknown) => {
      assert.ok(error instanceof ProviderError, String(error));
      return error;
    },
  );
}

const read = ({ graph }: Connection) => graph.application("one", signal);
const APPLICATION = { body: { id: "one", appId: "app" } };

test("a token is asked for once, by a form, and goes with every call until shortly before it ends", async () => {
  const { connection, sent, world } = await connected((request) =>
    isToken(request) ? TOKEN : APPLICATION,
  );
  await Promise.all([read(connection), read(connection)]);
  const [token, ...calls] = sent;
  assert.equal(
    token?.url.href,
    "https://login.microsoftonline.com/ten%2F..%2Fant/oauth2/v2.0/token",
  );
  const form = new URLSearchParams(typeof token?.body === "string" ? token.body : "");
  assert.deepEqual(Object.fromEntries(form), {
    grant_type: "client_credentials",
    client_id: "id",
    client_secret: "the-client-secret",
    scope: "https://graph.microsoft.com/.default",
  });
  assert.deepEqual(
    calls.map(({ headers }) => headers["authorization"]),
    Array(2).fill("Bearer t0ken-of-the-service"),
  );
  assert.equal(
    sent.every(({ plain }) => plain === false),
    true,
  );
  world.clock.pass(54n * MINUTE);
  await read(connection);
  assert.equal(sent.filter(isToken).length, 1);
  world.clock.pass(61n * SECOND);
  await read(connection);
  assert.equal(sent.filter(isToken).length, 2);
});

test("a token that is not taken is asked for anew, once", async () => {
  let tokens = 0;
  const { connection, sent } = await connected((request) => {
    if (isToken(request)) return { body: { access_token: `t${++tokens}`, expires_in: 3599 } };
    return request.headers["authorization"] === "Bearer t2" ? APPLICATION : { status: 401 };
  });
  assert.equal((await read(connection))?.appId, "app");
  assert.equal(sent.length, 4);
  const { connection: never, sent: calls } = await connected((request) =>
    isToken(request)
      ? TOKEN
      : { status: 401, body: { error: { code: "InvalidAuthenticationToken" } } },
  );
  assert.equal((await refusal(read(never))).kind, "refused");
  assert.equal(calls.length, 4);
});

test("T-I07: a token endpoint that is not found does not mean that the object is gone", async () => {
  const { connection } = await connected(() => ({
    status: 404,
    body: { error: { code: "Request_ResourceNotFound", message: "" } },
  }));
  const { graph, arm } = connection;
  for (const work of [
    graph.deleteApplication("one", signal),
    graph.removePassword("applications", "one", "key", signal),
    arm.unassign("/subscriptions/s/x/y", signal),
    read(connection),
  ]) {
    assert.equal((await refusal(work)).step, "getting a token");
  }
});

test("T-I07: an answer that calls itself a success and is none is no success", async () => {
  const answers: Scripted[] = [
    { body: { error: { code: "X", message: "no" } } },
    { body: "<html>" },
    { body: "[]" },
    { body: '"text"' },
    { status: 302, headers: { location: "http://169.254.169.254/" } },
  ];
  for (const answer of answers) {
    const { connection } = await connected((request) => (isToken(request) ? TOKEN : answer));
    const error = await refusal(connection.graph.deleteApplication("one", signal));
    assert.equal(error.kind, "unknown", JSON.stringify(answer));
  }
});

test("T-I03: a list that goes on somewhere else is not followed, and our token does not go there", async () => {
  for (const link of [
    "https://evil.example/v1.0/applications?x",
    "https://graph.microsoft.com.evil.example/",
    "https://graph.microsoft.com@evil.example/",
    "http://graph.microsoft.com/v1.0/applications",
    "//evil.example/",
    "/v1.0/applications",
    "nonsense",
  ]) {
    const { connection, sent } = await connected((request) =>
      isToken(request) ? TOKEN : { body: { value: [], "@odata.nextLink": link } },
    );
    const error = await refusal(connection.graph.applicationsOf("x", signal));
    assert.match(error.message, /the list goes on somewhere else/);
    assert.equal(sent.length, 2, link);
  }
});

test("a list that never ends is given up", async () => {
  const { connection, sent } = await connected((request) =>
    isToken(request) ? TOKEN : { body: { value: [], "@odata.nextLink": request.url.href } },
  );
  assert.match(
    (await refusal(connection.graph.applicationsOf("x", signal))).message,
    /does not end/,
  );
  assert.ok(sent.length <= 102);
});

test("answers without what they must have are unreadable, and may have had their effect", async () => {
  const { connection } = await connected((request) => (isToken(request) ? TOKEN : { body: {} }));
  const { graph } = connection;
  for (const work of [
    graph.createApplication({}, signal),
    graph.createPrincipal("app", signal),
    graph.addPassword("applications", "one", {}, signal),
  ]) {
    const error = await refusal(work);
    assert.deepEqual([error.code, error.kind], ["unreadable answer", "unknown"]);
  }
  for (const body of [{}, { access_token: 7 }, { access_token: "a\r\nb" }]) {
    const other = await connected(() => ({ body }));
    assert.match((await refusal(read(other.connection))).message, /^getting a token: unreadable/);
  }
});

test("what was never sent is told from what may have had its effect", async () => {
  for (const [trouble, kind] of [
    ["forbidden", "forbidden"],
    ["unreachable", "unreachable"],
    ["lost", "unknown"],
    ["oversized", "unknown"],
    ["aborted", "unknown"],
  ] as const) {
    const { connection } = await connected((request) => {
      if (isToken(request)) return TOKEN;
      throw new OutboundError(trouble, "the host did not answer");
    });
    const error = await refusal(read(connection));
    assert.deepEqual([error.code, error.kind], [trouble, kind]);
  }
});

test("the identity of a machine is asked for at its own address alone, and again while it is not ready", async () => {
  let tries = 0;
  const { connection, sent, world } = await connected((request) => {
    if (!isToken(request)) return APPLICATION;
    return ++tries < 3 ? { status: 410 } : { body: { access_token: "m", expires_in: "3599" } };
  }, {});
  let found: unknown = null;
  const options = { within: MINUTE, stop: [] };
  const reading = withPatience(world, options, (patience) =>
    patience.step((limit) => connection.graph.application("one", limit)),
  );
  void reading.then((one) => (found = one));
  for (let i = 0; i < 60 && found === null; i++) await world.timers.advance(SECOND);
  assert.ok(found !== null);
  const [first] = sent;
  assert.equal(first?.url.origin, "http://169.254.169.254");
  assert.equal(first?.headers["metadata"], "true");
  assert.deepEqual(
    sent.map(({ metadata = false }) => metadata),
    [true, true, true, false],
  );
  assert.equal(first?.url.searchParams.get("resource"), "https://graph.microsoft.com");
});

test("T-I02: a connection is made anew when anything of the configuration changes, and after half an hour", async () => {
  const { connection, connections, tested, world } = await connected((request) =>
    isToken(request) ? TOKEN : APPLICATION,
  );
  assert.equal(await connections.current(), connection);
  await tested.ask("POST", "config", { body: { tenant_id: "other" } });
  const second = await connections.current();
  assert.notEqual(second, connection);
  await tested.ask("POST", "config", { body: { client_secret: "another-secret" } });
  const third = await connections.current();
  assert.notEqual(third, second);
  world.clock.pass(31n * MINUTE);
  assert.notEqual(await connections.current(), third);
});
