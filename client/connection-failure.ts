// Why there is no answer at all, told apart by what the user can do about it. Messages name the
// server and the cause; what was sent is in none of them.

import { Failure } from "@holdfast/shared/failure";
import type { ServerAddress } from "./server-address.ts";

export type ConnectionProblem =
  | "refused" // nobody listens there
  | "unknown-host"
  | "unreachable"
  | "broken" // it ended before the answer was whole
  | "timed-out"
  | "no-socket"
  | "untrusted" // the certificate's issuer is not one of ours
  | "expired"
  | "wrong-name"
  | "client-certificate" // the server wants one, or another
  | "bad-tls-file" // our own certificate, key or CA cannot be used
  | "speaks-http" // we spoke TLS, it did not
  | "speaks-tls" // we spoke HTTP, it speaks TLS
  | "not-http" // neither is what it speaks
  | "too-large"
  | "other";

export class ConnectionFailure extends Failure {
  readonly problem: ConnectionProblem;
  readonly address: string;

  constructor(problem: ConnectionProblem, address: ServerAddress, detail: string) {
    const kind = problem === "timed-out" ? "timed-out" : "unavailable";
    super(kind, CODES[problem], `${TEXTS[problem](address.display)}${detail}`);
    this.name = "ConnectionFailure";
    this.problem = problem;
    this.address = address.display;
  }
}

/**
 * @code connection-refused Nothing listens at the server's address.
 * @remedy Start the server, or correct HOLDFAST_ADDR.
 * @code connection-unknown-host The name of the server's host cannot be resolved.
 * @remedy Check the name in HOLDFAST_ADDR.
 * @code connection-unreachable The server's address cannot be reached.
 * @remedy Check network and firewall; `holdfast doctor` looks closer.
 * @code connection-broken The connection ended before the answer was complete.
 * @remedy Try again; if it recurs, look at the server's log.
 * @code connection-timed-out No answer came in time.
 * @remedy Try again, or wait longer with `-timeout`.
 * @code connection-no-socket The Unix socket is not there, or may not be used.
 * @remedy Check its path and permissions.
 * @code connection-untrusted The server's certificate was issued by an authority that is not
 *   trusted here.
 * @remedy Name the authority's certificate with `-ca-cert`.
 * @code connection-expired The server's certificate is not valid at this time.
 * @remedy Renew it, or set the clock.
 * @code connection-wrong-name The server's certificate is for another name.
 * @remedy Use a name from the certificate, or `-tls-server-name`.
 * @code connection-client-certificate The server wants a client certificate, or another one.
 * @remedy Give `-client-cert` and `-client-key`.
 * @code connection-bad-tls-file The CA, client certificate or client key cannot be used.
 * @remedy Check that they are PEM and that the key fits the certificate.
 * @code connection-speaks-http The server was addressed with TLS and does not speak it.
 * @remedy Use http:// in the address, if that is meant.
 * @code connection-speaks-tls The server was addressed without TLS and speaks nothing else.
 * @remedy Use https:// in the address.
 * @code connection-not-http What answers at the address is no HTTP server.
 * @remedy Check host and port.
 * @code connection-too-large The answer is larger than the command line takes.
 * @remedy Ask for less at a time.
 * @code connection-other The request failed for a reason that has no name of its own.
 * @remedy Run `holdfast doctor`.
 */
const CODES: Readonly<Record<ConnectionProblem, string>> = {
  refused: "connection-refused",
  "unknown-host": "connection-unknown-host",
  unreachable: "connection-unreachable",
  broken: "connection-broken",
  "timed-out": "connection-timed-out",
  "no-socket": "connection-no-socket",
  untrusted: "connection-untrusted",
  expired: "connection-expired",
  "wrong-name": "connection-wrong-name",
  "client-certificate": "connection-client-certificate",
  "bad-tls-file": "connection-bad-tls-file",
  "speaks-http": "connection-speaks-http",
  "speaks-tls": "connection-speaks-tls",
  "not-http": "connection-not-http",
  "too-large": "connection-too-large",
  other: "connection-other",
};

const TEXTS: Readonly<Record<ConnectionProblem, (at: string) => string>> = {
  refused: (at) => `nothing is listening at ${at}`,
  "unknown-host": (at) => `the host of ${at} is not known`,
  unreachable: (at) => `${at} cannot be reached`,
  broken: (at) => `the connection to ${at} ended before the answer was complete`,
  "timed-out": (at) => `no answer from ${at} in time`,
  "no-socket": (at) => `there is no socket at ${at}, or it may not be used by this user`,
  untrusted: (at) => `the certificate of ${at} was issued by an authority that is not trusted here`,
  expired: (at) => `the certificate of ${at} is not valid at this time`,
  "wrong-name": (at) => `the certificate of ${at} is for another name`,
  "client-certificate": (at) => `${at} did not accept the client certificate, or asks for one`,
  "bad-tls-file": () => "the CA, client certificate or client key given cannot be used",
  "speaks-http": (at) => `${at} was addressed with TLS but does not speak it`,
  "speaks-tls": (at) => `${at} was addressed without TLS, and speaks nothing else`,
  "not-http": (at) => `what ${at} answers is not HTTP`,
  "too-large": (at) => `the answer of ${at} is larger than this client takes`,
  other: (at) => `the request to ${at} failed`,
};

const BY_CODE: ReadonlyMap<string, ConnectionProblem> = new Map([
  ["ECONNREFUSED", "refused"],
  ["ENOTFOUND", "unknown-host"],
  ["EAI_AGAIN", "unknown-host"],
  ["EHOSTUNREACH", "unreachable"],
  ["ENETUNREACH", "unreachable"],
  ["ETIMEDOUT", "timed-out"],
  ["ECONNRESET", "broken"],
  ["EPIPE", "broken"],
  ["UND_ERR_SOCKET", "broken"], // of fetch in Node, as the next two
  ["UND_ERR_CONNECT_TIMEOUT", "timed-out"],
  ["UND_ERR_HEADERS_TIMEOUT", "timed-out"],
  ["ENOENT", "no-socket"],
  ["EACCES", "no-socket"],
  ["DEPTH_ZERO_SELF_SIGNED_CERT", "untrusted"],
  ["SELF_SIGNED_CERT_IN_CHAIN", "untrusted"],
  ["UNABLE_TO_VERIFY_LEAF_SIGNATURE", "untrusted"],
  ["UNABLE_TO_GET_ISSUER_CERT", "untrusted"],
  ["UNABLE_TO_GET_ISSUER_CERT_LOCALLY", "untrusted"],
  ["CERT_UNTRUSTED", "untrusted"],
  ["CERT_REJECTED", "untrusted"],
  ["CERT_SIGNATURE_FAILURE", "untrusted"],
  ["INVALID_CA", "untrusted"],
  ["CERT_HAS_EXPIRED", "expired"],
  ["CERT_NOT_YET_VALID", "expired"],
  ["ERR_TLS_CERT_ALTNAME_INVALID", "wrong-name"],
  ["HOSTNAME_MISMATCH", "wrong-name"],
  ["ERR_SSL_WRONG_VERSION_NUMBER", "speaks-http"],
  ["ERR_SSL_PACKET_LENGTH_TOO_LONG", "speaks-http"],
  ["ERR_SSL_HTTP_REQUEST", "speaks-http"],
  ["EPROTO", "speaks-http"],
  ["HPE_HEADER_OVERFLOW", "too-large"],
]);

/** What a socket, TLS or the HTTP parser reported, in the user's terms. */
export function connectionFailure(error: unknown, address: ServerAddress): ConnectionFailure {
  if (error instanceof ConnectionFailure) return error;
  const code = codeOf(error);
  const problem = BY_CODE.get(code) ?? byFamily(code);
  // Codes are constants of the runtime; its texts may quote what was sent and are not shown.
  return new ConnectionFailure(problem, address, code === "" ? "" : ` (${code})`);
}

function byFamily(code: string): ConnectionProblem {
  if (code.startsWith("HPE_")) return "not-http";
  if (/^ERR_SSL_(TLSV1|SSLV3)_ALERT/.test(code)) return "client-certificate";
  if (/^ERR_(OSSL|SSL)_/.test(code)) return "bad-tls-file";
  return "other";
}

export function codeOf(error: unknown): string {
  if (!(error instanceof Error) || !("code" in error)) return "";
  return typeof error.code === "string" && /^[A-Z0-9_]{1,64}$/.test(error.code) ? error.code : "";
}
