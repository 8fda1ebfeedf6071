import assert from "node:assert/strict";
import test from "node:test";
import { answering } from "../../tests/support/answering.ts";
import { madeBarrier } from "../../tests/support/made/made-barrier.ts";
import { browserApi } from "./api.ts";
import { Browser } from "./browser.ts";

async function served() {
  const { barrier } = await madeBarrier();
  const browser = new Browser({ view: barrier.view("shared/browser/") });
  browser.open();
  return { browser, ask: answering(browser, browserApi) };
}

const OFF = { enabled: false, allowed_origins: [], allowed_headers: [], allow_credentials: false };

test("CORS is read, set and switched off by its wire names", async () => {
  const { browser, ask } = await served();
  assert.deepEqual(await ask("readCors"), OFF);
  assert.equal(
    await ask("writeCors", {
      allowed_origins: "https://a.test,https://b.test",
      allowed_headers: ["X-Trace"],
      allow_credentials: true,
    }),
    undefined,
  );
  const read = (await ask("readCors")) as { allowed_headers: string[] };
  assert.deepEqual(
    { ...read, allowed_headers: [] },
    {
      enabled: true,
      allowed_origins: ["https://a.test", "https://b.test"],
      allowed_headers: [],
      allow_credentials: true,
    },
  );
  assert.ok(read.allowed_headers.includes("X-Trace"));
  assert.ok(read.allowed_headers.includes("X-Service-Token"));
  assert.equal(browser.allows("https://b.test"), true);
  // What was read can be written back as it is.
  const { allowed_headers } = read;
  await ask("writeCors", { allowed_origins: "https://a.test", allowed_headers });
  const again = (await ask("readCors")) as { allowed_headers: string[] };
  assert.deepEqual(again.allowed_headers, allowed_headers);
  await ask("deleteCors");
  assert.deepEqual(await ask("readCors"), OFF);
});

test("console headers are set, read, listed and deleted by their wire names", async () => {
  const { browser, ask } = await served();
  await ask("writeConsoleHeader", { name: "X-Extra", values: ["a", "b"] });
  assert.deepEqual(await ask("readConsoleHeader", { name: "x-extra" }), { values: ["a", "b"] });
  assert.deepEqual(await ask("listConsoleHeaders"), { keys: ["X-Extra"] });
  assert.equal(browser.consoleHeaders()["X-Extra"], "a, b");
  await ask("deleteConsoleHeader", { name: "X-EXTRA" });
  assert.deepEqual(await ask("listConsoleHeaders"), { keys: [] });
  await assert.rejects(ask("readConsoleHeader", { name: "X-Extra" }), /no such header/);
});

test("a name that begins with X-Service- is refused, and so is a body without values", async () => {
  const { ask } = await served();
  await assert.rejects(
    ask("writeConsoleHeader", { name: "X-Service-Token", values: ["a"] }),
    /server's own/,
  );
  await assert.rejects(ask("writeConsoleHeader", { name: "X-A" }), /values is missing/);
  await assert.rejects(ask("writeCors"), /allowed_origins is missing/);
});

test("every endpoint of browser settings needs sudo and is for the root namespace", () => {
  for (const { rootOnly, access } of browserApi) {
    assert.equal(rootOnly, true);
    assert.deepEqual(access, { kind: "capability", sudo: true, openTo: null });
  }
});
