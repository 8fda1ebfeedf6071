// Records into a system log. The local socket is mostly one for datagrams (journald, rsyslog), which
// the runtime cannot send: then the system's `logger` program, running as long as the device, passes
// lines on. A stream socket is written to directly, and a remote log over UDP in the form of RFC 5424.

import { showTime } from "@holdfast/shared/text/time";
import type { Address, Clock } from "@holdfast/shared/world";
import { type Connector, type Sink, type SinkSource, WrongSocketKind } from "./sink.ts";
import { datagramSink, lineSink, MAX_DATAGRAM } from "./socket.ts";

/** Those that programs may use, with their numbers. */
export const FACILITIES = {
  USER: 1,
  MAIL: 2,
  DAEMON: 3,
  AUTH: 4,
  SYSLOG: 5,
  LPR: 6,
  NEWS: 7,
  UUCP: 8,
  CRON: 9,
  AUTHPRIV: 10,
  FTP: 11,
  LOCAL0: 16,
  LOCAL1: 17,
  LOCAL2: 18,
  LOCAL3: 19,
  LOCAL4: 20,
  LOCAL5: 21,
  LOCAL6: 22,
  LOCAL7: 23,
} as const;
export type Facility = keyof typeof FACILITIES;

const INFO = 6;
const LOCAL_SOCKET = "/dev/log";

export interface SyslogTarget {
  readonly facility: Facility;
  readonly tag: string;
  /** Null for the log of this machine. */
  readonly address: Address | null;
}

export class SyslogSource implements SinkSource {
  readonly maxBytes = MAX_DATAGRAM;
  readonly #connector: Connector;
  readonly #target: SyslogTarget;
  readonly #clock: Pick<Clock, "now">;
  readonly #localSocket: string;

  /** `localSocket`: default /dev/log. */
  constructor(
    connector: Connector,
    target: SyslogTarget,
    clock: Pick<Clock, "now">,
    localSocket: string = LOCAL_SOCKET,
  ) {
    this.#connector = connector;
    this.#target = target;
    this.#clock = clock;
    this.#localSocket = localSocket;
  }

  async open(): Promise<Sink> {
    const { facility, tag, address } = this.#target;
    const priority = FACILITIES[facility] * 8 + INFO;
    if (address !== null) {
      const frame = (record: string) =>
        `<${priority}>1 ${showTime(this.#clock.now())} - ${tag} - - - ${record}`;
      return datagramSink(await this.#connector.udp(address), frame);
    }
    try {
      const outlet = await this.#connector.unix(this.#localSocket);
      return lineSink(outlet, (record) => `<${priority}>${tag}: ${record}\n`);
    } catch (error) {
      // Any other reason means that there is no system log: logger would only find out later, after
      // it has taken records.
      if (!(error instanceof WrongSocketKind)) throw error;
      return lineSink(
        await this.#connector.logger(this.#loggerArguments()),
        (record) => `${record}\n`,
      );
    }
  }

  #loggerArguments(): string[] {
    const { facility, tag } = this.#target;
    const priority = `${facility.toLowerCase()}.info`;
    // Without --socket-errors it would drop what it cannot deliver and say nothing.
    const size = String(MAX_DATAGRAM + 1024);
    const where = ["--socket", this.#localSocket, "--socket-errors=on"];
    return [...where, "--tag", tag, "--priority", priority, "--size", size];
  }
}
