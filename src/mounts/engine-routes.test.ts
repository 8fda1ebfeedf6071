// Which endpoints an engine answers with, where it sorts its paths itself.

import assert from "node:assert/strict";
import test from "node:test";
import { Failure } from "@holdfast/shared/failure";
import { access, type Access } from "@holdfast/shared/endpoint/access";
import { out } from "@holdfast/shared/endpoint/output";
import { Router } from "@holdfast/shared/endpoint/router";
import { wire } from "@holdfast/shared/endpoint/wire";
import { CONTEXT } from "../../tests/support/answering.ts";
import { anyEngine, engineEndpoints, type EngineType } from "@holdfast/plugin-sdk/engine";
import { EngineRoutes } from "./engine-routes.ts";
import { notLoaded } from "./failures.ts";

interface Safe {
  readonly guarded: string;
}

const endpoint = engineEndpoints<Safe>();
const path = wire.path("path").string("Where.");

const set = (who: Access) =>
  (["GET", "LIST"] as const).map((method) =>
    endpoint({
      name: `${method}${who.kind}`,
      method,
      path: "/:path+",
      summary: "Looks.",
      access: who,
      input: { path },
      output: out.anyObject("What is there."),
      handler: () => ({ found: true }),
    }),
  );

const sets = { plain: set(access.capability), guarded: set(access.sudo) };
const sortedBy = (guarded: string) => ({
  sets,
  sort: (at: string) => (at.startsWith(guarded) ? "guarded" : "plain"),
});

const safes: EngineType<Safe> = {
  type: "safe",
  kind: "secret",
  summary: "Has paths that it sorts.",
  version: "v1.0.0",
  paths: () => [],
  checkOptions: (options) => options,
  open: () => ({ guarded: "keys/" }),
  sorts: ({ guarded }) => sortedBy(guarded),
  closed: {
    keep: ({ guarded }) => ({ guarded }),
    sorts: (kept) => sortedBy(kept?.["guarded"] === "keys/" ? "keys/" : ""),
  },
};
const type = anyEngine(safes);
const routes = new EngineRoutes({ routes: (all) => new Router(all), besides: () => [] });
const needsSudo = (found: ReturnType<Router["find"]>, method: "GET" | "LIST") => {
  const { access: who } = found.methods.get(method) ?? {};
  return who?.kind === "capability" && who.sudo;
};

test("a path is sorted as a list has it, and as everything else has it", () => {
  const open = routes.opened(type, {}, { guarded: "keys/" });
  assert.equal(needsSudo(open.find(["keys", "a"]), "GET"), true);
  assert.equal(needsSudo(open.find(["keyset"]), "GET"), false);
  // "keys" is not below keys/, and the list of keys/ is.
  assert.equal(needsSudo(open.find(["keys"]), "GET"), false);
  assert.equal(needsSudo(open.find(["keys"]), "LIST"), true);
  const again = routes.opened(type, {}, { guarded: "keys/" }).find(["keys", "a"]);
  assert.equal(again.methods.get("GET"), open.find(["keys", "a"]).methods.get("GET"));
});

test("while it is closed the same rights are needed, and all is refused", () => {
  const refusal = () => notLoaded("safe/", "it is gone");
  const closed = routes.closed(type, {}, { kept: { guarded: "keys/" }, refusal });
  const found = closed.find(["keys", "a"]);
  assert.equal(needsSudo(found, "GET"), true);
  assert.throws(
    () => found.methods.get("GET")?.run({}, CONTEXT),
    (error) =>
      error instanceof Failure && error.message === 'mount "safe/" is not loaded: it is gone',
  );
  assert.equal(needsSudo(closed.find(["other"]), "GET"), false);
});

test("of one that is being disabled nothing answers any more, whatever set it is of", () => {
  const leaving = routes.leaving(type, {}, { guarded: "keys/" });
  for (const at of [["keys", "a"], ["other"]]) {
    const read = leaving.find(at).methods.get("GET");
    assert.throws(() => read?.run({}, CONTEXT), /is being disabled/);
  }
});
