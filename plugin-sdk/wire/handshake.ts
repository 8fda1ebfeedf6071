// How a plugin is started and says where it is: constants of the ecosystem, the variables of a start, and the one line on
// standard output by which it is reached.

import { fromBase64 } from "@holdfast/shared/bytes";
import { OwnError } from "@holdfast/shared/failure";
import { invariant } from "@holdfast/shared/invariant";

/** Without it a plugin does not run: somebody has started it by hand. It protects nothing. */
export interface Cookie {
  readonly name: string;
  readonly value: string;
}

export const ENGINE_COOKIE: Cookie = {
  name: "VAULT_BACKEND_PLUGIN",
  value: "6669da05-b1c8-4f49-97d9-c8e5bed98e20",
};
export const DATABASE_COOKIE: Cookie = {
  name: "VAULT_DATABASE_PLUGIN",
  value: "926a0820-aea2-be28-51d6-83cdf00e8edb",
};

/** Versions of what is spoken, besides that of the line itself. */
export const ENGINE_PROTOCOLS: readonly number[] = [5];
/** 6: one process for several connections. */
export const DATABASE_PROTOCOLS: readonly number[] = [5, 6];

const CORE_PROTOCOL = 1;
/** What plugins take us for: the last version of the ecosystem's own server that all of them know. */
export const PEER_VERSION = "1.18.0";
/** Longer paths of sockets are cut by the system. */
export const MAX_SOCKET_PATH = 107;

export const Variable = {
  protocols: "PLUGIN_PROTOCOL_VERSIONS",
  minPort: "PLUGIN_MIN_PORT",
  maxPort: "PLUGIN_MAX_PORT",
  certificate: "PLUGIN_CLIENT_CERT",
  socketDirectory: "PLUGIN_UNIX_SOCKET_DIR",
  socketGroup: "PLUGIN_UNIX_SOCKET_GROUP",
  multiplexGrpc: "PLUGIN_MULTIPLEX_GRPC",
} as const;

export interface Start {
  readonly cookie: Cookie;
  readonly protocols: readonly number[];
  /** Of the host, as PEM. */
  readonly certificate: string;
  /** Private, of mode 0700; sockets of both sides lie in it. Of a container: as the plugin sees it. */
  readonly socketDirectory: string;
  /** Number of a group that may use the sockets. Default: nobody else. */
  readonly socketGroup?: number;
  /** It is only asked what it is. Default false. */
  readonly metadataMode?: boolean;
}

/** What the protocol sets, above whatever else a plugin finds in its environment. */
export function environmentFor(start: Start): Readonly<Record<string, string>> {
  const { cookie, protocols, certificate, socketDirectory, socketGroup } = start;
  const metadata = String(start.metadataMode ?? false);
  return {
    [cookie.name]: cookie.value,
    [Variable.protocols]: protocols.join(","),
    [Variable.minPort]: "10000",
    [Variable.maxPort]: "25000",
    [Variable.certificate]: certificate,
    [Variable.socketDirectory]: socketDirectory,
    TMPDIR: socketDirectory, // older libraries make their sockets there
    ...(socketGroup === undefined ? {} : { [Variable.socketGroup]: String(socketGroup) }),
    VAULT_VERSION: PEER_VERSION,
    BAO_VERSION: PEER_VERSION,
    VAULT_PLUGIN_AUTOMTLS_ENABLED: "true",
    BAO_PLUGIN_AUTOMTLS_ENABLED: "true",
    VAULT_PLUGIN_METADATA_MODE: metadata,
    BAO_PLUGIN_METADATA_MODE: metadata,
  };
}

/** Names that no entry of the catalog may set: the protocol does. */
export function isOfProtocol(name: string): boolean {
  return (
    name === ENGINE_COOKIE.name ||
    name === DATABASE_COOKIE.name ||
    Object.values<string>(Variable).includes(name) ||
    /^(?:VAULT|BAO)_(?:VERSION|UNWRAP_TOKEN|PLUGIN_(?:AUTOMTLS|METADATA_MODE|MLOCK)(?:_ENABLED)?)$/.test(
      name,
    )
  );
}

/** Why the line of a plugin is not accepted. The words are those that operators of such plugins know. */
export class HandshakeError extends OwnError {}

export interface Handshake {
  readonly protocol: number;
  readonly network: "unix" | "tcp";
  readonly address: string;
  /** DER; null where the plugin has none. */
  readonly certificate: Buffer | null;
  /** Of connections on one socket; null where it does not say. */
  readonly multiplexes: boolean | null;
}

const MAX_QUOTED = 200;
/** What is as short as this is none. */
const SHORT_CERTIFICATE = 50;

/** Longer lines are none. */
export const MAX_LINE = 16 * 1024;

export function readHandshake(line: string, protocols: readonly number[]): Handshake {
  const parts = line.trim().split("|");
  if (parts.length < 4) {
    throw new HandshakeError(`Unrecognized remote plugin message: ${quoted(line.trim())}`);
  }
  const [core = "", version = "", network = "", address = "", kind = "netrpc"] = parts;
  if (core !== String(CORE_PROTOCOL)) {
    throw new HandshakeError(
      `incompatible core API version with plugin. Plugin version: ${quoted(core)}, Core version: ${CORE_PROTOCOL}`,
    );
  }
  const protocol = /^\d{1,9}$/.test(version) ? Number(version) : null;
  if (protocol === null) {
    throw new HandshakeError(`Error parsing protocol version: ${quoted(version)}`);
  }
  if (!protocols.includes(protocol)) {
    throw new HandshakeError(
      `incompatible API version with plugin. Plugin version: ${protocol}, Client versions: [${protocols.join(" ")}]`,
    );
  }
  if (network !== "unix" && network !== "tcp") {
    throw new HandshakeError(`unknown address type: ${quoted(network)}; accepted are unix and tcp`);
  }
  if (address === "") throw new HandshakeError("the plugin says no address");
  if (kind !== "grpc") {
    throw new HandshakeError(
      `Unsupported plugin protocol ${JSON.stringify(quoted(kind))}. Supported: [grpc]`,
    );
  }
  return {
    protocol,
    network,
    address,
    certificate: readCertificate(parts[5] ?? ""),
    multiplexes: parts.length < 7 ? null : parts[6] === "true",
  };
}

/** In base64 without padding; with it is taken too. */
function readCertificate(text: string): Buffer | null {
  if (text.length <= SHORT_CERTIFICATE) return null;
  const der = fromBase64(text);
  if (der === null) throw new HandshakeError("the certificate of the plugin is not in base64");
  return der;
}

/** It is shown to people: what could steer a terminal is a question mark. */
function quoted(text: string): string {
  const plain = text.replaceAll(/[\p{C}\p{Zl}\p{Zp}]/gu, "?");
  return plain.length <= MAX_QUOTED ? plain : `${plain.slice(0, MAX_QUOTED)}…`;
}

/** Without its end of line. */
export function writeHandshake(handshake: Handshake): string {
  const { protocol, network, address, certificate, multiplexes } = handshake;
  invariant(!/[|\n\r]/.test(address), "an address of one line");
  const der = certificate?.toString("base64").replace(/=+$/, "") ?? "";
  const parts = [CORE_PROTOCOL, protocol, network, address, "grpc", der];
  return [...parts, ...(multiplexes === null ? [] : [multiplexes])].join("|");
}

/** How one is reached that runs already. */
export interface Reattach {
  readonly protocol: number;
  readonly pid: number;
  /** Path of its Unix socket. */
  readonly address: string;
}

/** As the ecosystem's library has it written down, of one that is served in test mode: whoever attaches to it never ends it. */
export function writeReattach(name: string, { protocol, pid, address }: Reattach): string {
  const at = { Network: "unix", String: address };
  return JSON.stringify({
    [name]: { Protocol: "grpc", ProtocolVersion: protocol, Pid: pid, Test: true, Addr: at },
  });
}

/** The highest that both speak; where there is none the lowest of ours, which the host refuses. `offered` as in the variable;
 *  without one the lowest. */
export function chooseProtocol(offered: string | undefined, ours: readonly number[]): number {
  const theirs = (offered ?? "").split(",").map(Number);
  const both = ours.filter((version) => theirs.includes(version));
  return both.length === 0 ? Math.min(...ours) : Math.max(...both);
}
