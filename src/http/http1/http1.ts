// HTTP/1.1 over a socket. The parser is Node's; this server never listens, it is handed connections. What
// it adds: the verb LIST, one request at a time, and every limit on time (Node's own do not cover an
// answer that nobody reads, and cannot be looked at by a test without waiting).

import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import type { Remote } from "@holdfast/shared/endpoint/request";
import { createServer } from "../../base/node-http.ts";
import { Http1Connection } from "./http1-connection.ts";
import type { ListenerLimits } from "../listener-settings.ts";
import type { Reception } from "../reception.ts";

export class Http1 {
  readonly #server: Server;
  readonly #connections = new WeakMap<Duplex, Http1Connection>();
  readonly #reception: Reception;
  readonly #limits: ListenerLimits;

  constructor(reception: Reception, limits: ListenerLimits) {
    this.#reception = reception;
    this.#limits = limits;
    this.#server = createServer({
      httpValidation: "strict",
      maxHeaderSize: limits.headerBytes,
      joinDuplicateHeaders: false,
      requireHostHeader: false, // checked with the other headers, and answered in JSON
      optimizeEmptyRequests: true,
      // Zero: these limits are ours, see http1-connection.ts.
      headersTimeout: 0,
      requestTimeout: 0,
      keepAliveTimeout: 0,
    });
    // A client may end its side when it has asked; Node would end ours with it, and the answer. See take().
    Object.assign(this.#server, { httpAllowHalfOpen: true });
    this.#server.maxHeadersCount = 0; // Node would drop what is too much; we refuse it
    const arrived = (request: IncomingMessage, response: ServerResponse) =>
      this.#connections.get(request.socket)?.arrived(request, response);
    this.#server.on("request", arrived);
    this.#server.on("checkContinue", arrived);
    this.#server.on("checkExpectation", arrived);
    this.#server.on("connect", (_request: IncomingMessage, socket: Duplex) =>
      this.#connections.get(socket)?.refuseTunnel(),
    );
    this.#server.on("clientError", (error: NodeJS.ErrnoException, socket: Duplex) => {
      const connection = this.#connections.get(socket);
      if (connection === undefined) socket.destroy();
      else connection.failed(error.code ?? "");
    });
  }

  take(socket: Socket, remote: Remote): Http1Connection {
    const connection = new Http1Connection(socket, remote, this.#reception, this.#limits);
    this.#connections.set(socket, connection);
    // Only here: a handshake, or HTTP/2, of which one side has ended is over.
    socket.allowHalfOpen = true;
    this.#server.emit("connection", socket);
    connection.listen(); // after Node's own listeners are there: ours stand around them
    return connection;
  }
}
