// "It is not there", said by the provider of what was to be deleted or looked for: no failure.

import { ProviderError } from "../../cloud/provider-error.ts";

/** Deleting what is not there is what was wanted. */
export async function unlessGone(call: Promise<void>): Promise<void> {
  await orGone(call);
}

/** Null where it is not there. */
export async function orGone<T>(call: Promise<T>): Promise<T | null> {
  try {
    return await call;
  } catch (error) {
    if (error instanceof ProviderError && error.gone) return null;
    throw error;
  }
}
