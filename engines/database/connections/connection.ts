// A connection as it is stored: what a write makes of it, what a read shows, and what its plugin is handed.

import { jsonCodec } from "@holdfast/shared/codec";
import { isObject, type JsonObject, type JsonValue } from "@holdfast/shared/json/json";
import { reachesPrototype } from "@holdfast/shared/json/json-limits";
import { invalid, required } from "../failures.ts";
import { holdsPassword, isSecretName, passwordIn } from "./passwords-in-text.ts";
import { isHandledOtherwise, secretsMoved } from "./places.ts";

export const CONNECTIONS = "config/";
export const connectionKey = (name: string) => `${CONNECTIONS}${name}`;

export interface Connection {
  readonly version: 1;
  readonly plugin: string;
  /** That was asked for, in its one form; empty: whichever the catalog says. */
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
  const after: Connection = {
    ...before,
    plugin: change.pluginName ?? before.plugin,
    pluginVersion: change.pluginVersion ?? before.pluginVersion,
    allowedRoles: change.allowedRoles ?? before.allowedRoles,
    rootRotationStatements: change.rootRotationStatements ?? before.rootRotationStatements,
    usernameTemplate: change.usernameTemplate ?? before.usernameTemplate,
    details: { ...before.details, ...change.details },
    password: change.password ?? before.password,
    isEnding: false, // who writes it wants it
  };
  check(after);
  if (stored !== null) checkMoved(stored, after, change);
  if (change.password === undefined) return after;
  if (change.password !== before.password) return { ...after, nextPassword: null, rotatedAt: null };
  // Who knows the old one need not know what a rotation was about to set.
  return isHandledOtherwise(before, after) ? { ...after, nextPassword: null } : after;
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
    const found = isSecretName(name) ? null : passwordIn(value, name, password);
    if (found === null) continue;
    throw invalid(
      "connection-invalid",
      `${found} holds a password, which reads would show: put {{username}} and {{password}} there, ` +
        "and give them in username and password",
    );
  }
}

/** Whoever may write and does not know a secret must not have it sent elsewhere. */
function checkMoved(before: Connection, after: Connection, change: ConnectionChange): void {
  const moved = secretsMoved(before, after, change);
  if (moved.length === 0) return;
  throw invalid(
    "connection-invalid",
    `what is stored of ${moved.join(", ")} was not given for this configuration, which may send it elsewhere or in another ` +
      `way: give ${moved.join(", ")} in the same write`,
  );
}

/** Without any secret. */
export function openDetails({ details, secretFields, usernameTemplate }: Connection): JsonObject {
  const hidden = new Set(secretFields);
  const members = openOf(details, hidden);
  return usernameTemplate === "" ? members : { ...members, username_template: usernameTemplate };
}

function openOf(details: JsonObject, hidden: ReadonlySet<string>): JsonObject {
  const open = Object.entries(details).filter(
    ([name, value]) =>
      !hidden.has(name) &&
      !isSecretName(name) &&
      (typeof value !== "string" || !holdsPassword(value, "")),
  );
  return Object.fromEntries(open.map(([name, value]) => [name, openIn(value, hidden)]));
}

function openIn(value: JsonValue | undefined, hidden: ReadonlySet<string>): JsonValue | undefined {
  if (Array.isArray(value)) {
    return (value as readonly JsonValue[])
      .filter((one) => typeof one !== "string" || !holdsPassword(one, ""))
      .map((one) => openIn(one, hidden) ?? null);
  }
  return value !== undefined && isObject(value) ? openOf(value, hidden) : value;
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
