// The configurations of automated snapshots: written by operators, checked against each other and against the place
// that they name. They are data of the cluster and its disaster-recovery replicas.

import { Failure } from "@holdfast/shared/failure";
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
  /** Called before anything goes there. */
  readonly noteHost: NoteHost;
}

/** For records: the host that is called, empty for a directory. */
export type NoteHost = (host: string) => void;

export interface ConfigChange {
  /** Null where it is new. */
  readonly before: SnapshotConfig | null;
  readonly config: SnapshotConfig;
}

/** In the transaction that writes it: what follows from it elsewhere. */
export type Following = (tx: Tx, change: ConfigChange) => void;

interface PlaceCheck {
  /** Whether a test is written. */
  readonly verify: boolean;
  readonly addressOf: AddressReader;
  readonly signal: AbortSignal;
  readonly noteHost: NoteHost;
}

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

  /** Gives warnings. */
  async write(
    name: string,
    request: WriteRequest,
    following: Following,
  ): Promise<readonly string[]> {
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
    let host = "";
    const noteHost = (called: string) => {
      host = called;
      request.noteHost(called);
    };
    const check = { verify: verify ?? isNew, addressOf, signal, noteHost };
    await this.#checkPlace(config.settings, check);
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
    return warnings;
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

  /** Whoever asks for something to be done there has it recorded where that is. What cannot be opened is not called. */
  async noteHostOf(name: string, noteHost: NoteHost): Promise<void> {
    const config = this.read(name);
    try {
      noteHost(hostOf(await this.openTarget(config)));
    } catch (error) {
      if (!(error instanceof StoreError || error instanceof Failure)) throw error;
    }
  }

  async #checkPlace(
    settings: TargetSettings,
    { verify, addressOf, signal, noteHost }: PlaceCheck,
  ): Promise<void> {
    try {
      const target = await this.openTarget({ settings });
      noteHost(hostOf(target));
      if (verify) await target.probe(signal);
      else if (settings.storageType === "local") await target.list(signal);
    } catch (error) {
      if (verify || !(error instanceof StoreError)) throw failures.probeFailure(error);
      // It has no credentials, and may yet be given some outside of the configuration.
      noteHost(addressOf(settings)?.host ?? "");
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

function hostOf(target: Pick<TimedTarget, "urlOf">): string {
  return new URL(target.urlOf("x")).host;
}
