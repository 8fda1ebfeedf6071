// Looks at a server's certificate without trusting it and without sending anything: for telling people
// what is wrong with it.

import { connect } from "node:tls";
import type { Nanos, Timers } from "@holdfast/shared/world";
import { codeOf, ConnectionFailure, connectionFailure } from "../connection-failure.ts";
import type { ServerAddress } from "../server-address.ts";
import { tlsOptions, type TlsChoice } from "./node-transport.ts";

export interface SeenCertificate {
  /** Null when a connection would be made; otherwise OpenSSL's word for the reason. */
  readonly distrust: string | null;
  readonly protocol: string;
  readonly subject: string;
  readonly issuer: string;
  readonly validFrom: string; // as in the certificate, readable by Date.parse
  readonly validTo: string;
}

export interface ProbeOptions {
  readonly address: ServerAddress;
  readonly tls: TlsChoice;
  readonly timeout: Nanos;
  readonly timers: Pick<Timers, "after">;
}

export async function probeTls(options: ProbeOptions): Promise<SeenCertificate> {
  const { address, tls, timeout, timers } = options;
  const { promise, resolve, reject } = Promise.withResolvers<SeenCertificate>();
  try {
    const socket = connect({
      ...tlsOptions({ ...tls, skipVerify: true }, address),
      host: address.host,
      port: address.port,
    });
    const timer = timers.after(timeout, () => {
      socket.destroy(new ConnectionFailure("timed-out", address, ""));
    });
    socket.on("error", reject);
    socket.on("secureConnect", () => {
      const { subject, issuer, valid_from, valid_to } = socket.getPeerCertificate();
      resolve({
        distrust: distrustOf(socket.authorizationError),
        protocol: socket.getProtocol() ?? "",
        subject: nameOf(subject),
        issuer: nameOf(issuer),
        validFrom: valid_from,
        validTo: valid_to,
      });
    });
    return await promise.finally(() => {
      timer.cancel();
      socket.destroy();
    });
  } catch (error) {
    throw connectionFailure(error, address);
  }
}

/** Node's types say Error; it is the code as text for chains, and an Error for names. */
function distrustOf(reason: unknown): string | null {
  if (reason === null || reason === undefined) return null;
  return typeof reason === "string" ? reason : codeOf(reason) || "unknown reason";
}

function nameOf(name: { readonly CN?: unknown; readonly O?: unknown } | undefined): string {
  const text = name?.CN ?? name?.O ?? "";
  return typeof text === "string" ? text : "";
}
