// A plugin is mounted, asked and disabled again and again at a server that others use: nothing is left of it, and how long the
// others wait meanwhile is said.

import { readdirSync } from "node:fs";
import { PluginServer } from "../../tests/support/plugins/mounted-plugins.ts";
import { runs } from "../../tests/support/plugins/plugin-place.ts";
import type { Scene } from "./plugins.ts";

const SETTLES_MS = 3000;
const ASKED_EVERY_MS = 20;

export async function mounts({ n, plant, say }: Scene): Promise<readonly string[]> {
  const ends: (() => Promise<void> | void)[] = [];
  const server = await PluginServer.start({ after: (call) => void ends.push(call) });
  const wrong: string[] = [];
  const left = () => ({
    descriptors: readdirSync("/proc/self/fd").length,
    files: readdirSync(server.place.temporary, { recursive: true }).length,
  });
  const times: number[] = [];
  let isOver = false;
  const others = async () => {
    while (!isOver) {
      const began = performance.now();
      await server.ok("GET", "kv/a");
      times.push(performance.now() - began);
      await pause(ASKED_EVERY_MS);
    }
  };
  try {
    await server.register();
    await server.ok("POST", "sys/mounts/kv", { type: "kv", options: { version: "1" } });
    await server.ok("POST", "kv/a", { value: "one" });
    const round = async (i: number) => {
      const path = plant ? `small-${i}` : "small";
      await server.mount(path);
      const pid = await server.pid(path);
      if (plant) return;
      await server.ok("DELETE", `sys/mounts/${path}`);
      if (!(await within(() => !runs(pid)))) wrong.push(`round ${i}: its process is left`);
    };
    const beside = async (work: () => Promise<void>) => {
      isOver = false;
      const asking = others();
      await work();
      isOver = true;
      await asking;
    };
    await beside(() => round(-1)); // connections of callers are kept from here on
    const before = left();
    await beside(async () => {
      for (let i = 0; i < n && wrong.length === 0; i++) await round(i);
    });
    const isBack = () => left().descriptors <= before.descriptors && left().files <= before.files;
    if (!(await within(isBack))) {
      wrong.push(`of ${n} mounts is left ${JSON.stringify({ before, after: left() })}`);
    }
    const sorted = times.toSorted((a, b) => a - b);
    const slow = sorted[Math.floor(sorted.length * 0.99)] ?? 0;
    say(`mounts: p99 of ${sorted.length} other requests ${slow.toFixed(1)} ms`);
  } finally {
    isOver = true;
    for (const end of ends) await end();
  }
  return wrong;
}

async function within(holds: () => boolean): Promise<boolean> {
  for (const end = performance.now() + SETTLES_MS; !holds();) {
    if (performance.now() > end) return false;
    await pause(10);
  }
  return true;
}

function pause(milliseconds: number): Promise<void> {
  return new Promise((go) => setTimeout(go, milliseconds));
}
