// The memory of plugins: of a process that rests, of a mount in the server, and of what looks after them. And that a server
// without a plugin at work pays for none, at its start and at rest.

import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { type Caller, call } from "../api/api-caller.ts";
import { freePort, withServer } from "../api/api-server.ts";
import { residentBytesOf } from "../api/api-usage.ts";
import { rounds } from "../measure.ts";
import type { Context, Figures } from "../row.ts";
import {
  childOf,
  mount,
  type PluginFolder,
  pluginPid,
  register,
  withFolder,
  withPlugins,
} from "./node.ts";

const MOUNTS = 50;
const IDLE_MS = 2000;
const REGISTERED = 20;
const SETTLING_MS = 5000;

export async function memory(context: Context): Promise<Figures> {
  const { quick } = context;
  const mounts = quick ? 3 : MOUNTS;
  return await withPlugins(context, async ({ caller, server }) => {
    await mount(caller, "plugin-0");
    await pause(quick ? 0 : SETTLING_MS);
    const before = residentBytesOf(server.pid);
    const atRest = residentBytesOf(await pluginPid(caller));
    for (let i = 1; i <= mounts; i++) await mount(caller, `plugin-${i}`);
    for (let i = 1; i <= mounts; i++) await call(caller, "GET", `plugin-${i}/nothing`);
    await pause(quick ? 0 : SETTLING_MS);
    const each = (residentBytesOf(server.pid) - before) / mounts;
    const pid = await pluginPid(caller);
    const keeper = childOf(server.pid, "holdfast-keeper");
    const megabytes = (what: string, bytes: number, atMost: number) => ({
      what,
      unit: "MB",
      samples: [bytes / 1e6],
      budget: { atMost },
    });
    return {
      samples: [atRest / 1e6],
      also: [
        { what: `with ${mounts} mounts more`, unit: "MB", samples: [residentBytesOf(pid) / 1e6] },
        megabytes(`of the server, for each of ${mounts} mounts`, each, 1),
        ...(keeper === null ? [] : [megabytes("of the keeper", residentBytesOf(keeper), 3)]),
      ],
    };
  });
}

interface Rested {
  readonly millis: number;
  readonly megabytes: number;
}

/** In turns: with a catalog of plugins that nobody has mounted, and without anything of plugins. */
export async function unused(context: Context): Promise<Figures> {
  return await withFolder(async (folder) => {
    const [own, other] = [
      await prepared(context, "with", folder),
      await prepared(context, "without", null),
    ];
    const found = await rounds(context, async () => {
      const [a, b] = [await rested(context, own), await rested(context, other)];
      return { megabytes: a.megabytes - b.megabytes, millis: a.millis - b.millis, rest: b };
    });
    return {
      samples: found.map(({ megabytes }) => megabytes),
      also: [
        {
          what: "later ready",
          unit: "ms",
          samples: found.map(({ millis }) => millis),
          budget: { atMost: 50 },
        },
        {
          what: "without plugins: ready",
          unit: "ms",
          samples: found.map(({ rest }) => rest.millis),
        },
        {
          what: "without plugins: RSS",
          unit: "MB",
          samples: found.map(({ rest }) => rest.megabytes),
        },
      ],
    };
  });
}

interface Prepared {
  readonly directory: string;
  readonly config: string;
  readonly port: number;
  readonly key: string;
}

async function prepared(
  context: Context,
  name: string,
  folder: PluginFolder | null,
): Promise<Prepared> {
  const directory = join(context.directory, name);
  const data = join(directory, "data");
  mkdirSync(data, { recursive: true, mode: 0o700 });
  const [config, port] = [join(directory, "server.hcl"), await freePort()];
  writeFileSync(
    config,
    `data_dir = ${JSON.stringify(data)}
ui = false
storage "sqlite" {}
listener "tcp" {
  address = "127.0.0.1:${port}"
  tls_disable = true
}
${folder?.settings ?? ""}`,
  );
  const where = { directory, port, args: ["--config", config], ready: [] };
  return await withServer(where, async ({ url }) => {
    const shares = { secret_shares: 1, secret_threshold: 1 };
    const made = (await call({ url, headers: {} }, "PUT", "sys/init", shares)) as {
      keys: readonly string[];
      root_token: string;
    };
    const [key = ""] = made.keys;
    const caller: Caller = { url, headers: { "X-Service-Token": made.root_token } };
    await call(caller, "PUT", "sys/unseal", { key });
    if (folder !== null) {
      for (let i = 0; i < (context.quick ? 1 : REGISTERED); i++) {
        await register(caller, folder.sha256, `unused-${i}`);
      }
    }
    return { directory, config, port, key };
  });
}

async function rested(
  { quick }: Context,
  { directory, config, port, key }: Prepared,
): Promise<Rested> {
  const where = { directory, port, args: ["--config", config], ready: [] };
  return await withServer(where, async ({ url, pid, readyMillis }) => {
    const began = performance.now();
    await call({ url, headers: {} }, "PUT", "sys/unseal", { key });
    const millis = readyMillis + performance.now() - began;
    await pause(quick ? 0 : IDLE_MS);
    return { millis, megabytes: residentBytesOf(pid) / 1e6 };
  });
}
