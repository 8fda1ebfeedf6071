// Whether a write creates or updates is judged before its transaction. Here somebody else is faster, between
// the two, at every endpoint that declares `exists`: the table below must name them all.

import assert from "node:assert/strict";
import test, { type TestContext } from "node:test";
import { CHEAP_TYPE, cheapUserpass } from "../../support/servers/login-server.ts";
import { Audit } from "../../../src/audit/audit.ts";
import { everyEndpoint, mountedSurface } from "../../../src/surface.ts";
import { type Answer, at } from "../../support/http-client.ts";
import { type CloudBServer, cloudbServer } from "../../support/servers/cloudb-server.ts";
import { dataOf, grants, SECOND } from "../../support/servers/engine-server.ts";

interface Row {
  readonly path: string;
  readonly body: object | ((server: CloudBServer) => object);
  /** What the other one writes. Default: the same. */
  readonly other?: object;
  /** What is deleted to be rid of it. Default `path`; null where that cannot be done. */
  readonly remove?: string | null;
  /** Nobody else reaches it: it is the same token that is faster. */
  readonly own?: boolean;
  /** Waits for a provider, on the time of the test. */
  readonly waits?: boolean;
  /** What is there is never replaced, whoever asks. */
  readonly createsOnly?: boolean;
}

const CLOUD = "11111111-2222-4333-8444-555555555555";

function readerRole({ scope }: CloudBServer): object {
  return { cloudb_roles: JSON.stringify([{ role_name: "Reader", scope }]) };
}

const ROWS: Readonly<Record<string, Row>> = {
  kvWrite: {
    path: "two/data/a",
    body: { data: { mine: "x" } },
    other: { data: { theirs: "y" } },
    remove: "two/metadata/a",
  },
  kvWriteMetadata: { path: "two/metadata/a", body: { max_versions: 2 } },
  kv1Write: { path: "one/a", body: { mine: "x" }, other: { theirs: "y" } },
  writeCubbyhole: { path: "cubbyhole/a", body: { mine: "x" }, own: true },
  userpassWriteUser: { path: "auth/people/users/ann", body: { password: "long enough" } },
  approleWriteRole: { path: "auth/machines/role/r", body: { token_ttl: "1h" } },
  cloudaWriteRoot: { path: "clouda/config/root", body: { region: "eu-west-1" }, remove: null },
  cloudbWriteConfig: { path: "other/config", body: { tenant_id: CLOUD, subscription_id: CLOUD } },
  cloudbWriteRole: { path: "cloudb/roles/r", body: readerRole, waits: true },
  writeNamespace: { path: "sys/namespaces/team", body: { custom_metadata: { a: "b" } } },
  writeRateLimitQuota: { path: "sys/quotas/rate-limit/q", body: { rate: 1e6, path: "two/data/q" } },
  writeLeaseCountQuota: {
    path: "sys/quotas/lease-count/q",
    body: { max_leases: 9, path: "one/q" },
  },
  writeSnapshotConfig: {
    path: "sys/storage/raft/snapshot-auto/config/nightly",
    body: {
      interval: "24h",
      storage_type: "clouda-store",
      path_prefix: "night",
      clouda_store_bucket: "backups",
      clouda_store_region: "eu-west-1",
      verify: false,
    },
  },
  enableMount: { path: "sys/mounts/new", body: { type: "kv" }, createsOnly: true },
  enableAuthMethod: { path: "sys/auth/new", body: { type: "userpass" }, createsOnly: true },
};

/** What runs, once, between the judgement of the next request and its handler. */
class Between {
  #next: (() => Promise<unknown>) | null = null;

  constructor(t: TestContext) {
    const request = Reflect.get(Audit.prototype, "request") as Audit["request"];
    const run = () => this.#run();
    const held = async function held(this: Audit, ...args: Parameters<Audit["request"]>) {
      await Reflect.apply(request, this, args);
      await run();
    };
    t.mock.method(Audit.prototype, "request", held);
  }

  do(next: () => Promise<unknown>): void {
    assert.equal(this.#next, null);
    this.#next = next;
  }

  async #run(): Promise<void> {
    const next = this.#next;
    this.#next = null;
    await next?.();
  }
}

async function stage(t: TestContext): Promise<{ server: CloudBServer; between: Between }> {
  const server = await cloudbServer(t, { engineTypes: [cheapUserpass()] });
  await server.enable("two", "kv", { options: { version: "2" } });
  await server.enable("one", "kv", { options: { version: "1" } });
  for (const path of ["clouda", "cloudb"]) {
    const { status } = await server.ask("GET", `sys/mounts/${path}`);
    if (status !== 200) await server.enable(path, path);
  }
  await server.enable("other", "cloudb");
  await server.must("POST", "sys/auth/people", { type: CHEAP_TYPE });
  await server.must("POST", "sys/auth/machines", { type: "approle" });
  return { server, between: new Between(t) };
}

async function index(server: CloudBServer): Promise<unknown> {
  return at(await server.ask("GET", "sys/health"), "last_wal");
}

/** Asks with a token of these rights, and lets the other be faster. Gives the answer, and whether something was
 *  written after the other. */
async function race(
  { server, between }: Awaited<ReturnType<typeof stage>>,
  { path, own = false, waits = false }: Row,
  ask: { readonly rights: readonly string[]; readonly body: object },
  faster: (token: string) => Promise<Answer>,
): Promise<{ answer: Answer; wrote: boolean }> {
  const token = await server.client(grants(path, "sudo", "read", "delete", ...ask.rights));
  let before: unknown = null;
  between.do(async () => {
    const { status, text } = await faster(own ? token : server.root);
    assert.ok(status < 300, `${path}: ${status} ${text}`);
    before = await index(server);
  });
  const asking = server.ask("POST", path, ask.body, { token });
  const answer = await (waits ? server.timed(asking) : asking);
  assert.notEqual(before, null, `${path}: ${answer.status} ${answer.text}`);
  return { answer, wrote: before !== (await index(server)) };
}

/** Until there is nothing left to delete. */
async function removed(server: CloudBServer, { path, remove = path }: Row): Promise<Answer> {
  assert.ok(remove !== null);
  let answer = await server.ask("DELETE", remove);
  await server.passUntil(async () => {
    if (answer.status === 202) answer = await server.ask("DELETE", remove);
    return answer.status !== 202;
  }, SECOND / 1000n);
  return answer;
}

test("T-N13: every endpoint that tells create from update is raced below", () => {
  const all = [...everyEndpoint, ...mountedSurface.flatMap(({ endpoints }) => endpoints)];
  const names = all.filter(({ exists }) => exists !== null).map(({ name }) => name);
  assert.deepEqual(Object.keys(ROWS).toSorted(), [...new Set(names)].toSorted());
});

for (const [name, row] of Object.entries(ROWS)) {
  const { path, createsOnly = false, own = false, remove } = row;
  test(`T-N13: ${name}: is judged by what is there when it is done`, async (t) => {
    const on = await stage(t);
    const { server } = on;
    const body = typeof row.body === "function" ? row.body(server) : row.body;
    const write = (token: string) => server.ask("POST", path, row.other ?? body, { token });

    const created = await race(on, row, { rights: ["create"], body }, write);
    assert.equal(created.answer.status, createsOnly ? 409 : 403, created.answer.text);
    assert.equal(created.wrote, false, "another created it: who may only create changes nothing");
    if (remove === null) return;

    if (!own) {
      const gone = await race(on, row, { rights: ["update"], body }, () => removed(server, row));
      assert.equal(gone.answer.status, 403, gone.answer.text);
      assert.equal(gone.wrote, false, "another deleted it: who may only update makes none");
    }

    const both = await race(on, row, { rights: ["create", "update"], body }, write);
    if (createsOnly) assert.equal(both.answer.status, 409, both.answer.text);
    else assert.ok(both.answer.status < 300, both.answer.text);
    assert.equal(both.wrote, !createsOnly, "who may do both is not refused for it");
  });
}

test("T-N13: kv: the answer to whoever may only create shows no notes of what was moved there", async (t) => {
  const on = await stage(t);
  const { server, between } = on;
  await server.must("POST", "two/data/from", { data: { a: 1 } });
  await server.must("POST", "two/metadata/from", { custom_metadata: { owner: "secret note" } });
  const token = await server.client(grants("two/data/to", "create"));
  between.do(() => server.must("POST", "two/move", { from: "from", to: "to" }));
  const answer = await server.ask("POST", "two/data/to", { data: { b: 2 } }, { token });
  assert.equal(answer.status, 403, answer.text);
  assert.doesNotMatch(answer.text, /note/);
  assert.deepEqual(dataOf(await server.ask("GET", "two/data/to"))["data"], { a: 1 });
});

test("T-N13: programs judge it by what is there when it is done", async (t) => {
  const { server, between } = await stage(t);
  const policy = 'request.operation != "update"';
  const body = { policy, paths: ["one/*"], enforcement_level: "hard-mandatory" };
  await server.must("POST", "sys/policies/egp/no-update", body);
  const token = await server.client(grants("one/a", "create", "update"));
  between.do(() => server.must("POST", "one/a", { theirs: "y" }));
  const answer = await server.ask("POST", "one/a", { mine: "x" }, { token });
  assert.equal(answer.status, 403, answer.text);
  assert.match(answer.text, /no-update/);
  assert.deepEqual(dataOf(await server.ask("GET", "one/a")), { theirs: "y" });
});
