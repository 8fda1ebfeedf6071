// Every way in which the engine of a plugin refuses. What a plugin writes is for its caller alone (`texts`): logs and audit
// have only our word for it.

import { Failure, type FailureKind, type FailureOptions } from "@holdfast/shared/failure";

const MAX_TEXTS = 16;
const MAX_TEXT = 4096;

/** Without what would break a line, and not without end. */
function bounded(texts: readonly string[]): string[] {
  return texts
    .slice(0, MAX_TEXTS)
    .map((text) => (text.length > MAX_TEXT ? `${text.slice(0, MAX_TEXT)}…` : text));
}

/**
 * @code plugin-refused A plugin has refused the request; the text is its own.
 * @remedy Read the text; what the plugin accepts, its own documentation says.
 */
export function refusedByPlugin(
  kind: FailureKind,
  texts: readonly string[],
  options?: FailureOptions,
): Failure {
  const message = `the plugin has refused the request (${kind})`;
  return new Failure(kind, "plugin-refused", message, { ...options, texts: bounded(texts) });
}

/**
 * @code plugin-failed A plugin could not do what it was asked; the text is its own.
 * @remedy Read the text, and the plugin's lines in the server's log under plugin.NAME.
 */
export function failedInPlugin(kind: FailureKind, texts: readonly string[]): Failure {
  return new Failure(kind, "plugin-failed", `the plugin has failed (${kind})`, {
    texts: bounded(texts),
  });
}

/**
 * @code plugin-exited A plugin ended while it worked on the request. Whether it was done is not known.
 * @remedy Look whether it was done, then send it again: the next request starts the plugin.
 */
export function exited(name: string, cause: string): Failure {
  return new Failure("upstream", "plugin-exited", `plugin "${name}" exited: ${cause}`);
}

/**
 * @code plugin-broken A plugin answered with something that is no answer.
 * @remedy Read the text; mend the plugin.
 */
export function broken(name: string, why: string, options?: ErrorOptions): Failure {
  return new Failure("upstream", "plugin-broken", `plugin "${name}" ${why}`, options);
}

/**
 * @code plugin-slow A plugin did not answer in time.
 * @remedy Look at what it does; one that does not answer at all is ended and started again.
 */
export function slow(name: string, what: string): Failure {
  return new Failure(
    "timed-out",
    "plugin-slow",
    `plugin "${name}" did not answer in time: ${what}`,
  );
}

/**
 * @code plugin-busy More requests wait for a plugin than there may be.
 * @remedy Send it again a moment later.
 */
export function busy(name: string): Failure {
  return new Failure("unavailable", "plugin-busy", `too many requests wait for plugin "${name}"`);
}

/**
 * @code plugin-missing No plugin of this name is registered, or not in this version.
 * @remedy Register it, or that version of it; then reload the mount.
 */
export function notInCatalog(name: string, version: string): Failure {
  const which = version === "" ? name : `${name}, version=${version}`;
  return new Failure("upstream", "plugin-missing", `plugin not found in the catalog: ${which}`);
}

/**
 * @code plugin-setup-failed A plugin was started and does not take the settings of its mount; the text is its own.
 * @remedy Read the text, and the plugin's lines in the server's log; mend the options of the mount.
 */
export function notSetUp(name: string, why: string, options?: ErrorOptions): Failure {
  return new Failure(
    "upstream",
    "plugin-setup-failed",
    `plugin "${name}" could not be set up: ${why}`,
    options,
  );
}

/**
 * @code plugin-of-other-kind A plugin says that it is of another kind than the one that it is registered as.
 * @remedy Register it as what it is.
 */
export function ofOtherKind(name: string, kind: string, wanted: string): Failure {
  const message = `cannot mount "${name}" of type "${kind}" as ${wanted === "auth" ? "an auth method" : "a secret backend"}`;
  return new Failure("upstream", "plugin-of-other-kind", message);
}

/**
 * @code plugin-version-pinned A version was asked for of a plugin of which one is pinned for all.
 * @remedy Leave `plugin_version` out, or remove the pin.
 */
export function pinnedElsewhere(kind: string, name: string, version: string): Failure {
  const message = `cannot specify plugin_version for ${kind} plugin "${name}", as it is pinned to version ${version}`;
  return new Failure("invalid", "plugin-version-pinned", message);
}

/**
 * @code plugin-nothing-there The plugin has nothing at this path.
 * @remedy List what there is.
 */
export function nothingThere(): Failure {
  return new Failure("not-found", "plugin-nothing-there", "the plugin has nothing there", {
    texts: [],
  });
}

/**
 * @code plugin-answer-too-large A plugin answered with more than requests may have.
 * @remedy Have it answer in pages, or raise `max_request_size`: an answer may have four times that.
 */
export function answerTooLarge(name: string, bytes: number, max: number): Failure {
  const message = `plugin "${name}" answered with ${bytes} bytes; an answer may have ${max}, four times max_request_size`;
  return new Failure("upstream", "plugin-answer-too-large", message);
}

/**
 * @code plugin-raw-not-wrapped The plugin answers with something that is no JSON, which is kept for nobody.
 * @remedy Ask for it without X-Service-Wrap-TTL.
 */
export function rawNotWrapped(): Failure {
  const message = "this answer of the plugin is no JSON and cannot be wrapped";
  return new Failure("invalid", "plugin-raw-not-wrapped", message);
}

/**
 * @code plugin-closed The engine of the mount is closed: it is disabled, reloaded, or the server seals.
 * @remedy Send it again.
 */
export function closed(): Failure {
  return new Failure("unavailable", "plugin-closed", "the engine of the mount is closed");
}
