// What lies between simulated clusters: links in memory that are late, that are cut, and that let nothing through one way or
// both. Certificates are real and are looked at as the port looks at them; only the bytes of TLS are missing.

import { X509Certificate } from "node:crypto";
import type { Address, Clock, Nanos, Timers } from "@holdfast/shared/world";
import { peerRefused } from "../../src/cluster/failures.ts";
import { type Hello, type Greeting, type ServedSet } from "../../src/cluster/hello.ts";
import { MemoryCarrier, type Way } from "../../src/cluster/memory-carrier.ts";
import { hostOf, type PortName, type SetName } from "../../src/cluster/names.ts";
import type { Carried, Carrier } from "../../src/cluster/peer-link.ts";
import type { SetToServe } from "../../src/cluster/port-set.ts";
import { type Peer, verifyBeside, verifyMember, verifyServer } from "../../src/cluster/verify.ts";
import { type Served, serviceTable, type ServiceTable } from "@holdfast/shared/grpc/method";
import type { DialledMember } from "../../src/replication/links/dialing.ts";
import type { ServingPort } from "../../src/replication/links/serving.ts";
import type { Prng } from "../prng.ts";
import { type Life, MILLISECOND, type SimWorld, type Tick } from "../world.ts";

/** Where a cluster is reached. Its port lives as long as its process. */
export interface Host {
  readonly name: string;
  readonly host: string;
  readonly clock: Clock;
  readonly life: Life | null;
  readonly port: SimPort | null;
}

interface Connection {
  readonly carrier: MemoryCarrier;
  readonly ends: readonly [Host, Host];
  readonly lives: readonly [Life, Life];
}

export class SimNetwork {
  readonly #world: SimWorld;
  readonly #prng: Prng;
  readonly #hosts: Host[] = [];
  readonly #blocked = new Set<string>();
  #waiting: (() => void)[] = []; // for the way to be free again
  #connections = new Set<Connection>();
  /** Messages take seconds. */
  slow = false;

  constructor(world: SimWorld, prng: Prng) {
    this.#world = world;
    this.#prng = prng;
  }

  add(host: Host): void {
    this.#hosts.push(host);
  }

  /** Nothing comes from one to the other any more; what is open stays, or is cut. */
  block(from: Host, to: Host, cuts: boolean): void {
    this.#blocked.add(way(from, to));
    if (cuts) this.#cut(({ ends }) => ends.includes(from) && ends.includes(to));
  }

  heal(): void {
    this.#blocked.clear();
    this.slow = false;
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const go of waiting) go();
  }

  /** Its kernel ends what it had open. */
  lost(life: Life): void {
    this.#cut(({ lives }) => lives.includes(life));
  }

  cut(host: Host): void {
    this.#cut(({ ends }) => ends.includes(host));
  }

  carrierTo(from: Host, life: Life, timers: Timers, at: Address, member: DialledMember): Carrier {
    let isReached = false;
    return {
      get isReached() {
        return isReached;
      },
      connect: async (within, signal) => {
        isReached = false;
        const to = this.#hosts.find(({ host }) => host === at.host);
        const reaching = this.#reach(from, life, to, member);
        const { set, peer, serverLife } = await bounded(reaching, within, timers, signal);
        isReached = true;
        const server = to!;
        const carrier = new MemoryCarrier(
          set,
          peer,
          { clock: server.clock, timers },
          this.#way(from, life, server, serverLife),
        );
        const carried: Carried = await carrier.connect(within, signal);
        const connection = { carrier, ends: [from, server], lives: [life, serverLife] } as const;
        this.#connections.add(connection);
        set.add(peer.serial, carrier);
        void carried.closed.then(() => {
          this.#connections.delete(connection);
          set.delete(peer.serial, carrier);
        });
        // One that is revoked stays, as at the port: each of its calls is answered so.
        if (server.port?.find(member) !== set) carrier.cut();
        return carried;
      },
    };
  }

  async #reach(
    from: Host,
    life: Life,
    to: Host | undefined,
    member: DialledMember,
  ): Promise<{ readonly set: SimSet; readonly peer: Peer; readonly serverLife: Life }> {
    if (life.ended) return await new Promise(() => {});
    const serverLife = to?.life ?? null;
    if (to === undefined || serverLife === null) {
      await this.#world.sleep(this.#delay(), life);
      throw peerRefused("nobody listens there");
    }
    await this.#cross(from, to, serverLife);
    await this.#cross(to, from, life);
    const found = to.life === serverLife ? (to.port?.find(member) ?? null) : null;
    if (found === null) throw peerRefused("nobody serves this set there");
    const authority = new X509Certificate(member.authority);
    const certificate = new X509Certificate(found.served.certificate);
    const verify = member.beside === true ? verifyBeside : verifyServer;
    const wrong = verify(certificate, authority, member, from.clock.now());
    if (wrong !== null) throw peerRefused(wrong);
    const peer = found.judge(member.certificate, to.clock);
    if (typeof peer === "string") throw peerRefused(peer);
    return { set: found, peer, serverLife };
  }

  #way(client: Host, clientLife: Life, server: Host, serverLife: Life): Way {
    return {
      connect: async () => {},
      pass: (to) =>
        to === "server"
          ? this.#cross(client, server, serverLife)
          : this.#cross(server, client, clientLife),
    };
  }

  /** Arrives when the way is free; never, where the process has ended that it is for. */
  async #cross(from: Host, to: Host, life: Life): Promise<void> {
    await this.#world.sleep(this.#delay(), life);
    while (this.#blocked.has(way(from, to))) {
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
      await this.#world.sleep(this.#delay(), life);
    }
  }

  #delay(): Tick {
    const roll = this.#prng.next();
    const max = this.slow ? 1500 : roll < 0.02 ? 300 : roll < 0.2 ? 20 : 2;
    return Math.floor(this.#prng.next() * max * MILLISECOND);
  }

  #cut(which: (connection: Connection) => boolean): void {
    for (const connection of this.#connections) if (which(connection)) connection.carrier.cut();
  }
}

function way(from: Host, to: Host): string {
  return `${from.name}>${to.name}`;
}

async function bounded<T>(
  promise: Promise<T>,
  within: Nanos,
  timers: Timers,
  signal: AbortSignal | undefined,
): Promise<T> {
  signal?.throwIfAborted();
  const late = Promise.withResolvers<never>();
  const timer = timers.after(within, () =>
    late.reject(peerRefused("the peer does not answer in time")),
  );
  const stop = () => late.reject(signal?.reason);
  signal?.addEventListener("abort", stop, { once: true });
  promise.catch(() => {}); // it may come too late
  try {
    return await Promise.race([promise, late.promise]);
  } finally {
    timer.cancel();
    signal?.removeEventListener("abort", stop);
  }
}

/** What is done in the place of a port's own work, and who looks on. */
export interface PortWatch {
  /** Of each method that is served. */
  readonly serve?: (served: Served<Peer>, set: SetName) => Served<Peer>;
  readonly greet?: (
    greet: (hello: Hello, peer: Peer) => Promise<Greeting>,
  ) => (hello: Hello, peer: Peer) => Promise<Greeting>;
  /** False: sessions of a certificate go on when it is revoked. */
  readonly revokes?: boolean;
}

export class SimPort implements ServingPort {
  readonly #sets = new Map<string, SimSet>();
  readonly #watches: readonly PortWatch[];

  constructor(watches: readonly PortWatch[]) {
    this.#watches = watches;
  }

  serve(set: SetToServe): void {
    this.forget(set);
    this.#sets.set(hostOf(set), new SimSet(set, this.#watches));
  }

  forget(name: PortName): void {
    this.#sets.get(hostOf(name))?.cut();
    this.#sets.delete(hostOf(name));
  }

  revoke(name: SetName, serial: string): number {
    return this.#sets.get(hostOf(name))?.revoke(serial) ?? 0;
  }

  refuseOnly(name: PortName, serials: Iterable<string>): void {
    this.#sets.get(hostOf(name))?.refuseOnly(serials);
  }

  find(name: PortName): SimSet | null {
    return this.#sets.get(hostOf(name)) ?? null;
  }
}

/** One set at a simulated port. */
export class SimSet implements ServedSet {
  readonly served: SetToServe;
  readonly table: ServiceTable<Peer>;
  readonly greet: ServedSet["greet"];
  readonly #revokes: boolean;
  #revoked: Set<string>;
  readonly #open = new Map<string, Set<MemoryCarrier>>(); // by serial

  constructor(served: SetToServe, watches: readonly PortWatch[]) {
    this.served = served;
    this.#revoked = new Set(served.revoked);
    this.#revokes = watches.every(({ revokes = true }) => revokes);
    const wrapped = (one: Served<Peer>) =>
      watches.reduce((inner, { serve }) => serve?.(inner, served) ?? inner, one);
    this.table = serviceTable([...served.table.values()].map(wrapped));
    this.greet = watches.reduce(
      (inner, { greet }) => greet?.(inner) ?? inner,
      (hello: Hello, peer: Peer) => served.greet(hello, peer),
    );
  }

  /** Who has shown this certificate, revoked or not, or why nobody is let in with it. */
  judge(certificate: Uint8Array, clock: Pick<Clock, "now">): Peer | string {
    const { authority } = this.served;
    const peer = verifyMember(
      new X509Certificate(certificate),
      new X509Certificate(authority),
      this.served,
      clock.now(),
    );
    return "mismatch" in peer ? peer.mismatch : peer;
  }

  isRevoked(serial: string): boolean {
    return this.#revokes && this.#revoked.has(serial);
  }

  revoke(serial: string): number {
    this.#revoked.add(serial);
    return this.#end(serial);
  }

  refuseOnly(serials: Iterable<string>): void {
    const before = this.#revoked;
    this.#revoked = new Set(serials);
    for (const serial of this.#revoked) if (!before.has(serial)) this.#end(serial);
  }

  #end(serial: string): number {
    if (!this.#revokes) return 0;
    const open = [...(this.#open.get(serial) ?? [])];
    for (const carrier of open) carrier.cut();
    return open.length;
  }

  cut(): void {
    for (const carriers of this.#open.values()) for (const carrier of carriers) carrier.cut();
  }

  add(serial: string, carrier: MemoryCarrier): void {
    this.#open.set(serial, (this.#open.get(serial) ?? new Set()).add(carrier));
  }

  delete(serial: string, carrier: MemoryCarrier): void {
    this.#open.get(serial)?.delete(carrier);
  }
}
