// A server is killed at a moment of its own, with plugins as processes that have children, and in a container where runc is here.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { SystemChildProcesses } from "../../src/system/child-processes.ts";
import { putImage, smallPluginImage } from "../../tests/support/plugins/image-place.ts";
import { PluginPlace, runs } from "../../tests/support/plugins/plugin-place.ts";
import type { Scene } from "./plugins.ts";

const SERVER = join(import.meta.dirname, "../../tests/support/plugins/plugin-server.ts");
const WITHIN_MS = 5000;
const RUNC = ["/usr/sbin/runc", "/usr/bin/runc", "/usr/local/sbin/runc"];

export async function kills({ n, plant }: Scene): Promise<readonly string[]> {
  const place = new PluginPlace();
  const hasContainers = process.getuid?.() === 0 && RUNC.some((path) => existsSync(path));
  const image = hasContainers ? putImage(place.directory, "small", smallPluginImage()) : "";
  const wrong: string[] = [];
  try {
    for (let i = 0; i < n && wrong.length === 0; i++)
      wrong.push(...(await round(place, image, plant)));
  } finally {
    place.remove();
  }
  return wrong.map((one) => `${one}${hasContainers ? "" : " (without containers)"}`);
}

async function round(
  place: PluginPlace,
  image: string,
  plant: boolean,
): Promise<readonly string[]> {
  const child = join(place.base, "child");
  const parent = "/holdfast-soak";
  const container = {
    name: "box",
    ociRuntime: "runc",
    rootless: false,
    cgroupParent: parent,
    cpuNanos: 0,
    memoryBytes: 2 ** 29,
  };
  const boxed = { name: "boxed", command: "", ociImage: "small", sha256: image, container };
  const programs = [
    place.program({ args: [`--child-of=${child}`] }),
    ...(image === "" ? [] : [place.program(boxed)]),
  ];
  const words = [SERVER, place.base, ...programs.map((program) => JSON.stringify(program))];
  const server = spawn(process.execPath, words, { stdio: ["ignore", "pipe", "inherit"] });
  const [line] = (await once(server.stdout, "data")) as [Buffer];
  const firsts = globSync(join(place.temporary, "*", "*", "aside", "pid"));
  const all = [
    ...(JSON.parse(line.toString()) as number[]),
    ...[child, ...firsts].map((path) => Number(readFileSync(path, "utf8"))),
  ];
  if (plant) killKeeper(place);
  await new Promise((go) => setTimeout(go, Math.random() * 20));
  server.kill("SIGKILL");
  await once(server, "exit");
  const left = () => [
    ...all.filter(runs).map((pid) => `process ${pid}`),
    ...place.runs(),
    ...globSync([`/sys/fs/cgroup${parent}`, `/sys/fs/cgroup/*${parent}`]),
  ];
  const end = performance.now() + WITHIN_MS;
  while (left().length > 0 && performance.now() < end)
    await new Promise((go) => setTimeout(go, 10));
  const found = left();
  if (found.length > 0) await (await place.open()).close(); // the next start sweeps
  return found.length === 0 ? [] : [`after the kill there is still ${found.join(", ")}`];
}

function killKeeper(place: PluginPlace): void {
  const folder = join(place.temporary, place.runs()[0] ?? "");
  for (const pid of new SystemChildProcesses().all()) {
    const path = `/proc/${pid}/cmdline`;
    const words = existsSync(path) ? readFileSync(path, "utf8").split("\0") : [];
    if (words.includes("holdfast-keeper") && words.includes(folder)) process.kill(pid, "SIGKILL");
  }
}
