// What is left when a server is killed: nothing. By the keeper at once; where that is killed as well, by the next start.

import assert from "node:assert/strict";
import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { keepersOf, PluginPlace, runs } from "../../../tests/support/plugins/plugin-place.ts";
import { hold } from "../../../tests/support/plugins/plugin-place.ts";
import { until } from "../../../tests/support/until.ts";
import { SystemChildProcesses } from "../../system/child-processes.ts";
import type { Program } from "../ports.ts";
import { KEEPER_SCRIPT } from "./keeper-script.ts";

const SERVER = join(import.meta.dirname, "../../../tests/support/plugins/plugin-server.ts");
const children = new SystemChildProcesses();

async function serverOf(place: PluginPlace, programs: readonly Program[], ...options: string[]) {
  const words = [...options, ...programs.map((program) => JSON.stringify(program))];
  const server = spawn(process.execPath, [SERVER, place.base, ...words], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const [line] = (await once(server.stdout, "data")) as [Buffer];
  return { server, pids: JSON.parse(line.toString()) as number[] };
}

async function startServer(place: PluginPlace, count: number) {
  const grandchildren = Array.from({ length: count }, (_, i) => join(place.base, `child${i}`));
  const programs = grandchildren.map((file, i) =>
    place.program({ name: `small${i}`, args: [`--child-of=${file}`] }),
  );
  const { server, pids } = await serverOf(place, programs);
  const others = grandchildren.map((file) => Number(readFileSync(file, "utf8")));
  assert.ok([...pids, ...others].every(runs));
  return { server, all: [...pids, ...others] };
}

async function killed(server: ChildProcess): Promise<void> {
  server.kill("SIGKILL");
  await once(server, "exit");
}

function keeperOf(place: PluginPlace): number {
  const [found] = keepersOf(place);
  assert.ok(found !== undefined);
  return found;
}

function inGroupOf(group: number): number[] {
  return children.all().filter((pid) => children.look(pid)?.group === group);
}

function isPlugin(pid: number): boolean {
  return readFileSync(`/proc/${pid}/cmdline`, "utf8").includes(".mjs");
}

function placeOf(t: TestContext): PluginPlace {
  const place = new PluginPlace();
  t.after(() => place.remove());
  return place;
}

test("case 140: a server that is killed leaves no process, also of what plugins have started, and no folder", async (t) => {
  const place = placeOf(t);
  const { server, all } = await startServer(place, 3);
  const keeper = keeperOf(place);
  await killed(server);
  await until(() => !all.some(runs) && !runs(keeper) && place.runs().length === 0);
});

test("what a killed keeper could not end the next start ends, and what goes on is left alone", async (t) => {
  const place = placeOf(t);
  const { server, all } = await startServer(place, 2);
  process.kill(keeperOf(place), "SIGKILL");
  await killed(server);
  assert.equal(place.runs().length, 1);
  const beside = await place.open();
  await until(() => !all.some(runs));
  assert.deepEqual(place.runs(), []);
  const held = await hold(beside, place.program());
  // Another server on the machine, at the same folder.
  const other = await place.open();
  assert.ok(runs(held.pid));
  assert.equal(place.runs().length, 1);
  await other.close();
  await beside.close();
});

for (const [where, ...options] of [["as it is"], ["in the sandbox", "--sandbox"]] as const) {
  test(`a plugin that runs ${where} ends with its server, also where no keeper is left to end it`, async (t) => {
    if (options.length > 0 && !existsSync("/usr/bin/bwrap")) {
      assert.equal(process.env["HOLDFAST_NO_CONTAINERS"], "1", "it needs bwrap");
      return;
    }
    const place = placeOf(t);
    // It does not end by itself where nobody is connected any more.
    const program = place.program({ args: ["--deaf"] });
    const { server, pids } = await serverOf(place, [program], ...options);
    const plugins = pids.flatMap((pid) => inGroupOf(pid).filter((one) => isPlugin(one)));
    assert.ok(plugins.length > 0);
    t.after(() => {
      for (const pid of plugins.filter(runs)) process.kill(pid, "SIGKILL");
    });
    process.kill(keeperOf(place), "SIGKILL");
    await killed(server);
    await until(() => !plugins.some(runs));
    await (await place.open()).close(); // what is left of its folder
  });
}

test("T-H13: a number that another process has by now is left alone", async (t) => {
  const place = placeOf(t);
  const innocent = spawn("/bin/sleep", ["600"], { detached: true, stdio: "ignore" });
  const leftover = spawn("/bin/sleep", ["600"], { detached: true, stdio: "ignore" });
  await Promise.all([once(innocent, "spawn"), once(leftover, "spawn")]);
  t.after(() => void innocent.kill("SIGKILL"));
  const began = (child: ChildProcess) => children.look(child.pid ?? 0)?.began ?? "";
  const run = join(place.temporary, "holdfast-0123456789ab");
  mkdirSync(run, { mode: 0o700 });
  writeFileSync(join(run, "server"), `${process.pid} 1\n`); // our number, at another time
  writeFileSync(join(run, "1.group"), `${innocent.pid} ${Number(began(innocent)) + 1}\n`);
  writeFileSync(join(run, "2.group"), `${leftover.pid} ${began(leftover)}\n`);
  writeFileSync(join(run, "3.group"), "rubbish\n");
  writeFileSync(join(run, "4.group"), "1 1\n");
  const ended = join(place.base, "ended");
  writeFileSync(join(run, "5.end"), `/bin/sh\n-c\necho "$1$2" > ${ended}\nx\n\nlast\n`);
  const gone = once(leftover, "exit");
  const processes = await place.open();
  await gone;
  assert.ok(runs(innocent.pid ?? 0));
  assert.deepEqual(readdirSync(place.temporary), []);
  assert.equal(
    readFileSync(ended, "utf8"),
    "last\n",
    "a command has all its words, also empty ones",
  );
  await processes.close();
});

test("T-H13: the keeper, too, leaves a number alone that another process has by now", async (t) => {
  const place = placeOf(t);
  const start = () => spawn("/bin/sleep", ["600"], { detached: true, stdio: "ignore" });
  const [innocent, leftover] = [start(), start()];
  await Promise.all([once(innocent, "spawn"), once(leftover, "spawn")]);
  t.after(() => void innocent.kill("SIGKILL"));
  const began = (child: ChildProcess) => children.look(child.pid ?? 0)?.began ?? "";
  const run = join(place.temporary, "holdfast-0123456789ab");
  mkdirSync(run, { mode: 0o700 });
  writeFileSync(join(run, "1.group"), `${innocent.pid} ${Number(began(innocent)) + 1}\n`);
  writeFileSync(join(run, "2.group"), `${leftover.pid} ${began(leftover)}\n`);
  const gone = once(leftover, "exit");
  const words = ["-c", KEEPER_SCRIPT, "holdfast-keeper", run, `HOLDFAST_PLUGIN_RUN=${place.base}`];
  const keeper = spawn("/bin/sh", words, { stdio: ["pipe", "ignore", "ignore"] });
  keeper.stdin.end(); // the server is gone
  await Promise.all([gone, once(keeper, "exit")]);
  assert.ok(runs(innocent.pid ?? 0));
  assert.deepEqual(place.runs(), []);
});

test("T-H13: a group that has ended is not signalled again, whoever has its number by then", async (t) => {
  const child = await children.start({ file: "/bin/sleep", args: ["600"], env: {} });
  const kill = t.mock.method(process, "kill");
  const signalled = () => kill.mock.calls.map((call) => call.arguments[0]);
  child.killGroup();
  assert.deepEqual(signalled(), [-child.pid], "while it is there it is");
  await child.exited;
  const before = signalled().length;
  child.killGroup();
  assert.equal(signalled().length, before);
});

test("starts and stops leave no descriptor, socket or process", async (t) => {
  const place = placeOf(t);
  const processes = await place.open();
  const program = place.program();
  const descriptors = () => readdirSync("/proc/self/fd").length;
  const once = async () => {
    const held = await hold(processes, program);
    const { pid } = held;
    await held.release();
    await until(() => !runs(pid));
  };
  await once();
  const before = descriptors();
  for (let i = 0; i < 6; i++) await once();
  await until(() => descriptors() <= before);
  const [run = ""] = place.runs();
  await until(() => readdirSync(join(place.temporary, run)).join() === "server");
  await processes.close();
  assert.deepEqual(place.runs(), []);
});
