// Threats B, T-B05 where a body is handed on while it comes: the handler runs before the first byte, and its caller may be
// revoked, or lose a policy, before the last. Of every declared endpoint that takes such a body.

import assert from "node:assert/strict";
import test from "node:test";
import { SECOND } from "@holdfast/shared/text/duration";
import { everyEndpoint, mountedSurface } from "../../../src/surface.ts";
import { at } from "../../support/http-client.ts";
import { engineServer } from "../../support/servers/engine-server.ts";
import {
  exchange,
  heldBack,
  sendSnapshot,
  takeSnapshot,
} from "../../support/snapshots/snapshot-calls.ts";
import { until } from "../../support/until.ts";

const STREAMED = [...everyEndpoint, ...mountedSurface.flatMap(({ endpoints }) => endpoints)].filter(
  ({ bodyStream }) => bodyStream !== null,
);
/** Without a token there is nothing to be revoked: what changes meanwhile is looked at by each test of its own. */
const RAFT = "/sys/storage/raft/".length;
const OPEN = ["initialiseFromSnapshot"];

test("T-B05: the endpoints that take a body as it comes are known", () => {
  const open = STREAMED.filter(({ access }) => access.kind === "open").map(({ name }) => name);
  assert.deepEqual(open, OPEN);
  assert.ok(STREAMED.length > open.length);
});

for (const { name, path, access } of STREAMED) {
  if (access.kind === "open") continue;
  test(
    `T-B05: ${name}: who is revoked or loses its policy while the body comes does nothing with it`,
    { timeout: 300_000 },
    async (t) => {
      const server = await engineServer(t);
      await server.enable("kv", "kv", { options: { version: "1" } });
      await server.must("POST", "kv/a", { value: "then" });
      const { body: archive } = await takeSnapshot(server.test.url, server.root);
      await server.must("POST", "kv/a", { value: "now" });
      const target = path.slice(1);
      const rights = `path "${target}" { capabilities = ["create", "update", "sudo"] }`;
      const inFlight = async () => (await server.must("GET", "sys/in-flight-req")).text;
      const revoked = async (token: string) => {
        await server.must("POST", "auth/token/revoke", { token });
      };
      const ways: readonly [string, (token: string) => Promise<void>][] = [
        ["revoked", revoked],
        [
          "without its policy",
          async (token) => {
            const found = await server.must("POST", "auth/token/lookup", { token });
            const policies = at(found, "data", "policies") as string[];
            for (const policy of policies.filter((one) => one !== "default")) {
              await server.must("DELETE", `sys/policies/acl/${policy}`);
            }
          },
        ],
      ];
      for (const [way, take] of ways) {
        const token = await server.client(rights);
        const held = heldBack(server.test.url, archive, { path: target, token });
        await until(async () => (await inFlight()).includes(name));
        await take(token);
        held.release();
        const answer = await held.answer;
        assert.equal(answer.status, 403, `${way}: ${answer.body.toString()}`);
        assert.equal(at(await server.must("GET", "kv/a"), "data", "value"), "now");
        const loaded = await server.ask("LIST", "sys/storage/raft/snapshot-load");
        assert.ok(!loaded.text.includes("snapshot_id"), loaded.text);
        const status = await server.must("GET", "sys/storage/raft/restore-status");
        assert.match(String(at(status, "data", "state")), /^(?:idle|failed)$/);
      }
      const token = await server.client(rights);
      const held = heldBack(server.test.url, archive, { path: target, token });
      await until(async () => (await inFlight()).includes(name));
      held.release();
      const { status, body } = await held.answer;
      assert.ok(status < 300, `with its right: ${body.toString()}`);
    },
  );
}

for (const { name, path, access } of STREAMED) {
  if (access.kind === "open") continue;
  test(
    `T-N03: ${name}: a body that drips is ended with 408, and its place is free`,
    { timeout: 300_000 },
    async (t) => {
      const server = await engineServer(t);
      const { body: archive } = await takeSnapshot(server.test.url, server.root);
      const inFlight = async () => (await server.must("GET", "sys/in-flight-req")).text;
      const ready = until(async () => (await inFlight()).includes(name));
      const dripping = exchange(`${server.test.url}/v1${path}`, {
        method: "POST",
        token: server.root,
        headers: { "Content-Type": "application/gzip" },
        stream: (async function* () {
          yield archive.subarray(0, 100);
          await ready;
          // Each is well within what one wait may take.
          for (let at = 100; at < archive.length; at++) {
            yield archive.subarray(at, at + 1);
            await server.time.passSlowly(10n * SECOND, SECOND);
          }
        })(),
      });
      const { status, body } = await dripping;
      assert.equal(status, 408, body.toString());
      assert.match(body.toString(), /too slowly/);
      await until(async () => !(await inFlight()).includes(name));
      const again = await sendSnapshot(server.test.url, server.root, path.slice(RAFT), archive);
      assert.ok(again.status < 300, again.text);
    },
  );
}
