// The data of a node in generations: one is in use, and a next one can be filled beside it and take its place whole.

import { OwnError } from "@holdfast/shared/failure";
import type { StorageEngine } from "../engines/engine.ts";

export interface Generations {
  /** Opens the one in use. Once at a time. */
  open(): Promise<StorageEngine>;
  /** An empty one beside it. One at a time. */
  begin(): Promise<NextGeneration>;
  /** Removes the one that was replaced; whoever used it has closed it. */
  removeReplaced(): Promise<void>;
  /** Lets others use the storage; the one in use is closed before. */
  close(): Promise<void>;
}

export interface NextGeneration {
  /** To be filled; it is used by nobody else. */
  readonly engine: StorageEngine;
  /** It is complete, and in use from here on: the next open() gives it. When this rejects nothing has changed,
   *  unless it is an ExchangeUncertain. */
  takeIntoUse(): Promise<void>;
  /** It is not wanted: removes it. */
  discard(): Promise<void>;
}

/** It is not known which generation a power cut would leave in use: nothing may be acknowledged any more. */
export class ExchangeUncertain extends OwnError {
  constructor(cause: unknown) {
    super("it is not known which generation of the store is in use", { cause });
    this.name = "ExchangeUncertain";
  }
}
