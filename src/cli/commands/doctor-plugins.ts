// `holdfast doctor plugins`: what runs plugins on this machine, and what to install.

import { loadConfig } from "../../config/load.ts";
import { examinePlugins } from "../../plugins/runners/examine.ts";
import { SystemChildProcesses } from "../../system/child-processes.ts";
import { SystemProgramFiles } from "../../system/program-files.ts";
import { SystemRandom } from "../../system/random.ts";
import { command } from "../command.ts";
import { flag } from "../line/flag.ts";
import { UsageError } from "../line/usage-error.ts";

export const doctorPlugins = command({
  name: "doctor plugins",
  summary: "Try on this machine what plugins are run by, and say what to install",
  description:
    "Run it where the server runs, as the server's user. It reads the server's configuration, asks no server, " +
    "runs a tiny image by each container runtime, and leaves nothing behind. Exit code 1 when something is wrong.",
  examples: [
    "holdfast doctor plugins -config /etc/holdfast",
    "HOLDFAST_CONFIG=/etc/holdfast holdfast doctor plugins -format json",
  ],
  withoutToken: true,
  flags: {
    config: flag.file("Configuration of the server, a file or a directory").repeated(),
  },
  args: {},
  async run({ env, fs, files: userFiles, out }, { config: named }) {
    const paths =
      named.length > 0 ? named : (env["HOLDFAST_CONFIG"] ?? "").split(":").filter(Boolean);
    if (paths.length === 0) {
      throw new UsageError("name the server's configuration with -config, or in HOLDFAST_CONFIG");
    }
    const { config } = await loadConfig({
      paths,
      env,
      files: fs,
      directory: userFiles.real("."),
      hostname: "localhost",
      lenient: true,
    });
    const { plugins, directories } = config;
    const children = new SystemChildProcesses();
    const findings = await examinePlugins({
      files: new SystemProgramFiles(),
      children,
      random: new SystemRandom(),
      machine: { platform: process.platform, arch: process.arch },
      directory: directories.plugins,
      fileOwner: plugins.fileOwner,
      filePermissions: plugins.filePermissions,
      temporary: plugins.tmpdir ?? "/tmp",
      user: plugins.user === null ? null : children.user(plugins.user),
      isolation: plugins.isolation,
      runtimes: plugins.ociRuntimes,
      socket: plugins.containerSocket,
    });
    await out.show(
      findings.map((finding) => ({ ...finding })),
      {
        columns: ["Check", "Result", "Found", "What to do"],
        unbroken: ["Found", "What to do"],
        rows: findings.map(({ check, result, found, next }) => [check, result, found, next || "–"]),
      },
    );
    return findings.some(({ result }) => result === "wrong") ? 1 : 0;
  },
});
