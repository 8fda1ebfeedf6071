// The real program, started as users start it: bin/holdfast, signals, exit codes, what the process lets
// out. The server in it is the real one as well.

import assert from "node:assert/strict";
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import {
  existsSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { createServer, get } from "node:http";
import { get as getSecurely } from "node:https";
import { createConnection } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import test, { type TestContext } from "node:test";

const program = join(import.meta.dirname, "..", "..", "bin", "holdfast");

function place(t: TestContext): string {
  const directory = mkdtempSync(join(tmpdir(), "holdfast-launch-"));
  t.after(() => rmSync(directory, { recursive: true }));
  return directory;
}

function environment(home: string, more: Record<string, string> = {}): NodeJS.ProcessEnv {
  return { PATH: process.env["PATH"], HOME: home, ...more };
}

interface Running {
  readonly child: ChildProcess;
  readonly text: () => string;
  readonly ended: Promise<number | null>;
  readonly address: string;
}

/** Until the server says that it is ready. */
async function running(
  t: TestContext,
  home: string,
  args: readonly string[],
  path = program,
): Promise<Running> {
  const child = spawn(path, ["server", ...args], {
    env: environment(home),
    stdio: ["ignore", "pipe", "pipe"],
  });
  t.after(() => child.kill("SIGKILL"));
  const ended = new Promise<number | null>((resolve) => child.once("exit", resolve));
  let text = "";
  const ready = new Promise<void>((resolve, reject) => {
    const take = (data: Buffer) => {
      text += data.toString("utf8");
      if (/\] {2}ready/.test(text)) resolve();
    };
    child.stdout.on("data", take);
    child.stderr.on("data", take);
    void ended.then((code) => reject(new Error(`it ended with ${code}: ${text}`)));
  });
  await ready;
  const [, address = ""] = /addresses=(\S+)/.exec(text) ?? [];
  return { child, text: () => text, ended, address };
}

function statusOf(url: string, ca?: string): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    const ask = url.startsWith("https:")
      ? getSecurely(url, { ca, agent: false }, (answer) => resolve(answer.resume().statusCode))
      : get(url, { agent: false }, (answer) => resolve(answer.resume().statusCode));
    ask.on("error", reject);
  });
}

async function until(condition: () => boolean): Promise<void> {
  const end = performance.now() + 60_000;
  while (!condition()) {
    assert.ok(performance.now() < end, "it never came to that");
    await new Promise((resolve) => setImmediate(resolve));
  }
}

const DEV = ["--dev", "--dev-listen-address", "127.0.0.1:0"];

test("dev mode answers, survives SIGUSR1, dumps on SIGUSR2, and stops on SIGTERM with 0", async (t) => {
  const home = place(t);
  const { child, text, ended, address } = await running(t, home, DEV);
  assert.equal(await statusOf(`${address}/v1/sys/health`), 200);
  const token = readFileSync(join(home, ".holdfast-token"), "utf8").trim();
  assert.ok(text().includes(`Root token  ${token}\n`));
  assert.equal(statSync(join(home, ".holdfast-token")).mode & 0o777, 0o600);
  child.kill("SIGUSR1");
  child.kill("SIGUSR2");
  await until(() => text().includes("dump: memory"));
  assert.ok(!text().includes("Debugger listening"));
  child.kill("SIGTERM");
  assert.equal(await ended, 0);
});

test("T-O05: the process has no debugger on SIGUSR1, no core dumps, and no report of its environment", async (t) => {
  const { child, text, ended } = await running(t, place(t), DEV);
  const { pid = 0 } = child;
  const limits = readFileSync(`/proc/${pid}/limits`, "utf8");
  assert.match(limits, /^Max core file size +0 /m);
  const flags = readFileSync(`/proc/${pid}/cmdline`, "utf8").split("\0");
  assert.ok(flags.includes("--disable-sigusr1") && flags.includes("--report-exclude-env"));
  child.kill("SIGUSR1");
  child.kill("SIGUSR2");
  await until(() => text().includes("dump: audit"));
  const debuggers = await new Promise((resolve) => {
    const socket = createConnection(9229, "127.0.0.1", () => resolve(socket.destroy()));
    socket.on("error", () => resolve(null));
  });
  assert.equal(debuggers, null);
  child.kill("SIGINT");
  assert.equal(await ended, 0);
});

test("through a link, as npx calls it, the program finds itself", (t) => {
  const directory = place(t);
  symlinkSync(program, join(directory, "first"));
  symlinkSync("first", join(directory, "holdfast"));
  const { status, stdout } = spawnSync(join(directory, "holdfast"), ["server", "--help"], {
    env: environment(directory),
    cwd: directory,
    encoding: "utf8",
  });
  assert.equal(status, 0);
  assert.match(stdout, /^Usage: holdfast server/);
});

test("NODE_OPTIONS is refused before the runtime reads it", (t) => {
  const directory = place(t);
  const trap = join(directory, "trap.cjs");
  writeFileSync(
    trap,
    `require("node:fs").writeFileSync(${JSON.stringify(join(directory, "sprung"))}, "")`,
  );
  const { status, stderr } = spawnSync(program, ["server", "--dev"], {
    env: environment(directory, { NODE_OPTIONS: `--require ${trap}` }),
    encoding: "utf8",
  });
  assert.equal(status, 2);
  assert.match(stderr, /NODE_OPTIONS is set/);
  assert.ok(!existsSync(join(directory, "sprung")));
});

test("a bad configuration is 2 with file and line, and a port in use is 1", async (t) => {
  const directory = place(t);
  const file = join(directory, "h.yaml");
  const run = (text: string) => {
    writeFileSync(file, text);
    return spawnSync(program, ["server", "-config", file], {
      env: environment(directory),
      cwd: directory,
      encoding: "utf8",
    });
  };
  const bad = run("regoin: x\n");
  assert.equal(bad.status, 2);
  assert.match(
    bad.stderr,
    /h\.yaml:1:1: there is no setting "regoin" here; did you mean "region"\?/,
  );
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.after(() => server.close());
  const bound = server.address();
  assert.ok(typeof bound === "object" && bound !== null);
  const taken = run(
    `storage: { memory: {} }\nlistener: { tcp: { address: "127.0.0.1:${bound.port}", tls_disable: true } }\n`,
  );
  assert.equal(taken.status, 1, taken.stderr);
  assert.match(taken.stderr, /could not start: .*the address is in use/);
  const args = ["server", "-dev", "-dev-listen-address", `127.0.0.1:${bound.port}`];
  const env = environment(directory);
  const dev = spawnSync(program, args, { env, cwd: directory, encoding: "utf8" });
  assert.equal(dev.status, 1, dev.stderr);
  assert.match(
    dev.stderr,
    /the address is in use"\n.*choose another address: --dev-listen-address /,
  );
});

test("--dev-persist comes up unsealed with the same token after a kill, and a second process on it ends with 3", async (t) => {
  const home = place(t);
  const args = [...DEV, "--dev-persist", join(home, "store"), "--dev-root-token-id", "my-root"];
  const first = await running(t, home, args);
  const second = spawnSync(program, ["server", ...args], {
    env: environment(home),
    encoding: "utf8",
  });
  assert.equal(second.status, 3, second.stderr);
  first.child.kill("SIGKILL");
  await first.ended;
  const again = await running(t, home, args.slice(0, -2));
  assert.match(again.text(), /Root token {2}my-root\n/);
  assert.equal(await statusOf(`${again.address}/v1/sys/health`), 200);
  again.child.kill("SIGTERM");
  assert.equal(await again.ended, 0);
});

test("--dev-tls serves with a certificate of the authority that the banner names", async (t) => {
  const { child, text, ended, address } = await running(t, place(t), [...DEV, "--dev-tls"]);
  const [, authority = ""] = /HOLDFAST_CACERT=(\S+)/.exec(text()) ?? [];
  assert.match(address, /^https:/);
  assert.equal(await statusOf(`${address}/v1/sys/health`, readFileSync(authority, "utf8")), 200);
  await assert.rejects(statusOf(`${address}/v1/sys/health`), /certificate/);
  child.kill("SIGTERM");
  assert.equal(await ended, 0);
  assert.ok(!existsSync(authority), "what was made for this run goes with it");
});

test("a configured server comes up sealed, keeps its process number, and reloads on SIGHUP", async (t) => {
  const directory = place(t);
  const file = join(directory, "h.hcl");
  const pid = join(directory, "h.pid");
  const write = (more: string) =>
    writeFileSync(
      file,
      `data_dir = "${directory}/data"\npid_file = "${pid}"\n${more}\n` +
        'listener "tcp" { address = "127.0.0.1:0" tls_disable = true }\n',
    );
  write("");
  const { child, text, ended, address } = await running(t, directory, ["--config", file]);
  assert.equal(await statusOf(`${address}/v1/sys/health`), 501);
  assert.equal(readFileSync(pid, "utf8"), `${child.pid}\n`);
  write('log_level = "warn" region = "elsewhere"');
  child.kill("SIGHUP");
  await until(() => text().includes("takes effect at the next start: setting=region"));
  child.kill("SIGUSR2");
  child.kill("SIGTERM");
  assert.equal(await ended, 0);
  assert.ok(!text().includes("dump:"), "the new level holds");
  assert.ok(!existsSync(pid));
});
