// A cluster port with one replication set, and members of it, over TLS and sockets that are real. The clock goes by the
// test, from the hour at which it runs: TLS looks at the machine's own.

import { connect as connectTcp, type Socket } from "node:net";
import { connect, type ConnectionOptions, type TLSSocket } from "node:tls";
import type { Address } from "@holdfast/shared/world";
import { Sweep } from "@holdfast/shared/sweep";
import {
  type Authority,
  type IssuedPair,
  issueMember,
  issueServer,
  makeAuthority,
} from "../../../src/cluster/authority.ts";
import type { Greeting, Hello } from "../../../src/cluster/hello.ts";
import { hostOf, type MemberName } from "../../../src/cluster/names.ts";
import { CarriedLink } from "../../../src/cluster/peer-link.ts";
import { ClusterPort, type PortLimits } from "../../../src/cluster/port.ts";
import { type Credentials, withCredentials } from "../../../src/cluster/tls.ts";
import { TlsCarrier } from "../../../src/cluster/tls-carrier.ts";
import type { Peer } from "../../../src/cluster/verify.ts";
import { message, text } from "@holdfast/shared/grpc/message";
import { method, type Served, serveUnary, serviceTable } from "@holdfast/shared/grpc/method";
import { SystemNet } from "../../../src/system/net.ts";
import { FakeClock, FakeTimers, fakeWorld } from "../fake-world.ts";

export const SET = { set: "5f3d2c10-0000-4000-8000-0000000000aa", kind: "dr" } as const;
export const SELF = { clusterId: "0b8e2f3e-0000-4000-8000-00000000000b", version: "0.1.0" };

const line = message({ text: text(1) });
/** What is served where a test serves nothing else: it says who calls. */
export const who = method("unary", "/test.Cluster/Who", line, line);

export function stageWorld() {
  const { random, log, lines } = fakeWorld();
  const clock = new FakeClock(BigInt(Date.now()) * 1_000_000n);
  const timers = new FakeTimers(clock);
  return {
    clock,
    timers,
    random,
    log,
    lines,
    net: new SystemNet(),
    sweep: new Sweep(clock, timers),
  };
}

export class ClusterStage {
  readonly world = stageWorld();
  readonly port: ClusterPort;
  readonly greeted: Hello[] = [];
  authority!: Authority;
  server!: IssuedPair;
  address!: Address;
  /** What becomes of a hello. */
  greet: (hello: Hello, peer: Peer) => Promise<Greeting> = async ({ protocol }) => ({
    clusterId: "0b8e2f3e-0000-4000-8000-00000000000a",
    protocol,
    version: "0.1.0",
  });
  readonly #open: { destroy(): void }[] = [];

  private constructor(limits: Partial<PortLimits>) {
    this.port = new ClusterPort(this.world, limits);
  }

  static async start({
    limits = {},
    served,
  }: {
    limits?: Partial<PortLimits>;
    served?: readonly Served<Peer>[];
  } = {}): Promise<ClusterStage> {
    const stage = new ClusterStage(limits);
    stage.authority = await makeAuthority(SET, stage.world);
    stage.server = await issueServer(stage.authority, stage.world);
    stage.serve(served);
    stage.address = await stage.port.listen({ host: "127.0.0.1", port: 0 });
    return stage;
  }

  serve(served?: readonly Served<Peer>[], revoked: readonly string[] = []): void {
    const { certificate, key } = this.server;
    const usual = [
      serveUnary<Peer, { text: string }, { text: string }>(who, async (_request, { peer }) => ({
        text: peer.id,
      })),
    ];
    this.port.serve({
      ...SET,
      authority: this.authority.certificate,
      certificate,
      key,
      table: serviceTable(served ?? usual),
      greet: async (hello, peer) => {
        this.greeted.push(hello);
        return await this.greet(hello, peer);
      },
      revoked,
    });
  }

  member(id: string, authority: Authority = this.authority): Promise<IssuedPair> {
    return issueMember(authority, id, this.world);
  }

  link(id: string, { certificate, key }: IssuedPair, name: Partial<MemberName> = {}): CarriedLink {
    const set = { ...SET, authority: this.authority.certificate, certificate, key };
    const carrier = new TlsCarrier(this.world, this.address, set);
    const link = new CarriedLink(carrier, { ...SET, id, ...name });
    this.#open.push({ destroy: () => void link.close() });
    return link;
  }

  /** Another client than ours: whatever it wants to show, and whichever name it wants. */
  async handshake(
    credentials: Credentials | null,
    options: ConnectionOptions = {},
  ): Promise<TLSSocket> {
    const { port } = this.address;
    const how = { host: "127.0.0.1", port, servername: hostOf(SET), ALPNProtocols: ["h2"] };
    const socket =
      credentials === null
        ? connect({ ...how, rejectUnauthorized: false, ...options })
        : withCredentials(credentials, (own) =>
            connect({ ...how, ...own, rejectUnauthorized: false, ...options }),
          );
    this.#open.push(socket);
    socket.on("error", () => {});
    socket.on("data", () => {});
    return await new Promise((resolve) => {
      socket.once("secureConnect", () => resolve(socket));
      socket.once("close", () => resolve(socket));
    });
  }

  /** A connection that has said nothing yet. `from` is one of our own addresses, as if it were another machine's. */
  tcp(from: string): Socket {
    const { port } = this.address;
    const socket = connectTcp({ host: "127.0.0.1", port, localAddress: from });
    socket.on("error", () => {});
    socket.on("data", () => {});
    this.#open.push(socket);
    return socket;
  }

  async close(): Promise<void> {
    for (const open of this.#open) open.destroy();
    await this.port.close(0n);
  }
}

/** Who the port says that we are. */
export async function askWho(link: CarriedLink): Promise<string> {
  return (await link.call(who, { text: "" })).text;
}
