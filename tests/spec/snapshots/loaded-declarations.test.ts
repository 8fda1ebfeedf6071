// Of every declared endpoint: a loaded snapshot that a request names is used or refused, and never passed over; and what is
// recovered is judged, recorded and handled as if the caller had sent it. The tables are made from the declarations.

import assert from "node:assert/strict";
import test from "node:test";
import { type Endpoint, serve, type Served } from "@holdfast/shared/endpoint/endpoint";
import type { JsonObject } from "@holdfast/shared/json/json";
import { everyEndpoint, mountedSurface } from "../../../src/surface.ts";
import { ObservedPipeline } from "../../support/observed-pipeline.ts";

const ID = "11111111-2222-4333-8444-55555555abcd";

interface Row {
  readonly endpoint: Served;
  readonly pipeline: ObservedPipeline;
  readonly target: string;
}

function rowsOf(endpoints: readonly Endpoint<never>[], mount: string | null): Row[] {
  // No room stands behind them: how long a body may be is not what is looked at here.
  const all = serve(null as never, endpoints).map((one) => ({ ...one, longBody: null }));
  const pipeline = new ObservedPipeline(all, mount);
  return all.map((endpoint) => {
    const below = endpoint.path === "/" ? "" : endpoint.path.replaceAll(/:\w+\+?/g, "name");
    return { endpoint, pipeline, target: mount === null ? below : `/${mount}${below}` };
  });
}

const ROWS = [
  ...rowsOf(everyEndpoint, null),
  ...mountedSurface.flatMap(({ endpoints, at }) =>
    rowsOf(endpoints, at.startsWith("auth/") ? "auth/m" : "m"),
  ),
];

test("read_snapshot_id: answered by those that declare it, refused by all others", async () => {
  let answered = 0;
  for (const { endpoint, pipeline, target } of ROWS) {
    const how = { token: "management", ...anyBody(endpoint) };
    const seen = await pipeline.ask(endpoint.method, `${target}?read_snapshot_id=${ID}`, how);
    const label = `${endpoint.method} ${target}: ${seen.refusal}`;
    if (endpoint.fromSnapshot) {
      assert.notEqual(seen.handler, null, label);
      assert.equal(seen.record?.snapshotId, ID, label);
      answered++;
      continue;
    }
    assert.equal(seen.handler, null, label);
    assert.match(seen.refusal, /nothing is answered from a snapshot here/, label);
  }
  assert.ok(answered > 25, `only ${answered}`);
});

test("X-Service-Recover-Snapshot-Id: taken by those that declare it, refused by all others", async () => {
  let recovered = 0;
  for (const { endpoint, pipeline, target } of ROWS) {
    const how = { token: "client", recoverFrom: ID };
    if (endpoint.recovers === null) {
      const more = { token: "management", ...anyBody(endpoint) };
      const seen = await pipeline.ask(endpoint.method, target, { ...how, ...more });
      const label = `${endpoint.method} ${target}: ${seen.refusal}`;
      assert.equal(seen.handler, null, label);
      assert.match(seen.refusal, /nothing is recovered from a snapshot here/, label);
      continue;
    }
    const held = bodyFor(endpoint);
    const sent = await pipeline.ask(endpoint.method, target, { token: "client", body: held });
    const seen = await pipeline.ask(endpoint.method, target, { ...how, held });
    assert.notEqual(sent.handler, null, `${target}: ${sent.refusal}`);
    for (const look of [
      (one: typeof seen) => one.handler,
      (one: typeof seen) => one.question?.data,
      (one: typeof seen) => one.question?.capability,
      (one: typeof seen) => one.program?.request.data,
      (one: typeof seen) => one.record?.data,
    ]) {
      assert.deepEqual(look(seen), look(sent), `${target}: ${seen.refusal}`);
    }
    assert.ok(Object.keys(seen.record?.data ?? {}).length > 0, target);
    assert.equal(seen.record?.snapshotId, ID);
    recovered++;
  }
  assert.ok(recovered >= 10, `only ${recovered}`);
});

/** Some will not look any further without one. */
function anyBody({ method }: Served): { readonly body?: JsonObject } {
  return method === "GET" || method === "LIST" ? {} : { body: { any: "thing" } };
}

/** Something for what is needed, and something that a rule could look at. */
function bodyFor({ fields, takesAnyBody }: Served): JsonObject {
  if (takesAnyBody) return { password: "then" };
  const body = fields.flatMap(({ field }) => {
    if (field.source === "path" || field.source === "query") return [];
    return field.required ? [[field.name, sample(field.schema)] as const] : [];
  });
  return { unknown: "then", ...Object.fromEntries(body) };
}

function sample(schema: object): string | JsonObject | readonly string[] {
  const { type } = schema as { type?: string };
  if (type === "object") return { a: "b" };
  return type === "array" ? ["a"] : "text";
}
