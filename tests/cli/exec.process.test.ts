// Credentials of clouds on the command line: under which names they are shown and handed to a command,
// and that the lease lives exactly as long as the command does. The commands are real ones.

import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { anyEngine } from "@holdfast/plugin-sdk/engine";
import { SECOND } from "@holdfast/shared/text/duration";
import type { Nanos, Timer, Timers } from "@holdfast/shared/world";
import { DEFAULT_TIMEOUT } from "@holdfast/client/node/environment";
import type { ChildCommands } from "../../src/cli/exec/child-command.ts";
import { credentialVariables, exportLines } from "../../src/cli/exec/credential-variables.ts";
import { countingEngine } from "../support/stores/counting-engine.ts";
import { Outside } from "../support/stores/outside.ts";
import { FakeClock, nextTurn } from "../support/fake-world.ts";
import { until } from "../support/until.ts";
import { startServer } from "../support/servers/test-server.ts";
import { FakeServer, ROOT_TOKEN, type Answered } from "./fakes/fake-server.ts";
import { makeHome, run, type RunOptions } from "./harness.ts";
import { runTranscript } from "./transcript.ts";

const PROGRAM = join(import.meta.dirname, "..", "..", "bin", "holdfast");
const LEASE = "clouda/creds/ci/8sTnqV0tQ3xWn5Yb1R7pKd2f";
const HOSTILE = `a'b"$(touch x)\`y\`;&\\ c`;

function credentials(data: object, more: object = {}): Answered {
  const lease = { lease_id: LEASE, lease_duration: 3600, renewable: true };
  const body = { request_id: "r", ...lease, data, mount_type: "clouda", warnings: null, ...more };
  return { status: 200, body };
}

const KEYS = { access_key: "AKIAEXAMPLE", secret_key: "s/+1", session_token: null };

async function fakeFor(t: TestContext) {
  const server = (await FakeServer.start()).opened();
  t.after(() => server.stop());
  const env = {
    HOLDFAST_ADDR: server.address,
    HOLDFAST_TOKEN: ROOT_TOKEN,
    HOME: makeHome((call) => t.after(call)),
    PATH: process.env["PATH"] ?? "",
  };
  server.instead.set("GET clouda/creds/ci", credentials(KEYS));
  server.leases.add(LEASE);
  const cli = (args: readonly string[], options: RunOptions = {}) => run(args, { env, ...options });
  const requests = () => server.seen.map(({ method, path }) => `${method} ${path}`);
  return { server, env, cli, asked: requests };
}

/** The whole program, as a user starts it. */
function started(args: readonly string[], env: Readonly<Record<string, string>>) {
  const child = spawn(PROGRAM, args, { env, stdio: ["ignore", "pipe", "pipe"] });
  const texts = { out: "", err: "" };
  child.stdout.setEncoding("utf8").on("data", (text: string) => (texts.out += text));
  child.stderr.setEncoding("utf8").on("data", (text: string) => (texts.err += text));
  const ended = new Promise<number | null>((resolve) => child.once("close", resolve));
  const says = (what: string) =>
    new Promise<void>((resolve, reject) => {
      void ended.then((code) => reject(new Error(`it ended with ${code}: ${texts.err}`)));
      const look = () => texts.out.includes(what) && resolve();
      child.stdout.on("data", look);
      look();
    });
  return { child, texts, ended, says };
}

const OUTPUT = `
$ holdfast read clouda/creds/ci
Key                Value
---                -----
lease_id           ${LEASE}
lease_duration     3600
lease_renewable    true
access_key         AKIAEXAMPLE
secret_key         s/+1
session_token      <none>

unset AWS_PROFILE AWS_DEFAULT_PROFILE AWS_SESSION_TOKEN AWS_SECURITY_TOKEN
export AWS_ACCESS_KEY_ID=AKIAEXAMPLE
export AWS_SECRET_ACCESS_KEY=s/+1

$ holdfast read -field secret_key clouda/creds/ci
s/+1
`;

test("credentials of a cloud are shown with their lease and once more as lines to paste", async (t) => {
  const { env, cli } = await fakeFor(t);
  await runTranscript("credentials", OUTPUT, env);
  const json = await cli(["read", "-format", "json", "clouda/creds/ci"]);
  assert.deepEqual(JSON.parse(json.stdout).data, KEYS, "programs get the answer alone");
});

test("what is pasted means the same texts in a shell, whatever is in them", () => {
  const data = { access_key: HOSTILE, secret_key: "plain", session_token: "=x" };
  const variables = credentialVariables("clouda", data);
  assert.ok(variables !== null);
  const script = `AWS_PROFILE=old; ${exportLines(variables)}`;
  const print = `printf '%s\\n' "$AWS_ACCESS_KEY_ID" "$AWS_SESSION_TOKEN" "[$AWS_PROFILE]"`;
  const { stdout, stderr } = spawnSync("sh", ["-c", `${script}${print}`], { encoding: "utf8" });
  assert.equal(stdout, `${HOSTILE}\n=x\n[]\n`, stderr);
});

test("names follow the type of the mount, and only whole credentials get any", () => {
  const pair = { client_id: "i", client_secret: "s", tenant_id: "t", subscription_id: "u" };
  assert.deepEqual(credentialVariables("cloudb", pair)?.set, [
    ["AZURE_CLIENT_ID", "i"],
    ["ARM_CLIENT_ID", "i"],
    ["AZURE_CLIENT_SECRET", "s"],
    ["ARM_CLIENT_SECRET", "s"],
    ["AZURE_TENANT_ID", "t"],
    ["ARM_TENANT_ID", "t"],
    ["AZURE_SUBSCRIPTION_ID", "u"],
    ["ARM_SUBSCRIPTION_ID", "u"],
  ]);
  assert.deepEqual(credentialVariables("azure", pair), credentialVariables("cloudb", pair));
  assert.deepEqual(credentialVariables("aws", KEYS), credentialVariables("clouda", KEYS));
  const session = credentialVariables("clouda", { ...KEYS, session_token: "t" });
  assert.deepEqual(session?.set.at(-1), ["AWS_SESSION_TOKEN", "t"]);
  assert.ok(session.unset.every((name) => name !== "AWS_SESSION_TOKEN"));
  for (const [type, data] of [
    ["kv", KEYS],
    ["clouda", { access_key: "AKIA", region: "" }],
    ["clouda", { ...KEYS, secret_key: "two\nlines" }],
    ["clouda", { ...KEYS, secret_key: "\u001b[2J" }],
    ["clouda", null],
  ] as const) {
    assert.equal(credentialVariables(type, data), null);
  }
});

test("exec hands credentials to the command by its environment alone, and ends the lease", async (t) => {
  const { server, env, asked: requests } = await fakeFor(t);
  const script =
    'echo "$AWS_ACCESS_KEY_ID $AWS_SECRET_ACCESS_KEY [$AWS_SESSION_TOKEN] [$HOLDFAST_TOKEN$NODE_COMPILE_CACHE] $1"; ' +
    "tr '\\0' ' ' < /proc/$PPID/cmdline; exit 7";
  const args = ["exec", "clouda/creds/ci", "--", "sh", "-c", script, "-", "-x"];
  const { ended, texts } = started(args, { ...env, AWS_SESSION_TOKEN: "of-an-older-session" });
  assert.equal(await ended, 7, texts.err);
  const [first, commandLine = ""] = texts.out.split("\n");
  assert.equal(first, "AKIAEXAMPLE s/+1 [] [] -x");
  assert.ok(commandLine.includes("exec clouda/creds/ci"));
  assert.ok(!commandLine.includes("s/+1"));
  assert.equal(texts.err, "");
  assert.deepEqual(requests(), ["GET clouda/creds/ci", "POST sys/leases/revoke"]);
  assert.deepEqual(server.seen.at(-1)?.body, { lease_id: LEASE, sync: true });
});

test("exec gives members of any answer under names of one's own, with parameters in the request", async (t) => {
  const { server, env } = await fakeFor(t);
  const answer = credentials({ data: { password: "correct horse", n: 3 } }, { lease_id: "" });
  server.instead.set("GET secret/data/db", answer);
  const flags = ["-env", "DB=data.password", "-env", "N=data.n", "-param", "version=2"];
  const args = ["exec", ...flags, "secret/data/db", "--", "sh", "-c", 'echo "$DB $N"'];
  const { ended, texts } = started(args, env);
  assert.equal(await ended, 0, texts.err);
  assert.equal(texts.out, "correct horse 3\n");
  assert.equal(server.seen[0]?.query.get("version"), "2");
  assert.equal(server.seen.length, 1, "there is no lease to end");
});

test("exec -kv gives every member of secrets, under names that follow from theirs", async (t) => {
  const { server, env, cli, asked: requests } = await fakeFor(t);
  const mount = (version: string, path: string) => ({
    status: 200,
    body: { request_id: "r", data: { path, type: "kv", options: { version } } },
  });
  const kv = (data: object): Answered => ({ status: 200, body: { request_id: "r", data } });
  server.instead.set("GET sys/internal/ui/mounts/secret/app", mount("2", "secret/"));
  server.instead.set("GET sys/internal/ui/mounts/old/mail", mount("1", "old/"));
  const data = {
    "db-password": "two\nlines ",
    "2fa": 7,
    User: "anna",
    "a.b": { c: [1] },
    none: null,
  };
  server.instead.set("GET secret/data/app", kv({ data, metadata: { version: 3 } }));
  server.instead.set("GET old/mail", kv({ smtp: "s3cr3t" }));
  const script =
    'printf "%s|" "$DB_PASSWORD" "$_2FA" "$USER" "$A_B" "[$NONE]" "$SMTP" "[$HOLDFAST_TOKEN]"';
  const both = ["-kv", "secret/app", "-kv", "old/mail"];
  const { ended, texts } = started(["exec", ...both, "--", "sh", "-c", `${script}; exit 5`], env);
  assert.equal(await ended, 5, texts.err);
  assert.equal(texts.out, 'two\nlines |7|anna|{"c":[1]}|[]|s3cr3t|[]|');
  assert.ok(!requests().some((one) => one.includes("leases")), "there is no lease to end");
  const prefixed = started(
    ["exec", "-kv", "old/mail", "-prefix", "app-", "--", "sh", "-c", 'echo "$APP_SMTP [$SMTP]"'],
    env,
  );
  await prefixed.ended;
  assert.equal(prefixed.texts.out, "s3cr3t []\n");

  for (const [members, words] of [
    [
      { "a-b": "canary", a_b: "canary" },
      /"a-b" of secret\/app and "a_b" of secret\/app would both be A_B/,
    ],
    [
      { path: "canary" },
      /"path" of secret\/app would be PATH, which steers[^]*-prefix TEXT, or .*-env NAME=data\.path secret\/data\/app instead of -kv/,
    ],
    [{ git_external_diff: "canary" }, /would be GIT_EXTERNAL_DIFF, which steers/],
    [{ https_proxy: "canary" }, /would be HTTPS_PROXY, which steers/],
    [{ "ld-preload": "canary" }, /would be LD_PRELOAD/],
    [{ x: "canary\0" }, /"x" of secret\/app holds a zero byte/],
  ] as const) {
    server.instead.set("GET secret/data/app", kv({ data: members }));
    const ran = await cli(["exec", "-kv", "secret/app", "--", "sh", "-c", "exit 0"]);
    assert.equal(ran.code, 2, ran.all);
    assert.match(ran.stderr, words);
    assert.ok(!ran.all.includes("canary"));
  }
  const wrong = [
    ["exec", "-kv", "secret/app"],
    ["exec", "-kv", "secret/app", "-prefix", "1-", "--", "true"],
    ["exec", "-kv", "secret/app", "-prefix", "A B", "--", "true"],
    ["exec", "-kv", "secret/app", "-env", "A=b", "--", "true"],
    ["exec", "-prefix", "A_", "clouda/creds/ci", "--", "true"],
    ["exec"],
  ];
  for (const args of wrong) assert.equal((await cli(args)).code, 2, args.join(" "));
});

test("what no environment holds is told by the name of the member, and the command does not run", async (t) => {
  const { server, cli } = await fakeFor(t);
  const mount = { path: "secret/", type: "kv", options: { version: "2" } };
  const body = (data: object) => ({ status: 200, body: { request_id: "r", data } });
  server.instead.set("GET sys/internal/ui/mounts/secret/app", body(mount));
  const data = { small: "canary", "tls-cert": "canary".repeat(40_000) };
  server.instead.set("GET secret/data/app", body({ data, metadata: { version: 1 } }));
  const all = await cli(["exec", "-kv", "secret/app", "--", "true"]);
  assert.equal(all.code, 126, all.all);
  assert.match(
    all.stderr,
    /true cannot be run: .* too large .*; "tls-cert" of secret\/app has 240000 bytes\n *Next: /,
  );
  assert.ok(!all.all.includes("canary"));
  const one = await cli(["exec", "-env", "C=data.tls-cert", "secret/data/app", "--", "true"]);
  assert.equal(one.code, 126, one.all);
  assert.match(one.stderr, /; data\.tls-cert has 240000 bytes/);
  const none = await cli(["exec", "-env", "C=data.cert", "secret/data/app", "--", "true"]);
  assert.equal(none.code, 3, none.all);
  assert.match(none.stderr, /the answer has no data\.cert; there is data\.small, data\.tls-cert/);
});

test("exec -kv and a path do not go together, which is said before anything is asked", async (t) => {
  const { server, cli } = await fakeFor(t);
  const both = await cli(["exec", "-kv", "secret/app", "secret/db", "--", "true"]);
  assert.equal(both.code, 2, both.all);
  assert.match(both.stderr, /-kv and a path do not go together[^]*-kv PATH -kv PATH -- COMMAND/);
  assert.equal(server.seen.length, 0);
});

test("exec passes signals on, and its code tells of the one that ended the command", async (t) => {
  const { env, asked: requests } = await fakeFor(t);
  const tidy =
    "trap 'echo tidied; exit 9' TERM; trap 'echo two' USR2; echo ready; while :; do sleep 0.05; done";
  const one = started(["exec", "clouda/creds/ci", "--", "sh", "-c", tidy], env);
  await one.says("ready");
  one.child.kill("SIGUSR2");
  await one.says("two");
  one.child.kill("SIGTERM");
  assert.equal(await one.ended, 9, one.texts.err);
  assert.match(one.texts.out, /tidied/);
  const plain = "echo ready; exec sleep 60";
  const two = started(["exec", "clouda/creds/ci", "--", "sh", "-c", plain], env);
  await two.says("ready");
  two.child.kill("SIGINT");
  assert.equal(await two.ended, 130, two.texts.err);
  assert.equal(requests().filter((what) => what === "POST sys/leases/revoke").length, 2);
});

test("a command that is not there, or an answer without credentials, ends the lease as well", async (t) => {
  const { server, env, cli, asked: requests } = await fakeFor(t);
  const absent = started(["exec", "clouda/creds/ci", "--", "no-such-program-here"], env);
  assert.equal(await absent.ended, 127);
  assert.match(absent.texts.err, /no-such-program-here/);
  const refused = started(["exec", "clouda/creds/ci", "--", "/"], env);
  assert.equal(await refused.ended, 126);
  server.instead.set("GET clouda/creds/ci", credentials({ object: "o" }, { mount_type: "other" }));
  const other = await cli(["exec", "clouda/creds/ci", "--", "true"]);
  assert.equal(other.code, 2, other.all);
  assert.match(other.stderr, /Next: give -env NAME=MEMBER; there is object/);
  const missing = await cli(["exec", "-env", "A=b", "clouda/creds/ci", "--", "true"]);
  assert.match(missing.stderr, /-env A: the answer has no b; there is object/);
  assert.equal(missing.code, 3, "it was asked for, and is not there");
  assert.equal(requests().filter((what) => what === "POST sys/leases/revoke").length, 4);
});

test("exec without a command, or with a name that no variable has, asks for nothing", async (t) => {
  const { server, cli } = await fakeFor(t);
  assert.equal((await cli(["exec", "clouda/creds/ci"])).code, 2);
  assert.equal((await cli(["exec", "-env", "A-B=x", "clouda/creds/ci", "--", "true"])).code, 2);
  assert.equal((await cli(["exec", "clouda/creds/none", "--", "true"])).code, 3);
  assert.deepEqual(
    server.seen.map(({ path }) => path),
    ["clouda/creds/none"],
  );
});

test("what cannot be ended at once is left to the server, and told", async (t) => {
  const { server, cli } = await fakeFor(t);
  let times = 0;
  server.instead.set("POST sys/leases/revoke", async () => {
    const refusal = { status: 502, body: { errors: ["DeleteUser: Throttling"] } };
    return times++ === 0 ? refusal : { status: 202 };
  });
  const queued = await cli(["exec", "clouda/creds/ci", "--", "true"]);
  assert.equal(queued.code, 0);
  assert.match(
    queued.stderr,
    /the server ends lease clouda\/creds\/ci\/.* in its own time: .*Throttling/,
  );
  assert.deepEqual(server.seen.at(-1)?.body, { lease_id: LEASE, sync: false });
  server.instead.set("POST sys/leases/revoke", { status: 403, body: { errors: ["denied"] } });
  const left = await cli(["exec", "clouda/creds/ci", "--", "true"]);
  assert.equal(left.code, 0, "the command did its work");
  assert.match(left.stderr, /could not be ended[^]*`holdfast lease revoke clouda\/creds\/ci\//);
});

/** A command that runs until it is told to end, on time that a test moves. */
function held() {
  const ended = Promise.withResolvers<number>();
  const children: ChildCommands = {
    start: async () => ({ ended: ended.promise, signal: () => {} }),
  };
  return { children, end: ended.resolve };
}

/** Waits end when a test says so; that of a request for its answer never does. */
class HeldTimers implements Timers {
  readonly clock = new FakeClock();
  #waits: { readonly delay: Nanos; readonly call: () => void }[] = [];
  #armed = Promise.withResolvers<void>();

  after(delay: Nanos, call: () => void): Timer {
    if (delay !== DEFAULT_TIMEOUT) {
      this.#waits.push({ delay, call });
      this.#armed.resolve();
    }
    return { cancel: () => {} };
  }

  turn(): Promise<void> {
    return nextTurn();
  }

  /** Lets the next wait pass, and gives its seconds. */
  async pass(): Promise<number> {
    await this.#armed.promise;
    const { delay, call } = this.#waits.shift()!;
    this.#armed = Promise.withResolvers<void>();
    this.clock.pass(delay);
    call();
    return Number(delay / SECOND);
  }
}

test("the lease is renewed while the command runs, until the server gives no more", async (t) => {
  const { server, cli, asked: requests } = await fakeFor(t);
  const timers = new HeldTimers();
  const busy = { status: 503, body: { errors: ["busy"] } };
  const answers = [3600, null, 3600, 900].map((lease_duration) =>
    lease_duration === null ? busy : credentials({}, { lease_duration }),
  );
  server.instead.set("POST sys/leases/renew", async () => answers.shift() ?? busy);
  const child = held();
  const world = { children: child.children, timers, clock: timers.clock };
  const ran = cli(["exec", "clouda/creds/ci", "--", "x"], { world });
  // Two thirds; after a failure at most 30 s; then what was granted last, and no longer.
  const waits = [2400, 2400, 30, 2400, 1200];
  for (const wait of waits) assert.equal(await timers.pass(), wait);
  child.end(0);
  const { code, stderr } = await ran;
  assert.equal(code, 0);
  assert.match(stderr, /the credentials of lease .* have ended; the command runs on/);
  assert.equal(requests().filter((what) => what === "POST sys/leases/renew").length, 4);
  assert.equal(requests().at(-1), "POST sys/leases/revoke");
});

test("a lease that may not be renewed is told with the time that it has left", async (t) => {
  const { server, cli, asked: requests } = await fakeFor(t);
  const timers = new HeldTimers();
  const refusal = { status: 400, body: { errors: ["maximum lifetime reached"] } };
  server.instead.set("POST sys/leases/renew", refusal);
  const child = held();
  const world = { children: child.children, timers, clock: timers.clock };
  const ran = cli(["exec", "clouda/creds/ci", "--", "x"], { world });
  assert.equal(await timers.pass(), 2400);
  assert.equal(await timers.pass(), 1200);
  child.end(3);
  const { code, stderr } = await ran;
  assert.equal(code, 3);
  assert.match(stderr, /could not be renewed, and ends in 20m0s: maximum lifetime reached/);
  assert.equal(requests().at(-1), "POST sys/leases/revoke");
});

test("exec on the server itself: the object is there while the command runs, and gone after it", async (t) => {
  const outside = new Outside();
  const server = await startServer({ engineTypes: [anyEngine(countingEngine(outside))] });
  t.after(() => server.stop());
  const { token } = await server.open();
  const env = {
    HOLDFAST_ADDR: server.url,
    HOLDFAST_TOKEN: token,
    HOME: makeHome((call) => t.after(call)),
    PATH: process.env["PATH"] ?? "",
  };
  await run(["secrets", "enable", "counting"], { env });
  await run(["write", "counting/roles/r", "ttl=2"], { env });
  const script = "echo ready $OBJECT; trap 'exit 0' TERM; while :; do sleep 0.05; done";
  const args = ["exec", "-env", "OBJECT=object", "counting/creds/r", "--", "sh", "-c", script];
  const { child, texts, ended, says } = started(args, env);
  await says("ready");
  const [object = ""] = outside.objects;
  assert.ok(object !== "" && texts.out.includes(object));
  const read = () => server.call("POST", "/v1/sys/leases/lookup", { token, body: { lease_id } });
  const listed = await server.call("LIST", "/v1/sys/leases/lookup/counting/creds/r", { token });
  const lease_id = `counting/creds/r/${/"keys":\["([^"]+)"/.exec(listed.text)?.[1] ?? ""}`;
  await until(async () => /"last_renewal":"/.test((await read()).text));
  child.kill("SIGTERM");
  assert.equal(await ended, 0, texts.err);
  assert.deepEqual(outside.objects, []);
});
