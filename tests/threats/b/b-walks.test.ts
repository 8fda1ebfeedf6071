// Threats B, T-B05 where a request is a long walk with turns for others between its stretches: whoever was revoked
// before such a turn came gets no next one, and nothing of what was found.

import assert from "node:assert/strict";
import test from "node:test";
import { FairTurns } from "../../../src/base/fair-turns.ts";
import { Stretches } from "@holdfast/shared/sliced";
import { until } from "../../support/until.ts";
import { EVERYTHING, rule, scene } from "../scene.ts";

type Soon = (this: FairTurns, ...parts: Parameters<FairTurns["soon"]>) => void;

const WALKS = [
  ["acl/tokens", "GET", "/acl/tokens?per_page=1000", undefined],
  ["accessors", "LIST", "/v1/auth/token/accessors", undefined],
  [
    "capabilities",
    "POST",
    "/v1/sys/capabilities-self",
    { paths: Array.from({ length: 100 }, (_, i) => `kv/data/${i}`) },
  ],
  ["detailed-metadata", "LIST", "/v1/kv/detailed-metadata/d", undefined],
  ["search", "GET", "/v1/kv/search?q=s", undefined],
  ["recycle", "LIST", "/v1/kv/recycle", undefined],
  ["metadata", "LIST", "/v1/kv/metadata/d?scan=true", undefined],
] as const;

for (const [what, method, path, body] of WALKS) {
  test(`T-B05: who is revoked between two turns of a walk (${what}) gets nothing of it`, async (t) => {
    const stage = await scene(t);
    await stage.must("POST", "/v1/sys/mounts/kv", {
      body: { type: "kv", options: { version: "2" } },
    });
    const everything = rule("*", [...EVERYTHING, "sudo", "scan"]);
    await stage.writePolicy("all", everything);
    for (let i = 0; i < 70; i++) {
      await stage.must("POST", `/v1/kv/data/d/s${i}`, { body: { data: { i } } });
      await stage.must("POST", "/v1/auth/token/create", { body: { policies: ["all"] } });
    }
    await stage.must("POST", "/v1/kv/bulk-delete", {
      body: { paths: Array.from({ length: 20 }, (_, i) => `d/s${i}`) },
    });
    const { json } = await stage.must("POST", "/acl/token", {
      body:
        what === "acl/tokens"
          ? { Name: "w", Type: "management" }
          : { Name: "w", Type: "client", Policies: ["all"] },
    });
    const token = json as { readonly AccessorID: string; readonly SecretID: string };
    // Every stretch is over at once, nothing but the walk waits for turns, and its first one is held back.
    t.mock.getter(Stretches.prototype, "over", () => true);
    t.mock.getter(FairTurns.prototype, "busy", () => false);
    const held = Promise.withResolvers<void>();
    let waits = false;
    const soon = Object.getOwnPropertyDescriptor(FairTurns.prototype, "soon")?.value as Soon;
    t.mock.method(
      FairTurns.prototype,
      "soon",
      function (this: FairTurns, ...[whose, call]: Parameters<FairTurns["soon"]>) {
        if (waits) return soon.call(this, whose, call);
        waits = true;
        void held.promise.then(() => soon.call(this, whose, call));
      },
    );
    const walk = stage.server.call(method, path, {
      token: token.SecretID,
      ...(body === undefined ? {} : { body }),
    });
    await until(() => waits);
    await stage.must("DELETE", `/acl/token/${token.AccessorID}`);
    held.resolve();
    const answer = await walk;
    // Of a list of what it may list, and that is nothing by now, there is none.
    const nothing = what === "recycle" && answer.status === 404;
    assert.ok(answer.status === 403 || nothing, answer.text.slice(0, 300));
  });
}
