// The page on performance replication, as its operators follow it: its own commands, in their order, against two servers on two directories.

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { rmSync, writeFileSync } from "node:fs";
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

/** Until the second cluster has joined it has a token of its own. */
const PERSON = `
holdfast() {
  local token=$HOLDFAST_TOKEN
  case "$*" in *"-address $B"*) if [ -f b-token ]; then token=$(cat b-token); fi ;; esac
  HOLDFAST_TOKEN=$token command holdfast "$@"
}
`;

interface Printed {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

class Operators {
  readonly home: string;
  readonly #a: ClusterProcess;
  readonly #b: ClusterProcess;
  readonly #env: Record<string, string | undefined>;

  constructor(t: TestContext, a: ClusterProcess, b: ClusterProcess) {
    [this.#a, this.#b] = [a, b];
    this.home = configured(t).home;
    const PATH = `${join(ROOT, "bin")}:${process.env["PATH"] ?? ""}`;
    this.#env = { ...compiledCode(), PATH, HOME: this.home, HOLDFAST_TOKEN: a.token };
    writeFileSync(join(this.home, "b-token"), b.token, { mode: 0o600 });
  }

  async must(block = "nothing", expected = 0): Promise<string> {
    const addresses = `A=${this.#a.address}\nB=${this.#b.address}`;
    const script = `set -euo pipefail\n${addresses}\n${PERSON}\n${block}\n`;
    const options = { env: this.#env, cwd: this.home };
    const { code, stdout, stderr } = await promisify(execFile)("bash", ["-c", script], options)
      .then((printed) => ({ code: 0, ...printed }))
      .catch((error: unknown) => error as Printed);
    assert.equal(code, expected, `${block}\n${stdout}${stderr}`);
    return stdout + stderr;
  }
}

async function performance(cluster: ClusterProcess): Promise<JsonObject> {
  const answer = await cluster.call("GET", "/v1/sys/replication/performance/status");
  assert.equal(answer.status, 200, answer.text);
  return at(answer, "data") as JsonObject;
}

test("performance replication: set up, used, cut off, another primary, lost and back, revoked and ended, by the page alone", async (t) => {
  const [a, b] = await Promise.all([
    ClusterProcess.start(t, () => `region = "a"`),
    ClusterProcess.start(t, () => `region = "b"`),
  ]);
  const operators = new Operators(t, a, b);
  const { token } = a;
  const body = { type: "kv", options: { version: "2" } };
  assert.equal((await a.call("POST", "/v1/sys/mounts/secret", { token, body })).status, 204);
  const [setUp, look, local, tokens, states, again, ...more] = blocksOf(
    readPage("operations/performance-replication.md"),
  ).flatMap(({ kind, text }) => (kind === "sh" ? [text] : []));
  const [plan, planned, force, fenced, follow, tails, revoke, readmit, leave, end, ...none] = more;
  assert.deepEqual(none, []);

  await operators.must(setUp);
  rmSync(join(operators.home, "b-token"));
  const [atA = "", atB] = look?.split("\n") ?? [];
  assert.match(await operators.must(atB), /^Writes +what is shared is sent on to region a$/m);
  await until(async () => JSON.stringify(await performance(a)).includes(`"state":"stream-wals"`));
  assert.match(await operators.must(atA), /^region-b +b +stream-wals +connected/m);
  await operators.must(local);
  assert.equal((await a.call("GET", "/v1/only-b/hello", { token })).status, 404);
  const made = await operators.must(tokens);
  assert.match(made, /everywhere/);
  assert.match(await operators.must(states), /"who": ?"all"/);
  a.way.cut();
  await until(async () => (await performance(b))["forwards_writes"] === false);
  assert.equal((await b.put("no", "no", token)).status, 503);
  a.way.heal();
  await operators.must(again);
  await until(async () => (await performance(b))["forwards_writes"] === true);

  assert.match(await operators.must(plan, 2), /primary-gone/);
  await operators.must(planned);
  assert.equal((await a.put("two", "two", token)).status, 200);
  assert.equal(await b.value("two", token), "two");

  // The primary is b by now: a is the other one, in the words of the page, until it is promoted again.
  b.way.cut();
  const forced = (force ?? "").replaceAll("$B", "$A");
  await operators.must(forced);
  b.way.heal();
  await until(async () => (await performance(b))["state"] === "fenced");
  const swapped = (block = "") =>
    block.replaceAll(/\$(A|B)/g, (_all, name) => (name === "A" ? "$B" : "$A"));
  assert.match(await operators.must(swapped(fenced), 2), /FENCED/);
  await operators.must(swapped(follow));
  assert.match(await operators.must(swapped(tails), 3), /Nothing was given up here/);
  assert.equal((await b.put("three", "three", token)).status, 200);
  assert.equal(await a.value("three", token), "three");

  await operators.must(swapped(revoke));
  await until(async () => (await performance(b))["state"] === "idle");
  await operators.must(swapped(readmit));
  assert.equal((await b.put("four", "four", token)).status, 200);
  await operators.must(swapped(leave));
  assert.deepEqual(await performance(b), { mode: "disabled" });
  assert.equal(await b.value("four", token), "four");
  await operators.must(swapped(end));
  assert.deepEqual(await performance(a), { mode: "disabled" });
});
