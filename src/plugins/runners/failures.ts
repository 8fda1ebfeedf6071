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
