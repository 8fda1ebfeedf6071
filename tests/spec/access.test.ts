// Every route, for every kind of caller, in every kind of namespace, in every spelling of its path,
// answers as its declaration says. The table is made from the declarations: a new route is in it by
// itself, and a route without access does not compile.

import assert from "node:assert/strict";
import { Agent } from "node:http";
import test, { after, before, suite } from "node:test";
import type { Served } from "@holdfast/shared/endpoint/endpoint";
import { ROOT_NAMESPACE } from "@holdfast/shared/endpoint/request";
import { everyEndpoint } from "../../src/surface.ts";
import type { Answer } from "../support/http-client.ts";
import { MovableClock } from "../support/servers/sealed-node.ts";
import { startServer, type TestServer } from "../support/servers/test-server.ts";

type Verdict =
  | "passes"
  | "missing-token"
  | "invalid-token"
  | "permission-denied"
  | "restricted-endpoint";

/** What a caller can be. */
interface Kind {
  readonly name: string;
  readonly token: string | undefined;
  readonly home: "none" | "" | "team" | "other"; // its namespace; none: it is nobody
  readonly rights: "management" | "all" | "all but sudo" | "nothing" | "denied";
}

const EVERYTHING = ["create", "read", "update", "patch", "delete", "list"];
const agent = new Agent({ keepAlive: true, maxSockets: 8 });
const clock = new MovableClock();
let server: TestServer;
let share = "";
let root = "";
let kinds: readonly Kind[] = [];

function rule(path: string, capabilities: readonly string[]): string {
  return `path "${path}" { capabilities = ${JSON.stringify(capabilities)} }\n`;
}

async function makeKinds(): Promise<Kind[]> {
  const { tokens, policies, namespaces } = server.server;
  const other = namespaces.named("other");
  const team = namespaces.named("team");
  assert.ok(other !== null && team !== null);
  // Rules reach a child namespace only where their text leads into it.
  const write = (name: string, rights: readonly string[], id = ROOT_NAMESPACE.id) =>
    policies.write(id, { name, text: rule("*", rights) + rule("team/*", rights) });
  await write("all", [...EVERYTHING, "sudo"]);
  await write("all-but-sudo", EVERYTHING);
  await write("denied", ["deny"]);
  await write("all", [...EVERYTHING, "sudo"], other.id);
  const make = async (
    type: "client" | "management",
    names: readonly string[],
    namespace = ROOT_NAMESPACE,
    expires: bigint | null = null,
  ) =>
    tokens.writes.create({
      type,
      policies: names,
      namespaceId: namespace.id,
      global: true,
      expires,
    });
  const secret = async (...spec: Parameters<typeof make>) => (await make(...spec)).secret.reveal();

  const gone = await make("management", []);
  await tokens.writes.delete(ROOT_NAMESPACE.id, gone.accessor);
  const hour = 3_600_000_000_000n;
  const expired = await secret("management", [], ROOT_NAMESPACE, clock.now() + hour);
  clock.ahead += 2n * hour;
  return [
    { name: "nobody", token: undefined, home: "none", rights: "nothing" },
    {
      name: "an unknown secret",
      token: "11111111-2222-4333-8444-555555555555",
      home: "none",
      rights: "nothing",
    },
    { name: "an expired token", token: expired, home: "none", rights: "nothing" },
    { name: "a deleted token", token: gone.secret.reveal(), home: "none", rights: "nothing" },
    { name: "management", token: root, home: "", rights: "management" },
    {
      name: "management of a child",
      token: await secret("management", [], team),
      home: "team",
      rights: "management",
    },
    {
      name: "a client whose policy is not there",
      token: await secret("client", ["no-such-policy"]),
      home: "",
      rights: "nothing",
    },
    {
      name: "a client with everything",
      token: await secret("client", ["all"]),
      home: "",
      rights: "all",
    },
    {
      name: "a client without sudo",
      token: await secret("client", ["all-but-sudo"]),
      home: "",
      rights: "all but sudo",
    },
    {
      name: "a client that is denied",
      token: await secret("client", ["all", "denied"]),
      home: "",
      rights: "denied",
    },
    {
      name: "a client of a sibling",
      token: await secret("client", ["all"], other),
      home: "other",
      rights: "all",
    },
  ];
}

const OF_EVERY_CLIENT: ReadonlySet<string> = new Set([
  "authTokenLookupSelf",
  "authTokenRenewSelf",
  "authTokenRevokeSelf",
  "ownCapabilities",
  "resultantAcl",
  "wrapData",
  "unwrap",
  "lookupLease",
  "renewLease",
  "renewLeaseOlder",
]);

/** Written by hand, not from the pipeline. */
function expected(endpoint: Served, kind: Kind, namespace: string): Verdict {
  const exists = namespace === "" || namespace === "team";
  const restricted = namespace !== "" && endpoint.rootOnly;
  const { access } = endpoint;
  // What unwraps answers every credential that is none with a 400 (10), wherever it is asked.
  const unknown = endpoint.unwraps ? "passes" : "invalid-token";
  // What the node says of itself is the same everywhere.
  if (access.kind === "open" && endpoint.everywhere && !restricted) return "passes";
  // So is how far a ceremony of a disaster-recovery secondary has come.
  if (access.kind === "ceremony" && access.ofDrSecondary === true && !restricted) return "passes";
  // Nobody can try out which namespaces there are: nothing else is open in a child.
  if (access.kind === "open" && access.caller === "optional" && namespace !== "") {
    if (kind.token === undefined) return "missing-token";
    if (kind.home === "none") return unknown;
    if (!exists || (kind.home !== "" && kind.home !== namespace)) return "permission-denied";
    return restricted ? "restricted-endpoint" : "passes";
  }
  // What is for disaster-recovery secondaries alone is refused to everybody, by another word.
  if (exists && !restricted && access.kind === "drOperation") return "passes";
  // Key ceremonies are open on this listener.
  if (exists && !restricted && (access.kind === "open" || access.kind === "ceremony"))
    return "passes";
  if (kind.token === undefined) return "missing-token";
  if (kind.home === "none") return unknown;
  if (!exists || (kind.home !== "" && kind.home !== namespace)) return "permission-denied";
  if (restricted) return "restricted-endpoint";
  // A token reads itself, and the policies it carries; those asked for here are another's.
  //
  const own = ["readToken", "viewAclPolicy"].includes(endpoint.name);
  if (own && kind.rights !== "management") return "permission-denied";
  // Which mount serves a path is told whom some policy lets do something there (12).
  const blind = kind.rights === "nothing" || kind.rights === "denied";
  if (endpoint.name === "readServingMount" && blind) return "permission-denied";
  if (access.kind === "token" || kind.rights === "management") return "passes";
  // Granted by name in the default policy of its own namespace; no pattern stands above that (6.4).
  if (OF_EVERY_CLIENT.has(endpoint.name) && kind.home === namespace) return "passes";
  // There the default policy has a rule of its own, without `list`, which no pattern is above (6.4).
  if (endpoint.name === "listLeases" && kind.home === namespace) return "permission-denied";
  if (access.kind === "management" || access.kind !== "capability") return "permission-denied";
  const enough = kind.rights === "all" || (kind.rights === "all but sudo" && !access.sudo);
  return enough ? "passes" : "permission-denied";
}

/** Under /acl/ there are fewer words, so that less is told. */
function inWordsOf(endpoint: Served, verdict: Verdict): Verdict {
  const few = endpoint.family === "acl" && verdict !== "passes";
  return few && verdict !== "restricted-endpoint" ? "permission-denied" : verdict;
}

function verdictOf({ status, headers }: Answer): Verdict {
  const word = String(headers["x-service-error"]);
  const code = status === 403 ? word.replaceAll("_", "-") : word;
  switch (code) {
    case "token-expired":
      assert.equal(status, 403);
      return "permission-denied";
    case "missing-token":
    case "invalid-token":
    case "permission-denied":
    case "restricted-endpoint":
      assert.equal(status, 403);
      return code;
    default:
      return "passes"; // whatever the handler made of it
  }
}

/** A path of the endpoint, with something in place of its parameters. */
function pathOf(endpoint: Served): string {
  return endpoint.path.replaceAll(/:(\w+)\+?/g, "x-$1");
}

/** The handler of sys/seal does what it says; the table goes on. */
async function stayOpen(): Promise<void> {
  if (server.server.keeper.sealed) await server.unseal([share]);
}

/** One like it where the token ends itself: the table goes on with the others. */
async function expendable(endpoint: Served, token: string | undefined) {
  const { tokens } = server.server;
  if (endpoint.name !== "authTokenRevokeSelf" || token === undefined) return token;
  const caller = tokens.find(token);
  if (caller === null) return token;
  const { type, policies, namespace } = caller;
  const twin = { type, policies, namespaceId: namespace.id, global: true };
  return (await tokens.writes.create(twin)).secret.reveal();
}

async function ask(
  endpoint: Served,
  kind: Kind,
  target: string,
  namespace?: string,
): Promise<Answer> {
  const body = ["POST", "PATCH"].includes(endpoint.method) ? {} : undefined;
  const token = await expendable(endpoint, kind.token);
  const answer = await server.call(endpoint.method, target, { token, namespace, body, agent });
  await stayOpen();
  return answer;
}

/** Spellings that must never reach a route. */
function misspelt(path: string): string[] {
  const [, first = "", ...rest] = path.split("/");
  const tail = rest.join("/");
  const escaped = `%${first.charCodeAt(0).toString(16).toUpperCase()}${first.slice(1)}`;
  return [
    `/v1/${escaped}/${tail}`, // needless escape
    `/v1/${first}//${tail}`,
    `/v1//${first}/${tail}`,
    `/v1/${first}/./${tail}`,
    `/v1/${first}/x/../${tail}`,
    `/v1/${first}/%2e%2e/${first}/${tail}`,
    `/v1/${first}/%2E%2E/${first}/${tail}`,
    `/v1/${first}%2F${tail}`,
    `/v1/${first}%5C${tail}`,
    `/v1/${first}\\${tail}`,
    `/v1/${first}/${tail}%00`,
    `/v1/${first}/${tail}%20`,
    `/v1/${first}/${tail}*`,
    `/v1/${first}/${tail}%C0%AE`,
  ];
}

suite("access, by declaration", () => {
  before(async () => {
    server = await startServer({ world: { clock } });
    const opened = await server.open();
    root = opened.token;
    share = opened.shares[0] ?? "";
    for (const path of ["team", "other"]) {
      await server.call("POST", `/v1/sys/namespaces/${path}`, { token: root, agent });
    }
    kinds = await makeKinds();
  });

  after(async () => {
    agent.destroy();
    await server.stop();
  });

  test("the server serves what is declared, and all of it", () => {
    const names = (list: readonly { readonly method: string; readonly path: string }[]) =>
      list.map(({ method, path }) => `${method} ${path}`).toSorted();
    assert.deepEqual(names(server.server.endpoints), names(everyEndpoint));
    assert.ok(server.server.endpoints.length > 60);
  });

  test("T-A15 T-D07: every route, caller and namespace, by header and by path prefix", async () => {
    let requests = 0;
    let turns = 0;
    for (const endpoint of server.server.endpoints) {
      for (const kind of kinds) {
        for (const namespace of ["", "team", "nope"]) {
          const verdict = inWordsOf(endpoint, expected(endpoint, kind, namespace));
          const path = pathOf(endpoint);
          const ways: readonly (readonly [string, string | undefined])[] =
            namespace === ""
              ? [
                  [`/v1${path}`, undefined],
                  ["/acl/", "/sys/"].some((start) => path.startsWith(start)) // these answer without the prefix too
                    ? [path, ""]
                    : [`/v1${path}`, "/"],
                ]
              : [
                  [`/v1${path}`, namespace],
                  [`/v1${path}`, `/${namespace}/`],
                  // A prefix that is no namespace is just another path: nobody learns which it is,
                  // but for those who may do anything anywhere.
                  ...(namespace === "nope"
                    ? []
                    : [[`/v1/${namespace}${path}`, undefined] as const]),
                ];
          // Each caller, namespace and route by one of the spellings, in turn; what leads by the path, always.
          const spelt = namespace === "team" ? 2 : ways.length;
          const turn = turns++ % spelt;
          for (const [target, header] of ways.filter((_, i) => i === turn || i >= spelt)) {
            const answer = await ask(endpoint, kind, target, header);
            const where = `${kind.name}: ${endpoint.method} ${target} in "${header ?? ""}" (${answer.status} ${answer.text})`;
            assert.equal(verdictOf(answer), verdict, where);
            requests++;
          }
        }
      }
    }
    assert.ok(requests > 4000, `${requests} requests`);
  });

  test("T-A01 T-A02: no other spelling of a path reaches its route, whoever asks", async () => {
    const askers = kinds.filter(({ name }) =>
      ["nobody", "management", "a client with everything"].includes(name),
    );
    for (const endpoint of server.server.endpoints) {
      const [caller] = [askers[endpoint.path.length % askers.length]];
      assert.ok(caller !== undefined);
      for (const target of misspelt(pathOf(endpoint))) {
        const answer = await ask(endpoint, caller, target);
        assert.equal(
          answer.status,
          400,
          `${caller.name}: ${endpoint.method} ${target}: ${answer.text}`,
        );
      }
    }
  });

  test("only lists end in a slash, and other case is another path", async () => {
    const management = kinds.find(({ name }) => name === "management");
    assert.ok(management !== undefined);
    for (const endpoint of server.server.endpoints) {
      const path = pathOf(endpoint);
      const slash = await ask(endpoint, management, `/v1${path}/`);
      // A prefix is one with it or without it.
      const may = endpoint.method === "LIST" || endpoint.slashFalls;
      if (may) assert.notEqual(slash.status, 400, path);
      else assert.equal(slash.status, 400, `${endpoint.method} ${path}/`);
      const shouted = await ask(
        endpoint,
        management,
        `/v1${path.replace(/^\/\w/, (start) => start.toUpperCase())}`,
      );
      assert.equal(shouted.status, 404, path);
    }
  });

  test("T-A16: nothing in the query stands in for a credential or a namespace", async () => {
    const [nobody] = kinds;
    assert.ok(nobody !== undefined);
    for (const query of [
      `token=${root}`,
      `X-Service-Token=${root}`,
      `client_token=${root}`,
      "namespace=team",
    ]) {
      const answer = await server.call("GET", `/v1/sys/key-status?${query}`, { agent });
      assert.equal(verdictOf(answer), "missing-token", query);
    }
  });
});
