// Signals, from the first moment of the process on. What they do is said by whoever runs the server.

import { MILLISECOND } from "@holdfast/shared/text/duration";
import type { Clock, Nanos } from "@holdfast/shared/world";
import type { Host, SignalName } from "./host.ts";

// A terminal sends Ctrl-C to the whole group, and npm passes on what it gets: one key press arrives
// twice. A person who means it a second time is slower than this.
const SAME: Nanos = 500n * MILLISECOND;

export class Signals {
  /** Resolves with the first signal that asks us to stop. */
  readonly stop: Promise<SignalName>;
  #stoppedAt: Nanos | null = null;
  #reload: (() => void) | null = null;
  #dump: (() => void) | null = null;

  constructor(host: Host, clock: Pick<Clock, "elapsed">) {
    const { promise, resolve } = Promise.withResolvers<SignalName>();
    this.stop = promise;
    for (const signal of ["SIGTERM", "SIGINT"] as const) {
      host.onSignal(signal, () => {
        const now = clock.elapsed();
        this.#stoppedAt ??= now;
        if (now - this.#stoppedAt > SAME) {
          host.err("holdfast: told to stop a second time; ending at once\n");
          host.exit(1);
        }
        resolve(signal);
      });
    }
    // Before the server is there these do nothing: the configuration is being read anyway.
    host.onSignal("SIGHUP", () => this.#reload?.());
    host.onSignal("SIGUSR2", () => this.#dump?.());
    host.onSignal("SIGUSR1", () => {}); // unheard, it would open the runtime's debugger
  }

  serve(calls: { readonly reload: () => void; readonly dump: () => void }): void {
    this.#reload = calls.reload;
    this.#dump = calls.dump;
  }
}
