// How soon a plugin is there: from the order to start it until it has said that it is well, by the parts that run plugins.

import { existsSync } from "node:fs";
import { join } from "node:path";
import { performance } from "node:perf_hooks";
import type { PluginProcesses } from "../../src/plugins/process/plugin-processes.ts";
import { hold, PluginPlace, runs } from "../../tests/support/plugins/plugin-place.ts";
import { putImage, smallPluginImage } from "../../tests/support/plugins/image-place.ts";
import type { Program } from "../../src/plugins/ports.ts";
import { until } from "../../tests/support/until.ts";
import { rounds } from "../measure.ts";
import type { Context, Figure, Figures } from "../row.ts";
import { pluginFile } from "./node.ts";

const FILE = "bench.mjs";
const PLACES = ["/usr/sbin", "/usr/bin", "/usr/local/sbin", "/usr/local/bin"];
/** What a container or sandbox may add to the start of the same program. */
const ADDED: Readonly<Record<string, number>> = { runc: 250, runsc: 650, bwrap: 200 };

function isThere(program: string): boolean {
  return PLACES.some((place) => existsSync(`${place}/${program}`));
}

export async function starts(context: Context): Promise<Figures> {
  const place = new PluginPlace();
  try {
    const sha256 = place.put(FILE, pluginFile());
    const program = place.program({ command: FILE, sha256 });
    const plain = await place.open();
    try {
      const first = await startOnce(plain, program);
      const millis = await rounds(context, () => startOnce(plain, program));
      const also: Figure[] = [
        {
          what: "the very first, which copies the file and takes its sum",
          unit: "ms",
          samples: [first],
        },
      ];
      if (process.getuid?.() === 0) also.push(...(await boxed(context, place, program)));
      return { samples: millis, also };
    } finally {
      await plain.close();
    }
  } finally {
    place.remove();
  }
}

/** The small plugin of the tests in containers, beside itself as a process; the one that is measured in a sandbox. */
async function boxed(context: Context, place: PluginPlace, program: Program): Promise<Figure[]> {
  const also: Figure[] = [];
  const compare = async (
    how: string,
    [inside, own]: readonly [PluginProcesses, Program],
    [outside, same]: readonly [PluginProcesses, Program],
  ) => {
    await startOnce(inside, own);
    const samples = await rounds(context, async () => {
      const without = await startOnce(outside, same);
      return (await startOnce(inside, own)) - without;
    });
    const budget = { atMost: ADDED[how] ?? 0 };
    also.push({ what: `more in ${how}`, unit: "ms", samples, budget });
  };
  const plain = await place.open({ copies: join(place.base, "copies-plain") });
  try {
    if (isThere("bwrap")) {
      const sandboxed = await place.open({
        isolation: "bwrap",
        copies: join(place.base, "copies-bwrap"),
      });
      await compare("bwrap", [sandboxed, program], [plain, program]);
      await sandboxed.close();
    }
    const runtimes = ["runc", "runsc"].filter(isThere);
    if (runtimes.length === 0) return also;
    const image = putImage(place.directory, "small", smallPluginImage());
    const containers = await place.open(
      { copies: join(place.base, "copies-oci") },
      { containers: place.containers(runtimes) },
    );
    for (const ociRuntime of runtimes) {
      const container = {
        name: "box",
        ociRuntime,
        rootless: false,
        cgroupParent: "",
        cpuNanos: 0,
        memoryBytes: 0,
      };
      const box = { name: "boxed", command: "", ociImage: "small", sha256: image, container };
      await compare(ociRuntime, [containers, place.program(box)], [plain, place.program()]);
    }
    await containers.close();
  } finally {
    await plain.close();
  }
  return also;
}

async function startOnce(processes: PluginProcesses, program: Program): Promise<number> {
  const began = performance.now();
  const held = await hold(processes, program);
  const millis = performance.now() - began;
  await held.release();
  await until(() => !runs(held.pid));
  return millis;
}
