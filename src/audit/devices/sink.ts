// Where records go, as the queue in front of it sees it: something that can be opened, takes whole
// records, and may fail or hang at any time.

import { OwnError } from "@holdfast/shared/failure";
import type { Address } from "@holdfast/shared/world";

/** An open way out. */
export interface Sink {
  /** Whether it is known to lead nowhere any more. */
  readonly broken: boolean;
  /** Resolves when the operating system has taken all of them. One call at a time. */
  write(records: readonly string[]): Promise<void>;
  /** Gives up what hangs, where that is possible: a write under way then rejects. */
  abandon(): void;
  close(): Promise<void>;
}

export interface SinkSource {
  /** Of one record. */
  readonly maxBytes: number;
  open(): Promise<Sink>;
}

/** Bytes out of the process. */
export interface Outlet {
  readonly broken: boolean;
  write(bytes: Uint8Array): Promise<void>;
  destroy(): void;
  close(): Promise<void>;
}

export interface Connector {
  tcp(to: Address): Promise<Outlet>;
  /** A local stream socket. Rejects with WrongSocketKind where it is one for datagrams. */
  unix(path: string): Promise<Outlet>;
  /** A write is one datagram. */
  udp(to: Address): Promise<Outlet>;
  /** The system's `logger` program: a line on its standard input is a message. */
  logger(args: readonly string[]): Promise<Outlet>;
}

/** The socket is there, but takes datagrams, which the runtime cannot send to a path. */
export class WrongSocketKind extends OwnError {
  constructor() {
    super("the socket takes datagrams");
    this.name = "WrongSocketKind";
  }
}
