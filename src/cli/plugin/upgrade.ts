// `holdfast plugin upgrade`: a new version beside the old one, tried, and then in the place of it wherever that runs. What
// was done is undone where a step fails.

import * as mounts from "@holdfast/client/api/mounts";
import * as plugins from "@holdfast/client/api/plugins";
import { ApiError } from "@holdfast/client/api-error";
import type { Client } from "@holdfast/client/client";
import { explain, Failure } from "@holdfast/shared/failure";
import { command, type Context } from "../command.ts";
import { flag } from "../line/flag.ts";
import { UsageError } from "../line/usage-error.ts";
import { NAME_ARGUMENT, type PLUGIN_TYPES, TYPE_ARGUMENT } from "./arguments.ts";
import { described, DESCRIBING_FLAGS, isDescribed } from "./described.ts";

type PluginType = (typeof PLUGIN_TYPES)[number];

/** What uses the plugin, and what it runs by now. */
interface User {
  readonly path: string;
  readonly namespace: string;
  /** That was asked for; empty: whichever is chosen. */
  readonly wanted: string;
  readonly version: string;
}

interface Plugin {
  readonly type: PluginType;
  readonly name: string;
}

export const pluginUpgrade = command({
  name: "plugin upgrade",
  summary: "Register a new version of a plugin, and have whatever runs it run that",
  description:
    "The new version is registered beside the old one and must start. Then each mount is moved to it, or, where a version is pinned or -pin is " +
    "given, the pin, and what runs is reloaded. Where a step fails all is as it was before. A version that is registered already needs no " +
    "flags that describe it. Needs the rights of register, info, pin and reload, and `update` on the mounts' tuning.",
  examples: [
    "holdfast plugin upgrade -version v1.3.0 -command totp-1.3.0 secret totp",
    "holdfast plugin upgrade -version v1.3.0 -pin secret totp",
  ],
  flags: {
    version: flag.string("The new version", "VERSION"),
    ...DESCRIBING_FLAGS,
    pin: flag.switch("Pin it for all, in place of tuning each mount"),
  },
  args: { type: TYPE_ARGUMENT, name: NAME_ARGUMENT },
  async run(context, { version, pin, type, name, ...flags }) {
    if (version === undefined) {
      throw new UsageError(
        "-version is missing: the old version stays until the new one runs",
        "give the version of the new one, such as -version v1.3.0",
      );
    }
    const { client } = context;
    const root = client.inRoot();
    const plugin = { type, name };
    const users = await usersOf(root, plugin);
    const pinned = await pinOf(root, plugin);
    const undo: (() => Promise<unknown>)[] = [];
    try {
      const now = isDescribed(flags)
        ? await registerNew(context, plugin, version, await described(context, name, flags), undo)
        : await registered(root, plugin, version);
      if (pin || pinned !== null || type === "database")
        await movePin(root, plugin, now, pinned, undo);
      else for (const user of users) await tune(client, user, now, undo);
      await report(context, plugin, users);
    } catch (error) {
      await undoAll(context, undo);
      throw error;
    }
    return 0;
  },
});

async function usersOf(root: Client, { type, name }: Plugin): Promise<User[]> {
  const { data } = await plugins.readPluginCatalog(root);
  const versions = data.detailed.filter(
    (one) => one.type === type && one.name === name && !one.builtin,
  );
  const users: User[] = [];
  for (const { version } of versions) {
    const found = await plugins.readPlugin(root, { type, name, version });
    // An empty version means whichever there is: only the one that was asked for is taken.
    if (found.data.version !== version) continue;
    const own = found.data.mounts ?? [];
    users.push(
      ...own.map(({ version: wanted, path, namespace }) => ({ path, namespace, wanted, version })),
    );
  }
  return users.toSorted((a, b) => (a.path < b.path ? -1 : 1));
}

async function pinOf(root: Client, plugin: Plugin): Promise<string | null> {
  try {
    return (await plugins.readPluginPin(root, plugin)).data.version;
  } catch (error) {
    if (error instanceof ApiError && error.status === 404) return null;
    throw error;
  }
}

async function registered(root: Client, plugin: Plugin, version: string): Promise<string> {
  try {
    return (await plugins.readPlugin(root, { ...plugin, version })).data.version;
  } catch (error) {
    if (!(error instanceof ApiError) || error.status !== 404) throw error;
    throw new UsageError(
      `${plugin.name} is not registered in version ${version}`,
      "say what it is, with -command or -oci-image",
    );
  }
}

async function registerNew(
  { client, out }: Context,
  plugin: Plugin,
  version: string,
  entry: Awaited<ReturnType<typeof described>>,
  undo: (() => Promise<unknown>)[],
): Promise<string> {
  const root = client.inRoot();
  const before = await plugins.readPlugin(root, { ...plugin, version }).catch((error: unknown) => {
    if (error instanceof ApiError && error.status === 404) return null;
    throw error;
  });
  if (before !== null) {
    throw new UsageError(
      `${plugin.name} is registered in version ${version} already, and what runs would change under it`,
      "give another -version, or nothing but the version to upgrade to the registered one",
    );
  }
  await plugins.registerPlugin(root, { ...plugin, ...entry, version, verify: true });
  undo.push(() => plugins.deletePlugin(root, { ...plugin, version }));
  out.hint(`Registered ${plugin.type} ${plugin.name} ${version}: it starts.`);
  return registered(root, plugin, version);
}

async function movePin(
  root: Client,
  plugin: Plugin,
  version: string,
  pinned: string | null,
  undo: (() => Promise<unknown>)[],
): Promise<void> {
  const quiet = root.unwatched();
  undo.push(() => plugins.reloadPlugin(quiet, plugin));
  undo.push(() =>
    pinned === null
      ? plugins.unpinPlugin(quiet, plugin)
      : plugins.pinPlugin(quiet, { ...plugin, version: pinned }),
  );
  await plugins.pinPlugin(root, { ...plugin, version });
  const { data } = await plugins.reloadPlugin(root, plugin);
  const failed = (data.mounts ?? []).filter(({ error }) => error !== "");
  if (failed.length === 0) return;
  const texts = failed.map(({ path, error }) => `${path}: ${error}`);
  throw new Failure("invalid", "plugin-not-reloaded", texts.join("; "));
}

async function tune(
  client: Client,
  { path, namespace, wanted }: User,
  version: string,
  undo: (() => Promise<unknown>)[],
): Promise<void> {
  const within = namespace === "" ? path : path.slice(namespace.length + 1);
  const there = client.inNamespace(namespace);
  const set = (to: string) =>
    within.startsWith("auth/")
      ? mounts.tuneAuthMethod(there, { path: within.slice("auth/".length), plugin_version: to })
      : mounts.tuneMount(there, { path: within, plugin_version: to });
  await set(version);
  undo.push(() => set(wanted));
}

async function report(
  { client, out }: Context,
  plugin: Plugin,
  before: readonly User[],
): Promise<void> {
  const after = await usersOf(client.inRoot(), plugin);
  const rows = before.map(({ path, version }) => {
    const now = after.find((user) => user.path === path)?.version ?? "";
    return [path, version || "none", now || "none"];
  });
  const data = rows.map(([mount = "", was = "", now = ""]) => ({ mount, before: was, now }));
  if (rows.length === 0 && out.forPeople) out.hint("Nothing runs it yet.");
  else await out.show(data, { columns: ["Mount", "Before", "Now"], rows, whole: ["Mount"] });
}

/** The last first. */
async function undoAll({ out }: Context, undo: readonly (() => Promise<unknown>)[]): Promise<void> {
  let isWhole = true;
  for (const step of undo.toReversed()) {
    try {
      await step();
    } catch (error) {
      isWhole = false;
      out.warn(`a step could not be undone: ${explain(error)}`);
    }
  }
  if (isWhole) out.hint("Nothing has changed: what was done was undone.");
}
