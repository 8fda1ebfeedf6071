// The table of docs/cases/policies.md over HTTP: what sys/inspect/request says of every row, for names of
// policies and for a token, and what becomes of the request itself. A path without a route is 404 for
// whom the policies let pass and 403 for everybody else, so that every path can be asked for.

import assert from "node:assert/strict";
import test from "node:test";
import { type Answer, at, errorsOf } from "../../support/http-client.ts";
import { type GovernedServer, governedServer } from "../../support/servers/governed-server.ts";
import { nameOf, type PolicyRow, policyRows } from "./policy-rows.ts";

const VERBS: Partial<Record<PolicyRow["operation"], string>> = {
  read: "GET",
  list: "LIST",
  create: "POST",
  update: "POST",
  patch: "PATCH",
  delete: "DELETE",
};

/**
 * Where the row is asked for by a real request. Bodies are read where there is a route, and a create
 * is one where the route knows what exists: those rows are moved there, labels and all. Segments are
 * kept one for one, since precedence counts them.
 */
function moved(row: PolicyRow): { readonly path: string; readonly policies: readonly string[] } {
  const place = `sys/namespaces/row-${row.id.replaceAll(/\W/g, "-")}`;
  if (row.operation === "create") {
    return row.path === "p"
      ? { path: place, policies: row.policies.map((text) => text.replace('"p"', `"${place}"`)) }
      : {
          path: row.path.replace("1/2", "sys/namespaces"),
          policies: row.policies.map((text) => text.replaceAll("1/2/", "sys/namespaces/")),
        };
  }
  if (row.operation !== "update" || row.path !== "p") return row;
  const config = "sys/quotas/config";
  return { path: config, policies: row.policies.map((text) => text.replace('"p"', `"${config}"`)) };
}

async function written(
  server: GovernedServer,
  prefix: string,
  texts: readonly string[],
): Promise<string[]> {
  const names = texts.map((_, i) => `${prefix}-${i}`);
  for (const [i, text] of texts.entries()) await server.acl(names[i] ?? "", text);
  return names;
}

async function request(server: GovernedServer, row: PolicyRow): Promise<Answer> {
  const { path, policies } = moved(row);
  const names = await written(server, `real-${row.id.replaceAll(/\W/g, "-")}`, policies);
  const { secret } = await server.client(names);
  const verb = VERBS[row.operation] ?? "";
  const bare = row.operation === "list" ? path.replace(/\/$/, "") : path;
  const query =
    row.operation === "list" && Object.keys(row.data).length > 0
      ? `?${new URLSearchParams(row.data as Record<string, string>).toString()}`
      : "";
  return server.call(verb, `/v1/${bare}${query}`, {
    token: secret,
    ...(verb === "POST" || verb === "PATCH" ? { body: row.data } : {}),
    ...(row.wrap === null ? {} : { headers: { "X-Service-Wrap-TTL": `${row.wrap}s` } }),
  });
}

test("every row of the policy table by a real request", async (t) => {
  const server = await governedServer(t);
  for (const row of policyRows) {
    await t.test(nameOf(row), async () => {
      const answer = await request(server, row);
      if (row.decisionOnly) return assert.equal(answer.status, 400, answer.text);
      if (row.want === "deny") {
        assert.deepEqual([answer.status, errorsOf(answer)], [403, ["permission denied"]]);
        return;
      }
      // Without a route there is nothing to answer; with one there is, or a parent is missing.
      const missing = row.id === "e4" ? 400 : 404;
      const routed = moved(row).path.startsWith("sys/quotas") || ["45", "52"].includes(row.id);
      if (routed) assert.ok(answer.status < 300, answer.text);
      else assert.equal(answer.status, missing, answer.text);
    });
  }
});

test("46: help is given on any path, whatever the policies say", async (t) => {
  const server = await governedServer(t);
  await server.acl("nothing", 'path "*" { capabilities = ["deny"] }');
  const { secret: token } = await server.client(["nothing"]);
  for (const path of ["sys/key-status", "sys/policies/acl/x", "sys/namespaces/a"]) {
    const answer = await server.call("GET", `/v1/${path}?help=1`, { token });
    assert.equal(answer.status, 200, `${path}: ${answer.text}`);
  }
});

test("every row of the policy table through sys/inspect/request, by policies and by token", async (t) => {
  const server = await governedServer(t);
  for (const row of policyRows) {
    if (row.decisionOnly) continue;
    await t.test(nameOf(row), async () => {
      const names = await written(server, `row-${row.id.replaceAll(/\W/g, "-")}`, row.policies);
      const { accessor } = await server.client(names);
      const { operation, path, data, wrap } = row;
      const wrapping = wrap === null ? {} : { wrap_ttl: `${wrap}s` };
      for (const who of [{ policies: names }, { token_accessor: accessor }]) {
        const said = await server.inspect({ ...who, operation, path, data, ...wrapping });
        assert.equal(at(said, "data", "allowed"), row.want === "allow", said.text);
        assert.equal(at(said, "data", "capability"), operation);
        if (row.want === "deny") await adviceHolds(server, row, names, said);
      }
    });
  }
});

interface Place {
  readonly name: string;
  readonly line: number;
}

/** The smallest rule that would allow it does: as one more policy, without the blocks that it says it
 *  must stand instead of. Blocks of the rows have a line each. */
async function adviceHolds(
  server: GovernedServer,
  row: PolicyRow,
  names: readonly string[],
  said: Answer,
): Promise<void> {
  const advice = at(said, "data", "minimal_policy");
  assert.ok(typeof advice === "string", `a rule could allow it: ${said.text}`);
  await server.acl("advice", advice);
  const replaced = (at(said, "data", "minimal_policy_replaces") ?? []) as readonly Place[];
  const kept = row.policies.map((text, i) =>
    text
      .split("\n")
      .filter((_, j) => !replaced.some(({ name, line }) => name === names[i] && line === j + 1))
      .join("\n"),
  );
  const { operation, path, data, wrap } = row;
  const wrapping = wrap === null ? {} : { wrap_ttl: `${wrap}s` };
  const stored = await written(
    server,
    "kept",
    kept.map((text) => `# kept\n${text}`),
  );
  const policies = [...stored, "advice"];
  const again = await server.inspect({ policies, operation, path, data, ...wrapping });
  assert.equal(at(again, "data", "allowed"), true, `${advice}: ${again.text}`);
}
