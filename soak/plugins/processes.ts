// Processes of plugins, started, killed in the middle of calls, and left behind.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { UnsentCall, type HeldProcess } from "../../src/plugins/ports.ts";
import { SystemChildProcesses } from "../../src/system/child-processes.ts";
import { hold, PluginPlace, runs, say } from "../../tests/support/plugins/plugin-place.ts";
import { until } from "../../tests/support/until.ts";
import type { Scene } from "./plugins.ts";

const SETTLES_MS = 3000;

function pause(milliseconds: number): Promise<void> {
  return new Promise((go) => setTimeout(go, milliseconds));
}

/** Starts and stops leave no descriptor, no socket and no process. */
export async function starts({ n, plant }: Scene): Promise<readonly string[]> {
  const place = new PluginPlace();
  const processes = await place.open();
  const descriptors = () => readdirSync("/proc/self/fd").length;
  const wrong: string[] = [];
  try {
    const round = async (i: number) => {
      const held = await hold(processes, place.program({ name: plant ? `small${i}` : "small" }));
      await say(held, "echo");
      if (!plant) await held.release();
      if (!plant && runs(held.pid)) await until(() => !runs(held.pid));
    };
    await round(-1);
    const before = descriptors();
    for (let i = 0; i < n; i++) await round(i);
    const end = performance.now() + SETTLES_MS;
    while (descriptors() > before && performance.now() < end) await pause(20);
    const left = descriptors() - before;
    if (left > 0) wrong.push(`${left} descriptors are left of ${n} starts`);
  } finally {
    await processes.close();
    if (place.runs().length > 0) wrong.push("the folder of the run is left");
    place.remove();
  }
  return wrong;
}

/** A plugin ends in the middle of each write: what it did is done once, and the next call finds another. */
export async function crashes({ n, plant }: Scene): Promise<readonly string[]> {
  const place = new PluginPlace();
  const processes = await place.open();
  const wrong: string[] = [];
  const file = join(place.base, "done");
  const program = place.program();
  /** As whoever calls has to do it: again only what was not sent. */
  const write = async (held: HeldProcess): Promise<void> => {
    try {
      await say(held, "does and exits", file);
    } catch (error) {
      if (!plant && !(error instanceof UnsentCall)) return;
      await say(await hold(processes, program), "does and exits", file).catch(() => {});
    }
  };
  try {
    for (let i = 0; i < n && wrong.length === 0; i++) {
      writeFileSync(file, "");
      const held = await hold(processes, program);
      await write(held);
      const times = readFileSync(file, "utf8").length;
      if (times !== 1) {
        wrong.push(`round ${i}: it was done ${times} times`);
        break;
      }
      const all = await Promise.all(
        Array.from({ length: 20 }, async (_, at) =>
          say(await hold(processes, program), "echo", String(at)),
        ),
      );
      if (all.some((text, at) => text !== String(at)))
        wrong.push(`round ${i}: not everybody was answered`);
      await (await hold(processes, program)).release();
      processes.renew(program); // as after a good while: it has not failed before
    }
  } finally {
    await processes.close();
    place.remove();
  }
  return wrong;
}

/** Looks at a number, and not at when it began. */
class ByNumber extends SystemChildProcesses {
  override look(pid: number) {
    const facts = super.look(pid);
    return facts === null || pid === this.pid ? facts : { ...facts, began: "1" };
  }
}

/** What records of an earlier run name by now is left alone, where it is another one. */
export async function leftovers({ n, plant }: Scene): Promise<readonly string[]> {
  const wrong: string[] = [];
  for (let i = 0; i < n && wrong.length === 0; i++) {
    const place = new PluginPlace();
    const innocent = spawn("/bin/sleep", ["600"], { detached: true, stdio: "ignore" });
    await once(innocent, "spawn");
    const run = join(place.temporary, "holdfast-0123456789ab");
    mkdirSync(run, { mode: 0o700 });
    writeFileSync(join(run, "server"), `${process.pid} 2\n`);
    writeFileSync(join(run, "1.group"), `${innocent.pid} 1\n`);
    const children = plant ? new ByNumber() : new SystemChildProcesses();
    const processes = await place.open({}, { children });
    if (plant) await Promise.race([once(innocent, "exit"), pause(500)]);
    if (!runs(innocent.pid ?? 0)) wrong.push(`round ${i}: another process was ended`);
    innocent.kill("SIGKILL");
    await processes.close();
    if (place.runs().length > 0) wrong.push(`round ${i}: the folder of the run is left`);
    place.remove();
  }
  return wrong;
}
