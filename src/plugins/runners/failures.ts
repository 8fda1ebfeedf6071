// Every way in which runners refuse.

import { Failure } from "@holdfast/shared/failure";

/**
 * @code plugin-cannot-run The system did not start the file of a plugin.
 * @remedy Read the reason in the text. Copies of plugins must lie where files may be executed (no `noexec`).
 */
export function cannotRun(name: string, why: string, options?: ErrorOptions): Failure {
  const which = name === "" ? "plugins" : `plugin "${name}"`;
  return new Failure("upstream", "plugin-cannot-run", `${which} cannot be run: ${why}`, options);
}

/**
 * @code plugin-sandbox-missing plugin_isolation wants a sandbox that does not work here.
 * @remedy Install bubblewrap and let the server's user make namespaces, or set plugin_isolation to "auto" or "none".
 */
export function sandboxMissing(why: string): Failure {
  return new Failure(
    "upstream",
    "plugin-sandbox-missing",
    `plugin_isolation is "bwrap", which does not work here: ${why}`,
  );
}

/**
 * @code plugin-runtime-not-allowed A plugin runtime names a program that this server does not run containers with.
 * @remedy Add its name to plugin_oci_runtimes and restart, or have the runtime name one that is there.
 */
export function runtimeNotAllowed(name: string, allowed: readonly string[]): Failure {
  const known = allowed.length === 0 ? "nothing" : allowed.join(", ");
  return new Failure(
    "upstream",
    "plugin-runtime-not-allowed",
    `oci_runtime ${JSON.stringify(name.slice(0, 64))} is not among plugin_oci_runtimes, which has ${known}`,
  );
}

/**
 * @code plugin-runtime-missing The program that is to run a container is not on this machine. No other one takes its place.
 * @remedy Install its package, or set oci_runtime of the plugin runtime to one that is installed. `holdfast doctor plugins` tells.
 */
export function runtimeMissing(name: string, place: string, fromPackage: string): Failure {
  const where = place.startsWith("/") ? `at ${place}` : "on this machine";
  return new Failure(
    "upstream",
    "plugin-runtime-missing",
    `the container runtime ${name} is not there ${where}: install the package ${fromPackage}, or set oci_runtime of the plugin runtime to another one of plugin_oci_runtimes`,
  );
}

/**
 * @code plugin-runtime-unfit A container cannot be run as its runtime asks for on this machine. Nothing weaker is run instead.
 * @remedy The text names what is missing.
 */
export function runtimeUnfit(name: string, why: string, options?: ErrorOptions): Failure {
  return new Failure(
    "upstream",
    "plugin-runtime-unfit",
    `plugin "${name}" cannot be run in a container: ${why}`,
    options,
  );
}

export const NO_CGROUP =
  "its cgroup_parent is no whole path of letters, digits, dots, dashes and slashes";
