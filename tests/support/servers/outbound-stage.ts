// Calls that go out, with the world outside played on loopback: hosts that answer with bytes of a test's
// choice, a name service that a test writes, and a record of every connection that was really made.

import { createServer, type Server, Socket } from "node:net";
import type { Duplex } from "node:stream";
import type { TestContext } from "node:test";
import { createServer as createTlsServer } from "node:tls";
import { SystemNet } from "../../../src/system/net.ts";
import { SystemTimers } from "../../../src/system/timers.ts";
import type { Address, Net, Timers } from "@holdfast/shared/world";
import { OutboundCalls } from "../../../src/outbound/outbound-calls.ts";
import {
  type Outbound,
  type OutboundAnswer,
  OutboundError,
  type OutboundRequest,
} from "@holdfast/plugin-sdk/outbound";
import type { Pem } from "../certificates.ts";

/** Addresses of the public network, as far as the calls know. */
export const PUBLIC = "93.184.216.34";
export const PUBLIC_TOO = "8.8.4.4";

export interface Host {
  readonly port: number;
  /** Heads of requests, as they came. */
  readonly heads: readonly string[];
  /** How many connections were made to it. */
  readonly connections: () => number;
  /** Of connections that are open now. */
  readonly open: ReadonlySet<Socket>;
}

/** Called with each request's head; gives the bytes of the answer, or null for none. */
export type Answering = (head: string, socket: Socket) => string | null;

export function answer(body: string, ...headers: string[]): string {
  const lines = ["HTTP/1.1 200 OK", `Content-Length: ${Buffer.byteLength(body)}`, ...headers];
  return `${lines.join("\r\n")}\r\n\r\n${body}`;
}

/** A host that reads requests without looking at their bodies, which must come with their heads. */
export async function startHost(
  t: TestContext,
  answering: Answering,
  tls?: Pem & { readonly sni?: (name: string) => void },
): Promise<Host> {
  const heads: string[] = [];
  const open = new Set<Socket>();
  let connections = 0;
  const accept = (socket: Socket) => {
    connections += 1;
    open.add(socket);
    socket.on("error", () => {});
    socket.on("close", () => open.delete(socket));
    socket.on("data", (bytes: Buffer) => {
      const head = bytes.toString("latin1");
      heads.push(head);
      const said = answering(head, socket);
      if (said !== null) socket.write(said, "latin1");
    });
  };
  const server: Server =
    tls === undefined
      ? createServer(accept)
      : createTlsServer(
          {
            cert: tls.cert,
            key: tls.key,
            SNICallback: (name, settle) => {
              tls.sni?.(name);
              settle(null);
            },
          },
          accept,
        );
  server.on("tlsClientError", () => {});
  await new Promise<void>((resolve) => {
    server.listen(0, "127.0.0.1", resolve);
  });
  t.after(() => {
    for (const socket of open) socket.destroy();
    server.close();
  });
  const at = server.address();
  if (at === null || typeof at === "string") throw new Error("a port was asked for");
  return { port: at.port, heads, connections: () => connections, open };
}

export interface StageOptions {
  readonly allow?: readonly string[];
  readonly dev?: boolean;
  /** Where connections to any address end up. Default: nowhere. */
  readonly host?: Host;
  /** The addresses of names. Default: every name stands for PUBLIC. */
  readonly names?: (name: string) => readonly string[];
  readonly authorities?: readonly string[];
  readonly timers?: Timers;
}

export class OutboundStage {
  /** Addresses that were connected to, with their ports. */
  readonly connected: string[] = [];
  /** The connections themselves, in order. */
  readonly sockets: Socket[] = [];
  /** Names that were looked up. */
  readonly resolved: string[] = [];
  readonly calls: OutboundCalls;
  readonly outbound: Outbound;

  constructor(t: TestContext, options: StageOptions = {}) {
    const { allow = [], dev = false, host, names = () => [PUBLIC] } = options;
    const real = new SystemNet();
    const net: Pick<Net, "connect"> = {
      connect: async (to: Address, signal?: AbortSignal): Promise<Duplex> => {
        this.connected.push(`${to.host}:${to.port}`);
        if (host === undefined) throw new Error("nothing is there");
        const made = await real.connect({ host: "127.0.0.1", port: host.port }, signal);
        if (made instanceof Socket) this.sockets.push(made);
        return made;
      },
    };
    this.calls = new OutboundCalls({
      allow,
      dev,
      net,
      timers: options.timers ?? new SystemTimers(),
      resolve: (name) => {
        this.resolved.push(name);
        return Promise.resolve(names(name));
      },
      ...(options.authorities === undefined ? {} : { authorities: options.authorities }),
    });
    this.outbound = this.calls.for("mount-1");
    t.after(() => this.calls.close());
  }

  send(
    url: string,
    request: Partial<OutboundRequest> = {},
    outbound: Outbound = this.outbound,
  ): Promise<OutboundAnswer> {
    return outbound.send({
      method: "GET",
      url: new URL(url),
      headers: {},
      signal: new AbortController().signal,
      plain: true,
      ...request,
    });
  }

  /** What kept a call from being answered. */
  async trouble(
    url: string,
    request: Partial<OutboundRequest> = {},
    outbound: Outbound = this.outbound,
  ): Promise<OutboundError> {
    const got = await this.send(url, request, outbound).then(
      ({ status }) => status,
      (error: unknown) => error,
    );
    if (got instanceof OutboundError) return got;
    throw new Error(`expected an OutboundError, got ${String(got)}`);
  }
}
