// The process of the good clients (good-clients.ts): opens them as its one argument says, tells what they
// waited for when it is asked, and ends when nobody asks any more.

import { connect, type Socket } from "node:net";
import { performance } from "node:perf_hooks";
import { readAnswer } from "../../bench/load/load-answer.ts";
import type { CrowdCommand, CrowdReading, GoodOptions } from "./good-clients.ts";

class Crowd {
  readonly #options: GoodOptions;
  readonly #request: Buffer;
  readonly #millis: number[] = [];
  readonly #failures: string[] = [];
  readonly #sockets = new Set<Socket>();
  #over = false;

  constructor(options: GoodOptions) {
    this.#options = options;
    this.#request = Buffer.from(options.request, "latin1");
    const { count, everyMillis } = options;
    for (let i = 0; i < count; i++) {
      setTimeout(() => this.#live(i), (everyMillis * i) / count);
    }
  }

  take(): CrowdReading {
    const sorted = this.#millis.splice(0).toSorted((a, b) => a - b);
    const at = (share: number) => sorted[Math.floor(sorted.length * share)] ?? 0;
    const failures = [...this.#failures];
    return { answers: sorted.length, p50: at(0.5), p99: at(0.99), failures };
  }

  close(): void {
    this.#over = true;
    for (const socket of this.#sockets) socket.destroy();
  }

  #live(i: number): void {
    if (this.#over) return;
    const { port, everyMillis, addresses = [] } = this.#options;
    const from = addresses[i % addresses.length];
    const local = from === undefined ? {} : { localAddress: from };
    const socket = connect({ host: "127.0.0.1", port, ...local });
    this.#sockets.add(socket);
    socket.setNoDelay(true);
    let sent = 0;
    let held: Buffer = Buffer.alloc(0);
    let leaving = false;
    const ask = () => {
      if (this.#over) return;
      sent = performance.now();
      socket.write(this.#request);
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

const crowd = new Crowd(JSON.parse(process.argv[2] ?? "") as GoodOptions);
process.on("message", (command: CrowdCommand) => {
  if (command === "close") crowd.close();
  process.send?.(crowd.take());
});
process.on("disconnect", () => process.exit(0));
