// Restoring: an archive is received and verified, the caller is answered, and the data is exchanged. Who may ask is
// decided before; whether the archive is of this server is decided here.

import type { KeyObject } from "node:crypto";
import { describe } from "@holdfast/shared/failure";
import type { BodyStream } from "@holdfast/shared/endpoint/stream";
import type { Instant } from "@holdfast/shared/world";
import { whyNotOurs } from "../archive/opening.ts";
import { otherDataKeys } from "./failures.ts";
import { type ReceivedArchive, receiveArchive, type ReceivingOptions } from "./receiving.ts";
import { type RestoredData, restoredData, type RestoredDataOptions } from "./restored-data.ts";
import type { RestoreSecret } from "./restore-secret.ts";

export interface RestoresOptions extends ReceivingOptions, RestoredDataOptions {
  /** When the root key was made. */
  readonly keyedAt: () => Instant;
  /** Puts it in the place of the data there is. */
  readonly exchange: (data: RestoredData) => Promise<void>;
  /** For callers without a token, while the server is not initialised. */
  readonly secret: RestoreSecret;
}

export class Restores {
  readonly #options: RestoresOptions;

  constructor(options: RestoresOptions) {
    this.#options = options;
  }

  get status() {
    return this.#options.book.status;
  }

  get secret(): RestoreSecret {
    return this.#options.secret;
  }

  get initialised(): boolean {
    return this.#options.store.initialised;
  }

  /** Resolves when the archive was verified: it is restored from there on, whoever waits for it. */
  async restore(
    stream: BodyStream | undefined,
    { force }: { readonly force: boolean },
  ): Promise<void> {
    const { book, log } = this.#options;
    book.begin(force, stream?.length ?? 0);
    let received: ReceivedArchive | null = null;
    let treeKey: KeyObject | null;
    try {
      const progress = (bytesDone: number) => book.tell({ bytesDone });
      received = await receiveArchive(stream, this.#options, progress);
      treeKey = this.#keyOf(received, force);
      this.#describe(received);
    } catch (error) {
      await received?.[Symbol.asyncDispose]();
      book.end("failed", describe(error));
      throw error;
    }
    log.info("a snapshot is restored", { event: "restore.started", id: received.archive.meta.id });
    void this.#run(received, treeKey);
  }

  /** The key of its trees, if it is of this server's keys; null where it is of others and that is wanted. */
  #keyOf({ archive, keys }: ReceivedArchive, force: boolean): KeyObject | null {
    const { store, barrier, clusterId, keyedAt } = this.#options;
    if (!store.initialised) return null;
    const { rootKey } = barrier;
    const own = { rootKey, clusterId: clusterId(), keyedAt: keyedAt() };
    const failure = whyNotOurs(archive, own);
    // What opens and says something else was changed by somebody: no force makes it whole.
    if (failure !== null && (!force || failure.code === "snapshot-changed")) throw failure;
    const treeKey = failure === null ? barrier.treeKeyIn(keys) : null;
    if (treeKey === null && !force) throw otherDataKeys();
    return treeKey;
  }

  #describe({ archive }: ReceivedArchive): void {
    const { store, book, log } = this.#options;
    const { meta, bytes } = archive;
    const now = store.head;
    const warnings: string[] = [];
    if (now !== null && meta.epoch < now.epoch) {
      const older = `the snapshot is of epoch ${meta.epoch}, and the data here of epoch ${now.epoch}`;
      warnings.push(`${older}: whoever followed this server since then starts anew`);
    }
    for (const warning of warnings) log.warn(warning);
    book.tell({ snapshot: meta, bytes, warnings });
  }

  async #run(received: ReceivedArchive, treeKey: KeyObject | null): Promise<void> {
    const { book, log, exchange } = this.#options;
    const { id } = received.archive.meta;
    try {
      await exchange(restoredData(received, treeKey, this.#options));
      book.end("done");
      const { adopted, left } = book.status;
      log.info("a snapshot was restored", { event: "restore.succeeded", id, adopted, left });
    } catch (error) {
      const cause = describe(error);
      book.end("failed", cause);
      log.error("a snapshot could not be restored", { event: "restore.failed", id, cause });
    } finally {
      await received[Symbol.asyncDispose]();
    }
  }
}
