// Threats O: what errors, logs and metrics tell. Through HTTP, against a whole server. Signals and the
// inspector (T-O05) are tested on real processes, in src/daemon/launcher.process.test.ts.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { Agent } from "node:http";
import test from "node:test";
import { Failure } from "@holdfast/shared/failure";
import { scene } from "./scene.ts";

const MARKER = "marker-3f9c1d";

test("T-O01: a value of the wrong kind is refused by the name of its field, and never repeated", async (t) => {
  const stage = await scene(t);
  await stage.audit();
  const { root: token } = stage;
  const wrong: readonly unknown[] = [
    MARKER,
    [MARKER],
    [[MARKER]],
    { a: MARKER },
    { a: { b: [MARKER] } },
    `${MARKER}\u0000`,
    `${MARKER}`.repeat(2000),
    1e308,
    -1,
    true,
  ];
  const refusals: { readonly field: string; readonly text: string }[] = [];
  for (const endpoint of stage.server.server.endpoints) {
    if (endpoint.name === "seal") continue;
    const path = `/v1${endpoint.path.replaceAll(/:(\w+)\+?/g, "x-$1")}`;
    const fields = Object.values(endpoint.input).filter(({ source }) => source !== "path");
    for (const { name, source } of fields) {
      for (const value of source === "query" ? [MARKER, `${MARKER}%00`] : wrong) {
        const query = source === "query" ? `?${name}=${String(value)}` : "";
        const sends = !["GET", "LIST"].includes(endpoint.method);
        const answer = await stage.server.call(endpoint.method, path + query, {
          token,
          ...(sends ? { body: query === "" ? { [name]: value } : {} } : {}),
        });
        assert.ok(answer.status < 500, `${endpoint.name}.${name}: ${answer.status} ${answer.text}`);
        if (answer.status >= 400)
          refusals.push({ field: `${endpoint.name}.${name}`, text: answer.text });
      }
    }
  }
  assert.ok(refusals.length > 200, `${refusals.length}`);
  for (const { field, text } of refusals) {
    // Clients of the ACL API match on these with what they sent: no secret stands there, and an accessor,
    // which could be one, is in no record.
    const contracted =
      (text.includes(`cannot find token ${MARKER}`) && field.endsWith(".AccessorID")) ||
      (text.includes("duration") && field.endsWith(".ExpirationTTL")) ||
      // The text of a policy is no secret; where it cannot be read, what stands there is named.
      (text.includes("failed to parse policy: ") && /\.(?:policy|rules)$/i.test(field)) ||
      (text.includes("plugin not found in the catalog") &&
        /\.(?:type|plugin_version)$/.test(field)) ||
      (text.includes("is not a supported plugin runtime type") && field.endsWith(".type")) ||
      (text.includes("no plugin runs at") && field.endsWith(".mounts")) ||
      (text.includes("invalid EGP path") && field.endsWith(".paths")) ||
      (text.includes("invalid enforcement_level") && field.endsWith(".enforcement_level"));
    assert.ok(contracted || !text.includes(MARKER), `${field}: ${text}`);
  }
  const named = refusals.filter(({ field, text }) => text.includes(field.split(".")[1] ?? "?"));
  assert.ok(named.length > 50, `${named.length} say which field it was`);
  for (const line of stage.server.lines) assert.ok(!line.includes(MARKER), line);
});

test("T-O02: a fault of ours is one text and an id; where it happened is in the log alone", async (t) => {
  const stage = await scene(t);
  const { namespaces } = stage.server.server;
  const broken = namespaces as unknown as { read: (...args: unknown[]) => unknown };
  const read = broken.read.bind(namespaces);
  broken.read = () => {
    throw new Error(`connect ECONNREFUSED 10.1.2.3:2379 /var/lib/holdfast/${MARKER}`);
  };
  const answer = await stage.server.call("GET", `/v1/sys/namespaces/x`, { token: stage.root });
  broken.read = read;
  assert.equal(answer.status, 500);
  const id = String(answer.headers["x-service-request-id"]);
  assert.deepEqual(answer.json, { errors: [`internal error; request ${id}`], request_id: id });
  const text = stage.server.lines.filter((line) => line.includes(id)).join("");
  assert.match(text, /src\/namespaces\/api\.ts|src\/core\/pipeline\.ts/, "the log says where");
  assert.ok(!stage.server.lines.join("").includes(MARKER), "and not what the error says");
});

test("T-O02: what a parser quotes of a secret is in no answer, log or record", async (t) => {
  const stage = await scene(t);
  const file = await stage.audit();
  const { namespaces } = stage.server.server;
  const broken = namespaces as unknown as { read: (...args: unknown[]) => unknown };
  const read = broken.read.bind(namespaces);
  const faults: readonly (() => unknown)[] = [
    () => JSON.parse(`{"password": ${MARKER}}`) as unknown,
    () => {
      throw new Failure("unavailable", "x", "it did not work", { cause: new Error(MARKER) });
    },
    () => {
      throw new Failure("damaged", "x", "it cannot be read", { cause: new Error(MARKER) });
    },
    () => {
      throw new Error(`first\n    at ${MARKER} (${MARKER}:1:1)`);
    },
  ];
  for (const fault of faults) {
    broken.read = fault;
    const answer = await stage.server.call("GET", "/v1/sys/namespaces/x", { token: stage.root });
    assert.ok(answer.status >= 500, answer.text);
    assert.ok(!answer.text.includes(MARKER), answer.text);
  }
  broken.read = read;
  const text = stage.server.lines.join("");
  assert.match(text, /unexpected SyntaxError|SyntaxError at/, "the kind of fault is told");
  assert.ok(!text.includes(MARKER), text);
  assert.ok(!readFileSync(file, "utf8").includes(MARKER));
});

test("T-O03: at its most talkative the log has neither token, body nor path of a request", async (t) => {
  const stage = await scene(t);
  await stage.must("POST", "/v1/sys/loggers", { body: { level: "debug" } });
  const body = { custom_metadata: { a: MARKER } };
  await stage.must("POST", `/v1/sys/namespaces/n`, { body });
  await stage.server.call("GET", `/v1/sys/key-status?x=${MARKER}`, { token: MARKER });
  await stage.server.call("POST", `/v1/sys/namespaces/%00${MARKER}`, { token: stage.root, body });
  await stage.raw(
    `GET /${MARKER} HTTP/1.1\r\nHost: localhost\r\nX-${MARKER}: ${MARKER}\r\nBad\r\n\r\n`,
  );
  const log = stage.server.lines.join("");
  assert.ok(log.includes("unsealed"), "there is a log");
  for (const secret of [MARKER, stage.root, ...stage.shares]) assert.ok(!log.includes(secret));
});

test("T-O06: whatever callers name, the metrics have the series they had", async (t) => {
  const stage = await scene(t);
  const agent = new Agent({ keepAlive: true, maxSockets: 8 });
  t.after(() => agent.destroy());
  const { root: token } = stage;
  const series = async () => {
    const path = "/v1/sys/metrics?format=prometheus";
    const { text } = await stage.server.call("GET", path, { token, agent });
    const lines = text.split("\n").filter((line) => line.startsWith("holdfast_"));
    return lines.map((line) => line.slice(0, line.lastIndexOf(" ")));
  };
  const round = (name: string) => [
    stage.server.call("GET", `/v1/${name}/x`, { token, agent }),
    stage.server.call("GET", `/v1/sys/namespaces/${name}`, { token, agent }),
    stage.server.call("LIST", `/v1/sys/${name}`, { token, agent, namespace: name }),
    stage.server.call("GET", "/v1/sys/key-status", { token: name, agent }),
    stage.server.call("POST", `/v1/sys/config/reload/${name}`, { token, agent }),
  ];
  await Promise.all(round("first"));
  await series();
  const before = await series();
  assert.ok(before.length > 50);
  for (let i = 0; i < 400; i++) await Promise.all(round(`${MARKER}-${i}`));
  const after = await series();
  assert.deepEqual(after, before);
  assert.ok(!after.join().includes(MARKER));
});
