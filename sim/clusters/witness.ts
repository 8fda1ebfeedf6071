// Looks on at a cluster port, and knows what must never pass there: a call of a certificate that is revoked, and a log that
// was let go before whoever was promised it had come for it. What members acknowledge is written down.

import { decodeHead } from "../../src/storage/rows/head.ts";
import type { Peer } from "../../src/cluster/verify.ts";
import type { Messages, Served } from "@holdfast/shared/grpc/method";
import { beginDiff, streamLog } from "../../src/replication/stream/messages.ts";
import type { SimCluster } from "./cluster.ts";
import type { Ledger, Spot } from "./ledger.ts";
import type { PortWatch } from "./network.ts";
import { Violation } from "../state.ts";

export interface WitnessOptions {
  readonly ledger: Ledger;
  /** The cluster that came with that certificate. */
  readonly clusterOf: (peer: Peer) => SimCluster | null;
  /** Of something that happened. */
  readonly count: (name: string) => void;
  readonly report: (violation: unknown) => void;
}

export class Witness {
  readonly #options: WitnessOptions;
  /** By the primary and the member: whoever speaks for it was revoked, and how far the primary was by then. */
  readonly #revoked = new Map<string, Spot | null>();
  /** Where somebody has begun to take over rows: from there on the log is kept for it. */
  readonly #promised = new Map<string, bigint>();

  constructor(options: WitnessOptions) {
    this.#options = options;
  }

  /** When this is called nobody may be served under that id any more. */
  revoked(primary: SimCluster, id: string): void {
    this.#revoked.set(`${primary.name} ${id}`, primary.seen.spot);
  }

  watch(primary: SimCluster): PortWatch {
    const { life, name } = primary;
    for (const place of this.#promised.keys()) {
      if (place.startsWith(`${name} `)) this.#promised.delete(place); // what a process has promised ends with it
    }
    const look = (id: string) => {
      const since = this.#revoked.get(`${name} ${id}`);
      // What is on its way to a process that has ended arrives nowhere.
      if (since === undefined || life?.ended !== false || this.#gaveUp(primary, since)) return;
      this.#options.report(new Violation(`${name} serves ${id}, which is revoked`));
    };
    return {
      greet: (greet) => (hello, peer) => {
        look(peer.id);
        return greet(hello, peer);
      },
      serve: (served) => ({
        shape: served.shape,
        run: (requests, call) => {
          const place = `${name} ${call.peer.id}`;
          look(call.peer.id);
          const { path } = served.shape;
          if (path === beginDiff.path) return this.#begun(served, requests, call, place);
          if (path === streamLog.path)
            return this.#streamed(primary, served, requests, call, place);
          return served.run(requests, call);
        },
      }),
    };
  }

  async *#begun(
    served: Served<Peer>,
    requests: Messages,
    call: Parameters<Served<Peer>["run"]>[1],
    place: string,
  ): AsyncGenerator<Uint8Array> {
    for await (const answer of served.run(requests, call)) {
      const { head, pages } = beginDiff.response.decode(answer);
      this.#promised.set(place, decodeHead(head).index);
      this.#options.count(pages.length === 0 ? "copies" : "comparisons");
      yield answer;
    }
  }

  async *#streamed(
    primary: SimCluster,
    served: Served<Peer>,
    requests: Messages,
    call: Parameters<Served<Peer>["run"]>[1],
    place: string,
  ): AsyncGenerator<Uint8Array> {
    const begun: { from: bigint | null } = { from: null };
    const heard = async function* (this: Witness): AsyncGenerator<Uint8Array> {
      for await (const message of requests) {
        const { start, ack } = streamLog.request.decode(message);
        if (start !== null) begun.from = start.cursor?.index ?? null;
        yield message;
        if (ack !== null) this.#acknowledged(primary, call.peer, ack.durable);
      }
    }.bind(this);
    for await (const answer of served.run(heard(), call)) {
      const { trimmed } = streamLog.response.decode(answer);
      const promised = this.#promised.get(place);
      const { from } = begun;
      const isLetGo = trimmed > 0n && promised !== undefined && from !== null && from >= promised;
      if (isLetGo && !this.#passesOver(primary, promised)) {
        this.#options.report(
          new Violation(`${primary.name} has let go the log after ${from}, which it had promised`),
        );
      }
      if (trimmed === 0n) this.#promised.delete(place);
      yield answer;
    }
  }

  /** Whether it has followed another cluster since, in whose log that entry is not: there nobody was revoked with it. A log that has another
   *  beginning takes nothing of that back. */
  #gaveUp({ seen: { spot } }: SimCluster, since: Spot | null): boolean {
    const { ledger } = this.#options;
    if (spot === null || since === null || ledger.isBefore(since, spot)) return false;
    return ledger.lineOf(since).root === ledger.lineOf(spot).root;
  }

  /** Who takes over what is shared passes over indexes, and its log of before would have a hole: whoever was promised that compares anew. */
  #passesOver({ running }: SimCluster, promised: bigint): boolean {
    const tail = running?.store.tail ?? null;
    return tail !== null && this.#options.ledger.passesOver(promised, tail);
  }

  #acknowledged(primary: SimCluster, peer: Peer, durable: bigint): void {
    const { clusterOf, ledger } = this.#options;
    const member = clusterOf(peer);
    const head = primary.seen.spot;
    if (member === null || head === null) return;
    const spot = ledger.at(head, durable);
    if (spot === null) return;
    if (member.reported === null || member.reported.index < spot.index) member.reported = spot;
  }
}
