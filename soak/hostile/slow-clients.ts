// Clients that keep connections busy without getting on: heads and bodies that come byte by byte, answers that
// are never read, handshakes that are begun. Each notes when the server has had enough of it.

import { connect, type NetConnectOpts, type Socket } from "node:net";
import { performance } from "node:perf_hooks";
import { setTimeout as pause } from "node:timers/promises";

const PER_ADDRESS = 100; // the server takes 200
const PER_BATCH = 50;
const TRICKLE_MS = 50; // a byte of every twentieth client: all at once would be a flood
const PARTS = 20;
const HEAD = "Host: localhost\r\nX-Slow: ";
// As a client hello begins: a handshake record of 512 bytes, of which no more follows.
const HELLO = Buffer.from("16030102000100", "hex");

export type Kind = "head" | "body" | "handshake";

export interface SlowOptions {
  readonly count: number;
  readonly port: number;
  /** Clients come from 127.0.<net>.x, each address with no more connections than one may have. */
  readonly net: number;
}

/** How long the server put up with one, in seconds: it accepted the connection somewhere in between. */
export interface Drop {
  readonly max: number; // since we asked for a connection
  readonly min: number; // since we had it
}

export class SlowClients {
  readonly #kind: Kind;
  readonly #options: SlowOptions;
  readonly #sockets = new Set<Socket>();
  readonly #drops: Drop[] = [];
  #failures = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(kind: Kind, options: SlowOptions) {
    this.#kind = kind;
    this.#options = options;
  }

  async open(): Promise<void> {
    const { count, port, net } = this.#options;
    for (let i = 0; i < count; i += PER_BATCH) {
      const batch = Array.from({ length: Math.min(PER_BATCH, count - i) }, (_, j) => {
        const localAddress = `127.0.${net}.${1 + Math.floor((i + j) / PER_ADDRESS)}`;
        return this.#begin({ host: "127.0.0.1", port, localAddress }, i + j);
      });
      await Promise.all(batch);
    }
    if (this.#kind !== "handshake") {
      let turn = 0;
      this.#timer = setInterval(() => {
        let i = turn++;
        for (const socket of this.#sockets) if (i++ % PARTS === 0) socket.write("x");
      }, TRICKLE_MS);
    }
  }

  get drops(): readonly Drop[] {
    return this.#drops;
  }

  get left(): number {
    return this.#sockets.size;
  }

  /** Connections that were never made. */
  get failures(): number {
    return this.#failures;
  }

  close(): void {
    clearInterval(this.#timer);
    for (const socket of this.#sockets) socket.destroy();
  }

  async #begin(where: NetConnectOpts, i: number): Promise<void> {
    const requestedAt = performance.now();
    const socket = await connected(where);
    if (socket === null) {
      this.#failures++;
      return;
    }
    this.#sockets.add(socket);
    const sent = performance.now();
    const gone = () => {
      const now = performance.now();
      const drop = { max: (now - requestedAt) / 1000, min: (now - sent) / 1000 };
      if (this.#sockets.delete(socket)) this.#drops.push(drop);
      socket.destroy();
    };
    socket.on("end", gone);
    socket.on("close", gone);
    socket.resume();
    const opening = this.#opening(i);
    if (opening.length > 0) socket.write(opening);
  }

  #opening(i: number): string | Buffer {
    switch (this.#kind) {
      case "head":
        return i % 4 === 0 ? "GET /v1/sys/" : `GET /v1/sys/health HTTP/1.1\r\n${HEAD}`;
      case "body":
        return `POST /v1/sys/unseal HTTP/1.1\r\nContent-Length: 900\r\n${HEAD}1\r\n\r\n{"key":"`;
      case "handshake":
        return i % 2 === 0 ? Buffer.alloc(0) : HELLO;
    }
  }
}

/** Those that ask and do not read. They cannot see the end either: the server's descriptors tell. */
export class NeverReading {
  readonly #sockets: Socket[] = [];

  /** At most so many a second, since making long answers is work for the server. */
  async open(where: NetConnectOpts, request: string, count: number, aSecond: number) {
    for (let i = 0; i < count; i++) {
      const socket = await connected(where);
      if (socket === null) throw new Error("a connection was refused");
      socket.pause();
      socket.write(request);
      this.#sockets.push(socket);
      await pause(1000 / aSecond);
    }
  }

  close(): void {
    for (const socket of this.#sockets) socket.destroy();
  }
}

/** Not reading yet; null when it was refused. */
function connected(where: NetConnectOpts): Promise<Socket | null> {
  const socket = connect(where);
  socket.pause();
  socket.on("error", () => {});
  return new Promise((resolve) => {
    socket.once("connect", () => resolve(socket));
    socket.once("close", () => resolve(null));
  });
}
