// Restoring: an archive is received and verified, the caller is answered, and the data is exchanged. Who may ask is
// decided before; whether the archive is of this server is decided here.

import type { KeyObject } from "node:crypto";
import { describe } from "@holdfast/shared/failure";
import type { Remote } from "@holdfast/shared/endpoint/request";
import type { BodyStream } from "@holdfast/shared/endpoint/stream";
import type { Instant } from "@holdfast/shared/world";
import type { Left } from "../../carried/counts.ts";
import { whyNotOurs } from "../archive/opening.ts";
import { alreadyInitialised, makesWay, notOnSecondary, otherDataKeys } from "./failures.ts";
import { leftWarning } from "./left-outside.ts";
import { untilAborted } from "./until-aborted.ts";
import { type ReceivedArchive, receiveArchive, type ReceivingOptions } from "./receiving.ts";
import { type RestoredData, restoredData, type RestoredDataOptions } from "./restored-data.ts";
import type { RestoreSecret } from "./restore-secret.ts";

export interface RestoresOptions extends ReceivingOptions, Omit<RestoredDataOptions, "guard"> {
  /** When the root key was made. */
  readonly keyedAt: () => Instant;
  /** Puts it in the place of the data there is. */
  readonly exchange: (data: RestoredData) => Promise<void>;
  /** For callers without a token, while the server is not initialised. */
  readonly secret: RestoreSecret;
}

interface Meant {
  readonly force: boolean;
  /** Throws where it may not be any more: asked when the archive is there, and when nothing else can change. */
  readonly guard: () => void;
  /** Who has no token; null for who has one. */
  readonly from: Remote | null;
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

  /** Of a restore of a process before this one; what this one did is known. */
  tellLeft(left: Left): void {
    const { book } = this.#options;
    if (book.status.state === "idle") book.left(left);
  }

  get initialised(): boolean {
    return this.#options.store.initialised;
  }

  /** Resolves when the archive was verified: it is restored from there on, whoever waits for it. */
  async restore(
    stream: BodyStream | undefined,
    { force }: { readonly force: boolean },
  ): Promise<void> {
    const { store, book } = this.#options;
    // What is shared, or everything, is another cluster's: it would come to differ from all others, and nobody would see it.
    const guard = () => {
      if (store.following || store.leavesShared) throw notOnSecondary();
    };
    guard();
    await book.clear(makesWay());
    await this.#receive(stream, { force, guard, from: null });
  }

  /** The same into a server that is not initialised, and stays so until it has the data: what somebody without a token
   *  has begun never takes the place of what an operator has made meanwhile. */
  async initialise(stream: BodyStream | undefined, from: Remote): Promise<void> {
    const guard = () => {
      if (this.initialised) throw alreadyInitialised();
    };
    guard();
    await this.#receive(stream, { force: true, guard, from });
  }

  /** Somebody initialises the server in the usual way. */
  initialising(): void {
    void this.#options.book.clear(alreadyInitialised());
  }

  async #receive(stream: BodyStream | undefined, meant: Meant): Promise<void> {
    const { book, log } = this.#options;
    const { force, guard, from } = meant;
    const by = from === null ? {} : { remote_address: from.address };
    book.begin(force, stream?.length ?? 0);
    let received: ReceivedArchive | null = null;
    let treeKey: KeyObject | null;
    try {
      const progress = (bytesDone: number) => book.tell({ bytesDone });
      const coming =
        from === null || stream === undefined ? stream : untilAborted(stream, book.makesWay());
      received = await receiveArchive(coming, this.#options, progress);
      guard();
      treeKey = this.#keyOf(received, force);
      this.#describe(received);
      book.received();
    } catch (error) {
      await received?.[Symbol.asyncDispose]();
      const cause = describe(error);
      book.end("failed", cause);
      log.warn("a snapshot was not taken", { event: "restore.refused", cause, ...by });
      throw error;
    }
    const { id } = received.archive.meta;
    log.info("a snapshot is restored", { event: "restore.started", id, ...by });
    void this.#run(received, treeKey, guard);
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

  async #run(
    received: ReceivedArchive,
    treeKey: KeyObject | null,
    guard: () => void,
  ): Promise<void> {
    const { book, log, exchange } = this.#options;
    const { id } = received.archive.meta;
    try {
      const data = restoredData(received, treeKey, { ...this.#options, guard });
      await exchange(data);
      data.countLeft();
      book.end("done");
      const { adopted, left } = book.status;
      log.info("a snapshot was restored", { event: "restore.succeeded", id, adopted, left });
      const warning = leftWarning({ count: left, isKnown: true });
      if (warning !== null) log.warn(warning);
    } catch (error) {
      const cause = describe(error);
      book.end("failed", cause);
      log.error("a snapshot could not be restored", { event: "restore.failed", id, cause });
    } finally {
      await received[Symbol.asyncDispose]();
    }
  }
}
