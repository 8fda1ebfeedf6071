// The pages on disaster recovery, as two operators follow them: their own commands, in their order, against two servers on
// two directories. What holders of shares type at a prompt comes from a file.

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { promisify } from "node:util";
import { compiledCode } from "../../scripts/quick-start.ts";
import { blocksOf, readPage } from "../support/page.ts";
import { ClusterProcess } from "../support/replication/cluster-process.ts";
import { configured, ROOT } from "../support/servers/started-server.ts";
import { until } from "../support/until.ts";

/** Until the second cluster has joined it has a token of its own. */
const PERSON = `
holdfast() {
  local token=$HOLDFAST_TOKEN
  case "$*" in *"-address $B"*) if [ -f b-token ]; then token=$(cat b-token); fi ;; esac
  case "$*" in
    "replication operation-token -address "*)
      command holdfast replication operation-token start -address "$4" -format json > attempt
      command holdfast replication operation-token share -address "$4" -field encoded_token - < share > encoded
      sed -n 's/.*"otp": "\\(.*\\)",/\\1/p' attempt |
        command holdfast replication operation-token decode -otp - "\${@:5}" "$(cat encoded)" ;;
    *) HOLDFAST_TOKEN=$token command holdfast "$@" ;;
  esac
}
`;

interface Printed {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

class Operators {
  readonly a: ClusterProcess;
  readonly b: ClusterProcess;
  readonly home: string;
  readonly #env: Record<string, string | undefined>;

  constructor(t: TestContext, a: ClusterProcess, b: ClusterProcess) {
    [this.a, this.b] = [a, b];
    this.home = configured(t).home;
    const PATH = `${join(ROOT, "bin")}:${process.env["PATH"] ?? ""}`;
    this.#env = { ...compiledCode(), PATH, HOME: this.home, HOLDFAST_TOKEN: a.token };
    writeFileSync(join(this.home, "b-token"), b.token, { mode: 0o600 });
    writeFileSync(join(this.home, "share"), a.shares[0] ?? "", { mode: 0o600 });
  }

  async run(block: string): Promise<Printed> {
    const addresses = `A=${this.a.address}\nB=${this.b.address}`;
    const script = `set -euo pipefail\n${addresses}\n${PERSON}\n${block}\n`;
    const options = { env: this.#env, cwd: this.home };
    try {
      return { code: 0, ...(await promisify(execFile)("bash", ["-c", script], options)) };
    } catch (error) {
      const { code, stdout, stderr } = error as Printed;
      return { code, stdout, stderr };
    }
  }

  async must(block = "nothing", expected = 0): Promise<string> {
    const { code, stdout, stderr } = await this.run(block);
    assert.equal(code, expected, `${block}\n${stdout}${stderr}`);
    return stdout + stderr;
  }
}

const commands = (page: string) =>
  blocksOf(readPage(page)).flatMap(({ kind, text }) => (kind === "sh" ? [text] : []));

/** What was written at one is at the other. */
async function has(cluster: ClusterProcess, path: string, token: string): Promise<void> {
  assert.equal(await cluster.value(path, token), path);
}

test("disaster recovery: set up, failed over, back, revoked, rotated, lost and back again, by the pages alone", async (t) => {
  const [a, b] = await Promise.all([ClusterProcess.start(t), ClusterProcess.start(t)]);
  const operators = new Operators(t, a, b);
  const { token } = a;
  const body = { type: "kv", options: { version: "2" } };
  assert.equal((await a.call("POST", "/v1/sys/mounts/secret", { token, body })).status, 204);
  const [setUp, look, ticket, rehearse, ...none] = commands("operations/disaster-recovery.md");
  assert.deepEqual(none, []);
  await operators.must(setUp);
  rmSync(join(operators.home, "b-token"));
  const [atA = "", atB] = look?.split("\n") ?? [];
  // There by the next heartbeat, which nobody waits for here.
  assert.match((await operators.run(atA)).stdout, /^site-b +\S+ +connected/m);
  assert.match(await operators.must(atB), /^State +streaming/m);
  await operators.must(ticket);
  assert.match(await operators.must(rehearse, 2), /\[!\] +primary-gone/);

  const [planned, follow, failback, ceremony, plan, force, fenced, rejoin, lost, ...more] =
    commands("operations/failover.md");
  const [revoke, readmit, rotate, ...rest] = more;
  assert.deepEqual(rest, []);
  await a.put("one", "one");
  await operators.must(planned);
  await has(b, "one", token);
  await operators.must(follow);
  await b.put("two", "two", token);
  await operators.must(failback);
  await has(a, "two", token);

  await operators.must(revoke);
  await until(async () => (await b.status())["state"] === "idle");
  await operators.must(readmit);
  assert.match(await operators.must(rotate), /^Key Term +\d+$[^]*^State +streaming/m);

  await a.put("three", "three");
  await until(
    async () => (await a.status())["last_dr_wal"] === (await b.status())["last_remote_wal"],
  );
  await a.kill();
  await operators.must(ceremony);
  assert.match(await operators.must(plan, 2), /Can Take Over +not yet/);
  await operators.must(force);
  await has(b, "three", token);
  await a.startAgain();
  await until(async () => (await a.status())["state"] === "fenced");
  assert.match(await operators.must(fenced, 2), /FENCED/);
  await operators.must(rejoin);
  const [here, there] = [await b.status(), await a.status()];
  assert.equal(there["merkle_root"], here["merkle_root"]);
  assert.match(await operators.must(lost, 3), /Nothing was given up here/);
});
