// Services of the server that one plugin process reaches: each on a socket of its own, said to the plugin before the call that
// needs it.

import { join } from "node:path";
import type { Socket } from "node:net";
import { OwnError } from "@holdfast/shared/failure";
import { callBidirectional, type Channel, type ServiceTable } from "@holdfast/shared/grpc/method";
import { ServerSession } from "@holdfast/shared/grpc/server-session";
import type { SessionWorld } from "@holdfast/shared/grpc/session-life";
import { PLUGIN_LIMITS } from "@holdfast/plugin-sdk/wire/limits";
import { broker, type ConnInfo } from "@holdfast/plugin-sdk/wire/processes";
import type { Offered } from "../ports.ts";
import type { Translation } from "../runners/runner.ts";
import { listenForPlugin, type Pair, type PluginListener } from "./link.ts";
import type { OutputPace } from "./output.ts";

/** Calls at a time on one connection: others wait in the plugin. */
const LIMITS = { ...PLUGIN_LIMITS, streams: 64 } as const;

export interface BrokerParts {
  readonly channel: Channel;
  readonly world: SessionWorld;
  /** Of all that the process says without being asked. */
  readonly pace: OutputPace;
  /** Null: they speak without TLS. */
  readonly pair: Pair | null;
  /** Where its sockets are made. */
  readonly folder: string;
  readonly isForOthers: boolean;
  readonly translation: Translation;
  readonly tooOld: () => void;
  /** The stream by which it is told is over, and with it all that the plugin was offered. */
  readonly lost: () => void;
  readonly trouble: (path: string, error: unknown) => void;
}

interface Announcement {
  readonly info: ConnInfo;
  readonly sent: () => void;
}

export class Broker {
  readonly #parts: BrokerParts;
  readonly #announcements: Announcement[] = [];
  readonly #open = new Set<Offered>();
  #wake: (() => void) | null = null;
  #isOver = false;
  #last = 0;

  /** Opens the stream, once for the process. */
  constructor(parts: BrokerParts) {
    this.#parts = parts;
    void this.#run();
  }

  async offer(services: ServiceTable<null>): Promise<Offered> {
    if (this.#isOver) throw new OwnError("the plugin cannot be offered anything any more");
    const id = ++this.#last;
    const { folder, translation, pair, isForOthers, tooOld, world, trouble } = this.#parts;
    const path = join(folder, `b${id}`);
    const sessions = new Set<ServerSession<null>>();
    const accept = (socket: Socket) => {
      const session = new ServerSession(socket, world, {
        table: services,
        peer: null,
        limits: LIMITS,
        trouble,
      });
      sessions.add(session);
      void session.closed.then(() => sessions.delete(session));
    };
    const listener = await listenForPlugin({ path, pair, isForOthers, accept, tooOld });
    const offered: Offered = { id, close: () => this.#close(offered, listener, sessions) };
    this.#open.add(offered);
    await this.#announce({
      serviceId: id,
      network: "unix",
      address: translation.toPlugin(path),
      knock: null,
    });
    return offered;
  }

  /** The plugin is told that it reaches nobody any more. */
  async close(): Promise<void> {
    this.#isOver = true;
    this.#wake?.();
    await Promise.all([...this.#open].map((offered) => offered.close()));
  }

  async #close(
    offered: Offered,
    listener: PluginListener,
    sessions: ReadonlySet<ServerSession<null>>,
  ): Promise<void> {
    if (!this.#open.delete(offered)) return;
    for (const session of sessions) session.destroy();
    await listener.close();
  }

  /** Resolves when it is on its way: what is called after that comes behind it. */
  #announce(info: ConnInfo): Promise<void> {
    return new Promise((sent) => {
      this.#announcements.push({ info, sent });
      this.#wake?.();
    });
  }

  async #run(): Promise<void> {
    try {
      const theirs = callBidirectional(this.#parts.channel, broker.startStream, this.#words());
      // What it announces are services of its own, which nobody here calls.
      for await (const { address } of theirs) await this.#parts.pace.message(address.length);
    } catch {
      // how it ended does not matter: nothing can be said by it any more
    }
    const wasOver = this.#isOver;
    this.#isOver = true;
    for (const { sent } of this.#announcements.splice(0)) sent();
    if (!wasOver && this.#last > 0) this.#parts.lost();
  }

  async *#words(): AsyncGenerator<ConnInfo> {
    while (!this.#isOver) {
      const next = this.#announcements.shift();
      if (next === undefined) {
        await new Promise<void>((wake) => (this.#wake = wake));
        this.#wake = null;
        continue;
      }
      yield next.info;
      next.sent(); // whoever carries it asks for more when this is written
    }
  }
}
