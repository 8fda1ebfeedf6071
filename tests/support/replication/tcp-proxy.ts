// A connection between two clusters that a test can cut, hold up in one direction, make slow, and let go on.

import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";
import { Transform } from "node:stream";
import type { Ends } from "../servers/started-server.ts";

/** Seen from who has dialled: what it sends goes there, and the answers come back. */
export type Direction = "there" | "back";

export class TcpProxy {
  readonly #server: Server;
  readonly #target: number;
  readonly #open = new Set<Socket>();
  readonly #ways = { there: new Way(), back: new Way() };
  #cut = false;
  #accepted = 0;

  private constructor(target: number) {
    this.#target = target;
    this.#server = createServer((socket) => this.#accept(socket));
  }

  /** In front of a port of this machine. */
  static async before(t: Ends, target: number): Promise<TcpProxy> {
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

  /** How often somebody has dialled. */
  get accepted(): number {
    return this.#accepted;
  }

  /** Bytes that came through in this direction so far. */
  carried(direction: Direction): number {
    return this.#ways[direction].carried;
  }

  /** What is open ends, and nobody comes through. */
  cut(): void {
    this.#cut = true;
    for (const socket of this.#open) socket.destroy();
  }

  /** What is sent in this direction does not arrive, and nobody is told. `after`: but for so many bytes, which do. */
  hold(direction: Direction, { after = 0 } = {}): void {
    this.#ways[direction].left = after;
  }

  /** What is sent in this direction, or in either, is lost and nobody is told, also of a connection that ends; whoever dials
   *  reaches nobody. A connection that has lost something carries no more in that direction, also when all is healed: what comes later waits for it. */
  drop(...directions: readonly Direction[]): void {
    for (const one of directions.length === 0 ? (["there", "back"] as const) : directions) {
      this.#ways[one].drops = true;
    }
  }

  /** What is sent arrives so much later, each way. */
  delay(milliseconds: number): void {
    for (const way of Object.values(this.#ways)) way.delay = milliseconds;
  }

  /** So many bytes in a second, of all connections together, each way. */
  limit(bytesPerSecond: number): void {
    for (const way of Object.values(this.#ways)) way.rate = bytesPerSecond;
  }

  /** As at first. What was held up arrives. */
  heal(): void {
    this.#cut = false;
    for (const way of Object.values(this.#ways)) {
      way.drops = false;
      way.rate = Infinity;
      way.delay = 0;
      way.left = Infinity;
      way.look();
    }
  }

  #accept(socket: Socket): void {
    socket.on("error", () => {});
    this.#accepted++;
    if (this.#cut) {
      socket.destroy();
      return;
    }
    if (this.#drops) {
      this.#open.add(socket);
      socket.on("close", () => this.#open.delete(socket));
      socket.resume();
      return;
    }
    const onward = connect(this.#target, "127.0.0.1");
    onward.on("error", () => socket.destroy());
    const lost = new Set<Direction>();
    for (const one of [socket, onward]) {
      this.#open.add(one);
      one.on("close", () => {
        this.#open.delete(one);
        if (lost.size > 0 || this.#drops) return;
        socket.destroy();
        onward.destroy();
      });
    }
    const gate = (direction: Direction) =>
      this.#ways[direction].gate({
        get isLost() {
          return lost.has(direction);
        },
        lose: () => void lost.add(direction),
      });
    socket.pipe(gate("there")).pipe(onward);
    onward.pipe(gate("back")).pipe(socket);
  }

  get #drops(): boolean {
    return Object.values(this.#ways).some(({ drops }) => drops);
  }
}

class Way {
  /** So many bytes pass; whatever comes then is held. */
  left = Infinity;
  drops = false;
  rate = Infinity;
  delay = 0;
  carried = 0;
  /** When the bytes so far have all gone. */
  #free = 0;
  readonly #waiting = new Set<() => void>();

  gate(connection: { readonly isLost: boolean; readonly lose: () => void }): Transform {
    const late = new Late();
    const gate = new Transform({
      transform: (chunk: Buffer, _encoding, done) => {
        if (this.drops) connection.lose();
        if (connection.isLost) return done();
        const pass = () => {
          // Called when its time has come, and whenever something has changed: it passes once.
          if (this.left <= 0 || !this.#waiting.has(pass)) return;
          const now = performance.now();
          if (this.rate !== Infinity && this.#free > now) {
            setTimeout(pass, this.#free - now).unref();
            return;
          }
          this.#waiting.delete(pass);
          this.left -= chunk.length;
          this.carried += chunk.length;
          this.#free = now + (chunk.length * 1000) / this.rate;
          if (this.delay === 0 && late.isEmpty) return done(null, chunk);
          late.add(this.delay, () => gate.push(chunk));
          done();
        };
        this.#waiting.add(pass);
        pass();
      },
      flush: (done) => {
        if (this.drops) connection.lose();
        if (connection.isLost) return; // its end is lost too
        if (late.isEmpty) done();
        else late.add(0, done);
      },
    });
    return gate;
  }

  /** Something has changed. */
  look(): void {
    for (const pass of this.#waiting) pass();
  }
}

/** What comes in its order, each at its time. */
class Late {
  readonly #coming: { readonly due: number; readonly arrive: () => void }[] = [];

  get isEmpty(): boolean {
    return this.#coming.length === 0;
  }

  add(milliseconds: number, arrive: () => void): void {
    const due = performance.now() + milliseconds;
    if (this.#coming.push({ due, arrive }) === 1) this.#wait();
  }

  #wait(): void {
    const [next] = this.#coming;
    if (next === undefined) return;
    const arrive = () => {
      this.#coming.shift();
      next.arrive();
      this.#wait();
    };
    setTimeout(arrive, Math.max(0, next.due - performance.now())).unref();
  }
}

// Below those that the system gives to whoever dials, so that nobody is given one between the look and its use.
const [FIRST, COUNT] = [10_000, 20_000];

/** A port of this machine that nobody listens on. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = FIRST + Math.floor(Math.random() * COUNT);
    const server = createServer();
    server.listen(port, "127.0.0.1");
    try {
      await once(server, "listening");
    } catch {
      continue; // taken
    }
    server.close();
    await once(server, "close");
    return port;
  }
}
