// The configurations of automated snapshots: written by operators, checked against each other and against the place
// that they name. They are data of the cluster and its disaster-recovery replicas.

import type { Log } from "@holdfast/shared/log";
import type { Clock } from "@holdfast/shared/world";
import type { Tx, View, ViewReads } from "../../barrier/view.ts";
import { openTarget, type TargetNeeds } from "../targets/open-target.ts";
import { StoreError } from "../targets/store-error.ts";
import type { TargetSettings } from "../targets/settings.ts";
import { TimedTarget } from "../targets/timed-target.ts";
import {
  checkName,
  type ConfigInput,
  meet,
  merged,
  samePlace,
  type SnapshotConfig,
} from "./config.ts";
import * as failures from "./failures.ts";
import { configCodec } from "./state.ts";
import { checkSecretsStay } from "./secret-hosts.ts";
import { addressReader, type AddressReader } from "./target-host.ts";

export interface ConfigurationsOptions {
  /** local/snapshots/configs/ */
  readonly view: View;
  readonly targets: TargetNeeds;
  readonly clock: Clock;
  readonly log: Log;
}

export interface WriteRequest {
  readonly input: ConfigInput;
  /** Whether a test is written. Default: where the place is new. */
  readonly verify: boolean | undefined;
  readonly signal: AbortSignal;
  /** For the log. */
  readonly accessor: string;
  readonly confirmExists: (exists: boolean) => void;
}

export interface Written {
  readonly warnings: readonly string[];
  /** Where snapshots go; empty for a directory. */
  readonly host: string;
}

export interface ConfigChange {
  /** Null where it is new. */
  readonly before: SnapshotConfig | null;
  readonly config: SnapshotConfig;
}

/** In the transaction that writes it: what follows from it elsewhere. */
export type Following = (tx: Tx, change: ConfigChange) => void;

const MAX_CONFIGS = 32;
const REPLACED = "the configuration was replaced by another meanwhile; write it again";

export class Configurations {
  readonly #options: ConfigurationsOptions;

  constructor(options: ConfigurationsOptions) {
    this.#options = options;
  }

  get view(): View {
    return this.#options.view;
  }

  names(reads: ViewReads = this.view): string[] {
    return reads.keys("", { limit: MAX_CONFIGS + 1 });
  }

  find(name: string): SnapshotConfig | null {
    return this.view.get(name, configCodec);
  }

  /** In a transaction of something else. */
  findIn(tx: Tx, name: string): SnapshotConfig | null {
    return tx.on(this.view).get(name, configCodec);
  }

  read(name: string): SnapshotConfig {
    const found = this.find(name);
    if (found === null) throw failures.configUnknown();
    return found;
  }

  async write(name: string, request: WriteRequest, following: Following): Promise<Written> {
    checkName(name);
    const { input, verify, signal, accessor } = request;
    const { clock, log } = this.#options;
    const before = this.find(name);
    const { config, warnings } = merged(before, input, clock.now());
    this.#checkAlone(name, config.settings, this.view);
    const { storageType } = config.settings;
    const addressOf = await addressReader(storageType, this.#options.targets);
    checkSecretsStay(before, config, input, addressOf);
    const isNew = before === null || !samePlace(before.settings, config.settings);
    const host = await this.#checkPlace(config.settings, verify ?? isNew, addressOf, signal);
    if (storageType === "local") {
      await this.#checkDirectory(name, config.settings.pathPrefix, config.settings.filePrefix);
    }
    await this.view.write((tx) => {
      const stored = tx.get(name, configCodec);
      request.confirmExists(stored !== null);
      if (stored === null && this.names(tx).length >= MAX_CONFIGS)
        throw failures.tooManyConfigs(MAX_CONFIGS);
      // As it is by now: somebody else may have been faster.
      const { config: last } = merged(stored, input, tx.time);
      if (last.settings.storageType !== storageType) throw failures.configInvalid(REPLACED);
      checkSecretsStay(stored, last, input, addressOf);
      this.#checkAlone(name, last.settings, tx);
      tx.put(name, last, configCodec);
      following(tx, { before: stored, config: last });
    });
    if (isNew) {
      const about = { event: "snapshot.configured", config: name, host, accessor };
      log.info("snapshots go to another place from now on", about);
    }
    return { warnings, host };
  }

  async remove(name: string): Promise<void> {
    await this.view.write((tx) => {
      if (tx.get(name, configCodec) !== null) tx.delete(name);
    });
  }

  async openTarget({ settings }: Pick<SnapshotConfig, "settings">): Promise<TimedTarget> {
    const { targets, clock } = this.#options;
    return new TimedTarget(await openTarget(settings, targets), { clock, timers: targets.timers });
  }

  /** Gives the host, for records. */
  async #checkPlace(
    settings: TargetSettings,
    verify: boolean,
    addressOf: AddressReader,
    signal: AbortSignal,
  ): Promise<string> {
    try {
      const target = await this.openTarget({ settings });
      if (verify) await target.probe(signal);
      else if (settings.storageType === "local") await target.list(signal);
      return new URL(target.urlOf("x")).host;
    } catch (error) {
      // It has no credentials, and may yet be given some outside of the configuration.
      if (!verify && error instanceof StoreError) return addressOf(settings)?.host ?? "";
      throw failures.probeFailure(error);
    }
  }

  /** A root that is a link has two spellings, and what lies below it as well. */
  async #checkDirectory(name: string, path: string, filePrefix: string): Promise<void> {
    const { files } = this.#options.targets.local;
    const real = async (spelled: string) => (await files.look(spelled))?.path ?? spelled;
    const own = await real(path);
    for (const other of this.names()) {
      const settings = other === name ? undefined : this.find(other)?.settings;
      if (settings?.storageType !== "local" || settings.filePrefix !== filePrefix) continue;
      if ((await real(settings.pathPrefix)) === own) throw failures.placeTaken(other);
    }
  }

  #checkAlone(name: string, settings: TargetSettings, reads: ViewReads): void {
    for (const other of this.names(reads)) {
      const found = other === name ? null : reads.get(other, configCodec);
      if (found !== null && meet(found.settings, settings)) throw failures.placeTaken(other);
    }
  }
}
