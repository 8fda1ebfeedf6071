// One listener: what its options mean together.

import { resolve } from "node:path";
import { isHost, isLoopback, isNetwork, parseHostPort } from "./address.ts";
import type { ListenerConfig, TlsConfig } from "./config.ts";
import type { HeaderTable } from "./fields.ts";
import type { Place, Problem } from "./problem.ts";
import type { Settled, SettledBlock, Values } from "./schema.ts";
import type { SETTINGS } from "./settings.ts";

export type ListenerBlock = SettledBlock<(typeof SETTINGS)["listener"]["kinds"]>;
type TcpBlock = Extract<ListenerBlock, { type: "tcp" }>;
type UnixBlock = Extract<ListenerBlock, { type: "unix" }>;

export interface Complaints {
  /** Paths are relative to it. */
  readonly directory: string;
  readonly problems: Problem[];
  readonly warnings: Problem[];
}

export function listenerOf(block: ListenerBlock, complaints: Complaints): ListenerConfig {
  return block.type === "tcp" ? tcpListener(block, complaints) : unixListener(block, complaints);
}

function tcpListener({ body, place }: TcpBlock, complaints: Complaints): ListenerConfig {
  const { values } = body;
  const complain = complainer(body, place, complaints);
  let at = parseHostPort(values.address);
  if (at === null) {
    complain("address", "expected host:port, such as 127.0.0.1:8200 or [::1]:8200");
    at = { host: "127.0.0.1", port: 0 };
  }
  const loopback = isLoopback(at.host);
  const tls = tlsOf(body, place, complaints);
  if (tls === null && !loopback && values.tls_disable) {
    const text = "tls_disable: tokens and secrets cross the network in clear on this listener";
    complaints.warnings.push({ place: body.place("tls_disable") ?? place, text });
  }
  if (values.http2 && tls === null) complain("http2", "HTTP/2 needs TLS on this listener");
  for (const network of values.x_forwarded_for_authorized_addrs) {
    if (!isNetwork(network)) {
      complain("x_forwarded_for_authorized_addrs", "expected addresses and networks (10.0.0.0/8)");
    }
  }
  return {
    kind: "tcp",
    ...at,
    tls,
    http2: values.http2,
    forwardedForFrom: values.x_forwarded_for_authorized_addrs,
    ...common(values, loopback, complain),
    limits: {
      ...limitsOf(values),
      connectionsPerAddress: values.max_connections_per_address,
      tlsHandshake: values.tls_handshake_timeout,
    },
  };
}

function unixListener({ body, place }: UnixBlock, complaints: Complaints): ListenerConfig {
  const { values } = body;
  const complain = complainer(body, place, complaints);
  if (values.address === null) complain("address", "expected the path of the socket");
  return {
    kind: "unix",
    path: resolve(complaints.directory, values.address ?? "."),
    tls: null,
    http2: false,
    forwardedForFrom: [],
    ...common(values, true, complain),
    limits: {
      ...limitsOf(values),
      connectionsPerAddress: values.max_connections, // they all come from one place
      tlsHandshake: values.header_timeout,
    },
  };
}

type Complain = (key: string, text: string) => void;

function complainer(
  body: { place(key: string): Place | null },
  block: Place,
  { problems }: Complaints,
): Complain {
  return (key, text) => {
    problems.push({ place: body.place(key) ?? block, text: `"${key}": ${text}` });
  };
}

type CommonValues = Values<(typeof SETTINGS)["listener"]["kinds"]["unix"]["fields"]>;

function common(
  values: Omit<CommonValues, "address">,
  loopback: boolean,
  complain: Complain,
): Omit<
  ListenerConfig,
  "kind" | "host" | "port" | "path" | "tls" | "http2" | "forwardedForFrom" | "limits"
> {
  for (const host of values.allowed_hosts) {
    if (!isHost(host) && parseHostPort(host) === null && parseHostPort(`${host}:1`) === null) {
      complain("allowed_hosts", "expected names such as vault.example.com, with or without a port");
    }
  }
  checkHeaders(values.custom_response_headers, complain);
  const telemetry = values.telemetry.values;
  return {
    loopback,
    allowedHosts: values.allowed_hosts,
    maxRequestBytes: values.max_request_size,
    maxRequestDuration: values.max_request_duration,
    keyCeremonies: values.key_ceremonies ?? (loopback ? "open" : "token"),
    requireRequestHeader: values.require_request_header,
    openMetrics: telemetry.unauthenticated_metrics_access,
    metricsOnly: telemetry.metrics_only,
    customResponseHeaders: values.custom_response_headers,
  };
}

function limitsOf(values: Omit<CommonValues, "address">) {
  return {
    headerBytes: values.max_header_size,
    headers: values.max_headers,
    connections: values.max_connections,
    requestsPerConnection: values.max_requests_per_connection,
    header: values.header_timeout,
    body: values.body_timeout,
    answer: values.answer_timeout,
    idle: values.idle_timeout,
  };
}

function tlsOf(body: TcpBlock["body"], place: Place, complaints: Complaints): TlsConfig | null {
  const { values } = body;
  const complain = complainer(body, place, complaints);
  const { tls_cert_file: cert, tls_key_file: key, tls_client_ca_file: ca } = values;
  const needs = needless(body, cert, key, ca);
  if (values.tls_disable) {
    for (const name of needs) complain(name, "has no meaning with tls_disable = true");
    return null;
  }
  if (cert === null || key === null) {
    const text = "a listener needs tls_cert_file and tls_key_file, or tls_disable = true";
    complaints.problems.push({ place, text });
    return null;
  }
  if (values.tls_require_and_verify_client_cert && ca === null) {
    complain("tls_require_and_verify_client_cert", "needs tls_client_ca_file");
  }
  const path = (file: string) => resolve(complaints.directory, file);
  return {
    certFile: path(cert),
    keyFile: path(key),
    clientCaFile: ca === null ? null : path(ca),
    requireClientCert: values.tls_require_and_verify_client_cert,
    minVersion: values.tls_min_version,
    autoReload: values.tls_auto_reload,
  };
}

/** Options of TLS that were given. */
function needless(
  body: Settled<(typeof SETTINGS)["listener"]["kinds"]["tcp"]["fields"]>,
  ...[cert, key, ca]: (string | null)[]
): string[] {
  return [
    ...(cert === null ? [] : ["tls_cert_file"]),
    ...(key === null ? [] : ["tls_key_file"]),
    ...(ca === null ? [] : ["tls_client_ca_file"]),
    ...(body.values.tls_require_and_verify_client_cert
      ? ["tls_require_and_verify_client_cert"]
      : []),
    ...(body.values.tls_auto_reload ? ["tls_auto_reload"] : []),
  ];
}

const STATUS = /^(?:default|[1-5]xx|[1-5][0-9][0-9])$/;
const HEADER_NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,128}$/;
const HEADER_VALUE = /^[\t\x20-\x7e]{0,1024}$/;
// Framing, and what the server says itself: a second opinion on these breaks clients or guards.
const OURS =
  /^(?:x-(?:service|vault|nomad)-.*|content-(?:length|type|encoding)|transfer-encoding|connection|keep-alive|upgrade|trailer|date|set-cookie|cache-control|access-control-.*)$/i;

function checkHeaders(table: HeaderTable, complain: Complain): void {
  const key = "custom_response_headers";
  for (const [status, headers] of table) {
    if (!STATUS.test(status)) complain(key, 'statuses are "default", such as "4xx", or numbers');
    for (const [name, values] of headers) {
      if (!HEADER_NAME.test(name))
        complain(key, "a header's name has a character that none may have");
      else if (OURS.test(name)) complain(key, `${name} is set by the server itself`);
      if (!values.every((value) => HEADER_VALUE.test(value))) {
        complain(key, `values of headers are printable ASCII, at most 1024 characters`);
      }
    }
  }
}
