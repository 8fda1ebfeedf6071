import assert from "node:assert/strict";
import test from "node:test";
import { madeBarrier, sealedBarrier } from "../../tests/support/made/made-barrier.ts";
import { MemoryDisk } from "../storage/engines/memory.ts";
import { Failure } from "@holdfast/shared/failure";
import { Browser } from "./browser.ts";

const ORIGIN = "https://console.example.com";

async function opened() {
  const { barrier } = await madeBarrier();
  const make = () => {
    const browser = new Browser({
      view: barrier.view("shared/browser/"),
      aliases: ["X-Other-Token"],
    });
    browser.open();
    return browser;
  };
  return { browser: make(), make, barrier };
}

function settings(allowedOrigins: readonly string[], more = {}) {
  return { allowedOrigins, allowedHeaders: [], allowCredentials: false, ...more };
}

function invalid(text: RegExp) {
  return (error: unknown) => {
    assert.ok(error instanceof Failure);
    assert.equal(error.kind, "invalid");
    assert.match(error.message, text);
    return true;
  };
}

test("T-M09: no other origin is allowed until one is named", async () => {
  const { browser } = await opened();
  assert.equal(browser.allows(ORIGIN), false);
  assert.deepEqual(browser.corsHeaders(ORIGIN, true), {});
  await browser.setCors(settings([ORIGIN]));
  assert.equal(browser.allows(ORIGIN), true);
  await browser.deleteCors();
  assert.equal(browser.allows(ORIGIN), false);
  assert.equal(browser.cors, null);
});

test("T-M05: T-M09: origins are compared whole and exactly, and null is never allowed", async () => {
  const { browser } = await opened();
  await browser.setCors(settings([ORIGIN, "http://127.0.0.1:3000"]));
  for (const origin of [
    "null",
    "",
    "*",
    "https://console.example.com.evil.test",
    "https://evil.test/https://console.example.com",
    "https://evilconsole.example.com",
    "http://console.example.com",
    "https://console.example.com:443",
    "https://console.example.com:8443",
    "https://Console.example.com",
    "https://console.example.com/",
    "http://127.0.0.1",
  ]) {
    assert.equal(browser.allows(origin), false, origin);
    assert.deepEqual(browser.corsHeaders(origin, false), {}, origin);
    assert.deepEqual(browser.corsHeaders(origin, true), {}, origin);
  }
  assert.equal(browser.allows("http://127.0.0.1:3000"), true);
});

test("an allowed origin is named in the answer; a preflight adds methods, headers and age", async () => {
  const { browser } = await opened();
  await browser.setCors(settings([ORIGIN], { allowedHeaders: ["X-Trace", "content-type"] }));
  const simple = browser.corsHeaders(ORIGIN, false);
  assert.equal(simple["Access-Control-Allow-Origin"], ORIGIN);
  assert.equal(simple["Vary"], "Origin");
  assert.match(simple["Access-Control-Expose-Headers"] ?? "", /X-Service-Index/);
  assert.equal(simple["Access-Control-Allow-Credentials"], undefined);
  const preflight = browser.corsHeaders(ORIGIN, true);
  assert.equal(
    preflight["Access-Control-Allow-Methods"],
    "GET, POST, PUT, PATCH, DELETE, LIST, OPTIONS",
  );
  assert.equal(preflight["Access-Control-Max-Age"], "300");
  const headers = (preflight["Access-Control-Allow-Headers"] ?? "").split(", ");
  for (const name of ["X-Service-Token", "X-Trace", "X-Other-Token"]) {
    assert.ok(headers.includes(name), name);
  }
  assert.equal(headers.filter((name) => name.toLowerCase() === "content-type").length, 1);
});

test("T-M09: * answers *, never with credentials, and not for null", async () => {
  const { browser } = await opened();
  await browser.setCors(settings(["*"]));
  assert.equal(browser.allows("https://any.test"), true);
  assert.equal(browser.corsHeaders("https://any.test", false)["Access-Control-Allow-Origin"], "*");
  assert.equal(browser.allows("null"), false);
  assert.equal(browser.allows("https://any.test\r\nX: y"), false);
  await assert.rejects(
    browser.setCors(settings(["*"], { allowCredentials: true })),
    invalid(/needs named origins/),
  );
});

test("credentials are allowed for named origins only when asked for", async () => {
  const { browser } = await opened();
  await browser.setCors(settings([ORIGIN], { allowCredentials: true }));
  assert.equal(browser.corsHeaders(ORIGIN, false)["Access-Control-Allow-Credentials"], "true");
});

test("what is no origin, in its one spelling, is refused when it is set", async () => {
  const { browser } = await opened();
  for (const origin of [
    "null",
    "console.example.com",
    "https://console.example.com/",
    "https://console.example.com:443",
    "https://CONSOLE.example.com",
    "https://*.example.com",
    "https://user@example.com",
    "ftp://example.com",
    "https://",
    "https://a b",
  ]) {
    await assert.rejects(
      browser.setCors(settings([origin])),
      invalid(/allowed_origins must hold/),
      origin,
    );
  }
  await assert.rejects(browser.setCors(settings(["*", ORIGIN])), invalid(/\* alone/));
  await assert.rejects(browser.setCors(settings([])), invalid(/at least one origin/));
  const bad = settings([ORIGIN], { allowedHeaders: ["X-A\r\nX-B"] });
  await assert.rejects(browser.setCors(bad), invalid(/names of headers/));
  assert.equal(browser.cors, null);
});

test("T-M07: the console's default headers allow its own origin alone and no frames", async () => {
  const { browser } = await opened();
  const headers = browser.consoleHeaders();
  const policy = (headers["Content-Security-Policy"] ?? "").split("; ");
  for (const rule of [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "connect-src 'self'",
    "frame-ancestors 'none'",
  ]) {
    assert.ok(policy.includes(rule), rule);
  }
  assert.ok(!policy.join().includes("unsafe"));
  assert.equal(headers["X-Frame-Options"], "DENY");
  assert.equal(headers["X-Content-Type-Options"], "nosniff");
});

test("a console header replaces its default whatever the case, and the default comes back", async () => {
  const { browser } = await opened();
  const before = browser.consoleHeaders();
  await browser.setConsoleHeader("content-security-policy", ["default-src 'self'"]);
  await browser.setConsoleHeader("X-Extra", ["a", "b"]);
  const after = browser.consoleHeaders();
  assert.match(
    after["Content-Security-Policy"] ?? "",
    /^script-src 'self'; .*, default-src 'self'$/,
    "beside the floor",
  );
  assert.equal(after["X-Extra"], "a, b");
  assert.deepEqual(browser.consoleHeaderNames(), ["Content-Security-Policy", "X-Extra"]);
  assert.deepEqual(browser.consoleHeader("CONTENT-Security-Policy").values, ["default-src 'self'"]);
  await browser.deleteConsoleHeader("Content-Security-Policy");
  await browser.deleteConsoleHeader("x-extra");
  assert.deepEqual(browser.consoleHeaders(), before);
  await browser.deleteConsoleHeader("x-extra");
});

test("headers that are the server's own are refused in any case", async () => {
  const { browser } = await opened();
  for (const name of [
    "X-Service-Token",
    "x-service-anything",
    "Content-Length",
    "transfer-encoding",
    "Content-Type",
    "Set-Cookie",
    "Access-Control-Allow-Origin",
  ]) {
    await assert.rejects(browser.setConsoleHeader(name, ["x"]), invalid(/server's own/), name);
  }
  assert.deepEqual(browser.consoleHeaderNames(), []);
});

test("line breaks and other bytes that would split an answer are refused in names and values", async () => {
  const { browser } = await opened();
  for (const name of ["", "a b", "a:b", "a\nb", "a\r\n", "ä", "a/b", "a".repeat(129)]) {
    await assert.rejects(browser.setConsoleHeader(name, ["x"]), invalid(/name of a header/));
  }
  const values = [["a\r\nX: y"], ["a\nb"], ["a\u0000"], ["é"], [""], [" a"], ["a "], []];
  for (const value of [...values, ["a".repeat(4097)], Array.from({ length: 17 }, () => "a")]) {
    await assert.rejects(browser.setConsoleHeader("X-A", value), invalid(/values must hold/));
  }
});

test("there are at most 64 console headers, and an unknown one is not found", async () => {
  const { browser } = await opened();
  for (let i = 0; i < 64; i++) await browser.setConsoleHeader(`X-${i}`, ["a"]);
  await assert.rejects(browser.setConsoleHeader("X-More", ["a"]), invalid(/64 console headers/));
  await browser.setConsoleHeader("X-7", ["b"]);
  assert.throws(
    () => browser.consoleHeader("X-None"),
    (error) => error instanceof Failure && error.kind === "not-found" && error.texts.length === 0,
  );
});

test("a sealed node answers from defaults and reads nothing; so does a closed room", async () => {
  const { barrier } = sealedBarrier(new MemoryDisk());
  const sealed = new Browser({ view: barrier.view("shared/browser/") });
  assert.equal(sealed.allows(ORIGIN), false);
  assert.deepEqual(sealed.corsHeaders(ORIGIN, true), {});
  assert.equal(sealed.consoleHeaders()["X-Frame-Options"], "DENY");

  const { browser, make } = await opened();
  await browser.setCors(settings([ORIGIN]));
  await browser.setConsoleHeader("X-Extra", ["a"]);
  const other = make();
  assert.equal(other.allows(ORIGIN), true);
  assert.equal(other.consoleHeaders()["X-Extra"], "a");
  other.close();
  assert.equal(other.allows(ORIGIN), false);
  assert.equal(other.consoleHeaders()["X-Extra"], undefined);
});

test("another reader of the store follows a change", async () => {
  const { browser, make } = await opened();
  const other = make();
  await browser.setCors(settings([ORIGIN]));
  await browser.setConsoleHeader("X-Extra", ["a"]);
  assert.equal(other.allows(ORIGIN), true);
  assert.equal(other.consoleHeaders()["X-Extra"], "a");
});
