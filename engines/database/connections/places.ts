// Where a connection leads, and what decides how its secrets go there. Judged is what runs: texts with the login in its places.

import type { JsonValue } from "@holdfast/shared/json/json";
import type { Connection, ConnectionChange } from "./connection.ts";
import { isSecretName } from "./passwords-in-text.ts";

/** How much a connection is used. Whatever else a plugin takes may say where a secret goes, and how. */
const AMOUNTS: readonly string[] = [
  "max_open_connections",
  "max_idle_connections",
  "max_connection_lifetime",
];

/**
 * Secrets that are kept, that a change does not give anew, and that might go elsewhere or in another way by it: whoever may
 * write and does not know them must not have them sent to a place of their choice. Any change counts, also one that looks
 * harmless: a user name may hold a host, and modes and certificates say who may listen. Which version of its plugin it is does
 * not: each was registered by somebody who may have everything.
 */
export function secretsMoved(
  before: Connection,
  after: Connection,
  change: ConnectionChange,
): string[] {
  if (!isHandledOtherwise(before, after)) return [];
  const kept = Object.keys(before.details).filter(
    (name) => isSecretName(name) || before.secretFields.includes(name),
  );
  return [
    ...(after.password !== "" && change.password === undefined ? ["password"] : []),
    ...kept.filter((name) => !isEmpty(after.details[name]) && !Object.hasOwn(change.details, name)),
  ];
}

/** Whether anything has changed by which a secret could go elsewhere, or in another way. */
export function isHandledOtherwise(before: Connection, after: Connection): boolean {
  const handling = ({ plugin, details, rootRotationStatements }: Connection) => {
    const fields = Object.entries(details).filter(([name]) => !AMOUNTS.includes(name));
    // Statements of a rotation are handed the next password.
    return asText([plugin, rootRotationStatements, fields.toSorted(byName)]);
  };
  return handling(before) !== handling(after);
}

/** Whether what is open serves the one as it does the other. */
export function isOpenedSo(before: Connection, after: Connection): boolean {
  const opened = ({ plugin, pluginVersion, details }: Connection) =>
    asText([plugin, pluginVersion, Object.entries(details).toSorted(byName)]);
  return opened(before) === opened(after);
}

const asText = (value: unknown) => JSON.stringify(value ?? null);

function byName([a]: readonly [string, unknown], [b]: readonly [string, unknown]): number {
  return a < b ? -1 : Number(a > b);
}

function isEmpty(value: JsonValue | undefined): boolean {
  return value === undefined || value === null || value === "";
}

/** How a connection is used, and not where it leads. */
const NOT_A_PLACE: readonly string[] = [
  ...AMOUNTS,
  "username", // as far as it stands in no address
  "disable_escaping",
  "password_authentication",
  "connect_timeout",
];

/** Whether it may lead to another database than before: then what was made there is not found here. */
export function isElsewhere(before: Connection, after: Connection): boolean {
  if (before.plugin !== after.plugin) return true;
  const names = new Set([...Object.keys(before.details), ...Object.keys(after.details)]);
  for (const name of names) {
    if (NOT_A_PLACE.includes(name) || isSecretName(name) || name.startsWith("tls_")) continue;
    const was = placeOf(before.details[name], before);
    if (was !== placeOf(after.details[name], after)) return true;
  }
  return false;
}

const USERNAME = /\{\{\s*\.?(?:user)?name\s*\}\}/gi;
const PASSWORD = /\{\{\s*\.?password\s*\}\}/gi;
const ADDRESS = /^([a-z][a-z0-9+.-]*:\/\/)(?:[^/?#@]*@)?([^?#]*)(?:\?([^#]*))?([^]*)$/i;
/** With a value that no reader could take for a host. */
const NO_PLACE = /^(?:ssl[a-z]*|tls[a-z]*|connect_timeout|application_name)=[^@]*$/i;

/** What says where, with the login filled in as plugins do it: one that stays in its own place is no part of it. */
function placeOf(value: JsonValue | undefined, { details, password }: Connection): string {
  if (typeof value !== "string") return asText(value);
  const { username, disable_escaping: raw } = details;
  const user = typeof username === "string" ? username : "";
  const isRaw = raw === true || raw === "true";
  const put = (text: string) => (isRaw ? text : encodeURIComponent(text.toWellFormed()));
  const fill = (text: string) =>
    text.replaceAll(USERNAME, () => put(user)).replaceAll(PASSWORD, () => put(password));
  const address = ADDRESS.exec(fill(value));
  if (address === null) return asText([fill(withoutLogin(value, isRaw ? user + password : ""))]);
  const [, scheme, hosts = "", query = "", rest] = address;
  const parameters = query.split("&").filter((one) => !NO_PLACE.test(one));
  const isNamed = /\/./.test(hosts); // else its database is often the one of the user's name
  return asText([scheme, hosts, parameters, rest, isNamed ? "" : user]);
}

/** Of pairs, and of name:password@host; as it is where what is put there could end it. */
function withoutLogin(text: string, raw: string): string {
  if (!/^[\w.~-]*$/.test(raw)) return text;
  return text
    .replaceAll(/\b((?:user(?: ?id| ?name)?|uid) *= *)'?\{\{\s*(?:user)?name\s*\}\}'?/gi, "$1")
    .replaceAll(/\b((?:password|pwd) *= *)'?\{\{\s*password\s*\}\}'?/gi, "$1")
    .replace(/^\{\{\s*(?:user)?name\s*\}\}:\{\{\s*password\s*\}\}@/i, "@");
}
