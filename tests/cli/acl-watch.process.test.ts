// -watch: what is printed and asked while a server changes under it, and how it ends.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { join } from "node:path";
import { after, beforeEach, test, type TestContext } from "node:test";
import { SystemClock } from "../../src/system/clock.ts";
import { SECOND } from "@holdfast/shared/text/duration";
import { SystemFs } from "../../src/system/fs.ts";
import { SystemTimers } from "../../src/system/timers.ts";
import type { Nanos, Timers } from "@holdfast/shared/world";
import { SystemChildCommands } from "../../src/cli/exec/child-command.ts";
import { runCli } from "../../src/cli/run.ts";
import { SystemUserFiles } from "../../src/cli/line/user-file.ts";
import { FakeServer, ROOT_TOKEN } from "./fakes/fake-server.ts";
import { Keyboard, makeHome, Screen } from "./harness.ts";

const MAIN = join(import.meta.dirname, "..", "..", "src", "main.ts");

let server: FakeServer;
let home: string;
const servers: FakeServer[] = [];
after(() => Promise.all(servers.map((one) => one.stop())));

beforeEach(async (t) => {
  server = (await FakeServer.start()).opened();
  servers.push(server);
  home = makeHome((call) => (t as TestContext).after(call));
});

/** Pauses of the watch pass at once and are remembered; time-outs of requests are real. */
class QuickTimers implements Timers {
  readonly pauses: Nanos[] = [];
  readonly #system = new SystemTimers();

  after(delay: Nanos, call: () => void) {
    if (delay > 30n * SECOND) return this.#system.after(delay, call);
    this.pauses.push(delay);
    return this.#system.after(0n, call);
  }

  turn() {
    return this.#system.turn();
  }
}

async function until(condition: () => boolean, what: () => string): Promise<void> {
  const end = Date.now() + 60_000;
  while (!condition()) {
    assert.ok(Date.now() < end, what());
    await new Promise(setImmediate);
  }
}

class Watched {
  readonly stdout = new Screen(false);
  readonly stderr = new Screen(false);
  readonly timers = new QuickTimers();
  readonly ended: Promise<number>;
  #interrupt: (() => void) | null = null;

  constructor(args: readonly string[]) {
    const stdin = new Keyboard(false);
    stdin.end("");
    const env = { HOLDFAST_ADDR: server.address, HOLDFAST_TOKEN: ROOT_TOKEN, HOME: home };
    const onInterrupt = (call: () => void) => {
      this.#interrupt = call;
      return () => void (this.#interrupt = null);
    };
    const { stdout, stderr, timers } = this;
    this.ended = runCli(
      ["acl", "token", ...args, "-watch"],
      { env, stdin, stdout, stderr, onInterrupt },
      // Every answer comes early, however slow the machine is.
      {
        clock: { now: () => new SystemClock().now(), elapsed: () => 0n },
        timers,
        fs: new SystemFs(),
        files: new SystemUserFiles(),
        children: new SystemChildCommands(),
      },
    );
  }

  /** What was printed up to the moment at which the server holds the next read. */
  async waiting(): Promise<string> {
    await until(
      () => server.tokens.parked > 0,
      () => this.stdout.text + this.stderr.text,
    );
    const printed = this.stdout.text;
    this.stdout.text = "";
    return printed;
  }

  async stop(): Promise<number> {
    assert.ok(this.#interrupt !== null, "Ctrl-C is heard");
    this.#interrupt();
    const code = await this.ended;
    assert.equal(this.#interrupt, null, "and no longer afterwards");
    return code;
  }
}

test("list -watch prints the list, then each change and nothing else, until Ctrl-C", async () => {
  const { tokens } = server;
  const old = tokens.add({ Name: "old", Policies: ["readonly"] });
  const watched = new Watched(["list"]);
  assert.match(await watched.waiting(), /^Name +Type[^]*\nold +client +false +\S+ +false\n$/);
  const made = tokens.add({ Name: "new", Policies: ["readonly"] });
  assert.equal(await watched.waiting(), `added    ${made.AccessorID}  client      new\n`);
  tokens.change(old.AccessorID, { Name: "older" });
  assert.equal(await watched.waiting(), `changed  ${old.AccessorID}  client      older\n`);
  tokens.wake();
  assert.equal(await watched.waiting(), "", "an answer without news prints nothing");
  tokens.remove(made.AccessorID);
  assert.equal(await watched.waiting(), `removed  ${made.AccessorID}  client      new\n`);
  assert.equal(await watched.stop(), 130);
  const requests = server.seen.filter(({ path }) => path === "acl/tokens");
  assert.equal(requests[0]?.query.get("index"), null, "the first is answered at once");
  assert.ok(requests.slice(1).every(({ query }) => Number(query.get("index")) > 0));
  assert.equal(requests[1]?.query.get("wait"), "1m0s");
});

test("list -watch gives programs one document for the list and one for each change", async () => {
  const watched = new Watched(["list", "-format", "yaml", "-filter", 'Name == "ci"']);
  assert.equal(await watched.waiting(), "[]\n");
  const made = server.tokens.add({ Name: "ci", Policies: ["readonly"] });
  const document = await watched.waiting();
  assert.match(document, /^---\nChange: added\nToken:\n {2}AccessorID: /);
  assert.ok(!document.includes(made.SecretID));
  server.tokens.add({ Name: "other", Policies: ["readonly"] });
  assert.equal(await watched.waiting(), "", "what the filter leaves out is no change");
  await watched.stop();
});

test("a watch starts again from 0 when the index goes back", async () => {
  const { tokens } = server;
  const kept = tokens.add({ Name: "kept", Policies: ["readonly"] });
  const watched = new Watched(["list"]);
  await watched.waiting();
  tokens.index = 3; // an older state was restored
  kept.ModifyIndex = 3;
  tokens.wake();
  assert.equal(await watched.waiting(), `changed  ${kept.AccessorID}  client      kept\n`);
  const indexes = server.seen.map(({ query }) => query.get("index"));
  assert.deepEqual(indexes, [null, "42", null, "3"]);
  await watched.stop();
});

test("a watch is not asked in a circle by answers without news, and survives an outage", async () => {
  const watched = new Watched(["list"]);
  await watched.waiting();
  server.tokens.wake();
  await watched.waiting();
  assert.deepEqual(watched.timers.pauses, [SECOND]);
  let refusals = 0;
  server.instead.set("GET acl/tokens", () => {
    if (++refusals === 7) server.instead.delete("GET acl/tokens");
    return Promise.resolve({ status: 503, body: { errors: ["service is sealed"] } });
  });
  server.tokens.wake();
  await until(
    () => refusals === 7,
    () => watched.stderr.text,
  );
  const made = server.tokens.add({ Name: "new", Policies: ["readonly"] });
  assert.ok((await watched.waiting()).includes(made.AccessorID));
  assert.equal(watched.stderr.text.split("trying again").length, 2, "told once");
  const backoff = watched.timers.pauses.slice(2).map((length) => length / SECOND);
  assert.deepEqual(backoff, [1n, 2n, 4n, 8n, 16n, 30n, 30n]);
  await watched.stop();
});

test("a refusal that does not pass ends the watch with its own exit code", async () => {
  const watched = new Watched(["list"]);
  await watched.waiting();
  server.tokens.all.clear();
  server.tokens.wake();
  assert.equal(await watched.ended, 4);
  assert.match(watched.stderr.text, /^Error: GET acl\/tokens: Permission denied/m);
});

test("info -watch prints what is new about a token, and ends when it is gone", async () => {
  const { tokens } = server;
  const { AccessorID, SecretID } = tokens.add({ Name: "ci", Policies: ["readonly"] });
  const watched = new Watched(["info", AccessorID]);
  assert.match(await watched.waiting(), /^Accessor ID {2}= [^]*Policies {5}= \[readonly\]/);
  tokens.add({ Name: "other", Policies: ["readonly"] });
  assert.equal(await watched.waiting(), "", "another token's change is none of it");
  const { ModifyIndex } = tokens.change(AccessorID, { Policies: ["deploy"] });
  const news = `\nModify Index = ${ModifyIndex}\nPolicies     = [deploy]\n`;
  assert.equal(await watched.waiting(), news);
  tokens.remove(AccessorID);
  assert.equal(await watched.ended, 3);
  assert.equal(watched.stderr.text, "The token is gone.\n");
  assert.ok(!(watched.stdout.text + news).includes(SecretID));
});

test("self -watch follows the token it acts with", async () => {
  const watched = new Watched(["self", "-json"]);
  const [first] = [...server.tokens.all.values()];
  assert.equal(JSON.parse(await watched.waiting()).AccessorID, first!.AccessorID);
  server.tokens.change(first!.AccessorID, { Name: "root" });
  const { Name, SecretID } = JSON.parse(await watched.waiting());
  assert.deepEqual([Name, SecretID], ["root", ""]);
  server.tokens.all.clear();
  server.tokens.wake();
  assert.equal(await watched.ended, 4);
});

test("a watch ends when nobody reads it any more", async () => {
  const watched = new Watched(["list"]);
  await watched.waiting();
  watched.stdout.emit("error", Object.assign(new Error("pipe"), { code: "EPIPE" }));
  assert.equal(await watched.ended, 130);
});

test("-watch takes no page", async () => {
  assert.equal(await new Watched(["list", "-per-page", "2"]).ended, 2);
  assert.equal(server.seen.length, 0);
});

test("SIGINT ends the process of a watch at once, with 130", async (t) => {
  const child = spawn(process.execPath, [MAIN, "acl", "token", "list", "-watch"], {
    env: { ...process.env, HOME: home, HOLDFAST_ADDR: server.address, HOLDFAST_TOKEN: ROOT_TOKEN },
    stdio: ["ignore", "pipe", "pipe"],
  });
  t.after(() => child.kill("SIGKILL"));
  let printed = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => (printed += text));
  child.stderr.setEncoding("utf8").on("data", (text: string) => (printed += text));
  const ended = new Promise((resolve) => child.on("close", (...how) => resolve(how)));
  await until(
    () => server.tokens.parked > 0 && printed.includes("Bootstrap"),
    () => printed,
  );
  child.kill("SIGINT");
  assert.deepEqual(await ended, [130, null], printed);
});
