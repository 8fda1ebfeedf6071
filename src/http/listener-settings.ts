// What can be set for a listener, and the defaults. Numbers come from part 3.3 of the threats; every
// one has a name here and a test at the limit and one beyond it.

import type { Failure } from "@holdfast/shared/failure";
import { listenerInvalid } from "./failures.ts";
import { SECOND } from "@holdfast/shared/text/duration";
import type { Nanos } from "@holdfast/shared/world";
import type { ListenerTraits } from "@holdfast/shared/endpoint/request";

export interface ListenerLimits {
  readonly connections: number; // of all listeners together
  readonly connectionsPerAddress: number; // an IPv6 network of 64 bits counts as one address
  readonly connectionsPerLocalAddress: number; // loopback: all that runs here, proxies and agents too
  readonly requestsPerConnection: number;
  readonly streamsPerConnection: number; // HTTP/2
  /** Requests whose client has gone, and which are still worked on. */
  readonly abandonedPerAddress: number;
  readonly unreadPerConnection: number; // bytes of answers on HTTP/2; on HTTP/1.1 there is one at a time
  readonly heldBytesPerAddress: number; // bodies and answers that lie in memory
  readonly heldBytes: number; // of all listeners together
  readonly heldBytesWithoutToken: number; // of those whose caller nobody knows; beside the others
  readonly streams: number; // HTTP/2, of all listeners together; an address has half at most
  readonly streamsWithoutToken: number; // of those whose caller nobody knows; an address has a ninth at most
  /** Of those whose token nobody has looked at yet; an address has a ninth at most. Half as many again for addresses that
   *  have less than one connection may have. */
  readonly streamsWaiting: number;
  readonly headerBytes: number;
  readonly headers: number;
  readonly tokenBytes: number;
  readonly tlsHandshake: Nanos;
  /** First byte of a request after the connection is made, and from there to the end of its head. */
  readonly requestHead: Nanos;
  readonly requestBody: Nanos;
  readonly idle: Nanos; // between requests
  readonly unreadAnswer: Nanos; // without progress
  /** How long we read on after a refusal, so that the client sees it and not a reset. */
  readonly linger: Nanos;
  readonly lingerBytes: number;
}

export const DEFAULT_LIMITS: ListenerLimits = {
  connections: 12_000, // the usual limit of descriptors is 20,000
  connectionsPerAddress: 200,
  connectionsPerLocalAddress: 2_000,
  requestsPerConnection: 1_000,
  streamsPerConnection: 100,
  abandonedPerAddress: 256,
  unreadPerConnection: 16 * 1024 * 1024,
  heldBytesPerAddress: 256 * 1024 * 1024, // 200 connections with 1 MiB each
  heldBytes: 512 * 1024 * 1024,
  heldBytesWithoutToken: 128 * 1024 * 1024,
  streams: 32_768,
  streamsWithoutToken: 8_192, // with 13 kB each, before they have sent anything of a body
  streamsWaiting: 16_384, // 1,820 of an address: eighteen connections may fill all their streams at once
  headerBytes: 16 * 1024,
  headers: 64,
  tokenBytes: 8 * 1024,
  tlsHandshake: 10n * SECOND,
  requestHead: 10n * SECOND,
  requestBody: 30n * SECOND,
  idle: 30n * SECOND,
  unreadAnswer: 60n * SECOND,
  linger: 2n * SECOND,
  lingerBytes: 64 * 1024, // T-N01
};

export interface TlsSettings {
  readonly certFile: string;
  readonly keyFile: string;
  readonly clientCaFile?: string | null;
  readonly minVersion?: "tls12" | "tls13";
  /** Refuses clients without a certificate. Without it one that is sent must still be good. */
  readonly requireClientCert?: boolean;
}

/** By status ("404"), class of status ("4xx") or "default"; the narrower one wins. */
export type ResponseHeaders = Readonly<Record<string, Readonly<Record<string, string>>>>;

export interface ListenerSettings {
  readonly kind: "tcp" | "unix";
  /** Address for tcp, path of the socket for unix. */
  readonly host: string;
  readonly port: number; // 0 takes a free one
  readonly tls: TlsSettings | null;
  /** HTTP/2 where TLS negotiates it. */
  readonly http2?: boolean;
  readonly maxRequestSize?: number; // bytes
  readonly maxRequestDuration?: Nanos;
  readonly keyCeremonies?: ListenerTraits["keyCeremonies"];
  readonly openMetrics?: boolean;
  readonly metricsOnly?: boolean;
  readonly requireRequestHeader?: boolean;
  readonly allowedHosts?: readonly string[];
  /** Proxies whose X-Forwarded-For is believed: addresses or networks. */
  readonly forwardedForAuthorized?: readonly string[];
  readonly responseHeaders?: ResponseHeaders;
  readonly limits?: Partial<ListenerLimits>;
}

const MEBIBYTE = 1024 * 1024;
const MAX_REQUEST_SIZE = 32 * MEBIBYTE; // more is no request of this API, and lies in memory whole

export interface FullSettings extends Required<Omit<ListenerSettings, "limits">> {
  readonly limits: ListenerLimits;
}

export function withDefaults(partial: ListenerSettings): FullSettings {
  const settings: FullSettings = {
    http2: false,
    maxRequestSize: MEBIBYTE,
    maxRequestDuration: 90n * SECOND,
    keyCeremonies: isLoopback(partial) ? "open" : "token",
    openMetrics: false,
    metricsOnly: false,
    requireRequestHeader: false,
    allowedHosts: [],
    forwardedForAuthorized: [],
    responseHeaders: {},
    ...partial,
    limits: limitsOf(partial.limits ?? {}),
  };
  const { maxRequestSize } = settings;
  if (!Number.isSafeInteger(maxRequestSize) || maxRequestSize < 1) {
    throw refused("max_request_size must be a whole number of bytes, at least 1");
  }
  if (maxRequestSize > MAX_REQUEST_SIZE) {
    throw refused(`max_request_size may be at most ${MAX_REQUEST_SIZE} bytes`);
  }
  if (settings.http2 && settings.tls === null) {
    throw refused("http2 needs TLS: without it a connection cannot say which protocol it speaks");
  }
  if (settings.kind === "unix" && settings.tls !== null) {
    throw refused("a unix listener has no TLS: nothing leaves this machine");
  }
  return settings;
}

/** Everything that runs on this machine is one address: it has ten times what others have. */
function limitsOf(partial: Partial<ListenerLimits>): ListenerLimits {
  const limits = { ...DEFAULT_LIMITS, ...partial };
  return partial.connectionsPerLocalAddress === undefined
    ? { ...limits, connectionsPerLocalAddress: 10 * limits.connectionsPerAddress }
    : limits;
}

/** Only this machine can reach it. */
export function isLoopback({ kind, host }: Pick<ListenerSettings, "kind" | "host">): boolean {
  return kind === "unix" || isLoopbackAddress(host);
}

export function isLoopbackAddress(host: string): boolean {
  return host === "localhost" || host === "::1" || /^127\.\d+\.\d+\.\d+$/.test(host);
}

export function refused(message: string): Failure {
  return listenerInvalid(message);
}
