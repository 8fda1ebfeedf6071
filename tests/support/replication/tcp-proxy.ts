// A connection between two clusters that a test can cut, hold up, and let go on.

import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";
import type { TestContext } from "node:test";

export class TcpProxy {
  readonly #server: Server;
  readonly #target: number;
  readonly #open = new Set<Socket>();
  #cut = false;

  private constructor(target: number) {
    this.#target = target;
    this.#server = createServer((socket) => this.#accept(socket));
  }

  /** In front of a port of this machine. */
  static async before(t: TestContext, target: number): Promise<TcpProxy> {
    const proxy = new TcpProxy(target);
    proxy.#server.listen(0, "127.0.0.1");
    await once(proxy.#server, "listening");
    t.after(() => {
      proxy.cut();
      proxy.#server.close();
    });
    return proxy;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /** What is open ends, and nobody comes through. */
  cut(): void {
    this.#cut = true;
    for (const socket of this.#open) socket.destroy();
  }

  heal(): void {
    this.#cut = false;
  }

  #accept(socket: Socket): void {
    socket.on("error", () => {});
    if (this.#cut) {
      socket.destroy();
      return;
    }
    const onward = connect(this.#target, "127.0.0.1");
    onward.on("error", () => socket.destroy());
    for (const one of [socket, onward]) {
      this.#open.add(one);
      one.on("close", () => {
        this.#open.delete(one);
        socket.destroy();
        onward.destroy();
      });
    }
    socket.pipe(onward);
    onward.pipe(socket);
  }
}

/** A port of this machine that nobody listens on. */
export async function freePort(): Promise<number> {
  const server = createServer();
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, "close");
  return port;
}
