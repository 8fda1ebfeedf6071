// What is not there, where that is an answer.

import { StoreError } from "./store-error.ts";

/** Null where what was asked for is not there. */
export async function orGone<T>(call: Promise<T>): Promise<T | null> {
  try {
    return await call;
  } catch (error) {
    if (error instanceof StoreError && error.gone) return null;
    throw error;
  }
}
