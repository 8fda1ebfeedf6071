// The sockets of a plugin: the one that it listens on, and those of its host that it reaches. On each, either side takes the
// other's one certificate and no other. Without certificates, where somebody debugs it, there is no TLS.

import { connect as connectUnix, createServer as createPlainServer, type Socket } from "node:net";
import { connect, createServer, type TLSSocket } from "node:tls";
import type { X509Certificate } from "node:crypto";
import { OwnError } from "@holdfast/shared/failure";
import type { OneTimeCertificate } from "../wire/certificate.ts";
import { AUTHORITY } from "../wire/limits.ts";

export interface Certificates {
  readonly own: OneTimeCertificate;
  readonly host: X509Certificate;
}

function credentials({ own, host }: Certificates) {
  return {
    key: own.keyPem,
    cert: own.certificatePem,
    ca: host.toString(),
    ALPNProtocols: ["h2"],
    rejectUnauthorized: false, // the certificate is compared as a whole
  };
}

function isHost(socket: TLSSocket, { host }: Certificates): boolean {
  return socket.getPeerX509Certificate()?.raw.equals(host.raw) === true;
}

/** Resolves when it can be reached. */
export function listen(
  path: string,
  certificates: Certificates | null,
  accept: (socket: Socket) => void,
): Promise<void> {
  const server = certificates === null ? createPlainServer(accept) : secured(certificates, accept);
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  server.once("error", (cause) => reject(new OwnError("its socket cannot be made", { cause })));
  server.listen({ path }, resolve);
  return promise;
}

function secured(certificates: Certificates, accept: (socket: Socket) => void) {
  const server = createServer({ ...credentials(certificates), requestCert: true }, (socket) => {
    socket.on("error", () => {});
    if (isHost(socket, certificates)) accept(socket);
    else socket.destroy();
  });
  return server.on("tlsClientError", (_, socket) => void socket.destroy());
}

export async function reach(path: string, certificates: Certificates | null): Promise<Socket> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const failed = (cause: unknown) =>
    reject(new OwnError("the server that started it cannot be reached", { cause }));
  const raw = connectUnix({ path });
  raw.once("error", failed);
  if (certificates === null) {
    raw.once("connect", resolve);
    await promise;
    return raw.on("error", () => {});
  }
  const socket = connect({ socket: raw, servername: AUTHORITY, ...credentials(certificates) });
  socket.once("secureConnect", resolve);
  socket.on("error", failed);
  socket.once("close", failed);
  await promise;
  if (isHost(socket, certificates)) return socket;
  socket.destroy();
  throw new OwnError("who answers is not the server that started it");
}
