// docs/operations/first-node.md and the service unit, as an operator follows them: the page's own configuration
// and commands, below a directory of the test, against a server that the unit's own lines start. A person's
// answers (shares, a token, a password) come from files.

import assert from "node:assert/strict";
import { type SpawnSyncReturns, spawn, spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { test, type TestContext } from "node:test";
import { layOutPolicy } from "../../src/cli/policy/layout.ts";
import { TestAuthority } from "../support/certificates.ts";
import { adapted, blocksOf, readPage } from "../support/page.ts";
import { ROOT, StartedServer } from "../support/servers/started-server.ts";

const PAGE = readPage("operations/first-node.md");
const UNIT = readPage("operations/holdfast.service");
const PASSWORD = "correct horse battery";

// What a person types at a prompt.
const PERSON = `
holdfast() {
  case "$*" in
    "operator init") command holdfast operator init -format json > "$ANSWERS/init.json" ;;
    "operator unseal") for share in 0 1 2; do command holdfast operator unseal - < "$ANSWERS/share-$share"; done ;;
    login) command holdfast login - < "$ANSWERS/token" ;;
    "login -method userpass username=anna") command holdfast "$@" password=- < "$ANSWERS/password" ;;
    *" token=-") command holdfast "$@" < "$ANSWERS/token" ;;
    *" password=-") command holdfast "$@" < "$ANSWERS/password" ;;
    *) command holdfast "$@" ;;
  esac
}
`;

class Machine {
  readonly home: string;
  readonly #changes: (readonly [string, string])[];
  readonly #env: Record<string, string | undefined>;

  constructor(t: TestContext) {
    this.home = mkdtempSync(join(tmpdir(), "holdfast-node-"));
    t.after(() => rmSync(this.home, { recursive: true, force: true }));
    for (const name of ["work", "answers"]) mkdirSync(join(this.home, name), { mode: 0o700 });
    const at = (name: string) => join(this.home, name);
    this.#changes = [
      ["/opt/holdfast", ROOT],
      ["/etc/holdfast", at("etc")],
      ["/var/lib/holdfast", at("lib")],
      ["/var/log/holdfast", at("log")],
      ["/run/holdfast", at("run")],
      // The test is one user, and has no other one to be.
      ["-o holdfast -g holdfast ", ""],
      ["-g holdfast ", ""],
      ["chgrp holdfast key.pem && ", ""],
      ["runuser -u holdfast -- ", ""],
      ["0.0.0.0:8200", "127.0.0.1:0"],
    ];
    const path = [join(ROOT, "bin"), process.env["PATH"] ?? ""].join(delimiter);
    this.#env = { PATH: path, HOME: this.home, ANSWERS: at("answers") };
    this.answer("password", PASSWORD);
  }

  here(text: string): string {
    return adapted(text, this.#changes);
  }

  answer(name: string, text: string): void {
    writeFileSync(join(this.home, "answers", name), text, { mode: 0o600 });
  }

  /** From now on names of the page lead to the server of the test. */
  isAt(address: string): void {
    this.#changes.push(["https://secrets.example.com:8200", address]);
    this.#env["HOLDFAST_ADDR"] = address;
    this.#env["HOLDFAST_CACERT"] = join(this.home, "etc", "tls", "ca.pem");
  }

  /** Runs a block of the page. */
  run(block: string): SpawnSyncReturns<string> {
    const script = `set -eu\n${PERSON}\n${this.here(block)}\n`;
    const options = { cwd: join(this.home, "work"), env: this.#env, encoding: "utf8" } as const;
    return spawnSync("bash", ["-c", script], { ...options, stdio: ["ignore", "pipe", "pipe"] });
  }

  mustRun(block: string): string {
    const { status, stdout, stderr } = this.run(block);
    assert.equal(status, 0, `${block}\n${stdout}${stderr}`);
    return stdout;
  }
}

/** The words of a line of the unit. */
function unitCommand(machine: Machine, key: string): string[] {
  const [, line = ""] = new RegExp(`^${key}=(.+)$`, "m").exec(UNIT) ?? [];
  return machine.here(line).split(" ");
}

async function makeCertificate(machine: Machine, block: string): Promise<void> {
  if (spawnSync("openssl", ["version"]).status === 0) {
    machine.mustRun(block);
    return;
  }
  // A machine without openssl: the same files, made otherwise.
  const authority = await TestAuthority.make();
  const { cert, key } = await authority.issue("secrets.example.com");
  const files = { "ca.pem": authority.pem, "cert.pem": cert, "key.pem": key };
  for (const [name, text] of Object.entries(files)) {
    writeFileSync(join(machine.home, "etc", "tls", name), text, { mode: 0o600 });
  }
}

test("the page takes one from nothing to a first secret", async (t) => {
  const machine = new Machine(t);
  const [before = "", after = ""] = PAGE.split("## Start it");
  for (const { kind, text, byHand } of blocksOf(before)) {
    if (byHand) continue;
    if (kind === "hcl")
      writeFileSync(join(machine.home, "etc", "holdfast.hcl"), machine.here(text));
    else if (text.includes("openssl")) await makeCertificate(machine, text);
    else machine.mustRun(text);
  }

  const server = await started(t, machine);
  const [, address = ""] = /addresses="(https:\S+) /.exec(server.log) ?? [];
  machine.isAt(address);
  const said: string[] = [];
  for (const { text, byHand } of blocksOf(after)) {
    if (byHand) continue;
    said.push(machine.mustRun(text));
    if (text === "holdfast operator init") takeDown(machine);
  }

  const all = said.join("\n");
  assert.match(all, /^user +shop$/m);
  assert.match(all, new RegExp(`^password +${PASSWORD}$`, "m"));
  assert.match(all, /^ALLOWED: read on secret\/data\/shop\/db$/m);
  const leases = machine.run("holdfast lease list");
  assert.equal(leases.status, 3, `allowed, and there are none: ${leases.stderr}`);
  machine.mustRun("holdfast list auth/token/accessors");
  const ended = machine.run("holdfast login");
  assert.notEqual(ended.status, 0, "the root token has ended");
  const audit = readFileSync(join(machine.home, "log", "audit.log"), "utf8");
  assert.match(audit, /"path":"secret\/data\/shop\/db"/);
  assert.ok(!audit.includes(PASSWORD));
  assert.equal(await server.stop(), 0);
});

/** As systemd does it: the check, the server, and beside it what says that the start is over. */
async function started(t: TestContext, machine: Machine): Promise<StartedServer> {
  const [check = "", ...args] = unitCommand(machine, "ExecStartPre");
  const checked = spawnSync(check, args, { encoding: "utf8" });
  assert.equal(checked.status, 0, checked.stdout);
  const [address = ""] = unitCommand(machine, "Environment");
  const waiting = ended(unitCommand(machine, "ExecStartPost"), address, machine.home);
  const server = new StartedServer(t, machine.home, unitCommand(machine, "ExecStart"));
  const { code, text } = await Promise.race([
    waiting,
    server.ended.then(() => ({ code: null, text: server.log })),
  ]);
  assert.equal(code, 0, text);
  assert.match(text, /^Initialized +false$/m);
  return server.ready();
}

async function ended(command: readonly string[], setting: string, home: string) {
  const [program = "", ...args] = command;
  const at = setting.indexOf("=");
  const env = {
    PATH: process.env["PATH"],
    HOME: home,
    [setting.slice(0, at)]: setting.slice(at + 1),
  };
  const child = spawn(program, args, { env, stdio: ["ignore", "pipe", "pipe"] });
  let text = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8").on("data", (part: string) => void (text += part));
  }
  const code = await new Promise<number | null>((resolve) => child.once("close", resolve));
  return { code, text };
}

/** What the holders and the operator wrote down. */
function takeDown(machine: Machine): void {
  const file = join(machine.home, "answers", "init.json");
  const made = JSON.parse(readFileSync(file, "utf8")) as {
    keys_base64: readonly string[];
    root_token: string;
  };
  assert.equal(made.keys_base64.length, 5);
  made.keys_base64.slice(1, 4).forEach((share, at) => machine.answer(`share-${at}`, share));
  machine.answer("token", made.root_token);
}

test("the head of the unit names every line with a place in it", () => {
  const at = UNIT.indexOf("[Unit]");
  const head = UNIT.slice(0, at);
  const lines = UNIT.slice(at)
    .split("\n")
    .filter((line) => /^\w+=/.test(line));
  for (const place of ["/opt/holdfast", "/etc/holdfast", "/run/holdfast/api.sock"]) {
    const [, listed = ""] = new RegExp(`^# +${place} +[^(]+\\(([^)]+)\\)$`, "m").exec(head) ?? [];
    const keys = lines
      .filter((line) => line.includes(place))
      .map((line) => line.split("=", 1).join());
    assert.deepEqual(listed.split(", ").toSorted(), [...new Set(keys)].toSorted(), place);
  }
  assert.equal(lines.filter((line) => /^\w+Directory=/.test(line)).length, 4);
});

test("what the check before the start refuses is not tried for ever", () => {
  const number = (key: string) => Number(new RegExp(`^${key}=(\\d+)$`, "m").exec(UNIT)?.[1]);
  const [limits = "", service = ""] = UNIT.split("[Service]");
  assert.match(limits, /^StartLimitBurst=/m, "systemd reads it in [Unit]");
  assert.match(service, /^ExecStartPre=/m);
  // RestartPreventExitStatus is not for ExecStartPre. The limit is reached also where a check takes ten seconds.
  const tries = number("StartLimitBurst") * (number("RestartSec") + 10);
  assert.ok(tries < number("StartLimitIntervalSec"), `${tries} s`);
});

test("the page's policies are as `holdfast policy fmt` lays them out", () => {
  const documents = [...PAGE.matchAll(/^cat > \S+\.hcl <<'END'\n(path [^]*?\n)END$/gm)];
  assert.ok(documents.length >= 2);
  for (const [, text = ""] of documents) assert.equal(layOutPolicy(text, "hcl"), text);
});
