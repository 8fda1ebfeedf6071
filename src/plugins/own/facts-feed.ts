// What an engine outside reads of its mount without asking: said when it is set up, and again whenever something of it has
// changed. Requests say which of it they need, so that none is answered by what was so before.

import { SECOND } from "@holdfast/shared/text/duration";
import type { Nanos } from "@holdfast/shared/world";
import type { EngineNeeds } from "@holdfast/plugin-sdk/engine";
import type { Facts } from "@holdfast/plugin-sdk/wire/host-service";

/** For what an engine does by itself. */
const LOOKS_EVERY: Nanos = 2n * SECOND;

export class FactsFeed {
  readonly #needs: EngineNeeds;
  readonly #local: () => boolean;
  #said: string;
  #version = 1n;
  #changed = Promise.withResolvers<void>();

  constructor(needs: EngineNeeds, local: () => boolean) {
    this.#needs = needs;
    this.#local = local;
    this.#said = this.#state();
  }

  /** The version that holds now. */
  look(): bigint {
    const state = this.#state();
    if (state !== this.#said) {
      this.#said = state;
      this.#version++;
      this.#changed.resolve();
      this.#changed = Promise.withResolvers();
    }
    return this.#version;
  }

  async *stream(signal: AbortSignal): AsyncGenerator<Facts> {
    const { timers } = this.#needs;
    const { promise: gone, resolve: leave } = Promise.withResolvers<void>();
    signal.addEventListener("abort", () => leave(), { once: true });
    for (let said = 0n; !signal.aborted;) {
      const version = this.look();
      if (version !== said) {
        said = version;
        yield this.#facts(version);
        continue;
      }
      const { promise: due, resolve } = Promise.withResolvers<void>();
      const timer = timers.after(LOOKS_EVERY, resolve);
      await Promise.race([this.#changed.promise, due, gone]);
      timer.cancel();
    }
  }

  /** What may change. */
  #state(): string {
    const { mount, storage } = this.#needs;
    const lockout = mount.lockout?.();
    return [
      mount.path(),
      mount.defaultTtl(),
      mount.maxTtl(),
      storage.writtenElsewhere ?? false,
      ...(lockout === undefined
        ? []
        : [lockout.threshold, lockout.duration, lockout.counterReset, lockout.disabled]),
    ].join(" ");
  }

  #facts(version: bigint): Facts {
    const { mount, storage, options, settings, clock } = this.#needs;
    return {
      uuid: mount.uuid,
      accessor: mount.accessor,
      namespace: mount.namespace,
      path: mount.path(),
      defaultTtl: mount.defaultTtl(),
      maxTtl: mount.maxTtl(),
      lockout: mount.lockout?.() ?? null,
      options: new Map(Object.entries(options)),
      settings: JSON.stringify(settings),
      local: this.#local(),
      writtenElsewhere: storage.writtenElsewhere ?? false,
      time: clock.now(),
      version,
    };
  }
}
