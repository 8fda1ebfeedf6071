// `holdfast server`: from arguments to an exit code. 0 normal, 1 failure at run time, 2 bad
// configuration or arguments, 3 the storage is in use by another process.

import { describe, OwnError } from "@holdfast/shared/failure";
import { isForbidden } from "../base/forbidden.ts";
import { type Loaded, loadConfig, type Sources } from "../config/load.ts";
import { ConfigFailure, showProblem } from "../config/problem.ts";
import { type DevPlace, prepareDev } from "./dev/dev-mode.ts";
import { parseServerFlags, SERVER_USAGE, type ServerFlags } from "./flags.ts";
import { FollowedFiles } from "./followed-files.ts";
import { refusals } from "./hardening.ts";
import { BAD_CONFIGURATION, complain, start, type HostServices } from "./process-life.ts";
import { directoryProblems } from "./places.ts";
import { withdrawToken } from "./token-file.ts";
import { Signals } from "./signals.ts";
import { showFindings, validate } from "./checks/validation.ts";

export async function runServer(args: readonly string[], around: HostServices): Promise<number> {
  const { host, world } = around;
  const signals = new Signals(host, world.clock);
  let flags: ServerFlags;
  try {
    flags = parseServerFlags(args);
  } catch (error) {
    return complain(host, `${describe(error)}\nSee holdfast server --help.`, BAD_CONFIGURATION);
  }
  if (flags.help) {
    host.out(SERVER_USAGE);
    return 0;
  }
  const refused = refusals(host, flags.dev !== null);
  if (refused.length > 0) return complain(host, refused.join("\n"), BAD_CONFIGURATION);
  if (flags.dev === null) {
    // What the system refuses is no mistake of ours: it is told in words, and never by a stack.
    return runConfigured(flags, signals, around).catch((error: unknown) => {
      if (!(error instanceof OwnError)) throw error;
      return complain(host, describe(error), isForbidden(error) ? BAD_CONFIGURATION : 1);
    });
  }

  let place: DevPlace | null = null;
  try {
    place = await prepareDev(flags.dev, host, world);
    return await runConfigured(flags, signals, around, place);
  } catch (error) {
    return complain(host, describe(error), 1);
  } finally {
    place?.clouds?.stop();
    withdrawToken(world.fs, host);
    if (place?.temporary === true) host.removeTemporary(place.directory);
    const plugins = place?.plugins ?? null;
    if (plugins !== null) host.removeTemporary(plugins.temporary);
    for (const { directory } of place?.replica?.clusters ?? []) host.removeTemporary(directory);
  }
}

async function runConfigured(
  flags: ServerFlags,
  signals: Signals,
  around: HostServices,
  place?: DevPlace,
): Promise<number> {
  const { host, world } = around;
  const sources = sourcesOf(flags, around, place);
  const files = sources.files;
  if (sources.paths.length === 0 && place === undefined) {
    const text = "say which configuration: --config FILE, or --dev for a server to try things with";
    return complain(host, `${text}\nSee holdfast server --help.`, BAD_CONFIGURATION);
  }
  let loaded: Loaded;
  try {
    loaded = await loadConfig(sources);
  } catch (error) {
    if (!(error instanceof ConfigFailure)) throw error;
    const problems = error.problems.map(showProblem).join("\n");
    if (!flags.validate) return complain(host, problems, BAD_CONFIGURATION);
    host.out(
      showFindings(
        error.problems.map((problem) => ({
          check: "configuration",
          result: "FAIL",
          note: showProblem(problem),
        })),
        host.columns,
      ),
    );
    return BAD_CONFIGURATION;
  }
  if (flags.validate) {
    const findings = await validate(loaded, { host, world, files });
    host.out(showFindings(findings, host.columns));
    return findings.some(({ result }) => result === "FAIL") ? BAD_CONFIGURATION : 0;
  }
  const wrong = directoryProblems(loaded.config, host, world.fs);
  if (wrong.length > 0) return complain(host, wrong.join("\n"), BAD_CONFIGURATION);
  const { dev: devFlags } = flags;
  const dev = devFlags === null || place === undefined ? null : { flags: devFlags, place };
  return start({ signals, around, sources, loaded, dev });
}

function sourcesOf(flags: ServerFlags, { host, world }: HostServices, place?: DevPlace): Sources {
  const fromEnvironment = (host.env["HOLDFAST_CONFIG"] ?? "").split(":").filter(Boolean);
  const level = flags.logLevel;
  const overrides =
    level === null ? [] : [["log_level", { name: "--log-level", text: level }] as const];
  // Dev mode is what its flags say: variables for a real server must not reach into it.
  const {
    HOLDFAST_DATA_DIR: _dir,
    HOLDFAST_API_ADDR: _api,
    HOLDFAST_CLUSTER_ADDR: _cluster,
    ...rest
  } = host.env;
  return {
    paths: place !== undefined ? [] : flags.config.length > 0 ? flags.config : fromEnvironment,
    inline: place === undefined ? undefined : { name: "--dev", text: place.document },
    flags: new Map(overrides),
    env: place === undefined ? host.env : rest,
    files: new FollowedFiles(world.fs, host),
    directory: host.directory,
    hostname: host.hostname,
    lenient: flags.lenient,
  };
}
