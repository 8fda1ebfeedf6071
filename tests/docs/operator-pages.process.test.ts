// The pages on namespaces, quotas, audit devices and keys, as an operator follows them: their own commands, in their
// order, against a server of the test. What a person types at a prompt comes from a file.

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { promisify } from "node:util";
import { layOutPolicy } from "../../src/cli/policy/layout.ts";
import { adapted, blocksOf, readPage } from "../support/page.ts";
import { configured, PROGRAM, ROOT, StartedServer } from "../support/servers/started-server.ts";

const PERSON = `
holdfast() {
  case "$*" in
    login*" username="*) command holdfast "$@" password=- < password ;;
    *" password=-") command holdfast "$@" < password ;;
    *) command holdfast "$@" ;;
  esac
}
`;

interface Printed {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

class Operator {
  readonly #home: string;
  readonly #env: Record<string, string | undefined>;

  constructor(home: string, address: string) {
    this.#home = home;
    const path = `${join(ROOT, "bin")}:${process.env["PATH"] ?? ""}`;
    this.#env = { PATH: path, HOME: home, HOLDFAST_ADDR: address };
    writeFileSync(join(home, "password"), "correct horse battery", { mode: 0o600 });
    writeFileSync(join(home, "value.txt"), "a value");
  }

  actAs(token: string | undefined): void {
    this.#env["HOLDFAST_TOKEN"] = token;
  }

  async run(block: string): Promise<Printed> {
    const here = adapted(block, [["/var/lib/holdfast", join(this.#home, "data")]]);
    const script = `set -eu\n${PERSON}\n${here}\n`;
    const options = { env: this.#env, cwd: this.#home };
    try {
      const printed = await promisify(execFile)("bash", ["-c", script], options);
      return { code: 0, ...printed };
    } catch (error) {
      const { code, stdout, stderr } = error as Printed;
      return { code, stdout, stderr };
    }
  }

  async mustRun(block: string): Promise<string> {
    const { code, stdout, stderr } = await this.run(block);
    assert.equal(code, 0, `${block}\n${stdout}${stderr}`);
    return stdout;
  }
}

async function operatorOf(t: TestContext): Promise<Operator> {
  const { home, config } = configured(t);
  const server = await new StartedServer(t, home, [PROGRAM, "server", "--config", config]).ready();
  const sizes = { secret_shares: 1, secret_threshold: 1 };
  const init = await server.call("POST", "/v1/sys/init", { body: sizes });
  const { keys_base64, root_token } = init.json as { keys_base64: [string]; root_token: string };
  const key = keys_base64[0];
  assert.equal((await server.call("POST", "/v1/sys/unseal", { body: { key } })).status, 200);
  const operator = new Operator(home, /addresses=(\S+)/.exec(server.log)?.[1] ?? "");
  operator.actAs(root_token);
  return operator;
}

const commands = (page: string) =>
  blocksOf(readPage(page))
    .filter(({ kind, byHand }) => kind === "sh" && !byHand)
    .map(({ text }) => text);

test("namespaces: an admin with a star makes one, and reaches into it in the order of the page", async (t) => {
  const operator = await operatorOf(t);
  // As the page on the first node leaves it.
  const [policies = ""] = commands("operations/first-node.md").filter((text) =>
    text.includes("admin.hcl"),
  );
  await operator.mustRun(policies);
  await operator.mustRun("holdfast auth enable userpass");
  await operator.mustRun("holdfast write auth/userpass/users/anna token_policies=admin password=-");
  operator.actAs(undefined);
  await operator.mustRun("holdfast login -method userpass username=anna");

  const [make = "", reach = "", ...rest] = commands("operations/namespaces.md");
  assert.match(await operator.mustRun(make), /^team\/ +\S+ +\{"owner":"anna"\}$/m);
  const early = await operator.run("holdfast secrets enable -namespace team -path secret kv-v2");
  assert.equal(early.code, 4, early.stderr);
  assert.match(early.stderr, /team\/sys\/mounts\/secret, and "\*" does not reach it/);
  const [, document = ""] = /<<'DOCUMENT'\n([^]*?)DOCUMENT/.exec(reach) ?? [];
  assert.equal(layOutPolicy(document, "hcl"), document);
  const moved = await operator.run(
    "holdfast secrets enable -path x kv-v2 && holdfast secrets move x team/x",
  );
  assert.equal(moved.code, 4, moved.stderr);
  assert.match(moved.stderr, /on team\/sys\/remount too, if team is/);

  await operator.mustRun(reach);
  for (const block of rest) await operator.mustRun(block);
  const gone = await operator.run("holdfast namespace list");
  assert.equal(gone.code, 3, gone.stdout);
});

test("quotas: the page's commands set what it says", async (t) => {
  const operator = await operatorOf(t);
  const said: string[] = [];
  await operator.mustRun("holdfast auth enable userpass");
  for (const block of commands("operations/quotas.md")) said.push(await operator.mustRun(block));
  const all = said.join("\n");
  assert.match(all, /^block_interval +300$/m);
  assert.match(all, /^interval +60$/m);
  assert.match(all, /^max_leases +500$/m);
  for (const refused of [
    "holdfast write sys/quotas/rate-limit/r path=secret role=x rate=1",
    "holdfast write sys/quotas/rate-limit/second rate=1",
    "holdfast write sys/quotas/rate-limit/i path=clouda rate=1 inheritable=true",
  ]) {
    assert.equal((await operator.run(refused)).code, 1, refused);
  }
});

test("audit: the page's commands enable what they say, and its options are those there are", async (t) => {
  const operator = await operatorOf(t);
  const said: string[] = [];
  for (const block of commands("operations/audit.md")) said.push(await operator.mustRun(block));
  assert.match(said.join("\n"), /^hash +hmac-sha256:[0-9a-f]{64}$/m);
  const page = readPage("operations/audit.md");
  for (const kind of ["file", "socket", "syslog"]) {
    const { stderr } = await operator.run(`holdfast audit enable -path x ${kind} nosuch=1`);
    const [, names = ""] =
      /nosuch[^:;]*[:;] (?:accepted are|known are|it takes) ([\w, ]+)/.exec(
        stderr.replace(/\s+/g, " "),
      ) ?? [];
    assert.ok(names.includes("hmac_accessor"), stderr);
    for (const name of names.split(/, | and | or /))
      assert.ok(page.includes(`\`${name.trim()}\``), name);
  }
});

test("keys: rotating makes a new term, and the page's settings hold", async (t) => {
  const operator = await operatorOf(t);
  const said: string[] = [];
  for (const block of commands("operations/key-rotation.md"))
    said.push(await operator.mustRun(block));
  const all = said.join("\n");
  assert.match(all, /^Key Term +1$[^]*^Key Term +2$/m);
  assert.match(all, /^interval +8760h0m0s$/m);
  assert.match(all, /^max_operations +3865470566$/m);
});
