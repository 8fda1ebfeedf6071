// Every way this engine refuses, and how it tells what a plugin has said. A plugin's words are for the caller alone: they
// stand in what is answered, and in no message that is logged or kept in an audit record.

import { DatabaseError } from "@holdfast/plugin-sdk/database";
import { Failure } from "@holdfast/shared/failure";
import { scrubbed } from "@holdfast/shared/text/scrubbed";

const MAX_WORDS = 1000;

/**
 * @code connection-invalid The configuration of a database connection cannot be used.
 * @remedy Correct the field that the text names.
 * @code role-invalid-database A role of a database mount cannot be kept as it is.
 * @remedy Correct the field that the text names.
 */
export function invalid(code: string, message: string): Failure {
  return new Failure("invalid", code, message);
}

export function fieldInvalid(message: string): Failure {
  return invalid("field-invalid", message);
}

export function required(field: string): Failure {
  return new Failure("invalid", "field-missing", `${field} is required`);
}

export function unsupportedPath(): Failure {
  return new Failure("not-found", "unsupported-path", "unsupported path");
}

export function notFound(): Failure {
  return new Failure("not-found", "not-found", "nothing is stored here", { texts: [] });
}

export function noRole(name: string): Failure {
  return new Failure("invalid", "creds-role-unknown", `role ${JSON.stringify(name)} not found`);
}

/**
 * @code connection-unknown A database connection of that name was never written.
 * @remedy Write it to config/NAME of the mount; LIST config shows those that there are.
 */
export function noConnection(name: string): Failure {
  const message = `connection ${JSON.stringify(name)} not found: write it to config/${name} first`;
  return new Failure("invalid", "connection-unknown", message);
}

/**
 * The same for work that nobody asks for: it is tried again when somebody has written it.
 * @code connection-gone The database connection that something was made with is not there any more.
 * @remedy Write a connection of the same name to the same database: what was made is then ended.
 */
export function connectionGone(name: string): Failure {
  const message = `connection ${JSON.stringify(name)} is not there any more, and what was made with it cannot be ended`;
  return new Failure("upstream", "connection-gone", message);
}

/**
 * @code plugin-unknown-database The database plugin of a connection is not in the catalog.
 * @remedy Register it at sys/plugins/catalog/database/NAME first, or name one that is there.
 */
export function noPlugin(name: string, version: string): Failure {
  const which = version === "" ? "" : ` of version ${version}`;
  const message = `plugin_name: there is no database plugin ${JSON.stringify(name)}${which} in the catalog`;
  return new Failure("invalid", "plugin-unknown-database", message);
}

/**
 * @code database-version-pinned A version was asked for of a database plugin of which one is pinned for all.
 * @remedy Leave plugin_version out, or remove the pin (sys/plugins/pins/database/NAME).
 */
export function versionPinned(name: string, version: string): Failure {
  const message = `cannot specify plugin_version for database plugin ${JSON.stringify(name)}, as it is pinned to version ${version}`;
  return new Failure("invalid", "database-version-pinned", message);
}

/**
 * @code role-not-allowed The connection does not list the role in allowed_roles.
 * @remedy Add the role to allowed_roles of the connection, or "*".
 */
export function roleNotAllowed(role: string, connection: string): Failure {
  const message = `role ${JSON.stringify(role)} is not in allowed_roles of connection ${JSON.stringify(connection)}`;
  return new Failure("invalid", "role-not-allowed", message);
}

/**
 * @code connection-in-use Roles or live leases use the database connection.
 * @remedy End what the text names first, or delete with force=true, which ends it.
 */
export function connectionInUse(message: string): Failure {
  return new Failure("invalid", "connection-in-use", message);
}

/**
 * @code connection-ending The database connection is being deleted: its leases end first.
 * @remedy Wait, or delete it again with force=true to see what is left.
 */
export function connectionEnding(name: string): Failure {
  const message = `connection ${JSON.stringify(name)} is being deleted: nothing is made with it any more`;
  return new Failure("invalid", "connection-ending", message);
}

/**
 * @code connection-not-ended Some leases of a database connection that is being deleted have not ended yet.
 * @remedy Mend what keeps them (LIST sys/leases/lookup shows why), then delete again with force=true.
 */
export function notEndedYet(message: string): Failure {
  return new Failure("upstream", "connection-not-ended", message);
}

/**
 * @code static-user-fixed A static role cannot change the user or the connection that it manages.
 * @remedy Delete the static role and make another.
 */
export function userFixed(field: string): Failure {
  const message = `${field} of a static role is fixed: delete the role and make another`;
  return new Failure("invalid", "static-user-fixed", message);
}

/**
 * @code static-user-managed Another static role or the connection itself manages this user.
 * @remedy Use that one, or delete it first.
 */
export function userManaged(username: string, by: string): Failure {
  const message = `user ${JSON.stringify(username)} is already managed by ${by}`;
  return new Failure("invalid", "static-user-managed", message);
}

/**
 * @code static-password-unknown The password of a static role is not known here yet.
 * @remedy Rotate it once (POST rotate-role/NAME), or write self_managed_password.
 */
export function passwordUnknown(name: string): Failure {
  const message = `the password of static role ${JSON.stringify(name)} is not known: it was never rotated here`;
  return new Failure("invalid", "static-password-unknown", message);
}

/**
 * @code root-not-rotatable The connection has no user and password of its own that could be rotated.
 * @remedy Write username and password to its configuration.
 */
export function noRoot(): Failure {
  const message = "rotate-root needs username and password in the configuration of the connection";
  return new Failure("invalid", "root-not-rotatable", message);
}

/**
 * @code username-not-made No user name could be made by the template of the connection.
 * @remedy Correct username_template of config/NAME.
 */
export function nameUnusable(message: string): Failure {
  return new Failure("invalid", "username-not-made", message);
}

export function templateInvalid(message: string): Failure {
  return new Failure("invalid", "template-invalid", message);
}

/**
 * @code database-refused The database, or its plugin, has refused what was asked of it.
 * @remedy Read its words in the answer; correct the statements, the configuration or the rights of its user.
 */
function refused(message: string, texts: readonly string[]): Failure {
  return new Failure("invalid", "database-refused", message, { texts });
}

/**
 * @code database-unsupported The database has no such thing, as its plugin says.
 * @remedy Use a credential_type that the plugin offers.
 */
function unsupported(message: string, texts: readonly string[]): Failure {
  return new Failure("invalid", "database-unsupported", message, { texts });
}

/**
 * @code database-unreachable The database gave no answer to its plugin, or the plugin none to the server.
 * @remedy See that both run, then try again.
 */
function unreachable(message: string, texts: readonly string[]): Failure {
  return new Failure("upstream", "database-unreachable", message, { texts });
}

/**
 * @code database-failed The database plugin has failed and does not say why in a way that a server could tell.
 * @remedy Read its words in the answer.
 */
function failed(message: string, texts: readonly string[]): Failure {
  return new Failure("upstream", "database-failed", message, { texts });
}

/** In words for whoever asks or reads, without any of these secrets. */
export function wordsOf({ words }: DatabaseError, secrets: readonly string[]): string {
  return scrubbed(words, secrets, MAX_WORDS);
}

/** What a caller is told of an error of a connection; every other error as it is. `step` is what was being done, in our
 *  words. */
export function errorForCaller(
  error: unknown,
  step: string,
  secrets: readonly string[] = [],
): unknown {
  if (!(error instanceof DatabaseError)) return error;
  const { fate, reason } = error;
  const texts = [`${step}: ${wordsOf(error, secrets)}`];
  if (fate !== "answered" || reason === "unreachable") {
    const who = fate === "answered" ? "the database gave no answer" : error.message;
    return unreachable(`${step}: ${who}`, texts);
  }
  if (reason === "unknown") return failed(`${step}: the plugin failed`, texts);
  if (reason === "unsupported") return unsupported(`${step}: the plugin does not offer it`, texts);
  return refused(`${step}: the database refused`, texts);
}

/** The same where an answer that says no more than that it failed is a fault of what was written. */
export function errorOfConfig(error: unknown, step: string, secrets: readonly string[]): unknown {
  if (error instanceof DatabaseError && error.fate === "answered" && error.reason === "unknown") {
    return refused(`${step}: the plugin refused`, [`${step}: ${wordsOf(error, secrets)}`]);
  }
  return errorForCaller(error, step, secrets);
}

/** Whether it had surely no effect. */
export function isHarmless(error: unknown): boolean {
  if (error instanceof Failure) return true; // nothing was sent
  if (!(error instanceof DatabaseError)) return false;
  if (error.fate === "unsent") return true;
  return error.fate === "answered" && error.reason !== "unknown" && error.reason !== "unreachable";
}

export function optionUnknown(name: string): Failure {
  const message = `unknown option ${JSON.stringify(name)}: a mount of databases has none`;
  return new Failure("invalid", "unknown-option", message);
}
