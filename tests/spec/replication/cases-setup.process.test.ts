// Cases of docs/cases/replication.md on processes, with real TLS between them through proxies: how a cluster becomes a
// primary, how others join it and leave it, and what they are told. Each test begins where the one before it has ended.

import assert from "node:assert/strict";
import { before, describe, test } from "node:test";
import { isObject, type JsonObject } from "@holdfast/shared/json/json";
import { CertificateFiles, TestAuthority } from "../../support/certificates.ts";
import { at } from "../../support/http-client.ts";
import {
  comesTo,
  firstOf,
  is,
  isRefused,
  keyOf,
  suiteEnds,
  textOf,
  tokenFor,
} from "../../support/replication/case-suite.ts";
import {
  ClusterProcess,
  equalProcesses,
  joinProcess,
  rejoinProcess,
  sealedFor,
  takenOver,
} from "../../support/replication/cluster-process.ts";
import { freePort, TcpProxy } from "../../support/replication/tcp-proxy.ts";
import { until } from "../../support/until.ts";

const STATUS = "/v1/sys/replication";
const DISABLED = { mode: "disabled" };
const LISTED = `outbound_allow = ["127.0.0.1"]`;

describe("clusters as processes are set up, and taken apart again", () => {
  const ends = suiteEnds();
  /** Leads. */
  let a: ClusterProcess;
  /** Joins. */
  let b: ClusterProcess;
  /** Leads another set, until it joins as well. */
  let c: ClusterProcess;
  /** Where the API of `a` is said to be. */
  let api: TcpProxy;
  /** How it is really reached by HTTPS. */
  let how: { readonly primary_api_addr: string; readonly ca_pem: string };
  /** Of before it joined. */
  let own: { readonly token: string; readonly shares: readonly string[] };

  before(async () => {
    const authority = await TestAuthority.make();
    const files = new CertificateFiles();
    ends.after(() => files.remove());
    files.write(await authority.issue("localhost"));
    const secure = `listener "tcp" { address = "127.0.0.1:0" tls_cert_file = "${files.certFile}" tls_key_file = "${files.keyFile}" }`;
    api = await TcpProxy.before(ends, await freePort());
    [a, b, c] = await Promise.all([
      ClusterProcess.start(
        ends,
        () => `${LISTED}\napi_addr = "https://127.0.0.1:${api.port}"\n${secure}`,
      ),
      ClusterProcess.start(ends, () => LISTED),
      ClusterProcess.start(ends, () => LISTED),
    ]);
    how = { primary_api_addr: a.secureAddress, ca_pem: authority.pem };
    own = { token: b.token, shares: b.shares };
    for (const one of [a, b, c]) {
      const body = { type: "kv", options: { version: "2" } };
      const path = `/v1/sys/mounts/${one === b ? "own" : "secret"}`;
      is(await one.call("POST", path, { token: one.token, body }), 204);
    }
    const body = { data: { value: "1" } };
    is(await b.call("POST", "/v1/own/data/x", { token: own.token, body }), 200);
  });

  /** It has joined nobody, and has everything of its own. */
  async function isUntouched(): Promise<void> {
    is(await b.call("GET", "/v1/own/data/x", { token: own.token }), 200);
    assert.deepEqual(await b.status(), DISABLED);
  }

  test("R-1: where nothing replicates all three say so, to anybody, and nothing else", async () => {
    const all = await a.call("GET", `${STATUS}/status`);
    assert.deepEqual(at(all, "data"), { dr: DISABLED, performance: DISABLED });
    for (const kind of ["dr", "performance"]) {
      const one = await a.call("GET", `${STATUS}/${kind}/status`);
      is(one, 200);
      assert.deepEqual(at(one, "data"), DISABLED);
    }
  });

  test("R-2: from a child namespace both together are refused, and each is answered", async () => {
    const { token } = a;
    is(await a.call("POST", "/v1/sys/namespaces/ns1", { token, body: {} }), 200);
    is(await a.call("GET", `${STATUS}/status`, { token, namespace: "ns1/" }), 403);
    for (const kind of ["dr", "performance"]) {
      is(await a.call("GET", `${STATUS}/${kind}/status`, { namespace: "ns1/" }), 200);
    }
  });

  test("R-6: an address that is none leaves the role as it is", async () => {
    for (const primary_cluster_addr of [
      "http://a:1",
      "https://a",
      "a",
      "https://a:0",
      "https://a:1/x",
    ]) {
      const refused = await a.dr("primary/enable", { primary_cluster_addr });
      is(refused, 400, "replication_address_unusable");
    }
    assert.deepEqual(await a.status(), DISABLED);
  });

  test("R-4: it is a primary, warns, runs, and is in epoch 1", async () => {
    const enabled = await a.dr("primary/enable");
    is(enabled, 200);
    assert.equal((at(enabled, "warnings") as string[]).length, 1);
    const { mode, state, epoch } = await a.status();
    assert.deepEqual({ mode, state, epoch }, { mode: "primary", state: "running", epoch: 1 });
  });

  test("R-61: disabled and enabled again it leads another set", async () => {
    const { cluster_id: first } = await a.status();
    is(await a.dr("primary/disable"), 200);
    assert.deepEqual(await a.status(), DISABLED);
    is(await a.put("x", "1"), 200);
    is(await a.dr("primary/enable"), 200);
    assert.notEqual((await a.status())["cluster_id"], first);
  });

  test("R-7: a token for a secondary needs sudo", async () => {
    const { token } = a;
    const policy = `path "sys/replication/dr/primary/*" { capabilities = ["update"] }`;
    is(await a.call("POST", "/v1/sys/policies/acl/some", { token, body: { policy } }), 204);
    const body = { policies: ["some"] };
    const made = await a.call("POST", "/v1/auth/token/create", { token, body });
    const some = String(at(made, "auth", "client_token"));
    is(await a.dr("primary/secondary-token", { id: "b" }, some), 403);
    assert.deepEqual((await a.status())["known_secondaries"], []);
  });

  test("R-8: without an id, with a wrong one, and with one that is taken there is no token", async () => {
    is(await a.dr("primary/secondary-token"), 400);
    for (const id of ["", "-b", "b-", "b c", "b/c"]) {
      is(await a.dr("primary/secondary-token", { id }), 400);
    }
    is(await a.dr("primary/secondary-token", { id: "taken" }), 200);
    is(await a.dr("primary/secondary-token", { id: "taken" }), 400);
  });

  test("R-19: a token that nobody has used is listed until it is revoked", async () => {
    assert.deepEqual((await a.status())["known_secondaries"], ["taken"]);
    is(await a.dr("primary/revoke-secondary", { id: "taken" }), 204);
    assert.deepEqual((await a.status())["known_secondaries"], []);
  });

  test("R-22: revoking an id that nobody knows is done", async () => {
    is(await a.dr("primary/revoke-secondary", { id: "nobody" }), 204);
    is(await a.dr("primary/revoke-secondary", { id: "not/an/id" }), 400);
  });

  test("R-10: lifetimes of tokens", async () => {
    for (const ttl of ["0", "25h"])
      is(await a.dr("primary/secondary-token", { id: "t", ttl }), 400);
    for (const [ttl, seconds] of [
      ["90", 90],
      [90, 90],
      ["2m", 120],
    ] as const) {
      const made = await a.dr("primary/secondary-token", { id: "t", ttl });
      is(made, 200);
      assert.equal(at(made, "wrap_info", "ttl"), seconds);
      is(await a.dr("primary/revoke-secondary", { id: "t" }), 204);
    }
  });

  test("R-9, R-11: a token is a JWT for half an hour, is unwrapped once, and holds what a secondary needs", async () => {
    const made = await a.dr("primary/secondary-token", { id: "wrapped" });
    assert.equal(at(made, "wrap_info", "ttl"), 1800);
    const token = String(at(made, "wrap_info", "token"));
    const [, payload = ""] = token.split(".");
    const claims = JSON.parse(Buffer.from(payload, "base64url").toString()) as JsonObject;
    assert.equal(Number(claims["exp"]) - Number(claims["iat"]), 1800);
    assert.equal(claims["addr"], `https://127.0.0.1:${api.port}`);
    for (const name of ["accessor", "jti", "nbf", "ns", "st", "type"])
      assert.ok(name in claims, name);
    const unwrap = (with_: string) => a.call("POST", "/v1/sys/wrapping/unwrap", { token: with_ });
    const tried = await unwrap(textOf(claims, "jti"));
    assert.ok(tried.status === 400 || tried.status === 403, tried.text);
    const first = await unwrap(token);
    is(first, 200);
    const data = at(first, "data");
    assert.ok(isObject(data));
    for (const name of ["id", "cluster_id", "primary_cluster_addr", "ca_cert", "client_cert"]) {
      assert.equal(typeof data[name], "string", name);
    }
    assert.equal(typeof data["client_key"], "object");
    is(await unwrap(token), 400);
  });

  test("R-12: a token that has ended, and one that was used, cost nothing", async () => {
    const wrapped = async (id: string, ttl: string) => {
      const made = await a.dr("primary/secondary-token", { id, ttl });
      return String(at(made, "wrap_info", "token"));
    };
    const short = await wrapped("late", "1s");
    await until(async () => JSON.stringify((await a.status())["expired_tokens"]) === `["late"]`);
    const late = await b.dr("secondary/enable", { token: short, ...how });
    assert.ok([400, 502].includes(late.status), late.text);
    await isUntouched();
    const used = await wrapped("used", "2m");
    is(await a.call("POST", "/v1/sys/wrapping/unwrap", { token: used }), 200);
    is(await b.dr("secondary/enable", { token: used, ...how }), 400);
    await isUntouched();
  });

  test("R-14: a token for a key that another has replaced does not open", async () => {
    const replaced = await sealedFor(a, b, "first");
    await sealedFor(a, b, "second");
    is(await b.dr("secondary/enable", { token: replaced }), 400);
    await isUntouched();
  });

  test("R-13, R-15, R-16: a primary that is not reached costs nothing; the same token joins later, by the cluster port alone", async () => {
    const token = await sealedFor(a, b, "site-b");
    a.way.cut();
    is(await b.dr("secondary/enable", { token }), 502);
    await isUntouched();
    a.way.heal();
    const enabled = await b.dr("secondary/enable", { token });
    is(enabled, 200);
    assert.match(String(at(enabled, "warnings")), /all data of before is gone/);
    takenOver(a, b);
    await equalProcesses(a, b);
    assert.equal(api.accepted, 0, "the API of the primary was not called");
  });

  test("R-17: a cluster that replicates already does not join", async () => {
    is(await c.dr("primary/enable"), 200);
    const token = await sealedFor(a, c, "site-c");
    is(await c.dr("secondary/enable", { token }), 400, "replication_role_taken");
    assert.equal((await c.status())["mode"], "primary");
    is(await a.dr("primary/revoke-secondary", { id: "site-c" }), 204);
  });

  test("R-3: times, durations and skews are texts, indexes are numbers, roots have 64 digits", async () => {
    await until(async () => {
      const { secondaries } = await a.status();
      return Array.isArray(secondaries) && firstOf(secondaries)["last_heartbeat"] !== "";
    });
    const [here, there] = [await a.status(), await b.status()];
    const types = (object: JsonObject, type: string, ...names: string[]) => {
      for (const name of names) assert.equal(typeof object[name], type, name);
    };
    for (const one of [here, there]) {
      types(
        one,
        "string",
        "cluster_id",
        "state",
        "last_corruption_check_epoch",
        "last_reindex_epoch",
      );
      types(one, "number", "ssct_generation_counter", "epoch");
      types(one, "boolean", "corrupted_merkle_tree");
      assert.match(textOf(one, "merkle_root"), /^[0-9a-f]{64}$/);
    }
    types(here, "number", "last_wal", "last_dr_wal");
    types(there, "number", "last_remote_wal");
    types(there, "string", "secondary_id", "connection_state", "last_start");
    for (const peer of [firstOf(here["secondaries"]), firstOf(there["primaries"])]) {
      types(peer, "string", "last_heartbeat_duration_ms", "clock_skew_ms", "last_heartbeat");
      types(peer, "string", "replication_primary_canary_age_ms", "api_address", "cluster_address");
      assert.equal(peer["connection_status"], "connected");
    }
  });

  test("R-5: neither a primary nor a secondary is enabled", async () => {
    is(await a.dr("primary/enable"), 400, "replication_primary_already");
    const promote = await b.dr("primary/enable");
    is(promote, 400, "replication_promote_instead");
    assert.match(promote.text, /promote it instead/);
  });

  test("R-25: a secondary refuses whatever is ordinary, with a token or without", async () => {
    for (const token of [a.token, undefined]) {
      for (const [method, path, body] of [
        ["GET", "/v1/secret/data/x"],
        ["POST", "/v1/secret/data/x", { data: { value: "2" } }],
        ["POST", "/v1/auth/userpass/login/me", { password: "x" }],
        ["GET", "/v1/acl/tokens"],
      ] as const) {
        const answer = await b.call(method, path, { token, body });
        is(answer, 503);
        assert.match(answer.text, /this cluster is a disaster-recovery secondary/);
      }
    }
  });

  test("R-26, R-28: health of a secondary is 472 or what is asked for, and of a sealed one 503", async () => {
    is(await b.call("GET", "/v1/sys/health"), 472);
    is(await b.call("GET", "/v1/sys/health?drsecondarycode=200"), 200);
    await b.kill();
    await b.startAgain([]);
    is(await b.call("GET", "/v1/sys/health"), 503);
    await b.unseal();
    await equalProcesses(a, b);
  });

  test("R-57, R-59: it follows its own primary by the first address where that answers, and goes on where it cannot be taken", async () => {
    const operation = await b.operationToken();
    const update = (body: object) => b.operate("update-primary", body, operation);
    const [dead, dead2] = [await freePort(), await freePort()];
    const ports = [dead, dead2, c.clusterPort, a.clusterPort, a.way.port];
    const addresses = ports.map((port) => `https://127.0.0.1:${port}`);
    is(await update({ update_primary_addrs: addresses }), 200);
    assert.equal((await b.status())["primary_cluster_addr"], addresses[3], "in their order");
    await equalProcesses(a, b);
    const none = await update({ update_primary_addrs: addresses.slice(0, 3) });
    is(none, 502, "replication_primary_unreachable");
    assert.equal((await b.status())["primary_cluster_addr"], addresses[3]);

    const key = await keyOf(b, operation);
    const revoked = await tokenFor(a, "other", key);
    is(await a.dr("primary/revoke-secondary", { id: "other" }), 204);
    is(await update({ token: revoked }), 502, "replication_primary_refuses");
    is(await update({ token: await tokenFor(c, "b", key) }), 400, "replication_other_set");
    is(await a.put("x", "2"), 200);
    await equalProcesses(a, b);
    assert.equal((await b.status())["secondary_id"], "site-b");
  });

  test("R-55: it needs a token or addresses; an empty token leaves it without a primary, and it dials nobody", async () => {
    const operation = await b.operationToken();
    const update = (body: object) => b.operate("update-primary", body, operation);
    const update_primary_addrs = [`https://127.0.0.1:${a.way.port}`];
    is(await update({ token: "x", update_primary_addrs }), 400, "replication_primary_named_twice");
    is(await update({}), 400, "replication_primary_unnamed");
    is(await update({ update_primary_addrs }), 200); // by the proxy, which sees who comes
    await equalProcesses(a, b);
    is(await update({ token: "" }), 200);
    const { state, primaries, known_primary_cluster_addrs, secondary_id } = await b.status();
    assert.deepEqual(
      [state, primaries, known_primary_cluster_addrs, secondary_id],
      ["idle", [], null, ""],
    );
    const { accepted } = a.way;
    await b.operate("recover", {}, operation);
    const enough = performance.now() + 500; // who dials does so at once
    await until(() => performance.now() > enough);
    assert.equal(a.way.accepted, accepted);
    is(await a.dr("primary/revoke-secondary", { id: "site-b" }), 204);
    await rejoinProcess(a, b, "site-b2", operation);
    await equalProcesses(a, b);
  });

  test("R-20: who is revoked is cut off at once, hears why, and stays idle", async () => {
    const began = performance.now();
    is(await a.dr("primary/revoke-secondary", { id: "site-b2" }), 204);
    const { secondaries } = await a.status();
    assert.deepEqual(secondaries, [], `cut off within ${performance.now() - began} ms`);
    await comesTo(b, "state", "idle");
    assert.match(textOf(await b.status(), "last_sync_error"), /revoked/);
    const { last_remote_wal: had } = await b.status();
    is(await a.put("after", "1"), 200);
    await b.operate("recover");
    await isRefused(b);
    assert.equal((await b.status())["last_remote_wal"], had);
  });

  test("R-24: the id of one that was revoked is free for another, and its certificate is not", async () => {
    is(await c.dr("primary/disable"), 200);
    await joinProcess(a, c, "site-b2");
    await equalProcesses(a, c);
    const { last_remote_wal: had } = await b.status();
    await b.operate("recover");
    await isRefused(b);
    assert.equal((await b.status())["last_remote_wal"], had);
  });

  test("R-21: one that was away when it was revoked is refused when it comes back", async () => {
    a.way.cut();
    await comesTo(c, "state", "idle");
    is(await a.dr("primary/revoke-secondary", { id: "site-b2" }), 204);
    is(await a.put("later", "1"), 200);
    const { last_remote_wal: had } = await c.status();
    a.way.heal();
    await c.operate("recover");
    await until(async () => /revoked/.test(textOf(await c.status(), "last_sync_error")));
    assert.equal((await c.status())["last_remote_wal"], had);
    assert.deepEqual((await a.status())["secondaries"], []);
  });

  test("R-18, R-60: one that leaves its set stands alone with the data of the primary; what it had itself is gone", async () => {
    is(await b.dr("secondary/disable"), 403);
    assert.equal((await b.status())["mode"], "secondary");
    is(await b.operate("disable"), 200);
    assert.deepEqual(await b.status(), DISABLED);
    is(await b.call("GET", "/v1/sys/mounts", { token: own.token }), 403);
    is(await b.call("GET", "/v1/own/data/x", { token: a.token }), 404);
    assert.equal(await b.value("x"), "2");
    is(await b.put("alone", "1"), 200);
    assert.equal(at(await b.call("GET", "/v1/sys/seal-status"), "sealed"), false);
  });
});
