// From the configuration of a listener to the settings of http/: the two rooms do not know each other.

import type { Config, ListenerConfig } from "../config/config.ts";
import type { ListenerSettings, ResponseHeaders } from "../http/listener-settings.ts";

export function listenerSettings(config: ListenerConfig): ListenerSettings {
  const { limits } = config;
  return {
    kind: config.kind,
    host: config.kind === "tcp" ? config.host : config.path,
    port: config.kind === "tcp" ? config.port : 0,
    tls: config.tls,
    http2: config.http2,
    maxRequestSize: config.maxRequestBytes,
    maxRequestDuration: config.maxRequestDuration,
    keyCeremonies: config.keyCeremonies,
    openMetrics: config.openMetrics,
    metricsOnly: config.metricsOnly,
    requireRequestHeader: config.requireRequestHeader,
    allowedHosts: config.allowedHosts,
    forwardedForAuthorized: config.forwardedForFrom,
    responseHeaders: responseHeaders(config),
    limits: {
      headerBytes: limits.headerBytes,
      headers: limits.headers,
      connections: limits.connections,
      connectionsPerAddress: limits.connectionsPerAddress,
      requestsPerConnection: limits.requestsPerConnection,
      tlsHandshake: limits.tlsHandshake,
      requestHead: limits.header,
      requestBody: limits.body,
      unreadAnswer: limits.answer,
      idle: limits.idle,
    },
  };
}

/** Those of the operator, by status; they can change while the listener is open. */
export function responseHeaders({ customResponseHeaders }: ListenerConfig): ResponseHeaders {
  return Object.fromEntries(
    [...customResponseHeaders].map(([status, headers]) => [
      status,
      Object.fromEntries([...headers].map(([name, values]) => [name, values.join(", ")])),
    ]),
  );
}

/** Spellings of request headers that other products' clients send. */
export function aliasHeaders({ compat }: Config): readonly string[] {
  if (!compat) return [];
  return ["Token", "Namespace", "Wrap-TTL", "Request", "Policy-Override"].map(
    (name) => `X-Vault-${name}`,
  );
}
