// Connections that are kept for the next request, of one mount to one endpoint with one identity:
// whoever may use them has been judged and verified as they were (T-I05).

import type { AgentOptions } from "node:http";
import type { Duplex } from "node:stream";
import { Agent } from "../base/node-http.ts";
import type { Destination } from "./allowed-addresses.ts";

const MAX_OPEN = 32; // of one endpoint and identity; further requests wait within their time
const MAX_IDLE = 8;
// Shorter than any provider's own: a request on a connection that the other end is closing is lost.
const IDLE_MS = 4_000;

export interface Dialler {
  dial(to: Destination, closing: AbortSignal): Promise<Duplex>;
}

export class Connections extends Agent {
  readonly #to: Destination;
  readonly #dialler: Dialler;
  readonly #closing = new AbortController();
  #underWay = 0;

  constructor(to: Destination, dialler: Dialler) {
    super({
      keepAlive: true,
      maxSockets: MAX_OPEN,
      maxFreeSockets: MAX_IDLE,
      scheduling: "lifo",
      timeout: IDLE_MS,
    });
    this.#to = to;
    this.#dialler = dialler;
    // What a request says of its scheme must be that of its agent.
    Object.assign(this, { protocol: to.secure ? "https:" : "http:" });
  }

  /** Neither in use nor kept. */
  get isEmpty(): boolean {
    const kept = Object.keys(this.sockets).length + Object.keys(this.freeSockets).length;
    return this.#underWay === 0 && kept === 0;
  }

  close(): void {
    this.#closing.abort();
    this.destroy();
  }

  /** Something has begun; gives what to call when it has ended. */
  begin(): () => void {
    this.#underWay += 1;
    return () => {
      this.#underWay -= 1;
    };
  }

  // What Node knows of the request counts for nothing here: the destination is the agent's own.
  override createConnection(
    _: AgentOptions,
    settle: (error: Error | null, connection?: Duplex) => void,
  ): undefined {
    const ended = this.begin(); // a request that is given up meanwhile leaves it to itself
    const dialled = this.#dialler.dial(this.#to, this.#closing.signal).finally(ended);
    dialled.then(
      (connection) => settle(null, connection),
      (error: Error) => settle(error),
    );
    return undefined;
  }
}
