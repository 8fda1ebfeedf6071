// The pages on four clusters and on stand-ins, as their operators follow them: their own commands, in their order, against four servers on four
// directories.

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { promisify } from "node:util";
import type { JsonObject } from "@holdfast/shared/json/json";
import { compiledCode } from "../../scripts/quick-start.ts";
import { at } from "../support/http-client.ts";
import { blocksOf, readPage } from "../support/page.ts";
import { ClusterProcess } from "../support/replication/cluster-process.ts";
import { configured, ROOT } from "../support/servers/started-server.ts";
import { until } from "../support/until.ts";

interface Printed {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

type Four = Readonly<Record<"a" | "b" | "c" | "d", ClusterProcess>>;

class Operators {
  readonly #four: Four;
  readonly #home: string;
  readonly #env: Record<string, string | undefined>;

  constructor(t: TestContext, four: Four) {
    this.#four = four;
    this.#home = configured(t).home;
    const PATH = `${join(ROOT, "bin")}:${process.env["PATH"] ?? ""}`;
    this.#env = { ...compiledCode(), PATH, HOME: this.#home, HOLDFAST_TOKEN: four.a.token };
    for (const name of ["b", "c", "d"] as const) {
      writeFileSync(join(this.#home, `${name}-token`), four[name].token, { mode: 0o600 });
    }
  }

  async must(block = "nothing", expected = 0): Promise<string> {
    const { a, b, c, d } = this.#four;
    const addresses = `A=${a.address}\nB=${b.address}\nC=${c.address}\nD=${d.address}`;
    const port = `B_CLUSTER=https://127.0.0.1:${b.way.port}`;
    const script = `set -euo pipefail\n${addresses}\n${port}\n${block}\n`;
    const options = { env: this.#env, cwd: this.#home };
    const { code, stdout, stderr } = await promisify(execFile)("bash", ["-c", script], options)
      .then((printed) => ({ code: 0, ...printed }))
      .catch((error: unknown) => error as Printed);
    assert.equal(code, expected, `${block}\n${stdout}${stderr}`);
    return stdout + stderr;
  }
}

const commands = (page: string) =>
  blocksOf(readPage(page)).flatMap(({ kind, text }) => (kind === "sh" ? [text] : []));

async function performance(cluster: ClusterProcess): Promise<JsonObject> {
  const answer = await cluster.call("GET", "/v1/sys/replication/performance/status");
  assert.equal(answer.status, 200, answer.text);
  return at(answer, "data") as JsonObject;
}

/** As it is drawn: the names alone, each with how far in it stands. */
async function membersOf(cluster: ClusterProcess): Promise<readonly JsonObject[]> {
  const answer = await cluster.call("GET", "/v1/sys/replication/status?topology=true");
  return (at(answer, "data", "topology", "members") ?? []) as readonly JsonObject[];
}

test("four clusters: set up, looked at, the primary replaced and back as a stand-in, a secondary replaced, by the pages alone", async (t) => {
  const region = (name: string) =>
    ClusterProcess.start(t, () => `region = "${name}"\noutbound_allow = ["127.0.0.1"]`);
  const [a, b, c, d] = await Promise.all([region("a"), region("a"), region("b"), region("b")]);
  const operators = new Operators(t, { a, b, c, d });
  const { token } = a;
  const body = { type: "kv", options: { version: "2" } };
  assert.equal((await a.call("POST", "/v1/sys/mounts/secret", { token, body })).status, 204);
  const [setUp, look, ...more] = commands("operations/four-clusters.md");
  assert.deepEqual(more, []);
  await operators.must(setUp);
  const names = "region-b,stand-in-a,stand-in-b";
  for (const one of [a, d]) {
    await until(async () => {
      const members = await membersOf(one);
      const named = members.flatMap(({ name }) =>
        typeof name === "string" && name !== "" ? [name] : [],
      );
      const isWell = members.every(({ kind, state }) => kind === null || state === "stream-wals");
      return named.toSorted().join() === names && isWell;
    });
  }
  const picture = await operators.must(look);
  assert.match(picture, /^a \(this cluster\) {2}PRIMARY of performance replication and disaster/m);
  assert.match(picture, /^ +\+- stand-in-b \(this cluster\) {2}stands in for region-b$/m);
  assert.ok(
    picture.split("\n").every((line) => line.length <= 80),
    picture,
  );

  const [knows, planned, after, moved, replaced, ...rest] = commands("operations/stand-ins.md");
  assert.deepEqual(rest, []);
  assert.match(await operators.must(knows), new RegExp(`https://127\\.0\\.0\\.1:${b.way.port}`));
  assert.equal((await a.put("one", "one")).status, 200);
  await operators.must(planned);
  await until(async () => (await performance(c))["epoch"] === 2);
  await until(async () => (await performance(c))["forwards_writes"] === true);
  await until(async () => JSON.stringify(await performance(b)).includes(`"state":"stream-wals"`));
  assert.match(await operators.must(after), /^region-b +b +stream-wals +connected/m);
  await operators.must(moved);
  await until(async () => (await performance(c))["forwards_writes"] === true);
  assert.equal((await c.put("two", "two", token)).status, 200);
  assert.equal(await b.value("two", token), "two");
  assert.equal(await b.value("one", token), "one");

  // As the page on failover says: the old primary stands in for the new one.
  const [, follow] = commands("operations/failover.md");
  await operators.must(follow);
  await until(async () => {
    const found = (await membersOf(b)).find(({ name }) => name === "site-a");
    return found?.["state"] === "stream-wals";
  });

  await operators.must(replaced);
  await until(async () => (await performance(d))["forwards_writes"] === true);
  assert.equal((await performance(d))["secondary_id"], "region-b");
  assert.equal((await d.put("three", "three", token)).status, 200);
  assert.equal(await b.value("three", token), "three");
});
