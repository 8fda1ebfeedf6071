// Reads that are answered by another object, which may be a different one from call to call: what
// engines and the views they hand out have in common.

import type {
  Leaf,
  LeafRow,
  LogRow,
  Range,
  Reads,
  ReadView,
  Row,
  ScopeRow,
  SumRow,
} from "./engine.ts";
import { invariant } from "@holdfast/shared/invariant";

export abstract class ReadsBehind implements Reads {
  /** The object that answers now. It throws when there is none. */
  protected abstract source(): Reads;

  get(key: string): Uint8Array | null {
    return this.source().get(key);
  }

  rows(range: Range): Row[] {
    return this.source().rows(range);
  }

  keys(range: Range): string[] {
    return this.source().keys(range);
  }

  leaf(slot: number, key: string): Leaf | null {
    return this.source().leaf(slot, key);
  }

  leaves(after: { slot: number; key: string } | null, limit: number): LeafRow[] {
    return this.source().leaves(after, limit);
  }

  scopes(after: { slot: number; key: string } | null, limit: number): ScopeRow[] {
    return this.source().scopes(after, limit);
  }

  sums(from?: number, limit?: number): SumRow[] {
    return this.source().sums(from, limit);
  }

  logs(from: bigint, limit: number): LogRow[] {
    return this.source().logs(from, limit);
  }

  lastLog(): bigint | null {
    return this.source().lastLog();
  }

  meta(name: string): Uint8Array | null {
    return this.source().meta(name);
  }
}

/** A view over reads that do not change until it is closed. Closing it twice does nothing. */
export class HeldView extends ReadsBehind implements ReadView {
  #reads: Reads | null;
  readonly #release: () => void;

  constructor(reads: Reads, release: () => void) {
    super();
    this.#reads = reads;
    this.#release = release;
  }

  protected override source(): Reads {
    invariant(this.#reads !== null, "a closed read view was used");
    return this.#reads;
  }

  close(): void {
    if (this.#reads === null) return;
    this.#reads = null;
    this.#release();
  }
}
