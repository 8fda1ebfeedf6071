// What settings say of plugins, and what does not go together.

import { isAbsolute } from "node:path";
import type { Making } from "./build.ts";
import type { DeclaredPlugin, PluginConfig } from "./config.ts";
import { type Place, showPlace } from "./problem.ts";
import type { Settled } from "./schema.ts";
import type { SETTINGS } from "./settings.ts";

type Top = Settled<typeof SETTINGS>;
type Key = keyof typeof SETTINGS;

const NAME = /^[a-z0-9][a-z0-9_.-]{0,127}$/;
const USER = /^(?:[a-z_][a-z0-9_-]{0,31}|[0-9]{1,10})$/;
const ROOT = /^(?:root|0+)$/;
const RUNTIME = /^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$/;

export function pluginsOf(top: Top, path: (file: string) => string, making: Making): PluginConfig {
  const { values } = top;
  const complain = (key: Key, text: string) =>
    making.problems.push({ place: top.place(key) ?? making.whole, text: `"${key}": ${text}` });
  const orNull = (file: string | null) => (file === null ? null : path(file));
  const user = values.plugin_user;
  if (user !== null && (!USER.test(user) || ROOT.test(user))) {
    complain("plugin_user", "expected the name or number of a user, and not root");
  }
  const ociRuntimes = values.plugin_oci_runtimes;
  if (!ociRuntimes.every(isRuntime) || hasTwice(ociRuntimes.map(lastPart))) {
    const text = "expected names such as runc, or whole paths, each with another name at its end";
    complain("plugin_oci_runtimes", text);
  }
  const withoutMultiplexing = values.plugin_no_multiplexing;
  if (!withoutMultiplexing.every((name) => NAME.test(name))) {
    complain("plugin_no_multiplexing", "expected names of plugins");
  }
  return {
    fileOwner: values.plugin_file_uid,
    filePermissions: values.plugin_file_permissions,
    tmpdir: orNull(values.plugin_tmpdir),
    user,
    isolation: values.plugin_isolation,
    inheritEnv: values.plugin_inherit_env,
    ociRuntimes,
    withoutMultiplexing,
    databaseTimeout: values.plugin_database_timeout,
    containerSocket: orNull(values.container_socket),
    declared: declaredOf(top, making),
  };
}

function declaredOf({ values }: Top, making: Making): DeclaredPlugin[] {
  const places = new Map<string, Place>();
  return values.plugin.map(({ type, name, place, body }) => {
    const complain = (text: string) => making.problems.push({ place, text });
    const { command, image, version, sha256, args, env, runtime, network } = body.values;
    if (!NAME.test(name) || name.includes("..")) {
      complain("the name of a plugin has lower-case letters, digits, dots, dashes and underscores");
    }
    if (command === null && image === null) complain("a plugin needs command or image");
    if (image === null && values.plugin_directory === null) {
      complain("a plugin with a command needs plugin_directory");
    }
    if (image === null && runtime === null && network === "host") {
      complain("network is for a plugin with an image or a runtime");
    }
    if (sha256 === null || !/^[0-9a-f]{64}$/.test(sha256)) {
      complain("a plugin needs sha256: 64 digits, with letters in lower case");
    }
    const key = `${type} ${name} ${version ?? ""}`;
    const before = places.get(key);
    if (before !== undefined) {
      complain(`the plugin is there already, in this version: ${showPlace(before)}`);
    }
    places.set(key, place);
    return {
      type,
      name,
      version: version ?? "",
      sha256: sha256 ?? "",
      command: command ?? "",
      args,
      env,
      ociImage: image ?? "",
      runtime: runtime ?? "",
      network,
    };
  });
}

function isRuntime(text: string): boolean {
  if (!text.includes("/")) return RUNTIME.test(text);
  return isAbsolute(text) && RUNTIME.test(lastPart(text)) && !text.split("/").includes("..");
}

function lastPart(text: string): string {
  return text.slice(text.lastIndexOf("/") + 1);
}

function hasTwice(names: readonly string[]): boolean {
  return new Set(names).size < names.length;
}
