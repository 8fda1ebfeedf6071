// A process as one of its users has it.

import type { Channel, ServiceTable } from "@holdfast/shared/grpc/method";
import type { HeldProcess, Offered, ProcessEnd } from "../ports.ts";
import type { Seat } from "./seat.ts";
import type { StartedProcess } from "./started-process.ts";

export class Held implements HeldProcess {
  readonly channel: Channel;
  readonly #started: StartedProcess;
  readonly #seat: Seat;
  readonly #offered = new Set<Offered>();
  readonly #gone: () => void;
  #released: Promise<void> | null = null;

  constructor(seat: Seat, started: StartedProcess, id: string, gone: () => void) {
    this.#seat = seat;
    this.#started = started;
    this.#gone = gone;
    this.channel = started.calls.of(started.isShared ? id : null);
  }

  get pid(): number {
    return this.#started.pid;
  }

  get protocol(): number {
    return this.#started.protocol;
  }

  get isShared(): boolean {
    return this.#started.isShared;
  }

  get end(): ProcessEnd | null {
    return this.#started.end;
  }

  get ended(): Promise<ProcessEnd> {
    return this.#started.ended;
  }

  get started(): StartedProcess {
    return this.#started;
  }

  async offer(services: ServiceTable<null>): Promise<Offered> {
    const offered = await this.#started.offer(services);
    const mine: Offered = {
      id: offered.id,
      close: () => {
        this.#offered.delete(mine);
        return offered.close();
      },
    };
    this.#offered.add(mine);
    return mine;
  }

  release(): Promise<void> {
    this.#released ??= this.#release();
    return this.#released;
  }

  async #release(): Promise<void> {
    this.#gone();
    await Promise.all([...this.#offered].map((offered) => offered.close()));
    await this.#seat.leave(this.#started);
  }
}
