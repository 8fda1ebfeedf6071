// Records over a socket: a line each on a stream, a datagram each over UDP. Whoever listens may be
// gone at any time; the queue in front connects again.

import { utf8 } from "@holdfast/shared/bytes";
import type { Address } from "@holdfast/shared/world";
import type { Connector, Outlet, Sink, SinkSource } from "./sink.ts";

export type SocketTarget =
  | { readonly kind: "tcp"; readonly to: Address }
  | { readonly kind: "udp"; readonly to: Address }
  | { readonly kind: "unix"; readonly path: string };

/** What fits into one datagram (65,507 bytes), less what a frame around it may take. */
export const MAX_DATAGRAM = 65_000;
/** A record of the largest request that a listener can be told to take. */
export const MAX_RECORD = 64 * 1024 * 1024;

export class SocketSource implements SinkSource {
  readonly maxBytes: number;
  readonly #connector: Connector;
  readonly #target: SocketTarget;

  constructor(connector: Connector, target: SocketTarget) {
    this.#connector = connector;
    this.#target = target;
    this.maxBytes = target.kind === "udp" ? MAX_DATAGRAM : MAX_RECORD;
  }

  async open(): Promise<Sink> {
    const target = this.#target;
    if (target.kind === "udp") {
      return datagramSink(await this.#connector.udp(target.to), (record) => record);
    }
    const outlet =
      target.kind === "tcp"
        ? await this.#connector.tcp(target.to)
        : await this.#connector.unix(target.path);
    return lineSink(outlet, (record) => `${record}\n`);
  }
}

/** All records in one write. */
export function lineSink(outlet: Outlet, frame: (record: string) => string): Sink {
  return sinkOver(outlet, (records) => outlet.write(utf8(records.map(frame).join(""))));
}

export function datagramSink(outlet: Outlet, frame: (record: string) => string): Sink {
  return sinkOver(outlet, async (records) => {
    await Promise.all(records.map((record) => outlet.write(utf8(frame(record)))));
  });
}

function sinkOver(outlet: Outlet, write: Sink["write"]): Sink {
  return {
    get broken() {
      return outlet.broken;
    },
    write,
    abandon: () => outlet.destroy(),
    close: () => outlet.close(),
  };
}
