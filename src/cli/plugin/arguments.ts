// What commands on plugins have in common on the command line.

import { argument } from "../line/argument.ts";
import { flag } from "../line/flag.ts";

export const PLUGIN_TYPES = ["auth", "database", "secret"] as const;

export const TYPE_ARGUMENT = argument.oneOf(
  PLUGIN_TYPES,
  "Kind of plugin: auth, database or secret",
);
export const NAME_ARGUMENT = argument.required("Name of the plugin, as mounts call it");
export const VERSION_FLAG = { version: flag.string("Which version, such as v1.2.0", "VERSION") };
