// Names that have no case: every spelling is the same name to whoever decides, counts, records or revokes.
// The rows are made from the declarations; what a handler folds by itself shows in the keys that it reads.

import assert from "node:assert/strict";
import test, { after, before, suite } from "node:test";
import type { JsonValue } from "@holdfast/shared/json/json";
import { type Endpoint, serve, type Served } from "@holdfast/shared/endpoint/endpoint";
import { MemoryDisk } from "../../../src/storage/engines/memory.ts";
import { everyEndpoint, mountedSurface } from "../../../src/surface.ts";
import type { Answer } from "../../support/http-client.ts";
import { startServer, type TestServer } from "../../support/servers/test-server.ts";

const EVERYTHING = ["create", "read", "update", "patch", "delete", "list", "scan", "sudo"];
const MARK = "QzMark7X";
const FOLDED = MARK.toLowerCase();

/** A namespace's row is in small letters, so that no two differ in case alone; it is found by the very name
 *  that it was made with and no other, which the last test shows. */
const CLAIMS = "shared/namespaces/tree/";

/** Where each type is mounted here. */
const MOUNTS: Readonly<Record<string, string>> = {
  cubbyhole: "cubbyhole",
  "kv, version 2": "two",
  "kv, version 1": "one",
  clouda: "clouda",
  cloudb: "cloudb",
  userpass: "auth/people",
  approle: "auth/machines",
};

function rule(path: string, capabilities: readonly string[]): string {
  return `path "${path}" { capabilities = ${JSON.stringify(capabilities)} }\n`;
}

interface Row {
  readonly endpoint: Served;
  /** With the parameters in place of their names. */
  readonly path: (name: string) => string;
}

function rowsOf(endpoints: readonly Endpoint<never>[], mount: string): Row[] {
  return serve(null as never, endpoints)
    .filter(({ parameters }) => parameters.length > 0)
    .map((endpoint) => ({
      endpoint,
      path: (name) => `${mount}${endpoint.path.replaceAll(/:\w+\+?/g, name)}`.replace(/^\//, ""),
    }));
}

const rows: readonly Row[] = [
  ...rowsOf(everyEndpoint, ""),
  ...mountedSurface.flatMap(({ title, endpoints }) => {
    const mount = MOUNTS[title];
    return mount === undefined ? [] : rowsOf(endpoints, mount);
  }),
];
const folding = rows.filter(({ endpoint }) => endpoint.folds.includes("case"));

/** Something for each field that must be there, so that a request gets as far as what it names. */
function bodyOf({ method, fields }: Served): Record<string, JsonValue> | undefined {
  if (method !== "POST" && method !== "PATCH") return undefined;
  const body: Record<string, JsonValue> = {};
  for (const { field } of fields) {
    if (field.source !== "body" && field.source !== "param") continue;
    const words = (field.schema as { readonly enum?: readonly JsonValue[] }).enum ?? [];
    const fits = [...words, "x", 1, true, ["x"], { x: "x" }].find((value) => accepts(field, value));
    if (field.required && fits !== undefined) body[field.name] = fits;
  }
  return { ...body, ...KNOWN };
}

/** What handlers ask for in their own words. */
const KNOWN: Readonly<Record<string, JsonValue>> = {
  policy: rule("x", ["read"]),
  Rules: rule("x", ["read"]),
  Name: MARK,
  password: "correct horse",
  enforcement_level: "advisory",
  type: "kv",
};

function accepts(field: Served["fields"][number]["field"], value: JsonValue): boolean {
  try {
    return field.read(value) !== undefined;
  } catch {
    return false;
  }
}

suite("names without case", () => {
  const disk = new MemoryDisk();
  let server: TestServer;
  let root = "";
  let read: string[] = [];

  const manage = (method: string, path: string, body?: object): Promise<Answer> =>
    server.call(method, `/v1/${path}`, { token: root, ...(body === undefined ? {} : { body }) });
  const must = async (method: string, path: string, body?: object) => {
    const answer = await manage(method, path, body);
    assert.ok(answer.status < 300, `${method} ${path}: ${answer.text}`);
    return answer;
  };

  before(async () => {
    const { rows: stored } = disk;
    const get = stored.get.bind(stored);
    stored.get = (key) => {
      read.push(key);
      return get(key);
    };
    server = await startServer({ disk });
    root = (await server.open()).token;
    for (const [path, type, version] of [
      ["one", "kv", "1"],
      ["two", "kv", "2"],
    ] as const) {
      await must("POST", `sys/mounts/${path}`, { type, options: { version } });
    }
    await must("POST", "sys/auth/people", { type: "userpass" });
    await must("POST", "sys/auth/machines", { type: "approle" });
  });
  after(() => server.stop());

  const client = async (name: string, text: string) => {
    await must("PUT", `sys/policies/acl/${name}`, { policy: text });
    const made = await must("POST", "acl/token", { Type: "client", Policies: [name] });
    return String((made.json as { readonly SecretID: string }).SecretID);
  };

  test("T-A03: a deny holds for every spelling, on every path with such a name", async () => {
    assert.ok(folding.length > 30, `${folding.length} declarations`);
    const capable = folding.filter(({ endpoint }) => endpoint.access.kind === "capability");
    const denied = [...new Set(capable.map(({ path }) => path("ann")))];
    const token = await client(
      "deny-names",
      rule("*", EVERYTHING) + denied.map((path) => rule(path, ["deny"])).join(""),
    );
    for (const { endpoint, path } of capable) {
      for (const name of ["ann", "ANN", "Ann", "aNn"]) {
        const body = bodyOf(endpoint);
        const options = { token, ...(body === undefined ? {} : { body }) };
        const answer = await server.call(endpoint.method, `/v1/${path(name)}`, options);
        assert.equal(answer.status, 403, `${endpoint.method} ${path(name)}: ${answer.text}`);
      }
    }
  });

  test("T-A05: an EGP holds for every spelling, logins included", async () => {
    const token = await client("all-names", rule("*", EVERYTHING));
    const judged = folding.filter(({ endpoint: { access, login } }) => {
      return access.kind === "capability" || access.kind === "token" || login;
    });
    const paths = [...new Set(judged.map(({ path }) => path("ben")))];
    for (let i = 0; i < paths.length; i += 100) {
      const body = { policy: "false", enforcement_level: "hard-mandatory" };
      const some = paths.slice(i, i + 100);
      await must("PUT", `sys/policies/egp/names-${i}`, { ...body, paths: some });
    }
    for (const { endpoint, path } of judged) {
      for (const name of ["ben", "BEN", "Ben"]) {
        const body = bodyOf(endpoint);
        const how = endpoint.login ? {} : { token };
        const options = { ...how, ...(body === undefined ? {} : { body }) };
        const answer = await server.call(endpoint.method, `/v1/${path(name)}`, options);
        assert.equal(answer.status, 403, `${endpoint.method} ${path(name)}: ${answer.text}`);
      }
    }
  });

  test("T-A03: what a handler looks up is what was judged, of every path with a name", async () => {
    for (const { endpoint, path } of rows) {
      read = [];
      const body = bodyOf(endpoint);
      await manage(endpoint.method, path(MARK), body);
      const label = `${endpoint.method} ${endpoint.path}`;
      const folds = endpoint.folds.some((how) => how === "case");
      const other = folds ? MARK : FOLDED;
      const wrong = read.filter((key) => key.includes(other) && !key.startsWith(CLAIMS));
      assert.deepEqual(wrong, [], `${label}: it was judged as ${folds ? FOLDED : MARK}`);
    }
  });

  test("T-N14: a rate quota counts every spelling as one name", async () => {
    const path = "auth/people/users/CY";
    await must("POST", "auth/people/users/cy", { password: "correct horse" });
    await must("POST", "sys/quotas/rate-limit/names", { path, rate: 2, interval: "1h" });
    const statuses: number[] = [];
    for (const name of ["cy", "CY", "Cy", "cY"]) {
      statuses.push((await manage("GET", `auth/people/users/${name}`)).status);
    }
    await must("DELETE", "sys/quotas/rate-limit/names");
    assert.deepEqual(statuses, [200, 200, 429, 429]);
  });

  test("T-A03: a path inside a path has one spelling too: leases are revoked by whoever may, and no other", async () => {
    const token = await client(
      "deny-prefix",
      rule("sys/leases/*", EVERYTHING) +
        rule("sys/leases/revoke-prefix/auth/people/login/eve", ["deny"]),
    );
    for (const name of ["eve", "EVE", "Eve"]) {
      const path = `/v1/sys/leases/revoke-prefix/auth/people/login/${name}`;
      const answer = await server.call("POST", path, { token, body: { sync: true } });
      assert.equal(answer.status, 403, `${name}: ${answer.text}`);
    }
    const other = "/v1/sys/leases/revoke-prefix/auth/people/login/Fay";
    const answer = await server.call("POST", other, { token, body: { sync: true } });
    assert.ok(answer.status < 300, answer.text);
  });

  test("capability queries and rules that could never match speak of the one spelling", async () => {
    const text = rule("auth/people/users/*", ["read"]) + rule("auth/people/users/dan", ["deny"]);
    const token = await client("ask-names", text);
    for (const name of ["dan", "DAN", "Dan"]) {
      const path = `auth/people/users/${name}`;
      const answer = await server.call("POST", "/v1/sys/capabilities-self", {
        token,
        body: { paths: [path] },
      });
      assert.deepEqual((answer.json as { data: Record<string, unknown> }).data[path], ["deny"]);
    }
    const written = await must("PUT", "sys/policies/acl/upper", {
      policy: rule("auth/people/users/Dan", ["deny"]),
    });
    assert.match(written.text, /no capitals.*write \\"auth\/people\/users\/dan\\"/);
  });

  test("T-A03: a namespace is changed and deleted by its own name alone", async () => {
    await must("POST", "sys/namespaces/team");
    for (const [method, body] of [
      ["GET", undefined],
      ["DELETE", undefined],
    ] as const) {
      const answer = await manage(method, "sys/namespaces/TEAM", body);
      assert.notEqual(answer.status, 200, `${method}: ${answer.text}`);
    }
    assert.equal((await manage("POST", "sys/namespaces/Team")).status, 409);
    assert.equal((await manage("GET", "sys/namespaces/team")).status, 200);
  });
});
