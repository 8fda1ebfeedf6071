// Clients that behave: each sends one request, reads its answer, waits a little, on one connection after the
// other. How long they wait for answers is what an attack may not change much.

import { performance } from "node:perf_hooks";
import { connect, type Socket } from "node:net";
import { readAnswer } from "../bench/load-answer.ts";

export interface GoodOptions {
  readonly count: number;
  readonly request: Buffer;
  readonly everyMillis: number;
  /** The address that the i-th comes from. Default: the system's choice. */
  readonly from?: (i: number) => string;
}

export interface Waiting {
  readonly answers: number;
  readonly p50: number; // ms
  readonly p99: number;
}

export class GoodClients {
  readonly #port: number;
  readonly #options: GoodOptions;
  readonly #millis: number[] = [];
  readonly #failures: string[] = [];
  readonly #sockets = new Set<Socket>();
  #over = false;

  private constructor(url: string, options: GoodOptions) {
    this.#port = Number(new URL(url).port);
    this.#options = options;
  }

  static open(url: string, options: GoodOptions): GoodClients {
    const clients = new GoodClients(url, options);
    for (let i = 0; i < options.count; i++) {
      setTimeout(() => clients.#live(i), (options.everyMillis * i) / options.count);
    }
    return clients;
  }

  /** What was waited for since it was last asked. */
  take(): Waiting {
    const sorted = this.#millis.splice(0).toSorted((a, b) => a - b);
    const at = (share: number) => sorted[Math.floor(sorted.length * share)] ?? 0;
    return { answers: sorted.length, p50: at(0.5), p99: at(0.99) };
  }

  /** Everything that went wrong. */
  close(): readonly string[] {
    this.#over = true;
    for (const socket of this.#sockets) socket.destroy();
    return this.#failures;
  }

  #live(i: number): void {
    if (this.#over) return;
    const { request, everyMillis, from } = this.#options;
    const local = from === undefined ? {} : { localAddress: from(i) };
    const socket = connect({ host: "127.0.0.1", port: this.#port, ...local });
    this.#sockets.add(socket);
    socket.setNoDelay(true);
    let sent = 0;
    let held: Buffer = Buffer.alloc(0);
    let leaving = false;
    const ask = () => {
      if (this.#over) return;
      sent = performance.now();
      socket.write(request);
    };
    const fail = (what: string) => {
      if (!this.#over && !leaving) this.#failures.push(what);
      socket.destroy();
    };
    socket.once("connect", ask);
    socket.on("error", (error) => fail(error.message));
    socket.on("close", () => {
      this.#sockets.delete(socket);
      fail("the connection was closed");
      if (!this.#over) setTimeout(() => this.#live(i), everyMillis);
    });
    socket.on("data", (chunk: Buffer) => {
      held = held.length === 0 ? chunk : Buffer.concat([held, chunk]);
      const answer = readAnswer(held);
      if (answer === null || held.length < answer.length) return;
      held = Buffer.alloc(0);
      this.#millis.push(performance.now() - sent);
      if (answer.status !== 200) fail(`answered ${answer.status}`);
      else if (answer.closes) {
        leaving = true; // after so many requests a connection has had its time
        socket.destroy();
      } else setTimeout(ask, everyMillis);
    });
  }
}
