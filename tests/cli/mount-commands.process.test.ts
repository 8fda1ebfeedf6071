// Commands on mounts beyond what transcripts say: what is sent, questions on a terminal, and disabling
// that takes long: how far it is, Ctrl-C in the middle, taking it up again, and what stops it.

import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import { SystemClock } from "../../src/system/clock.ts";
import { SECOND } from "@holdfast/shared/text/duration";
import { SystemFs } from "../../src/system/fs.ts";
import { SystemTimers } from "../../src/system/timers.ts";
import type { Nanos, Timers } from "@holdfast/shared/world";
import { SystemChildCommands } from "../../src/cli/exec/child-command.ts";
import { runCli } from "../../src/cli/run.ts";
import { SystemUserFiles } from "../../src/cli/line/user-file.ts";
import { enveloped, FakeServer, ROOT_TOKEN, type Answered } from "./fakes/fake-server.ts";
import { Keyboard, makeHome, run, Screen, type RunOptions } from "./harness.ts";

async function fakeFor(t: TestContext) {
  const server = (await FakeServer.start()).opened();
  t.after(() => server.stop());
  const env = {
    HOLDFAST_ADDR: server.address,
    HOLDFAST_TOKEN: ROOT_TOKEN,
    HOME: makeHome((call) => t.after(call)),
  };
  const cli = (args: readonly string[], options: RunOptions = {}) =>
    run(args, { env, world: { timers: new QuickTimers() }, ...options });
  return { server, env, cli };
}

/** Pauses pass at once; time-outs of requests are real. */
class QuickTimers implements Timers {
  readonly #system = new SystemTimers();

  after(delay: Nanos, call: () => void) {
    return this.#system.after(delay > 30n * SECOND ? delay : 0n, call);
  }

  turn() {
    return this.#system.turn();
  }
}

const going = (left: number): Answered => ({
  ...enveloped({ state: "disabling", leases_left: left }),
  status: 202,
});

test("enable and tune send what was given, and nothing else", async (t) => {
  const { server, cli } = await fakeFor(t);
  const sent = async (...args: string[]) => {
    const { code, all } = await cli(args);
    assert.equal(code, 0, all);
    const { method, path, body } = server.seen.at(-1)!;
    return { method, path, body };
  };
  assert.deepEqual(await sent("secrets", "enable", "kv"), {
    method: "POST",
    path: "sys/mounts/kv",
    body: { type: "kv" },
  });
  const flags = ["-path", "/team/a b/", "-description", "x", "-default-lease-ttl", "90m", "-local"];
  const more = ["-listing-visibility", "unauth", "-audit-non-hmac-request-keys", "user"];
  assert.deepEqual(await sent("secrets", "enable", ...flags, ...more, "kv-v1"), {
    method: "POST",
    path: "sys/mounts/team/a b",
    body: {
      type: "kv",
      description: "x",
      config: {
        default_lease_ttl: "1h30m0s",
        listing_visibility: "unauth",
        audit_non_hmac_request_keys: ["user"],
      },
      options: { version: "1" },
      local: true,
    },
  });
  assert.deepEqual(await sent("auth", "enable", "-path", "auth/people", "userpass"), {
    method: "POST",
    path: "sys/auth/people",
    body: { type: "userpass" },
  });
  const tune = ["-max-lease-ttl", "0", "-description", "", "-config", "token_type=service"];
  assert.deepEqual(await sent("auth", "tune", ...tune, "people"), {
    method: "POST",
    path: "sys/auth/people/tune",
    body: { max_lease_ttl: "0s", token_type: "service", description: "" },
  });
  const printed = await cli(["secrets", "tune", "-field", "default_lease_ttl", "kv"]);
  assert.deepEqual([printed.code, printed.stdout], [0, "0"], printed.all);
  assert.equal(server.seen.at(-1)?.method, "GET", "without a setting it looks");
});

test("a list says of a mount that is not at work what is the matter", async (t) => {
  const { server, cli } = await fakeFor(t);
  assert.doesNotMatch((await cli(["secrets", "list"])).stdout, /State/);
  server.engines.add("old/", { type: "kv", options: { version: "2" } });
  server.engines.add("going/", {
    type: "kv",
    state: "disabling",
    leases_left: 412,
    trouble: "the provider refused",
  });
  const { stdout } = await cli(["secrets", "list", "-detailed"]);
  assert.match(stdout, /going\/ .* disabling, 412 leases left, in trouble/);
  assert.match(stdout, /\n\ngoing\/: the provider refused\n$/);
  const long =
    "stopped after 0 revoked leases: the provider refused because of a long story ".repeat(4);
  server.engines.add("going/", { type: "kv", state: "disabling", trouble: long.trim() });
  const narrow = (await cli(["secrets", "list"], { columns: 80 })).stdout.split("\n");
  assert.deepEqual(
    narrow.slice(1).filter((line) => line.length > 80), // the heading is painted
    [],
  );
  assert.ok(narrow.length < 25, "sentences go over the whole width");
  assert.match(stdout, /old\/ .* the server's +version=2 .* at work/);
});

test("disable asks on a terminal, and says what is there", async (t) => {
  const { server, cli } = await fakeFor(t);
  server.engines.add("old/", { type: "kv", options: { version: "2" } });
  const no = await cli(["secrets", "disable", "old"], { typed: ["n"] });
  assert.equal(no.code, 1);
  assert.match(no.stderr, /Disable the kv secrets engine at old\/ and delete everything in it\?/);
  assert.ok(server.engines.mounts.has("old/"));
  assert.equal((await cli(["secrets", "disable", "old"], { typed: ["y"] })).code, 0);
  assert.ok(!server.engines.mounts.has("old/"));
  server.engines.add("old/", { type: "kv" });
  assert.equal((await cli(["secrets", "disable", "-yes", "old"], { typed: [] })).code, 0);
  const gone = await cli(["secrets", "disable", "old"], { typed: [] });
  assert.deepEqual([gone.code, gone.stdout], [3, ""]);
  assert.match(gone.stderr, /nothing is mounted at old\//);
});

test("disable waits, and tells on a terminal and in a log how far it is", async (t) => {
  const { server, cli } = await fakeFor(t);
  const slow = () => {
    server.engines.add("old/", { type: "kv" });
    server.engines.disabling.push(...[10_000, 6000, 10, 0].map((left) => () => going(left)));
  };
  slow();
  const seen = await cli(["secrets", "disable", "-yes", "old"], { typed: [], columns: 80 });
  assert.equal(seen.code, 0, seen.all);
  assert.match(seen.stderr, /disabling old\/: \[#{10}-{14}\] 4000\/10000 leases revoked/);
  assert.match(seen.stderr, /removing what is in it/);
  assert.match(seen.stdout, /^Success! Disabled the secrets engine at: old\/\n$/);
  slow();
  let now = 0n;
  const clock = { now: () => new SystemClock().now(), elapsed: () => (now += 6n * SECOND) };
  const logged = await cli(["secrets", "disable", "old"], {
    world: { timers: new QuickTimers(), clock },
  });
  assert.match(logged.stderr, /^disabling old\/: 0 of 10000 leases revoked$/m);
  assert.match(logged.stderr, /^disabling old\/: 9990 of 10000 leases revoked$/m);
  // oxlint-disable-next-line no-control-regex -- there must be none
  assert.doesNotMatch(logged.stderr, /\u001b|\r/);
  const requests = server.seen.filter(({ method }) => method === "DELETE");
  assert.equal(requests.length, 10);
  const waits = requests.map(({ query }) => query.get("wait"));
  assert.deepEqual(waits.slice(0, 5), ["0s", "1s", "1s", "1s", "1s"]);
});

test("Ctrl-C ends the waiting alone, and the same command takes it up without a question", async (t) => {
  const { server, env, cli } = await fakeFor(t);
  const mount = server.engines.add("old/", { type: "kv" });
  const stdin = new Keyboard(false);
  stdin.end("");
  const [stdout, stderr] = [new Screen(false), new Screen(false)];
  const heard = Promise.withResolvers<() => void>();
  const waiting = Promise.withResolvers<void>();
  const never = new Promise<Answered>(() => {});
  server.engines.disabling.push(
    () => going(10_000),
    () => {
      waiting.resolve();
      return never;
    },
  );
  const ended = runCli(
    ["secrets", "disable", "old"],
    {
      env,
      stdin,
      stdout,
      stderr,
      onInterrupt: (call) => {
        heard.resolve(call);
        return () => {};
      },
    },
    {
      clock: new SystemClock(),
      timers: new QuickTimers(),
      fs: new SystemFs(),
      files: new SystemUserFiles(),
      children: new SystemChildCommands(),
    },
  );
  await waiting.promise;
  (await heard.promise)();
  assert.equal(await ended, 130);
  assert.match(
    stderr.text,
    /The server goes on disabling old\/\. `holdfast secrets disable old` follows it again\./,
  );
  mount.record = { ...mount.record, state: "disabling", leases_left: 4000 };
  server.engines.disabling.push(() => going(4000));
  const again = await cli(["secrets", "disable", "old"], { typed: [] });
  assert.equal(again.code, 0, again.all);
  assert.match(again.stderr, /old\/ is being disabled already: disabling, 4000 leases left\./);
  assert.match(again.stdout, /^Success!/);
});

test("what stops the server on the way is told with both ways out", async (t) => {
  const { server, cli } = await fakeFor(t);
  server.engines.add("old/", { type: "kv" });
  const cause = "the mount could not be disabled and stays closed: old/creds/a/1: throttled";
  server.engines.disabling.push(() => ({ status: 500, body: { errors: [cause] } }));
  const { code, stderr } = await cli(["secrets", "disable", "old"]);
  assert.equal(code, 1);
  assert.match(stderr, /throttled \(status 500\); it gives nothing out any more/);
  assert.match(stderr, /run `holdfast secrets disable old` again/);
  assert.match(stderr, /`holdfast lease revoke -force -prefix old`/);
});

test("disable -no-wait leaves the server to it; -abandon goes along", async (t) => {
  const { server, cli } = await fakeFor(t);
  server.engines.add("old/", { type: "cloud" });
  const refused = await cli(["secrets", "disable", "old"]);
  assert.equal(refused.code, 1);
  assert.match(refused.stderr, /Next: remove them first, or leave them behind with -abandon/);
  server.engines.disabling.push(() => going(7));
  const left = await cli(["secrets", "disable", "-no-wait", "-abandon", "old"]);
  assert.deepEqual([left.code, left.stderr], [0, ""], left.all);
  assert.match(left.stdout, /disables old\/ by itself\. `holdfast secrets disable old` follows it/);
  assert.equal(server.seen.at(-1)?.query.toString(), "wait=0s&abandon=true");
});

test("whoever may disable but not look gets along", async (t) => {
  const { server, cli } = await fakeFor(t);
  server.engines.add("old/", { type: "kv" });
  const denied = { status: 403, body: { errors: ["permission denied"] } };
  server.instead.set("GET sys/mounts/old", denied);
  const { code, stdout } = await cli(["secrets", "disable", "old"]);
  assert.deepEqual([code, stdout], [0, "Success! Disabled the secrets engine at: old/\n"]);
});

test("a move is followed to its end, good or bad", async (t) => {
  const { server, cli } = await fakeFor(t);
  server.engines.add("auth/old/", { type: "userpass" });
  const moved = await cli(["auth", "move", "old", "auth/people"]);
  assert.equal(moved.code, 0, moved.all);
  const { body } = server.seen.find(({ path }) => path === "sys/remount")!;
  assert.deepEqual(body, { from: "auth/old", to: "auth/people" });

  const info = { source_mount: "a/", target_mount: "b/" };
  const answers = [
    { ...info, status: "in-progress" },
    { ...info, status: "failure", error: "a lease could not be revoked" },
  ];
  server.instead.set("POST sys/remount", enveloped({ migration_id: "m1" }));
  server.instead.set("GET sys/remount/status/m1", async () =>
    enveloped({ migration_id: "m1", migration_info: answers.shift() ?? {} }),
  );
  const failed = await cli(["secrets", "move", "a", "b"]);
  assert.equal(failed.code, 1);
  assert.match(failed.stderr, /a\/ was not moved to b\/: a lease could not be revoked/);
  assert.match(failed.stderr, /`holdfast secrets move -status m1`/);
  answers.push({ ...info, status: "in-progress" });
  const status = await cli(["secrets", "move", "-status", "m1", "-field", "status"]);
  assert.deepEqual([status.code, status.stdout], [0, "in-progress"]);
  assert.equal((await cli(["secrets", "move", "a"])).code, 2);
});
