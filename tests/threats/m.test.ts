// Threats M: pages of other sites. Through HTTP, against a whole server.

import assert from "node:assert/strict";
import test from "node:test";
import { PAGE_FILES } from "../../src/http/ui-page.ts";
import { at } from "../support/http-client.ts";
import { request } from "../support/http-front.ts";
import { lastIndex, scene } from "./scene.ts";

// Two of these are what a text answer has inside; a third would break a header, a fourth is no text.
const RECORDS: readonly Readonly<Record<string, unknown>>[] = [
  { contentType: "text/html; charset=utf-8", text: "<h1>hello</h1><script>fetch(1)</script>" },
  { contentType: "text/html\r\nX-Evil: 1", text: "hello", password: "kept" },
  { contentType: 17, text: "hello" },
  { contentType: "text/html", text: 17 },
  { contentType: "application/json", text: "{}", keys: [] },
];

test("T-M02: what is stored never chooses the type of its answer, nor loses a member", async (t) => {
  const stage = await scene(t);
  await stage.must("POST", "/v1/sys/mounts/one", {
    body: { type: "kv", options: { version: "1" } },
  });
  for (const [number, record] of RECORDS.entries()) {
    for (const path of [`/v1/one/r${number}`, `/v1/cubbyhole/r${number}`]) {
      await stage.must("POST", path, { body: record });
      const answer = await stage.must("GET", path);
      assert.equal(answer.headers["content-type"], "application/json", path);
      assert.deepEqual((answer.json as { data: unknown }).data, record, path);
      assert.equal(answer.headers["x-evil"], undefined);
    }
    const headers = { "X-Service-Wrap-TTL": "60s" };
    const wraps = [
      await stage.must("GET", `/v1/one/r${number}`, { headers }),
      await stage.must("POST", "/v1/sys/wrapping/wrap", { headers, body: record }),
    ];
    for (const wrapped of wraps) {
      const token = String(at(wrapped, "wrap_info", "token"));
      const answer = await stage.server.call("POST", "/v1/sys/wrapping/unwrap", { token });
      assert.equal(answer.status, 200, answer.text);
      assert.equal(answer.headers["content-type"], "application/json");
      assert.deepEqual((answer.json as { data: unknown }).data, record);
    }
  }
});

/** The one answer that is a file. */
const ARCHIVE = "takeSnapshot";

test("T-M02: every answer of the API is JSON without parameters, or the text its declaration names", async (t) => {
  const stage = await scene(t);
  for (const endpoint of stage.server.server.endpoints) {
    if (/seal$|revoke.*self/i.test(endpoint.name)) continue;
    const path = `/v1${endpoint.path.replaceAll(/:(\w+)\+?/g, "x-$1")}`;
    for (const token of [stage.root, undefined]) {
      const sends = !["GET", "LIST"].includes(endpoint.method);
      const answer = await stage.server.call(endpoint.method, path, {
        token,
        ...(sends ? { body: {} } : {}),
      });
      const what = `${endpoint.method} ${path}: ${answer.status}`;
      assert.equal(answer.headers["x-content-type-options"], "nosniff", what);
      const type = answer.headers["content-type"];
      if (answer.text === "") assert.equal(type, undefined, what);
      else if (endpoint.name === ARCHIVE && answer.status === 200) {
        assert.equal(type, "application/gzip", what);
        assert.equal(
          answer.headers["content-disposition"]?.toString().startsWith("attachment"),
          true,
        );
      } else assert.equal(type, "application/json", what);
    }
  }
  const metrics = await stage.must("GET", "/v1/sys/metrics?format=prometheus");
  assert.equal(metrics.headers["content-type"], "text/plain; version=0.0.4; charset=utf-8");
});

test("T-M05: a cookie is no authority, a form is no body, and a foreign page is refused", async (t) => {
  const stage = await scene(t);
  const { root, server } = stage;
  const before = await lastIndex(stage);
  const path = "/v1/sys/namespaces/made-by-a-page";
  const status = async (headers: Readonly<Record<string, string>>, token?: string, body?: string) =>
    (await server.call("POST", path, { headers, token, body })).status;
  for (const name of ["token", "X-Service-Token", "vault-token", "session", "__Host-token"]) {
    assert.equal(await status({ Cookie: `${name}=${root}` }), 403, name);
  }
  // What a page can send without asking first (JSON typed into curl passes).
  for (const type of [
    "application/x-www-form-urlencoded",
    "multipart/form-data; boundary=x",
    "text/plain",
  ]) {
    assert.equal(await status({ "Content-Type": type }, root, "custom_metadata=x"), 415, type);
  }
  for (const type of [
    "text/plain",
    "application/json, text/plain",
    "application/json\ta",
    "application/jsonx",
  ]) {
    assert.equal(await status({ "Content-Type": type }, root, "{}"), 415, type);
  }
  for (const origin of [
    "https://evil.example",
    "null",
    "http://127.0.0.1.evil.example",
    "http://localhost:1",
  ]) {
    const answer = await server.call("POST", path, { headers: { Origin: origin }, token: root });
    assert.equal(answer.status, 403, origin);
    assert.equal(answer.headers["access-control-allow-origin"], undefined);
  }
  assert.equal(await lastIndex(stage), before, "nothing was written");
  const own = { Origin: server.url };
  assert.equal(await status(own, root), 200, "the console's own page may");
});

test("T-M06: a content type in an odd spelling skips no check: it is 415, or the body is read like any other", async (t) => {
  const stage = await scene(t);
  const before = await lastIndex(stage);
  const ask = async (type: string | null, body: string, ...more: readonly string[]) => {
    const headers = type === null ? [] : [`Content-Type: ${type}`];
    const length = `Content-Length: ${Buffer.byteLength(body)}`;
    const token = `X-Service-Token: ${stage.root}`;
    const head = request("POST", "/v1/sys/namespaces/odd", token, length, ...headers, ...more);
    return (await stage.raw(head + body)).status;
  };
  const types: readonly (string | null)[] = [
    null,
    "application/json",
    "Application/JSON",
    "APPLICATION/JSON; CHARSET=UTF-8",
    "application/json\ta",
    "Application/JSON ;x",
    "application/json; charset=utf-16",
    "application/json; charset=utf-8; charset=utf-7",
    "application/json, application/json",
    "application/jsonp",
    "text/json",
    "application/json;",
    "*/*",
    "application/x-www-form-urlencoded",
    "application/octet-stream",
  ];
  for (const type of types) {
    for (const body of ['{"custom_metadata":7}', '{"a":1,"a":2}', "{", "[]", "x=1"]) {
      const status = await ask(type, body);
      assert.ok(status === 400 || status === 415, `${type}: ${body}: ${status}`);
    }
  }
  const two = "Content-Type: text/plain";
  assert.equal(await ask("application/json", "{}", two), 400, "two of them");
  assert.equal(await lastIndex(stage), before);
});

test("T-M08: a page that has bound its own name to this address is answered 421", async (t) => {
  const stage = await scene(t);
  const port = new URL(stage.server.url).port;
  const ask = async (host: string) => {
    const client = await stage.connect();
    t.after(() => client.destroy());
    const head = `GET /v1/sys/health HTTP/1.1\r\nHost: ${host}\r\n\r\n`;
    return (await client.ask(head)).status;
  };
  for (const host of ["localhost", `localhost:${port}`, `127.0.0.1:${port}`, "LOCALHOST"]) {
    assert.equal(await ask(host), 200, host);
  }
  for (const host of [
    "evil.example",
    `evil.example:${port}`,
    "localhost.evil.example",
    "127.0.0.1.evil.example",
    "evil-localhost",
    "127.0.0.2.nip.io",
    "0",
    "2130706433",
    "[::ffff:7f00:1].evil",
  ]) {
    const status = await ask(host);
    assert.ok(status === 421 || status === 400, `${host}: ${status}`);
  }
});

test("T-M09: CORS headers are for origins of the list, to the letter, and never for all with authority", async (t) => {
  const stage = await scene(t);
  const allowed = "https://console.example:8443";
  const body = { enabled: true, allowed_origins: [allowed] };
  await stage.must("POST", "/v1/sys/config/cors", { body });
  const ask = (origin: string, verb = "GET") =>
    stage.server.call(verb, "/v1/sys/key-status", {
      token: stage.root,
      headers: { Origin: origin, "Access-Control-Request-Method": "GET" },
    });
  const good = await ask(allowed);
  assert.equal(good.status, 200);
  assert.equal(good.headers["access-control-allow-origin"], allowed);
  assert.equal(good.headers["access-control-allow-credentials"], undefined);
  for (const origin of [
    "null",
    "https://console.example",
    "https://console.example:8443.evil.example",
    "https://evil.example/https://console.example:8443",
    "http://console.example:8443",
    "https://xconsole.example:8443",
    "https://CONSOLE.example:8443.",
    "*",
    "file://",
  ]) {
    for (const verb of ["GET", "OPTIONS"]) {
      const answer = await ask(origin, verb);
      assert.equal(answer.status, 403, `${verb} ${origin}`);
      const headers = Object.keys(answer.headers).filter((name) =>
        name.startsWith("access-control"),
      );
      assert.deepEqual(headers, [], origin);
    }
  }
});

/** Ways in which text becomes markup or code. The console puts text into the page as text, and nothing else. */
const MARKUP =
  /innerHTML|outerHTML|insertAdjacentHTML|document\.write|createContextualFragment|DOMParser|srcdoc|dangerouslySetInnerHTML|v-html|\beval\(|new Function|setTimeout\(\s*["'`]|javascript:/;

test("T-M10: nothing that /ui/ serves makes markup or code out of data", async (t) => {
  const stage = await scene(t, { settings: { ui: true } });
  assert.ok(PAGE_FILES.size > 1);
  for (const name of PAGE_FILES.keys()) {
    const { status, text, headers } = await stage.server.call("GET", `/ui/${name}`);
    assert.equal(status, 200, name);
    assert.doesNotMatch(text, MARKUP, name);
    assert.doesNotMatch(text, /<[^>]+\son[a-z]+\s*=/i, `${name}: a handler in markup`);
    const policy = String(headers["content-security-policy"]);
    assert.doesNotMatch(policy, /unsafe-inline|unsafe-eval/, name);
  }
});

test("T-M10: no setting takes the console's floor away", async (t) => {
  const stage = await scene(t, { settings: { ui: true } });
  const path = "/v1/sys/config/ui/headers/content-security-policy";
  await stage.must("POST", path, {
    body: { values: ["default-src * 'unsafe-inline' 'unsafe-eval'"] },
  });
  const { headers } = await stage.server.call("GET", "/ui/");
  const [floor = "", own = ""] = String(headers["content-security-policy"]).split(", ");
  assert.match(floor, /^script-src 'self'; .*frame-ancestors 'none'/);
  assert.match(own, /^default-src \*/, "what was set holds beside it");
});

test("T-M07: no answer to a browser lets itself be shown in a frame, whatever is configured", async (t) => {
  const stage = await scene(t, { settings: { ui: true } });
  const look = async () => {
    for (const path of ["/ui/", ...Array.from(PAGE_FILES.keys(), (name) => `/ui/${name}`)]) {
      const { status, headers } = await stage.server.call("GET", path);
      assert.equal(status, 200, path);
      assert.match(String(headers["content-security-policy"]), /frame-ancestors 'none'/, path);
      assert.equal(headers["x-frame-options"], "DENY", path);
    }
  };
  await look();
  await stage.must("POST", "/v1/sys/config/ui/headers/content-security-policy", {
    body: { values: ["default-src 'self'"] },
  });
  await look();
});
