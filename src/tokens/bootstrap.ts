// The door to the first management token: open to its first caller, or spent. While it is open the
// log says so every hour, so that no server has a forgotten open door (decision 5).

import { jsonCodec } from "../base/codec.ts";
import type { Log } from "../base/log.ts";
import type { Nanos, Timer, Timers } from "../base/world.ts";
import type { Tx, View } from "../barrier/view.ts";

/** Below shared/. */
const KEY = "tokens/bootstrap";
const HOUR: Nanos = 3_600_000_000_000n;

export interface BootstrapState {
  readonly open: boolean;
  /** CreateIndex of the token that spent it last: what a reset must name. Null before the first. */
  readonly resetIndex: bigint | null;
}

const codec = jsonCodec<{ readonly open: boolean; readonly resetIndex: string | null }>();

export function putBootstrap(shared: Tx, { open, resetIndex }: BootstrapState): void {
  const index = resetIndex === null ? null : String(resetIndex);
  shared.put(KEY, { open, resetIndex: index }, codec);
}

/** Without a record it is shut: a door is opened, never left open by a loss. */
export function readBootstrap(shared: Pick<View, "get">): BootstrapState {
  const stored = shared.get(KEY, codec);
  const index = stored?.resetIndex ?? null;
  return { open: stored?.open ?? false, resetIndex: index === null ? null : BigInt(index) };
}

export class BootstrapDoor {
  readonly #shared: View;
  readonly #timers: Timers;
  readonly #log: Log;
  #open = false;
  #timer: Timer | null = null;
  #unwatch = () => {};

  constructor(shared: View, timers: Timers, log: Log) {
    this.#shared = shared;
    this.#timers = timers;
    this.#log = log;
  }

  /** Whether the first caller may still take it; false while the node is sealed. */
  get isOpen(): boolean {
    return this.#open;
  }

  open(): void {
    this.#unwatch = this.#shared.watch(KEY, () => this.#look());
    this.#look();
  }

  close(): void {
    this.#unwatch();
    this.#timer?.cancel();
    this.#timer = null;
    this.#open = false;
  }

  #look(): void {
    this.#open = readBootstrap(this.#shared).open;
    this.#timer?.cancel();
    this.#timer = null;
    if (this.#open) this.#warn();
  }

  #warn(): void {
    this.#log.warn("ACL bootstrap is open: its first caller gets a management token");
    this.#timer = this.#timers.after(HOUR, () => this.#warn());
  }
}
