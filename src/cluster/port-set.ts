// One replication set at the port: its certificate, the authority of its members, and the sessions that they have.

import { X509Certificate } from "node:crypto";
import { createSecureContext, type SecureContext } from "node:tls";
import type { Clock } from "@holdfast/shared/world";
import type { ServerSession } from "@holdfast/shared/grpc/server-session";
import type { ServiceTable } from "@holdfast/shared/grpc/method";
import { type Greeting, type Hello, PeerGate, type ServedSet } from "./hello.ts";
import { hostOf, type PortName, type SetName } from "./names.ts";
import { type Credentials, withCredentials } from "./tls.ts";
import { type Mismatch, type Peer, verifyMember } from "./verify.ts";

export interface SetToServe extends PortName, Credentials {
  readonly table: ServiceTable<Peer>;
  readonly greet: (hello: Hello, peer: Peer) => Promise<Greeting>;
  readonly isReplaced?: ServedSet["isReplaced"];
  /** Serials of certificates that are not taken any more. */
  readonly revoked: Iterable<string>;
}

export class PortSet implements ServedSet {
  readonly host: string;
  readonly context: SecureContext;
  readonly table: ServiceTable<Peer>;
  readonly greet: ServedSet["greet"];
  readonly isReplaced: NonNullable<ServedSet["isReplaced"]>;
  readonly #name: SetName;
  readonly #authority: X509Certificate;
  #revoked: Set<string>;
  readonly #sessions = new Map<string, Set<ServerSession<Peer>>>(); // by serial

  constructor(set: SetToServe) {
    this.host = hostOf(set);
    this.#name = { set: set.set, kind: set.kind };
    this.context = withCredentials(set, (options) => createSecureContext(options));
    this.#authority = new X509Certificate(set.authority);
    this.table = set.table;
    this.greet = set.greet;
    this.isReplaced = set.isReplaced ?? (() => false);
    this.#revoked = new Set(set.revoked);
  }

  /** Who has shown this certificate. Where it is revoked, each call is answered so, and with nothing else. */
  judge(
    certificate: X509Certificate,
    from: string,
    clock: Pick<Clock, "now">,
  ): PeerGate | Mismatch {
    const peer = verifyMember(certificate, this.#authority, this.#name, clock.now());
    if ("mismatch" in peer) return peer;
    return new PeerGate({ ...peer, from }, this, clock);
  }

  isRevoked(serial: string): boolean {
    return this.#revoked.has(serial);
  }

  /** From now on it is refused; its sessions end, and the signals of their calls are aborted before this returns. */
  revoke(serial: string): number {
    this.#revoked.add(serial);
    return this.#end(serial);
  }

  /** In the place of those that were refused before: who is none of these is heard again. */
  refuseOnly(serials: Iterable<string>): void {
    const before = this.#revoked;
    this.#revoked = new Set(serials);
    for (const serial of this.#revoked) if (!before.has(serial)) this.#end(serial);
  }

  #end(serial: string): number {
    const sessions = [...(this.#sessions.get(serial) ?? [])];
    for (const session of sessions) session.destroy();
    return sessions.length;
  }

  sessionsOf(serial: string): number {
    return this.#sessions.get(serial)?.size ?? 0;
  }

  get sessions(): ServerSession<Peer>[] {
    return [...this.#sessions.values()].flatMap((sessions) => [...sessions]);
  }

  add(serial: string, session: ServerSession<Peer>): void {
    const sessions = this.#sessions.get(serial) ?? new Set();
    this.#sessions.set(serial, sessions.add(session));
    void session.closed.then(() => {
      sessions.delete(session);
      if (sessions.size === 0 && this.#sessions.get(serial) === sessions)
        this.#sessions.delete(serial);
    });
  }
}
