// The door to the first management token: open to its first caller, or spent. While it is open the
// log says so every hour, so that no server has a forgotten open door.

import { jsonCodec } from "@holdfast/shared/codec";
import type { Log } from "@holdfast/shared/log";
import type { Nanos, Timer, Timers } from "@holdfast/shared/world";
import type { Tx, View } from "../../barrier/view.ts";

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

/** Who may go through an open door: `acl.bootstrap`. */
export type BootstrapUse = "open" | "loopback" | "closed";

export interface DoorOptions {
  /** Of everything below shared/. */
  readonly shared: View;
  readonly use: BootstrapUse;
  readonly timers: Timers;
  readonly log: Log;
}

export class BootstrapDoor {
  readonly #options: DoorOptions;
  #open = false;
  #timer: Timer | null = null;
  #unwatch = () => {};

  constructor(options: DoorOptions) {
    this.#options = options;
  }

  /** Whether a first caller may still take it; false while the node is sealed. */
  get isOpen(): boolean {
    return this.#open;
  }

  open(): void {
    this.#unwatch = this.#options.shared.watch(KEY, () => this.#look());
    this.#look();
  }

  close(): void {
    this.#unwatch();
    this.#timer?.cancel();
    this.#timer = null;
    this.#open = false;
  }

  #look(): void {
    const { shared, use } = this.#options;
    this.#open = use !== "closed" && readBootstrap(shared).open;
    this.#timer?.cancel();
    this.#timer = null;
    if (this.#open) this.#warn();
  }

  #warn(): void {
    this.#options.log.warn("ACL bootstrap is open: its first caller gets a management token");
    this.#timer = this.#options.timers.after(HOUR, () => this.#warn());
  }
}
