// What the fakes of stores have in common: an HTTP server on loopback, a log of what came, and faults that befall
// requests. They share no code with the product.

import { once } from "node:events";
import { createServer, type IncomingHttpHeaders, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

export interface StoreRequest {
  readonly method: string;
  /** As it came: encoded. */
  readonly path: string;
  readonly query: URLSearchParams;
  /** Without the question mark, as it came. */
  readonly rawQuery: string;
  readonly headers: IncomingHttpHeaders;
  readonly rawHeaders: readonly string[];
  readonly body: Buffer;
}

export interface StoreAnswer {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Buffer;
}

export interface Logged {
  readonly action: string;
  readonly method: string;
  readonly host: string;
  readonly path: string;
  readonly query: Readonly<Record<string, string>>;
  readonly headers: IncomingHttpHeaders;
  readonly bytes: number;
  status: number;
}

export interface StoreFault {
  /** As the fake names it; "*" for any. */
  readonly action: string;
  /** refuse: answers with `answer`. lost: cuts the connection, before it has its effect or after. hang: never
   *  answers, likewise. cut: sends half of the answer. half: reads half of the body, and cuts. */
  readonly kind: "refuse" | "lost-before" | "lost-after" | "hang" | "hang-after" | "cut" | "half";
  readonly answer?: StoreAnswer;
  /** How many requests it befalls. Default 1. */
  times?: number;
  /** How many are let through before. Default 0. */
  after?: number;
}

export interface StoreFake {
  readonly actionOf: (request: StoreRequest) => string;
  readonly perform: (action: string, request: StoreRequest) => StoreAnswer;
  /** What to do with a body that was cut. */
  readonly half?: (request: StoreRequest) => void;
  readonly hidden?: readonly string[];
}

export interface StoreFront {
  readonly port: number;
  readonly url: string;
  readonly log: Logged[];
  readonly faults: StoreFault[];
  /** How many requests hang. */
  readonly hanging: () => number;
  /** What was wanted for, in order. */
  readonly actions: () => string[];
  close(): Promise<void>;
}

export async function startFront(fake: StoreFake): Promise<StoreFront> {
  const log: Logged[] = [];
  const faults: StoreFault[] = [];
  let hanging = 0;
  const server = createServer((incoming, response) => {
    const parts: Buffer[] = [];
    const [path = "/", rawQuery = ""] = (incoming.url ?? "/").split("?");
    const request = (): StoreRequest => ({
      method: incoming.method ?? "",
      path,
      rawQuery,
      query: new URLSearchParams(rawQuery),
      headers: incoming.headers,
      rawHeaders: incoming.rawHeaders,
      body: Buffer.concat(parts),
    });
    const action = fake.actionOf(request());
    const fault = nextFault(faults, action);
    const expected = Number(incoming.headers["content-length"] ?? 0);
    let halved = false;
    incoming.on("error", () => {});
    incoming.on("data", (part: Buffer) => {
      parts.push(part);
      const got = parts.reduce((sum, { length }) => sum + length, 0);
      if (fault?.kind !== "half" || halved || got < expected / 2) return;
      halved = true;
      fake.half?.(request());
      incoming.socket.destroy();
    });
    incoming.on("end", () => {
      const wanted = request();
      const logged = entryOf(action, wanted);
      log.push(logged);
      if (fault?.kind === "hang") {
        hanging++;
        return;
      }
      if (fault?.kind === "lost-before") return void incoming.socket.destroy();
      const answer =
        fault?.kind === "refuse" ? (fault.answer ?? { status: 500 }) : fake.perform(action, wanted);
      logged.status = answer.status;
      if (fault?.kind === "hang-after") return void hanging++;
      if (fault?.kind === "lost-after") return void incoming.socket.destroy();
      send(response, wanted.method, answer, fault?.kind === "cut");
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return {
    port,
    url: `http://127.0.0.1:${port}`,
    log,
    faults,
    hanging: () => hanging,
    actions: () => log.map(({ action }) => action),
    close: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

function nextFault(faults: StoreFault[], action: string): StoreFault | null {
  const at = faults.findIndex((fault) => fault.action === "*" || fault.action === action);
  const fault = faults[at];
  if (fault === undefined) return null;
  if ((fault.after ?? 0) > 0) {
    fault.after = (fault.after ?? 0) - 1;
    return null;
  }
  fault.times = (fault.times ?? 1) - 1;
  if (fault.times <= 0) faults.splice(at, 1);
  return fault;
}

function entryOf(action: string, { method, headers, path, query, body }: StoreRequest): Logged {
  const host = headers.host ?? "";
  const queried = Object.fromEntries(query);
  return { action, method, host, path, query: queried, headers, bytes: body.length, status: 0 };
}

function send(response: ServerResponse, method: string, answer: StoreAnswer, cut: boolean): void {
  const { status, headers = {}, body = "" } = answer;
  const bytes = Buffer.from(body);
  const length = headers["content-length"] ?? String(bytes.length);
  response.writeHead(status, { ...headers, "content-length": length });
  if (method === "HEAD") return void response.end();
  if (!cut) return void response.end(bytes);
  response.write(bytes.subarray(0, bytes.length / 2), () => response.destroy());
}
