// Threats N, T-N08 where the work is a walk over stored secrets: whoever lists, searches or empties much
// waits, and nobody else does. Through HTTP, each measured by its longest stretch without a turn.

import assert from "node:assert/strict";
import { Agent } from "node:http";
import test from "node:test";
import type { JsonObject } from "@holdfast/shared/json/json";
import { at } from "../../support/http-client.ts";
import { keepsNobodyWaiting } from "../../support/processor-time.ts";
import { EVERYTHING, rule, scene, type Scene } from "../scene.ts";

const TIMEOUT = { timeout: 300_000 };

async function filled(stage: Scene, paths: readonly string[], metadata?: JsonObject) {
  await stage.must("POST", "/v1/sys/mounts/w", { body: { type: "kv" } });
  const agent = new Agent({ keepAlive: true });
  for (let i = 0; i < paths.length; i += 100) {
    const some = paths.slice(i, i + 100).map(async (path) => {
      if (metadata === undefined) {
        await stage.must("POST", `/v1/w/data/${path}`, { agent, body: { data: {} } });
      } else {
        await stage.must("POST", `/v1/w/metadata/${path}`, {
          agent,
          body: { custom_metadata: metadata },
        });
      }
    });
    await Promise.all(some);
  }
  agent.destroy();
}

const numbered = (count: number, path: (n: string) => string) =>
  Array.from({ length: count }, (_, i) => path(String(i).padStart(4, "0")));

test("T-N08: a walk past closed folders gives others their turn", TIMEOUT, async (t) => {
  const stage = await scene(t);
  await filled(stage, ["f/a", ...numbered(1000, (n) => `f/${n}/x`), "f/z"]);
  const token = await stage.clientWith(
    ["w/metadata/f", "w/metadata/f/"].map((path) => rule(path, ["list", "scan"])).join("") +
      ["w/copy", "w/recycle"].map((path) => rule(path, EVERYTHING)).join(""),
  );
  await keepsNobodyWaiting("scan", async () => {
    const answer = await stage.server.call("LIST", "/v1/w/metadata/f?scan=true", { token });
    assert.deepEqual(at(answer, "data", "keys"), ["a", "z"]);
  });
  await keepsNobodyWaiting("copy", async () => {
    const body = { from: "f", to: "g", recursive: true };
    const answer = await stage.server.call("POST", "/v1/w/copy", { token, body });
    assert.equal(at(answer, "data", "refused"), 2, answer.text);
  });
  await keepsNobodyWaiting("folders", () => stage.must("LIST", "/v1/w/metadata/f"));
});

test("T-N08: the recycle bin is shown in pages, with turns for others", TIMEOUT, async (t) => {
  const stage = await scene(t);
  const paths = numbered(1300, (n) => `${"deleted-".repeat(16)}/${n}/${"d/".repeat(12)}x`);
  await filled(stage, paths);
  const body = (from: number) => ({ paths: paths.slice(from, from + 1000) });
  const token = await stage.clientWith(rule("w/*", EVERYTHING));
  for (const from of [0, 1000]) {
    await stage.server.call("POST", "/v1/w/bulk-delete", { token, body: body(from) });
  }
  await keepsNobodyWaiting("recycle", async () => {
    const answer = await stage.server.call("LIST", "/v1/w/recycle", { token });
    assert.ok(answer.text.length < 300 * 1024, `${answer.text.length} bytes`);
  });
  await keepsNobodyWaiting("bulk-delete", async () => {
    const answer = await stage.server.call("POST", "/v1/w/bulk-delete", { token, body: body(0) });
    assert.equal(at(answer, "data", "absent"), 1000, answer.text);
  });
  assert.deepEqual(await pages(stage, "/v1/w/recycle", token), paths);
});

test(
  "T-N08: long notes on secrets are shown in pages and searched in slices",
  TIMEOUT,
  async (t) => {
    const stage = await scene(t);
    const paths = numbered(120, (n) => `noted/${n}`);
    const notes = Object.fromEntries(numbered(64, (n) => n).map((n) => [n, "\u0001".repeat(512)]));
    await filled(stage, paths, notes);
    const token = await stage.clientWith(rule("w/*", EVERYTHING));
    await keepsNobodyWaiting("detailed", async () => {
      const answer = await stage.server.call("LIST", "/v1/w/detailed-metadata/noted", { token });
      assert.ok(answer.text.length < 300 * 1024, `${answer.text.length} bytes`);
    });
    const listed = await pages(stage, "/v1/w/detailed-metadata/noted", token);
    assert.deepEqual(
      listed,
      numbered(120, (n) => n),
    );
    await keepsNobodyWaiting("search", async () => {
      const answer = await stage.server.call("GET", "/v1/w/search?q=nowhere", { token });
      assert.deepEqual(at(answer, "data", "keys"), [], answer.text);
    });
  },
);

/** The keys of all pages, each of which shows every key that it names. */
async function pages(stage: Scene, path: string, token: string): Promise<string[]> {
  const all: string[] = [];
  for (let query = ""; ;) {
    const answer = await stage.server.call("LIST", path + query, { token });
    const keys = at(answer, "data", "keys") as string[];
    assert.deepEqual(Object.keys(at(answer, "data", "key_info") as JsonObject).toSorted(), keys);
    all.push(...keys);
    if (!Array.isArray(at(answer, "warnings"))) return all;
    const [warning] = at(answer, "warnings") as string[];
    const next = /^there are more; go on with after=(.+)$/.exec(warning ?? "")?.[1] ?? "";
    assert.equal(next, keys.at(-1));
    query = `?after=${encodeURIComponent(next)}`;
  }
}

test(
  "T-N08: numbers that keep their spelling, as many as a body holds, are read and written in steps",
  TIMEOUT,
  async (t) => {
    const stage = await scene(t);
    await stage.must("POST", "/v1/sys/mounts/w", {
      body: { type: "kv", options: { version: "2" } },
    });
    const token = await stage.clientWith(rule("w/*", EVERYTHING));
    for (const [what, name, value] of [
      ["zeros behind the point", "name-", "1.0"],
      ["digits", "name-", "1.123456789012345678"],
      ["names with escapes", "\\nname-", "1.0"],
    ]) {
      const members = (at: number) => numbered(26, (n) => `"${name}${at}-${n}":${value}`).join(",");
      const list = Array.from({ length: 900 }, (_, at) => `{${members(at)}}`).join(",");
      const ask = async (method: string, path: string, body: string, want: number) => {
        const how = { token, body: body === "" ? undefined : body };
        const answer = await stage.server.call(method, `/v1/${path}`, how);
        assert.equal(answer.status, want, answer.text.slice(0, 200));
      };
      for (const [method, path, body, want] of [
        ["POST", "w/data/x", `{"data":{"a":[${list}]}}`, 200],
        ["GET", "w/data/x", "", 200],
        ["PATCH", "w/data/x", '{"data":{"b":1}}', 200],
        ["POST", "w/move", '{"from":"x","to":"y"}', 200],
        ["POST", "cubbyhole/x", `{"a":[${list}]}`, 204],
        ["GET", "cubbyhole/x", "", 200],
        ["POST", "sys/wrapping/wrap", `{"a":[${list}]}`, 400], // no lifetime is said
        ["POST", "auth/userpass/login/x", `{"password":[${list}]}`, 403],
      ] as const) {
        const again = async () => {
          if (path === "w/move") {
            const { server, root } = stage;
            await server.call("DELETE", "/v1/w/metadata/y", { token: root });
            await server.call("POST", "/v1/w/data/x", {
              token: root,
              body: `{"data":{"a":[${list}]}}`,
            });
          }
        };
        await keepsNobodyWaiting(
          `${method} ${path}, ${what}`,
          () => ask(method, path, body, want),
          again,
        );
      }
    }
  },
);
