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
