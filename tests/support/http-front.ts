// The HTTP front with a pipeline that a test scripts, and a client that sends bytes as they stand and reads
// answers without any tolerance.

import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { connect, Socket } from "node:net";
import { connect as connectTls, type ConnectionOptions } from "node:tls";
import { SystemFs } from "../../src/system/fs.ts";
import type { JsonObject } from "@holdfast/shared/json/json";
import { Failure } from "@holdfast/shared/failure";
import type { Core, Incoming, Outcome } from "../../src/core/incoming.ts";
import { Reply } from "@holdfast/shared/endpoint/reply";
import type { ListenerSettings } from "../../src/http/listener-settings.ts";
import type { BrowserRules, HttpOptions, RequestFacts } from "../../src/http/options.ts";
import { HttpServer, type Bound } from "../../src/http/server.ts";
import { fakeWorld, nextTurn, type FakeWorld } from "./fake-world.ts";
import { until } from "./until.ts";

export type Script = (incoming: Incoming) => Promise<Partial<Outcome>> | Partial<Outcome>;

export interface Front {
  readonly server: HttpServer;
  readonly bound: Bound;
  readonly port: number;
  readonly world: FakeWorld;
  readonly facts: RequestFacts[];
  /** What reached the pipeline, in order. */
  readonly seen: Incoming[];
  script: Script;
  /** Whether it knows who asks. Default: always. */
  knows: (incoming: Incoming) => boolean;
  /** How long a streamed body may be. Default 0: none is. */
  streamed: number;
  client(): Promise<RawClient>;
  /** Everything that these clients have sent has been taken in, as far as the server reads. */
  settled(): Promise<void>;
  /** The server's end of a client's connection, once it was accepted. */
  endOf(client: RawClient): Promise<Socket>;
  /** How many connections are left once all have gone that go while the clock stands still. */
  left(): Promise<number>;
  close(): Promise<void>;
}

export const NO_BROWSER: BrowserRules = {
  allows: () => false,
  corsHeaders: () => ({}),
  consoleHeaders: () => ({}),
};

const VERBS = ["GET", "HEAD", "LIST", "POST", "PUT", "PATCH", "DELETE"];

/** As the pipeline refuses what no path has. */
function unknownVerb({ verb }: Incoming): Failure | null {
  if (VERBS.includes(verb)) return null;
  return new Failure("unsupported", "unsupported-operation", "unsupported operation");
}

/** Tells the test what arrived. */
export const echo: Script = async (incoming) => {
  const { verb, target, credential, namespace, hasBody } = incoming;
  const comes = hasBody || verb === "PATCH"; // its type is judged with its body
  const body = comes ? Buffer.from(await incoming.body(1 << 25)).toString("utf8") : null;
  return { result: new Reply({ verb, target, credential, namespace, body }) };
};

export async function makeFront(
  settings: Partial<ListenerSettings> = {},
  options: Partial<HttpOptions> = {},
): Promise<Front> {
  const world = fakeWorld();
  const facts: RequestFacts[] = [];
  const seen: Incoming[] = [];
  const core: Core = {
    handle: async (incoming) => {
      const refusal = incoming.credentialFault ?? unknownVerb(incoming);
      if (refusal !== null) return { ...PLAIN, result: refusal };
      try {
        incoming.identified?.(front.knows(incoming));
      } catch (error) {
        if (error instanceof Failure) return { ...PLAIN, result: error };
        throw error;
      }
      seen.push(incoming);
      return { ...PLAIN, ...(await front.script(incoming)) };
    },
    streams: () => front.streamed,
  };
  const { clock, timers, random, log } = world;
  const server = new HttpServer({
    core,
    clock,
    timers,
    random,
    log,
    fs: new SystemFs(),
    browser: NO_BROWSER,
    compat: true,
    ui: true,
    apiAddress: null,
    observe: (fact) => void facts.push(fact),
    ...options,
  });
  const bound = await server.listen({
    kind: "tcp",
    host: "127.0.0.1",
    port: 0,
    tls: null,
    ...settings,
  });
  const { port } = bound.address;
  const clients: RawClient[] = [];
  const ends = new Map<number, Socket>(); // by the port of the client
  const note = (message: unknown) => {
    const socket = socketOf(message);
    if (socket?.localPort === port) ends.set(socket.remotePort ?? 0, socket);
  };
  subscribe(ACCEPTED, note);
  const front: Front = {
    server,
    bound,
    port,
    world,
    facts,
    seen,
    script: echo,
    knows: () => true,
    streamed: 0,
    client: async () => {
      const client = await RawClient.connect(port);
      clients.push(client);
      return client;
    },
    settled: async () => {
      for (const client of clients) {
        await until(() => isTakenIn(client, ends.get(client.port)));
      }
      for (let i = 0; i < 20; i++) await nextTurn(); // what follows from it
    },
    endOf: async ({ port: from }) => {
      await until(() => ends.has(from));
      return ends.get(from)!;
    },
    left: async () => {
      for (let turn = 0; turn < 1000 && server.connections > 0; turn++) await nextTurn();
      return server.connections;
    },
    close: async () => {
      unsubscribe(ACCEPTED, note);
      const closed = server.close(0n);
      await timers.advance(1n);
      await closed;
    },
  };
  return front;
}

/** Where Node tells of every connection that a server in this process accepted. */
const ACCEPTED = "net.server.socket";

function socketOf(message: unknown): Socket | null {
  const found = typeof message === "object" && message !== null && "socket" in message;
  return found && message.socket instanceof Socket ? message.socket : null;
}

/** The system has what was sent; it may take its time to hand it to the other end. */
function isTakenIn(client: RawClient, end: Socket | undefined): boolean {
  if (client.socket.destroyed) return true;
  if (end === undefined) return false;
  return end.destroyed || end.isPaused() || end.bytesRead >= client.sent;
}

export const PLAIN: Outcome = {
  result: new Reply(undefined),
  family: "enveloped",
  flat: false,
  operation: "read",
  mountType: "system",
  headOnly: false,
  pretty: false,
  headers: {},
  state: null,
  index: 7n,
};

export interface RawAnswer {
  readonly status: number;
  /** By lower-case name; repeated ones joined by a line break. */
  readonly headers: ReadonlyMap<string, string>;
  readonly body: string;
}

export class RawClient {
  readonly socket: Socket;
  readonly port: number; // ours; 0 where connections have none
  /** Bytes that the system has taken from us. */
  sent = 0;
  #chunks: Buffer[] = []; // joined when looked at
  #length = 0;
  #awaited = 0; // bytes of the answer that is coming, as far as known
  #ended = false;
  #wake: () => void = () => {};

  constructor(socket: Socket) {
    this.socket = socket;
    this.port = socket.localPort ?? 0;
    socket.setNoDelay(true);
    socket.on("data", (chunk: Buffer) => {
      this.#chunks.push(chunk);
      this.#length += chunk.length;
      if (this.#length >= this.#awaited) this.#wake();
    });
    socket.on("error", () => {});
    socket.on("close", () => this.#end());
    socket.on("end", () => this.#end());
  }

  static connect(port: number, localAddress = "127.0.0.1"): Promise<RawClient> {
    return opened(connect({ port, host: "127.0.0.1", localAddress }), "connect");
  }

  static connectTls(port: number, options: ConnectionOptions): Promise<RawClient> {
    return opened(connectTls({ port, host: "127.0.0.1", ...options }), "secureConnect");
  }

  #end(): void {
    this.#ended = true;
    this.#wake();
  }

  get received(): string {
    return this.#joined().toString("latin1");
  }

  #joined(): Buffer {
    const whole = Buffer.concat(this.#chunks);
    this.#chunks = [whole];
    return whole;
  }

  get ended(): boolean {
    return this.#ended;
  }

  send(bytes: string | Uint8Array): Promise<void> {
    return new Promise((resolve) => {
      const data = typeof bytes === "string" ? Buffer.from(bytes, "latin1") : bytes;
      this.socket.write(data, (error) => {
        if (!error) this.sent += data.length;
        resolve();
      });
    });
  }

  async ask(bytes: string | Uint8Array): Promise<RawAnswer> {
    await this.send(bytes);
    return this.answer();
  }

  /** An answer that is there already. */
  peek(headOnly = false): RawAnswer | null {
    return this.#take(headOnly);
  }

  /** The next answer; null when the connection ends without one. `headOnly`: to a HEAD. */
  async next(headOnly = false): Promise<RawAnswer | null> {
    for (;;) {
      const answer = this.#take(headOnly);
      if (answer !== null || this.#ended) return answer;
      await this.#more();
    }
  }

  async answer(headOnly = false): Promise<RawAnswer> {
    const answer = await this.next(headOnly);
    if (answer === null) throw new Error(`no answer, but: ${JSON.stringify(this.received)}`);
    return answer;
  }

  async closed(): Promise<void> {
    while (!this.#ended) await this.#more();
  }

  destroy(): void {
    this.socket.destroy();
  }

  #more(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = resolve;
    });
  }

  #take(headOnly: boolean): RawAnswer | null {
    const received = this.#joined();
    const end = received.indexOf("\r\n\r\n");
    if (end < 0) return null;
    const [first = "", ...lines] = received.toString("latin1", 0, end).split("\r\n");
    const match = /^HTTP\/1\.1 (\d{3}) [A-Za-z' -]*$/.exec(first);
    if (match === null) throw new Error(`not a status line: ${JSON.stringify(first)}`);
    const headers = new Map<string, string>();
    for (const line of lines) {
      const [, name = "", value = ""] = /^([^:]+): (.*)$/.exec(line) ?? [];
      const key = name.toLowerCase();
      const before = headers.get(key);
      headers.set(key, before === undefined ? value : `${before}\n${value}`);
    }
    const status = Number(match[1]);
    const length = headOnly || status === 204 ? 0 : Number(headers.get("content-length") ?? 0);
    const from = end + 4;
    if (headers.get("transfer-encoding") === "chunked" && !headOnly) {
      const chunked = chunksOf(received, from);
      if (chunked === null) return null;
      this.#chunks = [received.subarray(chunked.end)];
      this.#length = received.length - chunked.end;
      return { status, headers, body: chunked.body.toString("utf8") };
    }
    this.#awaited = from + length;
    if (received.length < from + length) return null;
    const body = received.toString("utf8", from, from + length);
    this.#chunks = [received.subarray(from + length)];
    this.#length = received.length - from - length;
    this.#awaited = 0;
    return { status, headers, body };
  }
}

/** Null while some of it is missing. What follows the last chunk are trailers. */
function chunksOf(received: Buffer, from: number): { body: Buffer; end: number } | null {
  const parts: Buffer[] = [];
  for (let start = from; ;) {
    const line = received.indexOf("\r\n", start);
    if (line < 0) return null;
    const size = Number.parseInt(received.toString("latin1", start, line), 16);
    if (size === 0) {
      const end = received.indexOf("\r\n\r\n", line);
      return end < 0 ? null : { body: Buffer.concat(parts), end: end + 4 };
    }
    start = line + 2 + size + 2;
    if (received.length < start) return null;
    parts.push(received.subarray(line + 2, line + 2 + size));
  }
}

function opened(socket: Socket, event: "connect" | "secureConnect"): Promise<RawClient> {
  const { promise, resolve, reject } = Promise.withResolvers<RawClient>();
  socket.once("error", reject);
  socket.once(event, () => {
    socket.off("error", reject);
    resolve(new RawClient(socket));
  });
  return promise;
}

/** A request line and headers as a well-behaved client sends them. */
export function get(target: string, ...headers: string[]): string {
  return request("GET", target, ...headers);
}

export function request(verb: string, target: string, ...headers: string[]): string {
  return [`${verb} ${target} HTTP/1.1`, "Host: localhost", ...headers, "", ""].join("\r\n");
}

export function post(target: string, body: string, ...headers: string[]): string {
  const length = `Content-Length: ${Buffer.byteLength(body)}`;
  return request("POST", target, length, ...headers) + body;
}

export function dataOf(answer: RawAnswer): JsonObject {
  const parsed: { readonly data: JsonObject } = JSON.parse(answer.body);
  return parsed.data;
}

export function errorsOf(answer: RawAnswer): string[] {
  const parsed: { readonly errors: string[] } = JSON.parse(answer.body);
  return parsed.errors;
}
