// Cases of docs/cases/policies.md about what programs say: where they are evaluated, and through
// sys/inspect/request, with documents that come along and with documents that are stored.

import assert from "node:assert/strict";
import test from "node:test";
import { conclude } from "../../../src/policies/governing/judging.ts";
import { EgpIndex, readEgpPaths } from "../../../src/policies/governing/egp-paths.ts";
import { parseProgram } from "../../../src/program/program.ts";
import { testInput } from "../../../src/program/request/test-input.ts";
import { type Answer, at } from "../../support/http-client.ts";
import { type GovernedServer, governedServer } from "../../support/servers/governed-server.ts";
import {
  type ProgramInput,
  type GoverningRow,
  governingRows,
  nameOf,
} from "../governing/governing-rows.ts";

/** Those that apply, in the order of 5.3. */
function applying({ programs, caller, path }: GoverningRow): readonly ProgramInput[] {
  if (caller === "management") return [];
  const rgps = programs.filter(({ kind }) => kind === "rgp");
  const egps = programs.filter(({ kind }) => kind === "egp");
  const entries = egps.flatMap((value) =>
    readEgpPaths(value.paths).map((read) => ({ path: read, value })),
  );
  const matching = EgpIndex.of(entries).matching(path);
  const byName = rgps.toSorted((a, b) => (a.name < b.name ? -1 : 1));
  return [...byName, ...new Set(matching.map(({ value }) => value))];
}

test("every row about programs where they are evaluated", async (t) => {
  for (const row of governingRows) {
    await t.test(nameOf(row), () => {
      const input = testInput({
        request: {
          path: row.path,
          operation: row.operation,
          data: row.data,
          connection: { remote_addr: row.address },
          policy_override: row.override,
          unauthenticated: row.caller === "nobody",
        },
        ...(row.caller === "nobody" ? { token: {} } : {}),
      });
      const judged = applying(row).map(({ kind, name, level, text }) => {
        const verdict = parseProgram(text).evaluate(input);
        return { policy: { kind, name, namespaceId: "root" }, level, verdict };
      });
      const results = judged.map(({ policy, verdict }) => [
        policy.name,
        verdict.passed ? "pass" : verdict.error === null ? "fail" : "error",
      ]);
      assert.deepEqual(results, row.results);
      const { allowed } = conclude(judged, { override: row.override, trace: true });
      assert.equal(allowed, row.want === "allow");
    });
  }
});

const ALL = '["create", "read", "update", "patch", "delete", "list"]';

function resultsOf(answer: Answer): [string, string][] {
  const steps = at(answer, "data", "steps") as readonly Record<
    "kind" | "name" | "result",
    string
  >[];
  return steps.filter(({ kind }) => kind !== "acl").map(({ name, result }) => [name, result]);
}

function described({ operation, path, data, address, override }: GoverningRow) {
  return { operation, path, data, remote_address: address, policy_override: override };
}

async function managementAccessor(server: GovernedServer): Promise<string> {
  return String(at(await server.must("GET", "/v1/acl/token/self"), "AccessorID"));
}

test("every row about programs through sys/inspect/request, with documents that come along", async (t) => {
  const server = await governedServer(t);
  await server.acl("everything", `path "*" { capabilities = ${ALL} }`);
  const management = await managementAccessor(server);
  for (const row of governingRows) {
    await t.test(nameOf(row), async () => {
      const documents = row.programs.map(({ kind, name, level, text, paths }) => ({
        type: kind,
        name,
        policy: text,
        enforcement_level: level,
        paths,
      }));
      const who = {
        client: { policies: ["everything"] },
        nobody: {},
        management: { token_accessor: management },
      }[row.caller];
      const said = await server.inspect({ ...who, ...described(row), documents });
      assert.equal(at(said, "data", "allowed"), row.want === "allow", said.text);
      assert.deepEqual(resultsOf(said), row.results);
    });
  }
  for (const kind of ["rgp", "egp"]) {
    const list = await server.manage("LIST", `/v1/sys/policies/${kind}`);
    assert.equal(list.status, 404, "nothing was stored");
  }
});

test("every row about programs through sys/inspect/request, with stored ones", async (t) => {
  const server = await governedServer(t);
  await server.acl("everything", `path "*" { capabilities = ${ALL} }`);
  const management = await managementAccessor(server);
  for (const row of governingRows) {
    await t.test(nameOf(row), async () => {
      for (const { kind, name, level, text, paths } of row.programs) {
        if (kind === "rgp") await server.rgp(name, text, level);
        else await server.egp(name, text, level, paths);
      }
      const names = row.programs.filter(({ kind }) => kind === "rgp").map(({ name }) => name);
      const client = await server.client(["everything", ...names]);
      const who = {
        client: { token_accessor: client.accessor },
        nobody: {},
        management: { token_accessor: management },
      }[row.caller];
      const said = await server.inspect({ ...who, ...described(row) });
      assert.equal(at(said, "data", "allowed"), row.want === "allow", said.text);
      assert.deepEqual(resultsOf(said), row.results);
      for (const { kind, name } of row.programs) {
        await server.must("DELETE", `/v1/sys/policies/${kind}/${name}`);
      }
    });
  }
});
