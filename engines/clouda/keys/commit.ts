// Transactions whose failure decides over something outside: whether it was certainly not kept. A store that
// fails while it commits may have it all the same.

import type { EngineStorage, EngineTx } from "@holdfast/plugin-sdk/storage";

export type Commit<T> =
  | { readonly kept: true; readonly value: T }
  | { readonly kept: false; readonly error: unknown; readonly certain: boolean };

/** Never rejects. `certain`: `fn` was refused, or never ran to its end; nothing was kept. */
export async function committed<T>(
  storage: EngineStorage,
  fn: (tx: EngineTx) => T,
): Promise<Commit<T>> {
  let committing = false;
  try {
    const value = await storage.write((tx) => {
      committing = false; // it may be run again, and what it did before is undone then
      const made = fn(tx);
      committing = true;
      return made;
    });
    return { kept: true, value };
  } catch (error) {
    return { kept: false, error, certain: !committing };
  }
}
