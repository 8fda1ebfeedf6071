// The configuration of a connection, read once: where the database is, as whom it is logged in to, and how much of it is used.

import type { ConnectionOptions } from "node:tls";
import { isRawNumber, type JsonObject, type JsonValue } from "@holdfast/shared/json/json";
import { parseDuration, SECOND } from "@holdfast/shared/text/duration";
import { type Address, readAddress } from "./address.ts";
import { readCertificates } from "./certificates.ts";
import { refuse } from "./refusal.ts";

export interface Settings {
  readonly hosts: readonly string[];
  readonly ports: readonly number[];
  readonly database: string;
  readonly username: string;
  readonly password: string;
  readonly ssl: "prefer" | false | ConnectionOptions;
  /** Of PostgreSQL itself: application_name, options. */
  readonly parameters: Readonly<Record<string, string>>;
  readonly session: SessionKind | null;
  /** In seconds. */
  readonly connectsWithin: number;
  readonly maxOpen: number;
  readonly maxIdle: number;
  /** In seconds; 0: as long as it works. */
  readonly maxLifetime: number;
  readonly authentication: "scram-sha-256" | "password";
}

const SESSIONS = ["read-write", "primary"] as const;
type SessionKind = (typeof SESSIONS)[number];

const FIELDS = [
  "connection_url",
  "username",
  "password",
  "max_open_connections",
  "max_idle_connections",
  "max_connection_lifetime",
  "password_authentication",
  "disable_escaping",
  "tls_ca",
  "tls_certificate",
  "private_key",
];
/** Given by hosts whatever the plugin does with it: names are made by them. */
const IGNORED = ["username_template"];

const SSL_MODES = ["disable", "allow", "prefer", "require", "verify-ca", "verify-full"] as const;
type SslMode = (typeof SSL_MODES)[number];
const PARAMETERS = [
  "host",
  "port",
  "dbname",
  "user",
  "password",
  "sslmode",
  "sslrootcert",
  "connect_timeout",
  "application_name",
  "options",
  "target_session_attrs",
];

const MAX_OPEN = 4;
const UPPER_OPEN = 100;
const CONNECTS_WITHIN = 10;
const PORT = 5432;

export function readSettings(config: JsonObject): Settings {
  for (const name of Object.keys(config)) {
    if (FIELDS.includes(name) || IGNORED.includes(name)) continue;
    throw refuse(
      `${name} is not known to the plugin for PostgreSQL, which takes ${FIELDS.join(", ")}`,
    );
  }
  const url = textOf(config, "connection_url");
  if (url === "") throw refuse("connection_url is required");
  const username = textOf(config, "username");
  const password = textOf(config, "password");
  const isRaw = config["disable_escaping"] === true || config["disable_escaping"] === "true";
  const address = readAddress(url, { username, password, isRaw });
  for (const name of Object.keys(address)) {
    if (PARAMETERS.includes(name)) continue;
    throw refuse(`connection_url: ${name} is not known; accepted are ${PARAMETERS.join(", ")}`);
  }
  const hosts = (address["host"] ?? "localhost").split(",");
  const ports = (address["port"] ?? "").split(",").map((text) => portOf(text));
  const maxOpen = numberOf(config, "max_open_connections", MAX_OPEN, { min: 1, max: UPPER_OPEN });
  const session = address["target_session_attrs"] ?? "any";
  const kind = SESSIONS.find((one) => one === session) ?? null;
  if (kind === null && session !== "any") {
    throw refuse(`target_session_attrs must be any, ${SESSIONS.join(" or ")}`);
  }
  const user = address["user"] ?? username;
  if (user === "") throw refuse("username is required, or a user in connection_url");
  return {
    hosts,
    ports: hosts.map((_, i) => ports[i] ?? ports[0] ?? PORT),
    database: address["dbname"] ?? user,
    username: user,
    password: address["password"] ?? password,
    ssl: tlsOf(config, address, hosts[0] ?? ""),
    parameters: {
      application_name: address["application_name"] ?? "holdfast",
      ...(address["options"] === undefined ? {} : { options: address["options"] }),
    },
    session: kind,
    connectsWithin: secondsOf(address["connect_timeout"], "connect_timeout") || CONNECTS_WITHIN,
    maxOpen,
    maxIdle: numberOf(config, "max_idle_connections", maxOpen, { min: 0, max: UPPER_OPEN }),
    maxLifetime: lifetimeOf(config["max_connection_lifetime"]),
    authentication: authenticationOf(textOf(config, "password_authentication")),
  };
}

function tlsOf(config: JsonObject, address: Address, host: string): Settings["ssl"] {
  const said = address["sslmode"] ?? "prefer";
  const mode = SSL_MODES.find((one) => one === said);
  if (mode === undefined) throw refuse(`sslmode must be one of ${SSL_MODES.join(", ")}`);
  const ca = caOf(config, address["sslrootcert"]);
  const cert = textOf(config, "tls_certificate");
  const key = textOf(config, "private_key");
  if ((cert === "") !== (key === "")) throw refuse("tls_certificate and private_key go together");
  if (mode === "disable" || host.startsWith("/")) {
    if (ca !== null || cert !== "") throw refuse("certificates were given, and no TLS is spoken");
    return false;
  }
  const isBare = ca === null && cert === "";
  if (isBare && (mode === "allow" || mode === "prefer")) return "prefer";
  return {
    ...(ca === null ? {} : { ca }),
    ...(cert === "" ? {} : { cert, key }),
    ...verification(mode, ca !== null, host),
  };
}

/** As the database's own tools have it: with an authority even "require" looks who has signed. */
function verification(mode: SslMode, hasCa: boolean, host: string): ConnectionOptions {
  if (mode === "verify-full") return { rejectUnauthorized: true, servername: host };
  if (mode === "verify-ca" || hasCa) {
    return { rejectUnauthorized: true, checkServerIdentity: () => undefined };
  }
  return { rejectUnauthorized: false };
}

function caOf(config: JsonObject, path: string | undefined): string | null {
  const pem = textOf(config, "tls_ca");
  if (pem !== "") return pem;
  if (path === undefined || path === "system") return null;
  const read = readCertificates(path);
  if (read !== null) return read;
  // One text: it does not tell what lies where.
  throw refuse(
    "sslrootcert names no file of certificates in PEM that the plugin may read; give them in tls_ca",
  );
}

function authenticationOf(text: string): Settings["authentication"] {
  if (text === "" || text === "scram-sha-256") return "scram-sha-256";
  if (text === "password") return "password";
  throw refuse("password_authentication must be scram-sha-256 or password");
}

function textOf(config: JsonObject, name: string): string {
  const value = config[name];
  if (value === undefined || value === null) return "";
  if (typeof value === "string") return value;
  throw refuse(`${name} must be a text`);
}

function numberOf(
  config: JsonObject,
  name: string,
  usual: number,
  { min, max }: { readonly min: number; readonly max: number },
): number {
  const value = config[name];
  if (value === undefined || value === null || value === "") return usual;
  const number = isRawNumber(value) ? Number(value.rawJSON) : Number(value);
  if (Number.isInteger(number) && number >= min && number <= max) return number;
  throw refuse(`${name} must be a whole number from ${min} to ${max}`);
}

function lifetimeOf(value: JsonValue | undefined): number {
  if (value === undefined || value === null || value === "") return 0;
  const text = isRawNumber(value) ? value.rawJSON : value;
  if (typeof text === "number") return secondsOf(String(text), "max_connection_lifetime");
  if (typeof text === "string") return secondsOf(text, "max_connection_lifetime");
  throw refuse("max_connection_lifetime must be a number of seconds, or a duration such as 1h");
}

function secondsOf(text: string | undefined, name: string): number {
  if (text === undefined || text === "") return 0;
  if (/^\d{1,9}$/.test(text)) return Number(text);
  try {
    return Number(parseDuration(text) / SECOND);
  } catch {
    throw refuse(`${name} must be a number of seconds, or a duration such as 30s or 1h`);
  }
}

function portOf(text: string): number {
  if (text === "") return PORT;
  const port = Number(text);
  if (Number.isInteger(port) && port > 0 && port < 65_536) return port;
  throw refuse("a port is a number from 1 to 65535");
}
