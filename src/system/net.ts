// Real connections over TCP. TLS, HTTP and our own protocols are laid over them by those who use
// them; limits on time and number are theirs as well.

import { createServer, connect } from "node:net";
import type { Server, Socket } from "node:net";
import type { Duplex } from "node:stream";
import type { Failure } from "@holdfast/shared/failure";
import { addressInUse, networkFailed } from "@holdfast/shared/failures";
import { invariant } from "@holdfast/shared/invariant";
import type { Address, Listener, Net } from "@holdfast/shared/world";

export class SystemNet implements Net {
  /** The signal ends the attempt; a connection once made is the caller's to end. */
  connect(to: Address, signal?: AbortSignal): Promise<Duplex> {
    const { promise, resolve, reject } = Promise.withResolvers<Duplex>();
    if (signal?.aborted) {
      reject(signal.reason);
      return promise;
    }
    const socket = connect({ host: to.host, port: to.port });
    const abort = () => {
      socket.destroy();
      reject(signal?.reason);
    };
    signal?.addEventListener("abort", abort, { once: true });
    socket.once("error", (cause) => {
      signal?.removeEventListener("abort", abort);
      reject(failed("connect to", to, cause));
    });
    socket.once("connect", () => {
      signal?.removeEventListener("abort", abort);
      settle(socket);
      resolve(socket);
    });
    return promise;
  }

  /** Port 0 takes a free one; the listener's address then names it. */
  listen(on: Address, accept: (connection: Duplex) => void): Promise<Listener> {
    const { promise, resolve, reject } = Promise.withResolvers<Listener>();
    const open = new Set<Socket>();
    const server = createServer((socket) => {
      open.add(socket);
      socket.once("close", () => open.delete(socket));
      settle(socket);
      accept(socket);
    });
    // After the start an error means that one connection could not be accepted (no descriptors
    // left, say). The others go on, and so does the listener; the reject is then without effect.
    server.on("error", (cause) => reject(failed("listen on", on, cause)));
    server.listen({ host: on.host, port: on.port }, () =>
      resolve(new SystemListener(server, open)),
    );
    return promise;
  }
}

class SystemListener implements Listener {
  readonly address: Address;
  readonly #server: Server;
  readonly #open: ReadonlySet<Socket>;
  #closed: Promise<void> | undefined;

  constructor(server: Server, open: ReadonlySet<Socket>) {
    const bound = server.address();
    invariant(bound !== null && typeof bound === "object", "a TCP listener has host and port");
    this.address = { host: bound.address, port: bound.port };
    this.#server = server;
    this.#open = open;
  }

  /** Accepts no more, cuts the connections it accepted, and resolves when all are gone. */
  close(): Promise<void> {
    this.#closed ??= new Promise((resolve) => {
      this.#server.close(() => resolve());
      for (const socket of this.#open) socket.destroy();
    });
    return this.#closed;
  }
}

function settle(socket: Socket): void {
  socket.setNoDelay(true); // messages are written whole; waiting to merge them only adds delay
  // A stream without a listener for its errors would end the process when the peer resets the
  // connection. Users still learn of it: "close" follows, and reads and writes fail.
  socket.on("error", () => {});
}

function failed(action: string, { host, port }: Address, cause: Error): Failure {
  const reason = "code" in cause ? String(cause.code) : cause.message;
  const taken = action === "listen on" && reason === "EADDRINUSE";
  const message = `cannot ${action} ${host}:${port}: ${taken ? "the address is in use" : reason}`;
  return taken ? addressInUse(message) : networkFailed(message);
}
