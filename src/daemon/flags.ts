// The command line of `holdfast server`. One dash or two, `--flag value` or `--flag=value`; what is
// not known is refused, with a guess.

import { parseArgs } from "node:util";
import { flagsInvalid as refused } from "./failures.ts";
import { isLoopback, parseHostPort } from "../config/address.ts";
import { nearest } from "../base/nearest.ts";
import type { Attachment } from "../plugins/ports.ts";
import { readReattach } from "./dev/reattach.ts";

export interface ServerFlags {
  readonly help: boolean;
  readonly config: readonly string[];
  readonly lenient: boolean;
  readonly validate: boolean;
  readonly logLevel: string | null;
  readonly dev: DevFlags | null;
}

export interface DevFlags {
  readonly address: string;
  readonly rootToken: string | null;
  readonly persist: string | null;
  readonly tls: boolean;
  /** Stand-ins for the clouds beside it. */
  readonly clouds: boolean;
  /** A second cluster that follows this one, and how. */
  readonly replica: DevReplicaKind | null;
  /** Files of plugins that are built, mounted and watched. */
  readonly plugins: readonly string[];
  /** With programs that are plugins, mounted and watched. */
  readonly pluginFolder: string | null;
  /** Plugins that run already, by name. */
  readonly attached: ReadonlyMap<string, Attachment>;
}

export function hasPlugins({ plugins, pluginFolder, attached }: DevFlags): boolean {
  return plugins.length > 0 || pluginFolder !== null || attached.size > 0;
}

export type DevReplicaKind = "dr" | "performance" | "four";

const OPTIONS = {
  help: { type: "boolean", short: "h" },
  config: { type: "string", multiple: true },
  "config-lenient": { type: "boolean" },
  validate: { type: "boolean" },
  "log-level": { type: "string" },
  dev: { type: "boolean" },
  "dev-root-token-id": { type: "string" },
  "dev-listen-address": { type: "string" },
  "dev-persist": { type: "string" },
  "dev-tls": { type: "boolean" },
  "dev-clouds": { type: "boolean" },
  "dev-replica": { type: "string" },
  "dev-plugin": { type: "string", multiple: true },
  "dev-plugin-dir": { type: "string" },
  "dev-plugin-reattach": { type: "string" },
  "dev-insecure-listen": { type: "boolean" },
} as const;

export const SERVER_USAGE = `Usage: holdfast server --config FILE-OR-DIRECTORY [--config …] [options]
       holdfast server --dev [options]

Runs a server until it is told to stop.

  --config PATH             a file, or a directory of *.hcl, *.json, *.yaml; may
                            be repeated
  --config-lenient          unknown keys are warnings, not errors
  --validate                check configuration, files, ports, certificates and
                            storage, then exit
  --log-level LEVEL         debug, info, warn, error or off

Development mode: initialised, unsealed, in memory, on loopback without TLS.
Never for real secrets.

  --dev                     run in development mode
  --dev-root-token-id TEXT  use this root token instead of a random one
  --dev-listen-address H:P  listen here instead of 127.0.0.1:8200
  --dev-persist DIR         keep data in DIR, and come up unsealed from it
  --dev-tls                 TLS with a certificate made for the occasion
  --dev-clouds              with stand-ins for both clouds, and engines that use
                            them (in a checkout)
  --dev-replica KIND        with a second cluster: dr follows this one, with the
                            commands of a failover; performance is another
                            region, which shares its data; four is that region
                            and one that stands in for each of the two
  --dev-plugin FILE         with a plugin in TypeScript, mounted at its name,
                            built and reloaded when it is saved; may be repeated
  --dev-plugin-dir DIR      with every program in DIR that is a plugin, mounted
                            at its file's name, reloaded when it is replaced
  --dev-plugin-reattach TEXT
                            with plugins that run already, in a debugger: the
                            JSON that they print when served in test mode
  --dev-insecure-listen     allow an address that other machines can reach

Examples:
  holdfast server --dev
  holdfast server --dev --dev-persist ~/holdfast-dev --dev-tls
  holdfast server --dev --dev-plugin-dir ./plugins
  holdfast server --config /etc/holdfast --validate
  holdfast server --config /etc/holdfast/holdfast.hcl --log-level debug

Exit codes: 0 normal, 1 failure at run time, 2 bad configuration or arguments,
3 storage in use.
`;

export function parseServerFlags(args: readonly string[]): ServerFlags {
  const values = parsed(args);
  const dev = values.dev === true ? devFlags(values) : null;
  if (dev === null) {
    const stray = Object.keys(values).find((name) => name.startsWith("dev-"));
    if (stray !== undefined) throw refused(`--${stray} needs --dev`);
  } else if (values.config !== undefined || values.validate === true) {
    throw refused("--dev goes without --config and --validate: it makes its own configuration");
  }
  return {
    help: values.help === true,
    config: values.config ?? [],
    lenient: values["config-lenient"] === true,
    validate: values.validate === true,
    logLevel: values["log-level"] ?? null,
    dev,
  };
}

type Parsed = ReturnType<typeof parsed>;

function parsed(args: readonly string[]) {
  // `-config` is how existing tools write it; only `-h` is a short flag of ours.
  const doubled = args.map((arg) => (/^-[a-z][a-z-]/.test(arg) ? `-${arg}` : arg));
  const known = Object.keys(OPTIONS);
  for (const arg of doubled) {
    const [, name] = /^--([^=]+)/.exec(arg) ?? [];
    if (name === undefined || known.includes(name)) continue;
    const guess = nearest(name, known);
    throw refused(
      `there is no flag --${name}${guess === null ? "" : `; did you mean --${guess}?`}`,
    );
  }
  try {
    return parseArgs({ args: doubled, options: OPTIONS, strict: true, allowPositionals: false })
      .values;
  } catch (error) {
    // Its first sentence says what is wrong; the rest is advice on writing such values.
    const text = error instanceof Error ? (error.message.split(". ")[0] ?? "") : "";
    throw refused(text.replace(/\n.*$/s, ""));
  }
}

function devFlags(values: Parsed): DevFlags {
  const address = values["dev-listen-address"] ?? "127.0.0.1:8200";
  const at = parseHostPort(address);
  if (at === null) throw refused("--dev-listen-address takes host:port, such as 127.0.0.1:8200");
  if (!isLoopback(at.host) && values["dev-insecure-listen"] !== true) {
    const why = "a development server gives everything to whoever reaches it";
    throw refused(
      `${address} can be reached by other machines: ${why}; if you mean it, add --dev-insecure-listen`,
    );
  }
  const rootToken = values["dev-root-token-id"] ?? null;
  // It travels in a header.
  if (rootToken !== null && !/^[\x21-\x7e]{1,512}$/.test(rootToken)) {
    throw refused("--dev-root-token-id takes 1 to 512 printable characters without blanks");
  }
  const persist = values["dev-persist"] ?? null;
  if (persist === "") throw refused("--dev-persist takes a directory");
  const [tls, clouds] = [values["dev-tls"] === true, values["dev-clouds"] === true];
  const replica = replicaOf(values);
  return { address, rootToken, persist, tls, clouds, replica, ...pluginsOf(values) };
}

const PLUGIN_FLAGS = ["dev-plugin", "dev-plugin-dir", "dev-plugin-reattach"] as const;

function pluginsOf(values: Parsed): Pick<DevFlags, "plugins" | "pluginFolder" | "attached"> {
  const plugins = values["dev-plugin"] ?? [];
  if (plugins.includes("")) throw refused("--dev-plugin takes a file");
  const pluginFolder = values["dev-plugin-dir"] ?? null;
  if (pluginFolder === "") throw refused("--dev-plugin-dir takes a directory");
  const reattach = values["dev-plugin-reattach"] ?? null;
  const attached = reattach === null ? new Map<string, Attachment>() : readReattach(reattach);
  const flag = PLUGIN_FLAGS.find((name) => values[name] !== undefined);
  if (flag !== undefined && values["dev-persist"] !== undefined) {
    throw refused(
      `--${flag} goes without --dev-persist: what was mounted of it would not be there`,
    );
  }
  return { plugins, pluginFolder, attached };
}

function replicaOf({
  "dev-replica": replica,
  "dev-persist": persist,
}: Parsed): DevReplicaKind | null {
  if (replica === undefined) return null;
  if (replica !== "dr" && replica !== "performance" && replica !== "four") {
    throw refused(
      "--dev-replica takes dr (disaster recovery), performance (another region) or four (both regions, each with one that stands in for it)",
    );
  }
  if (persist === undefined) return replica;
  throw refused("--dev-replica goes without --dev-persist: they lie in memory");
}
