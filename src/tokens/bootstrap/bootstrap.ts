// The door to the first management token: open to its first caller, or spent. While it is open the
// log says so every hour, so that no server has a forgotten open door.

import { HOUR } from "@holdfast/shared/text/duration";
import { jsonCodec } from "@holdfast/shared/codec";
import type { Log } from "@holdfast/shared/log";
import type { Timers } from "@holdfast/shared/world";
import { Recurring } from "../../base/recurring.ts";
import type { Tx, View } from "../../barrier/view.ts";

/** Below shared/. */
const KEY = "tokens/bootstrap";

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
  readonly #warnings: Recurring;
  #open = false;
  #unwatch = () => {};

  constructor(options: DoorOptions) {
    this.#options = options;
    const { timers, log } = options;
    this.#warnings = new Recurring({
      trouble: "could not warn of the open bootstrap",
      period: HOUR,
      run: async () => {
        log.warn("ACL bootstrap is open: its first caller gets a management token");
      },
      timers,
      log,
    });
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
    void this.#warnings.close();
    this.#open = false;
  }

  #look(): void {
    const { shared, use } = this.#options;
    this.#open = use !== "closed" && readBootstrap(shared).open;
    void this.#warnings.close();
    if (this.#open) this.#warnings.open();
  }
}
