// Settings of plugins: where their files are, who they run as, and which are registered by this file.

import { duration, flag, list, listOr, octal, oneOf, text, userNumber } from "./fields.ts";
import { blocks, section } from "./schema.ts";

const declared = {
  command: text(
    "Name of the program in `plugin_directory`, or with `image` a program in that",
    "none",
    {
      reloads: true,
    },
  ),
  image: text("Name of an OCI image without a tag: it is run in a container", "none", {
    reloads: true,
  }),
  version: text("Its semantic version", "none", { reloads: true }),
  sha256: text("SHA-256 of the program, or of the configuration of the image: 64 digits", "–", {
    reloads: true,
  }),
  args: list("Arguments", "none", { reloads: true }),
  env: list("Variables of its environment, each `NAME=value`; never shown", "none", {
    reloads: true,
    hides: true,
  }),
  runtime: text(
    "Plugin runtime that the image is run by; a file with one of `bwrap` is run in that sandbox, within its limits",
    "of an image `runsc`, without limits",
    {
      reloads: true,
    },
  ),
  network: oneOf("Network of the container or sandbox", ["none", "host"], "none", {
    reloads: true,
  }),
};

export const PLUGIN_SETTINGS = {
  plugin_directory: text(
    "Directory of the files of plugins; apart from all that the server writes, and closed to writing by others",
    "none: no plugin is run as a process",
  ),
  plugin_file_uid: userNumber(
    "Number of the user that files of plugins and their directory may belong to beside the server's own",
    "none",
  ),
  plugin_file_permissions: octal(
    "Permissions that files of plugins and their directory may have; writing by others is refused unless it is among them",
    0o755,
  ),
  plugin_tmpdir: text(
    "Directory for the sockets of plugins; its path must be short",
    "the run-time directory of the service, else `/tmp`",
  ),
  plugin_user: text(
    "User that plugins run as, by name or number, where the server runs as root",
    "the server's own",
  ),
  plugin_isolation: oneOf(
    "Whether a plugin without an image runs in a sandbox: where bubblewrap works, always (else it is not started), or never",
    ["auto", "bwrap", "none"],
    "auto",
  ),
  plugin_inherit_env: flag(
    "Plugins get the whole environment of the server, with whatever secrets are in it",
    false,
  ),
  plugin_oci_runtimes: listOr(
    "Container runtimes that plugin runtimes may name: programs on the system path, or whole paths, known by their last part",
    ["runsc", "crun", "runc"],
  ),
  plugin_no_multiplexing: list("Names of plugins that get a process for each mount", "none"),
  plugin_database_timeout: duration(
    "For a plugin for databases to say what kind it is of, and to close a connection",
    "1s",
    { from: "100ms", to: "1m" },
  ),
  container_socket: text(
    "Socket of a container engine that runs images, in place of a runtime of its own",
    "none",
  ),
  plugin: blocks(
    "Plugins that are registered by this file, and by it alone; the second label is the name",
    { labels: 2, repeat: "each" },
    {
      auth: section("An auth method", declared),
      database: section("A database", declared),
      secret: section("A secrets engine", declared),
    },
  ),
};
