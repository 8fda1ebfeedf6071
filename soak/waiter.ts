// One client of a blocking query: a connection of its own from an address of its own choice, one request,
// and when and how it was answered.

import { connect, type Socket } from "node:net";

export interface WaiterOptions {
  readonly url: URL;
  readonly token: string;
  /** With the slash in front. */
  readonly path: string;
  /** Where it comes from: any 127.x.y.z is ours on the loopback device. */
  readonly from: string;
}

export type WaiterEnd =
  | {
      readonly kind: "answered";
      readonly status: number;
      readonly text: string;
      readonly at: number;
    }
  | { readonly kind: "lost"; readonly reason: string; readonly at: number };

export class Waiter {
  /** Resolves once the request is on its way; rejects when there is no connection. */
  readonly sent: Promise<void>;
  /** Never resolves after `leave`. */
  readonly ended: Promise<WaiterEnd>;
  readonly #socket: Socket;
  readonly #options: WaiterOptions;
  #text = "";
  #end: WaiterEnd | null = null;
  #left = false;

  constructor(options: WaiterOptions) {
    const { url, from } = options;
    const sent = Promise.withResolvers<void>();
    const ended = Promise.withResolvers<WaiterEnd>();
    const end = (how: WaiterEnd) => {
      if (this.#end !== null || this.#left) return;
      this.#end = how;
      ended.resolve(how);
    };
    const lost = (reason: string) => {
      sent.reject(new Error(`from ${from}: ${reason}`));
      end({ kind: "lost", reason, at: performance.now() });
    };
    this.#options = options;
    this.sent = sent.promise;
    this.sent.catch(() => {}); // also where nobody waits for it
    this.ended = ended.promise;
    const { hostname: host, port } = url;
    this.#socket = connect({ host, port: Number(port), localAddress: from, noDelay: true });
    this.#socket.setEncoding("latin1");
    this.#socket.on("connect", () => this.#socket.write(this.#request(), () => sent.resolve()));
    this.#socket.on("data", (text: string) => {
      this.#text += text;
      const status = statusOf(this.#text);
      if (status !== null) {
        end({ kind: "answered", status, text: this.#text, at: performance.now() });
      }
    });
    this.#socket.on("error", (error) => lost(error.message));
    this.#socket.on("close", () => lost("the server closed the connection"));
  }

  get end(): WaiterEnd | null {
    return this.#end;
  }

  /** Hangs up. */
  leave(): void {
    this.#left = true;
    this.#socket.destroy();
  }

  #request(): string {
    const { url, path, token } = this.#options;
    return `GET ${path} HTTP/1.1\r\nHost: ${url.host}\r\nX-Service-Token: ${token}\r\n\r\n`;
  }
}

/** Null while the answer is not complete. */
function statusOf(text: string): number | null {
  const end = text.indexOf("\r\n\r\n");
  if (end < 0) return null;
  const head = text.slice(0, end + 2);
  const length = Number(/\r\ncontent-length: *(\d+)\r\n/i.exec(head)?.[1] ?? Number.NaN);
  if (Number.isNaN(length)) throw new Error(`an answer has no Content-Length: ${head}`);
  return text.length < end + 4 + length ? null : Number(head.slice(9, 12));
}
