// Connections between the server and one plugin process: Unix sockets with TLS on which each side takes the other's one
// certificate and no other, so that who may open the socket is still not let in. Without a pair of certificates, for one that
// somebody debugs, there is no TLS: who may open the socket is let in.

import { connect as connectUnix, createServer as createPlainServer, type Socket } from "node:net";
import { connect, createServer, type TLSSocket } from "node:tls";
import { sameBytes } from "../../base/same-bytes.ts";
import { OwnError } from "@holdfast/shared/failure";
import { type OneTimeCertificate, pemOf } from "@holdfast/plugin-sdk/wire/certificate";
import { AUTHORITY } from "@holdfast/plugin-sdk/wire/limits";

export interface Pair {
  readonly own: OneTimeCertificate;
  /** Of the plugin, DER. */
  readonly theirs: Uint8Array;
}

class NotThePlugin extends OwnError {
  constructor() {
    super("who answers at its socket is not the plugin that was started");
  }
}

const H2 = "h2";
const BEFORE_1_4_4 = "unused";
/** Connections of a plugin to one service: one that is there, and one that takes its place. */
const MAX_OPEN = 2;
/** Of whoever has not said yet who he is. */
const MAX_COMING = 8;
const HANDSHAKE_WITHIN = 5000; // ms

export async function dialPlugin(
  path: string,
  pair: Pair | null,
  signal: AbortSignal,
): Promise<Socket> {
  signal.throwIfAborted();
  const raw = await connected(path, signal);
  if (pair === null) return raw;
  const socket = connect({
    socket: raw,
    servername: AUTHORITY,
    ...credentials(pair),
    ALPNProtocols: [H2],
    checkServerIdentity: () => undefined,
  });
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const give = () => reject(signal.reason);
  signal.addEventListener("abort", give, { once: true });
  socket.once("secureConnect", resolve);
  socket.on("error", (cause) => reject(new OwnError("its TLS cannot be spoken", { cause })));
  socket.once("close", () => reject(new OwnError("it closed the connection while it was made")));
  try {
    await promise;
    if (!isThePlugin(socket, pair)) throw new NotThePlugin();
    return socket;
  } catch (error) {
    socket.destroy();
    raw.destroy();
    throw error;
  } finally {
    signal.removeEventListener("abort", give);
  }
}

function connected(path: string, signal: AbortSignal): Promise<Socket> {
  const { promise, resolve, reject } = Promise.withResolvers<Socket>();
  const socket = connectUnix({ path });
  const give = () => {
    socket.destroy();
    reject(signal.reason);
  };
  signal.addEventListener("abort", give, { once: true });
  socket.on("error", (cause) => reject(new OwnError("its socket cannot be reached", { cause })));
  socket.once("connect", () => {
    signal.removeEventListener("abort", give);
    resolve(socket);
  });
  return promise;
}

/** Compared as a whole below: whom it names, and who has signed it, says nothing more. */
function credentials({ own, theirs }: Pair) {
  return {
    key: own.keyPem,
    cert: own.certificatePem,
    ca: pemOf(theirs),
    minVersion: "TLSv1.2" as const,
    rejectUnauthorized: false,
  };
}

function isThePlugin(socket: TLSSocket, { theirs }: Pair): boolean {
  const certificate = socket.getPeerX509Certificate();
  return certificate !== undefined && sameBytes(certificate.raw, Buffer.from(theirs));
}

export interface PluginListener {
  close(): Promise<void>;
}

export interface ListenOptions {
  readonly path: string;
  readonly pair: Pair | null;
  /** Whether processes of another user are to reach it. */
  readonly isForOthers: boolean;
  readonly accept: (socket: Socket) => void;
  /** It looks for another name than ours: its library is from before 1.4.4, and takes no certificate of ours. */
  readonly tooOld: () => void;
  /** In milliseconds. Default: five seconds. */
  readonly handshakeWithin?: number;
}

export async function listenForPlugin(options: ListenOptions): Promise<PluginListener> {
  const { path, pair, isForOthers, accept } = options;
  const open = new Set<Socket>();
  const raw = new Set<Socket>();
  const come = (socket: Socket) => {
    socket.on("error", () => {});
    if (open.size >= MAX_OPEN) return void socket.destroy();
    open.add(socket);
    socket.once("close", () => open.delete(socket));
    accept(socket);
  };
  const server = pair === null ? createPlainServer(come) : securedServer(pair, options, come);
  server.maxConnections = MAX_OPEN + MAX_COMING;
  server.on("connection", (socket: Socket) => {
    raw.add(socket);
    socket.once("close", () => raw.delete(socket));
  });
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  server.on("error", (cause) => reject(new OwnError("a socket for it cannot be made", { cause })));
  // The folder is ours alone, or one that others may only pass through; that they know the name lets nobody in.
  server.listen({ path, readableAll: isForOthers, writableAll: isForOthers }, resolve);
  await promise;
  return {
    close: () =>
      new Promise((closed) => {
        server.close(() => closed());
        for (const socket of [...open, ...raw]) socket.destroy();
      }),
  };
}

function securedServer(
  pair: Pair,
  { tooOld, handshakeWithin = HANDSHAKE_WITHIN }: ListenOptions,
  come: (socket: Socket) => void,
) {
  const server = createServer({
    ...credentials(pair),
    requestCert: true,
    handshakeTimeout: handshakeWithin,
    ALPNProtocols: [H2],
    SNICallback: (name, done) => {
      if (name === BEFORE_1_4_4) tooOld();
      done(null);
    },
  });
  server.on("secureConnection", (socket) => {
    if (isThePlugin(socket, pair)) return come(socket);
    socket.on("error", () => {});
    socket.destroy();
  });
  server.on("tlsClientError", (_error, socket) => void socket.destroy());
  return server;
}
