// What operators do: rotate, change the root key, seal and unseal, cut the log, check, reindex, take
// a snapshot. All of it goes on beside the other clients, and none of it may change what they see.

import { MAX_OPERATIONS, MIN_OPERATIONS } from "../src/barrier/keyring.ts";
import { equalBytes } from "@holdfast/shared/bytes";
import { reindexStore } from "../src/storage/repair/reindex.ts";
import { trimLog } from "../src/storage/trimming.ts";
import { firstDifference } from "./audit.ts";
import type { ClientOptions } from "./client.ts";
import { isExpected, SECOND_THOUGHTS } from "./readings.ts";
import { type State, Violation } from "./state.ts";
import { MILLISECOND, SECOND } from "./world.ts";

const DAY = 86_400n * BigInt(SECOND);

export class Ceremonies {
  readonly #options: ClientOptions;

  constructor(options: ClientOptions) {
    this.#options = options;
  }

  async rotate(): Promise<void> {
    const { barrier } = this.#options.running;
    const before = barrier.keyStatus.term;
    const term = await barrier.rotate();
    if (term <= before) throw new Violation(`rotation from term ${before} led to ${term}`);
  }

  async configure(): Promise<void> {
    const { running, prng } = this.#options;
    await running.barrier.configureRotation({
      enabled: prng.chance(0.9),
      maxOperations: prng.pick([MIN_OPERATIONS, MIN_OPERATIONS, MAX_OPERATIONS]),
      interval: prng.pick([0n, DAY]),
    });
  }

  async replaceRootKey(): Promise<void> {
    const { running, machine, prng } = this.#options;
    const { barrier } = running;
    const fresh = machine.freshRootKey();
    await barrier.ceremony((_, raw) => {
      barrier.replaceRootKey(raw, fresh);
      if (prng.chance(0.2)) throw SECOND_THOUGHTS; // the old key must stay
      machine.history.rootKey = fresh;
      if (prng.chance(0.1)) raw.control({ type: 9, body: prng.bytes(40) });
    });
  }

  async trim(): Promise<void> {
    const { running, machine, prng } = this.#options;
    if (running.trimming) return; // two at once would each cut from the same tail
    running.trimming = true;
    try {
      const minEntries = BigInt(prng.int(40));
      await trimLog(
        running.store,
        { clock: machine.clock, timers: running.timers },
        { minEntries },
      );
    } finally {
      running.trimming = false;
    }
  }

  async check(): Promise<void> {
    const report = await this.#options.running.store.check();
    if (report.ok) return;
    const text = JSON.stringify(report, (_, value: unknown) =>
      typeof value === "bigint" ? String(value) : value,
    );
    throw new Violation(`the check finds damage where there is none: ${text}`);
  }

  async reindex(): Promise<void> {
    const { running, machine } = this.#options;
    const { clock } = machine;
    const report = await reindexStore(running.store, { clock, timers: running.timers });
    const { mended, removed, sums } = report;
    if (mended.count + removed.count + sums > 0) {
      throw new Violation("a reindex has mended what was not broken");
    }
  }

  /** A snapshot is the state of the moment it was taken, however long it is read. */
  async snapshot(): Promise<void> {
    const { running, machine } = this.#options;
    const snapshot = running.store.snapshot();
    try {
      const { index } = snapshot.head;
      const rows = running.engine.rows({ from: "", to: null, limit: Infinity });
      const isOf = (state: State) => state.index === index && firstDifference(rows, state) === null;
      machine.history.observe("a snapshot", isOf);
      let at = 0;
      for await (const chunk of snapshot.rows()) {
        for (const { key, value } of chunk) {
          const row = rows[at++];
          if (row?.key === key && equalBytes(row.value, value)) continue;
          throw new Violation(`a snapshot has changed at ${key} while it was read`);
        }
      }
      if (at !== rows.length) throw new Violation("a snapshot has lost rows while it was read");
    } finally {
      snapshot.close();
    }
  }

  async seal(): Promise<void> {
    const { running, machine, prng, world } = this.#options;
    const { barrier, store, life } = running;
    const { history } = machine;
    if (running.sealing) return;
    running.sealing = true;
    const sealed = [barrier.seal()];
    if (prng.chance(0.2)) sealed.push(barrier.seal());
    // Rows from below the barrier still come in until the store itself is locked.
    for (let left = prng.int(4); left > 0; left--) sealed.push(this.#writeRaw());
    const { position } = history;
    await Promise.all(sealed);
    if (!barrier.sealed || !store.locked) throw new Violation("a sealed barrier is not sealed");
    if (history.failure === null) history.answered(position);
    await world.sleep(prng.int(15) * MILLISECOND, life);
    if (history.failure !== null) return;
    if (history.waitingForDisk > 0) await store.settled();
    const { rootKey } = history.tip;
    if (rootKey === null || !barrier.unseal(rootKey)) {
      throw new Violation("the root key does not open the barrier again");
    }
    barrier.activate();
    running.sealing = false;
  }

  async #writeRaw(): Promise<void> {
    const { running, prng } = this.#options;
    try {
      await running.store.write((tx) => {
        for (let i = 0; i < 4; i++) tx.put(`shared/raw/sealing/${prng.int(9)}`, prng.bytes(40));
      });
    } catch (error) {
      if (!isExpected(error, this.#options)) throw error;
    }
  }
}
