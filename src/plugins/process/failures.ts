// Every way in which starting and calling processes of plugins refuses.

import { Failure } from "@holdfast/shared/failure";
import { SECOND } from "@holdfast/shared/text/duration";
import type { Nanos } from "@holdfast/shared/world";

/**
 * @code plugin-file-refused The file of a plugin is not one that is run: it is missing, a link, writable by others, or no program.
 * @remedy Put the program itself into the plugin directory, owned by the server's user, with mode 0755 or stricter.
 */
export function fileRefused(command: string, why: string, options?: ErrorOptions): Failure {
  return new Failure("upstream", "plugin-file-refused", `plugin file ${command}: ${why}`, options);
}

/**
 * @code plugin-sum-mismatch The file of a plugin has another sum than the one that is registered.
 * @remedy Put the registered file back, or register the new one with its own sum.
 */
export function sumMismatch(command: string, registered: string, found: string): Failure {
  return new Failure(
    "upstream",
    "plugin-sum-mismatch",
    `checksums did not match: plugin file ${command} has SHA-256 ${found}, and ${registered} is registered`,
  );
}

export const NOT_STARTED = "plugin-start-failed";

/**
 * @code plugin-start-failed A plugin was started and did not become ready.
 * @remedy The text says how far it came; its last lines are in the server's log under plugin.NAME.
 */
export function notStarted(
  name: string,
  why: string,
  options?: ErrorOptions & { readonly texts?: readonly string[] },
): Failure {
  const message = `plugin "${name}" could not be started: ${why}`;
  return new Failure("upstream", NOT_STARTED, message, options);
}

/**
 * @code plugin-waiting A plugin failed several times in a row, and is started again after a pause.
 * @remedy Try again after the time in `Retry-After`; the text says why it failed last.
 */
export function waiting(name: string, cause: string, wait: Nanos): Failure {
  const retryAfter = Math.max(1, Number((wait + SECOND - 1n) / SECOND));
  return new Failure(
    "unavailable",
    "plugin-waiting",
    `plugin "${name}" failed and is started again in ${retryAfter} s at the earliest: ${cause}`,
    { retryAfter },
  );
}

/**
 * @code plugin-directory-missing A plugin is to be started where no plugin directory is configured.
 * @remedy Set plugin_directory in the configuration of this cluster.
 */
export function noDirectory(): Failure {
  return new Failure(
    "upstream",
    "plugin-directory-missing",
    "the plugin directory is not configured: set plugin_directory",
  );
}

/**
 * @code plugin-processes-closed The server is about to stop, or its keys are gone: no plugin is started.
 * @remedy Send it again when the server is unsealed.
 */
export function processesClosed(): Failure {
  return new Failure(
    "unavailable",
    "plugin-processes-closed",
    "no plugin is started while the server stops or is sealed",
  );
}

/**
 * @code plugin-tmpdir-unfit Sockets of plugins cannot be made where plugin_tmpdir says.
 * @remedy Name a short directory of the server's own, such as /run/holdfast.
 */
export function temporaryUnfit(why: string, options?: ErrorOptions): Failure {
  return new Failure("unavailable", "plugin-tmpdir-unfit", `plugin_tmpdir: ${why}`, options);
}

/**
 * @code plugin-containers-missing A plugin with an image is to be started where no containers are run.
 * @remedy Name a runtime in plugin_oci_runtimes and install it.
 */
export function noContainers(): Failure {
  return new Failure(
    "upstream",
    "plugin-containers-missing",
    "plugins with an image are run in containers, which are not configured here: set plugin_oci_runtimes",
  );
}
