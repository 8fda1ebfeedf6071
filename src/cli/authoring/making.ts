// `holdfast plugin new` and `plugin build`: for whoever writes one.

import { basename, resolve } from "node:path";
import { buildPlugin } from "../../system/bundle/program.ts";
import { command } from "../command.ts";
import { argument } from "../line/argument.ts";
import { flag } from "../line/flag.ts";
import { UsageError } from "../line/usage-error.ts";
import { makeProject } from "./project-files.ts";
import { newProject } from "./new-project.ts";

const NAME = /^[a-z][a-z0-9-]{0,62}$/;

export const pluginNew = command({
  name: "plugin new",
  summary: "Make a folder with a plugin to begin with",
  description:
    "An engine that counts, with its test, in TypeScript. The folder's name is that of the plugin. Nothing is installed: the SDK is that of " +
    "this program.",
  examples: ["holdfast plugin new doorbell"],
  flags: {},
  args: { folder: argument.required("Folder to make; its last part is the plugin's name") },
  async run({ out }, { folder }) {
    const name = basename(resolve(folder));
    if (!NAME.test(name)) {
      throw new UsageError(
        "the folder's name must be small letters, digits and -, as a plugin's name",
      );
    }
    makeProject(folder, newProject(name));
    out.hint(`Try it:    cd ${folder} && npm test`);
    out.hint(`Build it:  holdfast plugin build ${name}.ts`);
    out.done(`Success! Made ${folder}.`);
  },
  withoutToken: true,
});

export const pluginBuild = command({
  name: "plugin build",
  summary: "Make a plugin in TypeScript one file that a server can run",
  description:
    "The default export of FILE is the type of engine. The file that is made holds all of its modules and needs no other; it runs with the server's " +
    "own runtime. Packages of others are bundled into FILE before.",
  examples: [
    "holdfast plugin build doorbell.ts",
    "holdfast plugin build -out dist/doorbell.mjs doorbell.ts",
  ],
  flags: { out: flag.string("File to make. Default: FILE with .mjs at its end", "FILE") },
  args: { file: argument.required("File with the plugin") },
  async run({ files, out }, { file, out: to }) {
    const source = files.real(file);
    const path = resolve(to ?? `${basename(file).replace(/\.(?:m?ts|m?js)$/, "")}.mjs`);
    if (path === source)
      throw new UsageError("the file to make is the one to make it of; name another with -out");
    const { type, kind, version, bytes, sha256 } = buildPlugin(source, path);
    const command = basename(path);
    const register = `holdfast plugin register -sha256=${sha256} -command=${command} ${kind} ${type}`;
    await out.show(
      { file: path, type, kind, version, bytes, sha256, register },
      {
        pairs: [
          ["File", path],
          ["Plugin", `${kind} ${type} ${version}`],
          ["SHA-256", sha256],
        ],
      },
    );
    out.hint(`Put the file into the server's plugin directory, and register it: \`${register}\``);
  },
  withoutToken: true,
});
