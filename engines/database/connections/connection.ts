// A connection as it is stored: what a write makes of it, what a read shows, and what its plugin is handed.

import { jsonCodec } from "@holdfast/shared/codec";
import { isObject, type JsonObject, type JsonValue } from "@holdfast/shared/json/json";
import { reachesPrototype } from "@holdfast/shared/json/json-limits";
import { invalid, required } from "../failures.ts";

export const CONNECTIONS = "config/";
export const connectionKey = (name: string) => `${CONNECTIONS}${name}`;

export interface Connection {
  readonly version: 1;
  readonly plugin: string;
  /** As written; empty: whichever the catalog says. */
  readonly pluginVersion: string;
  /** Names of roles, with * at the end for all that begin so. */
  readonly allowedRoles: readonly string[];
  readonly rootRotationStatements: readonly string[];
  /** Empty: the built-in one. */
  readonly usernameTemplate: string;
  /** What the plugin is handed besides the password. */
  readonly details: JsonObject;
  readonly password: string;
  /** That a rotation was about to set, or has set: one of the two works. */
  readonly nextPassword: string | null;
  /** Seconds since 1970; null: somebody else has made the password. */
  readonly rotatedAt: number | null;
  /** As the plugin says. */
  readonly secretFields: readonly string[];
  /** Bytes; 0: the plugin does not say. */
  readonly maxUsername: number;
  /** It is being deleted: its leases end first. */
  readonly isEnding: boolean;
}

export const connectionCodec = jsonCodec<Connection>();

export interface ConnectionChange {
  readonly pluginName?: string | undefined;
  readonly pluginVersion?: string | undefined;
  readonly allowedRoles?: readonly string[] | undefined;
  readonly rootRotationStatements?: readonly string[] | undefined;
  readonly usernameTemplate?: string | undefined;
  readonly password?: string | undefined;
  /** connection_url, username, and whatever else the plugin takes. */
  readonly details: JsonObject;
}

const EMPTY: Connection = {
  version: 1,
  plugin: "",
  pluginVersion: "",
  allowedRoles: [],
  rootRotationStatements: [],
  usernameTemplate: "",
  details: {},
  password: "",
  nextPassword: null,
  rotatedAt: null,
  secretFields: [],
  maxUsername: 0,
  isEnding: false,
};

const MAX_DETAILS = 64;
const DETAIL = /^[A-Za-z0-9_.-]{1,128}$/;

/** What is left out stays as it is. */
export function changedConnection(stored: Connection | null, change: ConnectionChange): Connection {
  const before = stored ?? EMPTY;
  const isNewPassword = change.password !== undefined && change.password !== before.password;
  const after: Connection = {
    ...before,
    plugin: change.pluginName ?? before.plugin,
    pluginVersion: change.pluginVersion ?? before.pluginVersion,
    allowedRoles: change.allowedRoles ?? before.allowedRoles,
    rootRotationStatements: change.rootRotationStatements ?? before.rootRotationStatements,
    usernameTemplate: change.usernameTemplate ?? before.usernameTemplate,
    details: { ...before.details, ...change.details },
    password: change.password ?? before.password,
    nextPassword: isNewPassword ? null : before.nextPassword,
    rotatedAt: isNewPassword ? null : before.rotatedAt,
    isEnding: false, // who writes it wants it
  };
  check(after);
  if (stored !== null) checkMoved(stored, after, change);
  return after;
}

function check(connection: Connection): void {
  const { plugin, details, password } = connection;
  if (plugin === "") throw required("plugin_name");
  const names = Object.keys(details);
  if (names.length > MAX_DETAILS) {
    throw invalid(
      "connection-invalid",
      `a connection has at most ${MAX_DETAILS} fields of its plugin`,
    );
  }
  for (const name of names) {
    if (DETAIL.test(name) && !reachesPrototype(name)) continue;
    const message = "names of fields have 1 to 128 letters, digits and the characters _ . -";
    throw invalid("connection-invalid", message);
  }
  for (const [name, value] of Object.entries(details)) {
    if (typeof value === "string" && holdsPassword(value, password)) {
      throw invalid(
        "connection-invalid",
        `${name} holds a password, which reads would show: put {{username}} and {{password}} there, ` +
          "and give them in username and password",
      );
    }
  }
}

const PLACEHOLDER = /^\{\{\s*\.?[Pp]assword\s*\}\}/;

/** Whether the text of an address has a password in it, in one of the forms that addresses have. */
function holdsPassword(text: string, password: string): boolean {
  if (password.length >= 6 && text.includes(password)) return true;
  const found = [
    ...text.matchAll(/(?:^|\/\/)[^/@:\s]*:([^/\s]*)@/g), // scheme://name:password@host, name:password@tcp(host)
    ...readable(text).matchAll(
      /(?:^|[\s?&;,])(?:ssl)?(?:password|passwd|pwd)\s*=\s*("[^"]*"|'[^']*'|[^\s&;,]+)/gi,
    ),
  ];
  return found.some(([, value = ""]) => {
    const bare = value.replace(/^["']|["']$/g, "");
    return bare !== "" && !PLACEHOLDER.test(bare);
  });
}

/** Names of parameters may be written in bytes. */
function readable(text: string): string {
  return text.replace(/%([2-7][0-9A-Fa-f])/g, (_all, hex: string) =>
    String.fromCharCode(Number.parseInt(hex, 16)),
  );
}

/** Whoever may write and does not know the password must not have it sent elsewhere. */
function checkMoved(before: Connection, after: Connection, change: ConnectionChange): void {
  if (after.password === "" || change.password !== undefined || !isElsewhere(before, after)) return;
  throw invalid(
    "connection-invalid",
    "the stored password was not given for this place: give password in the same write",
  );
}

/** How a connection is used, and not where it leads. */
const NOT_A_PLACE: ReadonlySet<string> = new Set([
  "username",
  "max_open_connections",
  "max_idle_connections",
  "max_connection_lifetime",
  "password_authentication",
  "disable_escaping",
  "connect_timeout",
]);

/** Whether it may lead to another database than before: then what was made there is not found here. */
export function isElsewhere(before: Connection, after: Connection): boolean {
  if (before.plugin !== after.plugin) return true;
  const names = new Set([...Object.keys(before.details), ...Object.keys(after.details)]);
  for (const name of names) {
    if (NOT_A_PLACE.has(name) || isSecretName(name) || name.startsWith("tls_")) continue;
    if (placeOf(before.details[name]) !== placeOf(after.details[name])) return true;
  }
  return false;
}

/** Of an address, what comes before its parameters. */
function placeOf(value: JsonValue | undefined): string {
  if (typeof value !== "string") return JSON.stringify(value ?? null);
  const [, address] = /^([a-z][a-z0-9+.-]*:\/\/[^?#]*)/i.exec(value) ?? [];
  const place = address ?? value;
  const hosts = [...readable(value).matchAll(/[?&](host|hostaddr|port|dbname|service)=([^&#]*)/gi)];
  return address === undefined ? place : [place, ...hosts.map(([all]) => all)].join(" ");
}

/** What is a secret by its name, whatever a plugin says. */
function isSecretName(name: string): boolean {
  return /(?:^|_)(?:password|passwd|pwd|secret|token|private_key|credentials|service_account_json|certificate_key)$/i.test(
    name,
  );
}

/** Without any secret. */
export function openDetails({ details, secretFields, usernameTemplate }: Connection): JsonObject {
  const hidden = new Set(secretFields);
  const members = openOf(details, hidden);
  return usernameTemplate === "" ? members : { ...members, username_template: usernameTemplate };
}

function openOf(details: JsonObject, hidden: ReadonlySet<string>): JsonObject {
  const open = Object.entries(details).filter(([name]) => !hidden.has(name) && !isSecretName(name));
  return Object.fromEntries(
    open.map(([name, value]) => [
      name,
      value !== undefined && isObject(value) ? openOf(value, hidden) : value,
    ]),
  );
}

/** What its plugin is handed. */
export function configOf({ details, password }: Connection, chosen: string = password): JsonObject {
  return chosen === "" ? details : { ...details, password: chosen };
}

/** What must not come back in anybody's words. */
export function secretsOf({ details, password, nextPassword, secretFields }: Connection): string[] {
  const fields = Object.entries(details).flatMap(([name, value]) =>
    typeof value === "string" && (isSecretName(name) || secretFields.includes(name)) ? [value] : [],
  );
  return [password, nextPassword ?? "", ...fields].filter((text) => text !== "");
}

export function usernameOf({ details }: Connection): string {
  const { username } = details;
  return typeof username === "string" ? username : "";
}

export function allows({ allowedRoles }: Connection, role: string): boolean {
  return allowedRoles.some((allowed) =>
    allowed.endsWith("*") ? role.startsWith(allowed.slice(0, -1)) : role === allowed,
  );
}
