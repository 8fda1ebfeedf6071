// A server of gRPC and clients of it, over TLS and sockets that are real; time is the test's.

import { connect as connectHttp2, type ClientHttp2Session } from "node:http2";
import { connect, createServer, type Server, type TLSSocket } from "node:tls";
import type { AddressInfo } from "node:net";
import { Sweep } from "@holdfast/shared/sweep";
import { ClientSession } from "@holdfast/shared/grpc/client-session";
import type { Served } from "@holdfast/shared/grpc/method";
import { serviceTable } from "@holdfast/shared/grpc/method";
import { ServerSession, type Serving } from "@holdfast/shared/grpc/server-session";
import type { SessionLimits } from "@holdfast/shared/grpc/session-life";
import { TestAuthority } from "../certificates.ts";
import { type FakeWorld, fakeWorld } from "../fake-world.ts";

export class GrpcPair {
  readonly world: FakeWorld;
  readonly sweep: Sweep;
  readonly authority: TestAuthority;
  readonly server: Server;
  readonly sessions: ServerSession<string>[] = [];
  readonly #clients: { destroy(): void }[] = [];

  private constructor(authority: TestAuthority, server: Server, world: FakeWorld) {
    this.authority = authority;
    this.server = server;
    this.world = world;
    this.sweep = new Sweep(world.clock, world.timers);
  }

  static async start(
    served: readonly Served<string>[],
    serving: Omit<Partial<Serving<string>>, "table"> = {},
  ): Promise<GrpcPair> {
    const authority = await TestAuthority.make();
    const { cert, key } = await authority.issue("server");
    const server = createServer({ cert, key, ALPNProtocols: ["h2"] });
    const pair = new GrpcPair(authority, server, fakeWorld());
    const table = serviceTable(served);
    server.on("tlsClientError", () => {});
    server.on("secureConnection", (socket) => {
      socket.on("error", () => {});
      const parts = { peer: "test", ...serving, table };
      pair.sessions.push(new ServerSession(socket, pair.sessionWorld, parts));
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    return pair;
  }

  get sessionWorld() {
    const { clock, timers } = this.world;
    return { clock, timers, sweep: this.sweep };
  }

  get port(): number {
    return (this.server.address() as AddressInfo).port;
  }

  /** A connection that has agreed on HTTP/2. */
  async socket(): Promise<TLSSocket> {
    const socket = connect({
      host: "127.0.0.1",
      port: this.port,
      ca: this.authority.pem,
      servername: "localhost",
      ALPNProtocols: ["h2"],
    });
    socket.on("error", () => {});
    this.#clients.push(socket);
    await new Promise<void>((resolve, reject) => {
      socket.once("secureConnect", () => resolve());
      socket.once("error", reject);
    });
    return socket;
  }

  async client(limits: Partial<SessionLimits> = {}): Promise<ClientSession> {
    return new ClientSession(await this.socket(), "localhost", this.sessionWorld, limits);
  }

  /** Node's own client: for what ours does not do. */
  async raw(): Promise<ClientHttp2Session> {
    const socket = await this.socket();
    const session = connectHttp2("https://localhost", { createConnection: () => socket });
    session.on("error", () => {});
    await new Promise<void>((resolve) => session.once("remoteSettings", () => resolve()));
    return session;
  }

  async close(): Promise<void> {
    for (const client of this.#clients) client.destroy();
    for (const session of this.sessions) session.destroy();
    await Promise.all(this.sessions.map(({ closed }) => closed));
    await new Promise<void>((resolve) => this.server.close(() => resolve()));
  }
}
