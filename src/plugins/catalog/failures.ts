// Every way the catalog refuses. What a caller gave, and nobody has registered, is told to that caller alone: it may be a
// secret in the wrong place, and messages are logged and audited.

import { Failure } from "@holdfast/shared/failure";
import { someNames } from "@holdfast/shared/text/some-names";
import type { PluginType } from "../ports.ts";

/**
 * @code plugin-version-invalid A version of a plugin is not a semantic version that can be registered.
 * @remedy Give one such as v1.2.0.
 */
export function versionMalformed(text: string): Failure {
  return unknown(
    "plugin-version-invalid",
    (extra) =>
      `version${extra(` ${quoted(text)}`)} is not a valid semantic version: expected up to three numbers, ` +
      "such as v1.2.0, 1.2 or 1.2.0-rc.1",
  );
}

export function versionReserved(version: string): Failure {
  return unknown(
    "plugin-version-invalid",
    (extra) =>
      `version${extra(` ${quoted(version)}`)} is not allowed because 'builtin' is a reserved metadata ` +
      "identifier",
  );
}

/**
 * @code plugin-name-invalid The name of a plugin is not valid.
 * @remedy Keep to what the text says.
 */
export function nameInvalid(): Failure {
  const message =
    "the name of a plugin must have 1 to 128 lower-case letters, digits, dots, dashes or " +
    "underscores, and begin with a letter or digit";
  return new Failure("invalid", "plugin-name-invalid", message);
}

/**
 * @code plugin-path-outside A name or a command leads out of the plugin directory.
 * @remedy Name a file in the plugin directory itself.
 */
export function parentReference(): Failure {
  const message = "path cannot contain parent references";
  return new Failure("invalid", "plugin-path-outside", message);
}

/**
 * @code plugin-unknown There is no such plugin in the catalog.
 * @remedy List the catalog, and register the plugin.
 */
export function notInCatalog(name: string, version = ""): Failure {
  const which = version === "" ? name : `${name}, version=${version}`;
  return unknown(
    "plugin-unknown",
    (extra) => `plugin not found in the catalog${extra(`: ${which}`)}`,
  );
}

/**
 * @code plugin-not-registered There is no such plugin in the catalog to be read.
 * @remedy List the catalog.
 */
export function noSuchPlugin(): Failure {
  return new Failure("not-found", "plugin-not-registered", "no such plugin", { texts: [] });
}

/**
 * @code plugin-version-needed Several versions of the plugin are registered, and none was named.
 * @remedy Name one with `version`.
 */
export function versionNeeded(name: string, versions: readonly string[]): Failure {
  const message = `${name} is registered in several versions: give version, one of ${someNames(versions)}`;
  return new Failure("invalid", "plugin-version-needed", message);
}

/**
 * @code plugin-version-builtin A version that is built in cannot be deleted or pinned.
 * @remedy Leave it; register a plugin of the same name without a version to have that in its place.
 */
export function builtInKept(version: string): Failure {
  return unknown(
    "plugin-version-builtin",
    (extra) => `version${extra(` ${quoted(version)}`)} cannot be deleted`,
  );
}

export function builtInNotPinned(version: string): Failure {
  return unknown(
    "plugin-version-builtin",
    (extra) => `version${extra(` ${quoted(version)}`)} is built in and cannot be pinned`,
  );
}

/**
 * @code plugin-pinned The version is pinned.
 * @remedy Delete the pin first, or pin another version.
 */
export function pinnedKept(): Failure {
  return new Failure("invalid", "plugin-pinned", "cannot delete a pinned version");
}

/**
 * @code plugin-not-pinned No version of the plugin is pinned.
 * @remedy List the pins.
 */
export function notPinned(): Failure {
  const message = "no pinned version for this plugin";
  return new Failure("not-found", "plugin-not-pinned", message);
}

/**
 * @code plugin-pin-unversioned A pin names a version.
 * @remedy Give version.
 */
export function pinUnversioned(): Failure {
  const message = "version must name the version to pin, such as v1.2.0";
  return new Failure("invalid", "plugin-pin-unversioned", message);
}

/**
 * @code plugin-declared The plugin is declared in the configuration file.
 * @remedy Change it there and reload the server.
 */
export function pluginDeclared(type: PluginType, name: string): Failure {
  const message = `${type} ${name} is declared in the configuration file and can be changed only there`;
  return new Failure("invalid", "plugin-declared", message);
}

export function declaredTwice(version: string): Failure {
  const message = `it is declared twice, in version ${version || "none"}`;
  return new Failure("invalid", "plugin-declared", message);
}

/**
 * @code plugin-too-many There are as many plugins, versions of one or runtimes as there may be.
 * @remedy Delete one first.
 */
export function tooManyPlugins(max: number): Failure {
  const message = `there are ${max} registered plugins already, which is the most; delete one first`;
  return new Failure("invalid", "plugin-too-many", message);
}

export function tooManyVersions(max: number): Failure {
  const message = `${max} versions of the plugin are registered already, which is the most; delete one first`;
  return new Failure("invalid", "plugin-too-many", message);
}

export function tooManyRuntimes(max: number): Failure {
  const message = `there are ${max} runtimes already, which is the most; delete one first`;
  return new Failure("invalid", "plugin-too-many", message);
}

/**
 * @code plugin-runtime-name-invalid The name of a plugin runtime is not valid.
 * @remedy Keep to what the text says.
 */
export function runtimeNameInvalid(): Failure {
  const message =
    "the name of a plugin runtime must have 1 to 128 letters, digits, underscores, dots or dashes, " +
    "no two dots together, and begin and end with a letter, digit or underscore";
  return new Failure("invalid", "plugin-runtime-name-invalid", message);
}

/**
 * @code plugin-runtime-unknown There is no such plugin runtime.
 * @remedy List the runtimes, and register it.
 */
export function runtimeUnknown(name: string): Failure {
  return unknown(
    "plugin-runtime-unknown",
    (extra) =>
      `specified plugin runtime${extra(` ${quoted(name)}`)}, but failed to retrieve config: there is no such runtime`,
  );
}

/**
 * @code plugin-runtime-not-registered There is no such plugin runtime to be read or deleted.
 * @remedy List the runtimes.
 */
export function noSuchRuntime(): Failure {
  return new Failure("not-found", "plugin-runtime-not-registered", "plugin runtime not found");
}

/**
 * @code plugin-runtime-used Registered plugins need the runtime.
 * @remedy Delete them first, or register them with another runtime.
 */
export function runtimeUsed(name: string, plugins: readonly string[]): Failure {
  const message = `unable to delete ${quoted(name)} runtime. Registered plugins=[${plugins.join(" ")}] are referencing it.`;
  return new Failure("invalid", "plugin-runtime-used", message);
}

/**
 * @code plugin-sum-invalid The sum of a plugin is missing, or is none.
 * @remedy Give `sha256`: what `sha256sum FILE` prints, 64 digits with letters in lower case.
 */
export function sumMissing(): Failure {
  return new Failure("invalid", "plugin-sum-invalid", "must provide sha256");
}

export function sumMalformed(sum: string, why: string): Failure {
  return unknown(
    "plugin-sum-invalid",
    (extra) => `could not decode SHA256 value from hex${extra(` ${quoted(sum)}`)}: ${why}`,
  );
}

/**
 * @code plugin-command-invalid What a plugin is to be started by cannot be that.
 * @remedy Keep to what the text says.
 */
export function commandMissing(): Failure {
  const message = "must provide at least one of command or oci_image";
  return new Failure("invalid", "plugin-command-invalid", message);
}

export function argsTwice(): Failure {
  const message = "must not specify args in command and args field";
  return new Failure("invalid", "plugin-command-invalid", message);
}

export function argsRefused(why: string): Failure {
  return new Failure("invalid", "plugin-command-invalid", `args: ${why}`);
}

export function envRefused(why: string): Failure {
  return new Failure("invalid", "plugin-command-invalid", why);
}

export function commandRefused(why: string): Failure {
  const message = `command must be the name of a file in the plugin directory: ${why}`;
  return new Failure("invalid", "plugin-command-invalid", message);
}

export function imageMissing(): Failure {
  const message = "network is for a plugin with oci_image or runtime";
  return new Failure("invalid", "plugin-command-invalid", message);
}

export function imageMalformed(): Failure {
  const message =
    "oci_image must be the name of an image, without a tag and without a sum, such as " +
    "team/plugin or registry.example:5000/team/plugin; which one it is says sha256";
  return new Failure("invalid", "plugin-command-invalid", message);
}

export function outsideDirectory(command: string): Failure {
  return unknown(
    "plugin-path-outside",
    (extra) =>
      `cannot execute files outside of configured plugin directory${extra(`, such as ${quoted(command)}`)}: give the name of a file in it`,
  );
}

/**
 * @code plugin-directory-unset A plugin without an image is registered where no plugin directory is configured.
 * @remedy Set `plugin_directory` in the configuration, and restart.
 */
export function directoryUnset(): Failure {
  const message = "could not set plugin, plugin directory is not configured: set plugin_directory";
  return new Failure("invalid", "plugin-directory-unset", message);
}

/**
 * @code plugin-file-unfit The file of a plugin that is registered would not be run.
 * @remedy Put the program itself into the plugin directory, owned by the server's user, with mode 0755 or stricter.
 */
export function fileUnfit(why: string, options?: ErrorOptions): Failure {
  const message = `error while validating the command path: ${why}`;
  return new Failure("invalid", "plugin-file-unfit", message, options);
}

/**
 * @code plugin-version-mismatch A plugin says of itself that it has another version than the one it is registered as.
 * @remedy Register it with the version that it reports, or put the right file there.
 */
export function versionMismatch(reported: string, requested: string): Failure {
  const message = `plugin version mismatch: the plugin reports version ${quoted(reported)}, and ${quoted(requested)} was requested`;
  return new Failure("invalid", "plugin-version-mismatch", message);
}

/**
 * @code plugin-not-verified A plugin was to be registered only if it can be started, and it cannot.
 * @remedy Mend what the text says, or register it without `verify`.
 */
export function notVerified(finding: string, output: readonly string[]): Failure {
  return new Failure("invalid", "plugin-not-verified", finding, { texts: [finding, ...output] });
}

/**
 * @code plugin-image-not-started The image of a plugin that is registered could not be run.
 * @remedy Mend what the text says; `holdfast doctor plugins` tells which runtimes work here.
 */
export function imageNotStarted(finding: string, output: readonly string[]): Failure {
  const texts = [finding, ...output];
  return new Failure("invalid", "plugin-image-not-started", finding, { texts });
}

/**
 * @code plugin-reload-invalid It does not say what is to be reloaded, or what it names has nothing to reload.
 * @remedy Give either `plugin` or `mounts`, and mounts that run a plugin.
 */
export function reloadUnclear(): Failure {
  const message = "must provide exactly one of plugin or mounts";
  return new Failure("invalid", "plugin-reload-invalid", message);
}

export function notReloadable(paths: readonly string[]): Failure {
  return unknown(
    "plugin-reload-invalid",
    (extra) =>
      `no plugin runs at ${extra(someNames(paths)) || "such a path"}: give the paths of mounts of plugins, from the root namespace on`,
  );
}

/**
 * @code plugin-not-reloaded None of the mounts could be reloaded: what they ran before goes on.
 * @remedy Mend what the text says, and reload again.
 */
export function notReloaded(causes: readonly string[]): Failure {
  return new Failure("invalid", "plugin-not-reloaded", causes.join("; "), { texts: causes });
}

/**
 * @code plugin-reload-unknown There is no such reload, or it was too long ago.
 * @remedy Give the `reload_id` of an answer; reloads are remembered for a day.
 */
export function noSuchReload(): Failure {
  return new Failure("not-found", "plugin-reload-unknown", "no such reload");
}

/**
 * @code plugin-runtime-invalid A plugin runtime cannot be as it was described.
 * @remedy Keep to what the text says.
 */
export function runtimeInvalid(why: string): Failure {
  return new Failure("invalid", "plugin-runtime-invalid", why);
}

/**
 * @code plugin-runtime-type-unknown There is no such type of plugin runtimes.
 * @remedy Use the one that the text names.
 */
export function runtimeTypeUnknown(type: string, known: string): Failure {
  return unknown(
    "plugin-runtime-type-unknown",
    (extra) =>
      `${extra(`${quoted(type)} `)}is not a supported plugin runtime type; there is ${known}`,
  );
}

/** What `extra` adds is for the caller, and for nobody else. */
function unknown(code: string, text: (extra: (words: string) => string) => string): Failure {
  const texts = [text((words) => words)];
  return new Failure(
    "invalid",
    code,
    text(() => ""),
    { texts },
  );
}

/** Of what a caller sent: shortened, and without what would break a line. */
function quoted(text: string): string {
  return JSON.stringify(text.length > 100 ? `${text.slice(0, 99)}…` : text);
}
