// A way to a port of loopback that counts the bytes which go through it, both ways.

import { once } from "node:events";
import { connect, createServer, type Server, type Socket } from "node:net";

export class CountedWay {
  readonly port: number;
  /** Since the last look. */
  #bytes = 0;
  readonly #server: Server;
  readonly #sockets: Set<Socket>;

  private constructor(server: Server, port: number, sockets: Set<Socket>) {
    this.#server = server;
    this.port = port;
    this.#sockets = sockets;
  }

  static async to(port: number): Promise<CountedWay> {
    const sockets = new Set<Socket>();
    const server = createServer((socket) => {
      const there = connect(port, "127.0.0.1");
      for (const [from, to] of [
        [socket, there],
        [there, socket],
      ] as const) {
        sockets.add(from);
        from.setNoDelay(true);
        from.on("data", (piece) => (way.#bytes += piece.length));
        from.on("error", () => to.destroy());
        from.on("close", () => {
          sockets.delete(from);
          to.destroy();
        });
        from.pipe(to);
      }
    }).listen(0, "127.0.0.1");
    await once(server, "listening");
    const address = server.address();
    if (address === null || typeof address === "string") throw new Error("no port was given");
    const way = new CountedWay(server, address.port, sockets);
    return way;
  }

  take(): number {
    const bytes = this.#bytes;
    this.#bytes = 0;
    return bytes;
  }

  async close(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    this.#server.close();
    await once(this.#server, "close");
  }
}
