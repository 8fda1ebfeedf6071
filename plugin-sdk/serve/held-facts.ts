// What an engine reads of its mount without waiting: as the host has said it last.

import { callStream, type Channel } from "@holdfast/shared/grpc/method";
import { Status, StatusError } from "@holdfast/shared/grpc/status";
import { invariant } from "@holdfast/shared/invariant";
import { readJson } from "@holdfast/shared/json/json-reader";
import { utf8 } from "@holdfast/shared/bytes";
import type { JsonObject } from "@holdfast/shared/json/json";
import type { MountFacts } from "../engine.ts";
import { type Facts, hostService } from "../wire/host-service.ts";
import { namespaceFromWire } from "../wire/own-caller.ts";

export class HeldFacts {
  #now: Facts;
  readonly #stream: AsyncGenerator<Facts>;
  #isOver = false;
  #changed = Promise.withResolvers<void>();

  private constructor(first: Facts, stream: AsyncGenerator<Facts>) {
    this.#now = first;
    this.#stream = stream;
    void this.#follow();
  }

  /** Null: the host does not know of any of this. */
  static async begin(host: Channel): Promise<HeldFacts | null> {
    const stream = callStream(host, hostService.facts, {});
    try {
      const first = await stream.next();
      if (first.done === true) return null;
      return new HeldFacts(first.value, stream);
    } catch (error) {
      if (error instanceof StatusError && error.status === Status.unimplemented) return null;
      throw error;
    }
  }

  get now(): Facts {
    return this.#now;
  }

  get options(): Readonly<Record<string, string>> {
    return Object.fromEntries(this.#now.options);
  }

  get settings(): JsonObject {
    return readJson(utf8(this.#now.settings));
  }

  /** Resolves when they are as new as that, or nobody says any more. */
  async atLeast(version: bigint): Promise<void> {
    while (!this.#isOver && this.#now.version < version) await this.#changed.promise;
  }

  mount(): MountFacts {
    const { uuid, accessor, namespace } = this.#now;
    return {
      uuid,
      accessor,
      namespace: namespaceFromWire(namespace),
      path: () => this.#now.path,
      defaultTtl: () => this.#now.defaultTtl,
      maxTtl: () => this.#now.maxTtl,
      ...(this.#now.lockout === null
        ? {}
        : {
            lockout: () => {
              const { lockout } = this.#now;
              invariant(lockout !== null, "a mount that has a lockout keeps one");
              return lockout;
            },
          }),
    };
  }

  async #follow(): Promise<void> {
    try {
      for await (const facts of this.#stream) {
        this.#now = facts;
        this.#tell();
      }
    } catch {
      // the host is gone, and calls say so
    }
    this.#isOver = true;
    this.#tell();
  }

  #tell(): void {
    this.#changed.resolve();
    this.#changed = Promise.withResolvers();
  }

  close(): void {
    void this.#stream.return(undefined).catch(() => {});
  }
}
