// What a program sees of a request that is described is what it sees of the same request when it is made:
// every property is asked in several ways by policies that only advise, of thrown requests and tokens,
// and what the audit trail says of the real ones is compared with what inspection says.

import assert from "node:assert/strict";
import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import test from "node:test";
import { PROPERTIES, type Property } from "../../../src/program/request/properties.ts";
import type { GovernedServer } from "../../support/servers/governed-server.ts";
import { at } from "../../support/http-client.ts";
import { loggedIn, loginServer, PASSWORD } from "../../support/servers/login-server.ts";
import { Dice } from "../../threats/dice.ts";
import { EVERYTHING, rule } from "../../threats/scene.ts";

const REQUESTS = 80;
const HEADER = "x-ticket";

/** Questions whose answers differ for most values that differ. */
function probes({ path, kind }: Property): readonly string[] {
  if (path === "request.id") return []; // each request has its own
  if (path === "request.connection.remote_port") return [`${path} > 0`];
  const made = QUESTIONS.get(kind);
  if (made === undefined) throw new TypeError(`no questions about ${path} of kind ${kind}`);
  return made.map((question) => question.replaceAll("IT", path));
}

const QUESTIONS: ReadonlyMap<string, readonly string[]> = new Map([
  [
    "string",
    ['IT != ""', "IT.size() % 2 == 0", 'IT.matches("[0-7a-m]$")', 'IT.matches("^[^0-7a-m]")'],
  ],
  ["int", ["IT == 0", "IT % 2 == 0", "IT > 1000"]],
  ["bool", ["IT"]],
  ["list", ["size(IT) % 2 == 0", 'IT.exists(x, string(x).matches("[0-7a-m]$"))']],
  [
    "map",
    [
      "size(IT) % 2 == 0",
      'IT.exists(k, k.matches("[0-7a-m]$"))',
      "IT.all(k, string(IT[k]).size() % 2 == 0)",
      `size(IT) == 0 || IT.exists(k, "${HEADER}" == k || k.size() == 4)`,
    ],
  ],
  ["duration", ['IT > duration("1s")']],
  ["timestamp", ["IT.getFullYear() > 2020"]],
]);

interface Holder {
  readonly secret: string;
  readonly accessor: string;
}

interface Thrown {
  readonly method: string;
  readonly operation: string;
  readonly path: string;
  readonly data: Record<string, string>;
  readonly namespace: "" | "team";
  readonly who: Holder | null;
  readonly ticket: string | null;
  readonly wrap: string | null;
  readonly override: boolean;
}

const VERB = {
  GET: "read",
  LIST: "list",
  POST: "update",
  DELETE: "delete",
} as const;
type Verb = keyof typeof VERB;
type Place = readonly [path: string, first: Verb, ...others: Verb[]];

/** With what can be asked there without making another request of the next one: what is not there yet is
 *  created and not updated. */
const PLACES: readonly [Place, ...Place[]] = [
  ["kv/a", "GET", "LIST", "POST"],
  ["kv/none", "GET", "DELETE"],
  ["two/data/a", "GET", "POST"],
  ["two/metadata/a", "GET", "LIST"],
  ["cubbyhole/mine", "GET", "LIST", "DELETE"],
  ["auth/token/lookup-self", "GET"],
  ["auth/people/users/ada", "GET", "POST"],
  ["auth/people/login/ada", "POST"],
  ["sys/mounts", "GET"],
  ["sys/policies/acl/none", "GET", "DELETE", "LIST"],
  ["sys/health", "GET"],
  ["nothing/there", "GET", "LIST", "DELETE"],
  ["team/kv/a", "GET", "LIST", "POST"],
  ["acl/tokens", "GET"],
];

function thrown(dice: Dice, holders: readonly [Holder | null, ...(Holder | null)[]]): Thrown {
  const [path, ...verbs] = dice.of(PLACES);
  const method = dice.of(verbs);
  const operation = VERB[method];
  const writes = method === "POST";
  return {
    method,
    operation,
    path,
    data: writes ? { password: PASSWORD, why: "x".repeat(dice.below(5)) } : {},
    namespace: path.startsWith("team/") ? "" : dice.of(["", "", "team"]),
    who: dice.of(holders),
    ticket: dice.of([null, "A-1", "A-1, B-22"]),
    wrap: dice.of([null, null, "90s", "120"]),
    override: dice.below(4) === 0,
  };
}

/** Results by the names of the policies. */
type Results = ReadonlyMap<string, string>;

interface Recorded {
  readonly type: string;
  readonly request: {
    readonly path: string;
    readonly governing_policies?: readonly { readonly name: string; readonly result: string }[];
  };
}

/** Of the answers that came after so many bytes of the file. */
function recorded(file: string, after: number): Recorded[] {
  const lines = readFileSync(file).subarray(after).toString("utf8").split("\n");
  return lines
    .filter((line) => line.includes('"type":"response"'))
    .map((line) => JSON.parse(line) as Recorded);
}

async function described(server: GovernedServer, one: Thrown) {
  const { operation, path, data, namespace, who, ticket, wrap, override } = one;
  const body = {
    operation,
    path,
    data,
    namespace,
    ...(who === null ? {} : { token_accessor: who.accessor }),
    ...(ticket === null ? {} : { headers: { "X-Ticket": ticket } }),
    ...(wrap === null ? {} : { wrap_ttl: wrap }),
    policy_override: override,
  };
  const answer = await server.manage("POST", "/v1/sys/inspect/request", { body });
  if (answer.status === 400) {
    assert.match(answer.text, /invalid accessor/); // of a part of the tree that does not reach there
    return null;
  }
  assert.equal(answer.status, 200, answer.text);
  const steps = at(answer, "data", "steps") as { kind: string; name: string; result: string }[];
  const results: Results = new Map(
    steps.filter(({ kind }) => kind !== "acl").map(({ name, result }) => [name, result]),
  );
  return { allowed: at(answer, "data", "allowed") === true, results };
}

function made(server: GovernedServer, one: Thrown) {
  const { method, path, data, namespace, who, ticket, wrap, override } = one;
  return server.call(method, `/v1/${path}`, {
    ...(who === null ? {} : { token: who.secret }),
    ...(method === "POST" ? { body: data } : {}),
    namespace,
    headers: {
      ...(ticket === null ? {} : { "X-Ticket": ticket }),
      ...(wrap === null ? {} : { "X-Service-Wrap-TTL": wrap }),
      ...(override ? { "X-Service-Policy-Override": "true" } : {}),
    },
  });
}

test("a described request is judged by what a real one is judged by, in every property", async (t) => {
  const login = await loginServer(t);
  const { server } = login;
  await server.must("POST", "/v1/sys/namespaces/team");
  for (const namespace of ["", "team"]) {
    const body = { type: "kv", options: { version: "1" } };
    await server.must("POST", "/v1/sys/mounts/kv", { body, namespace });
    await server.must("POST", "/v1/kv/a", { body: { why: "there" }, namespace });
    await server.acl(
      "all",
      rule("*", [...EVERYTHING, "sudo"]) + rule("team/*", EVERYTHING),
      namespace,
    );
    await server.acl("some", rule("kv/*", ["read"]) + rule("sys/*", ["list"]), namespace);
  }
  const version = { type: "kv", options: { version: "2" } };
  await server.must("POST", "/v1/sys/mounts/two", { body: version });
  await server.must("POST", "/v1/two/data/a", { body: { data: { why: "there" } } });
  await login.people({ token_policies: "all", token_ttl: "1h" });
  await server.must("POST", `/v1/sys/config/auditing/request-headers/${HEADER}`, { body: {} });

  const ada = loggedIn(await login.login());
  const child = (body: object, token = server.root) =>
    server.call("POST", "/v1/auth/token/create", { token, body }).then(loggedIn);
  const manager = await server.must("POST", "/v1/acl/token", {
    body: { Type: "management", Name: "of team" },
    namespace: "team",
  });
  const holders: readonly [Holder | null, ...(Holder | null)[]] = [
    null,
    ada,
    await server.client(["all"]),
    await server.client(["some"]),
    await server.client(["all"], "team"),
    await child({ policies: ["all"], meta: { team: "blue" }, display_name: "cooking" }),
    await child({ policies: ["all"], period: "2h", no_parent: true }),
    await child({ policies: ["all"], num_uses: 1_000, explicit_max_ttl: "3h" }),
    await child({ meta: { team: "red" }, ttl: "10m" }, ada.secret),
    { secret: String(at(manager, "SecretID")), accessor: String(at(manager, "AccessorID")) },
  ];
  const names: string[] = [];
  for (const property of PROPERTIES) {
    for (const [i, program] of probes(property).entries()) {
      const name = `${property.path}-${i}`.replaceAll("_", "-");
      names.push(name);
      await server.egp(name, program, "advisory", ["*"]);
    }
  }
  await server.egp("a-soft", "request.mount_accessor != ''", "soft-mandatory", ["kv/*"]);
  await server.egp("no-roots", "token.path != 'acl/token'", "hard-mandatory", ["two/*"]);
  await server.audit();
  const file = join(server.test.auditDirectory, "file.log");

  const dice = new Dice(94);
  let compared = 0;
  const answers = new Map(names.map((name) => [name, new Set<string>()]));
  for (let i = 0; i < REQUESTS; i++) {
    const one = thrown(dice, holders);
    const wants = await described(server, one);
    if (wants === null) continue;
    const before = statSync(file).size;
    const real = await made(server, one);
    const [record] = recorded(file, before);
    const results: Results = new Map(
      (record?.request.governing_policies ?? []).map(({ name, result }) => [name, result]),
    );
    const what = `${JSON.stringify(one)}: ${real.status} ${real.text.slice(0, 200)}`;
    if (real.status !== 400) assert.equal(wants.allowed, real.status !== 403, what);
    // Where nothing would answer, no body is read; a described one counts as if something did.
    if (one.method === "POST" && real.text.includes("unsupported path")) continue;
    assert.deepEqual([...wants.results], [...results], what);
    for (const [name, result] of results) answers.get(name)?.add(result);
    compared += results.size > 0 ? 1 : 0;
  }
  assert.ok(compared > REQUESTS / 3, `${compared} were judged`);
  // A question that is always answered alike compares nothing; most of them must not be so.
  const telling = [...answers.values()].filter((said) => said.size > 1).length;
  assert.ok(
    telling > names.length / 3,
    `${telling} of ${names.length} questions tell requests apart`,
  );
});
