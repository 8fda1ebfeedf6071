// The rotation of a credential, whosever it is: the new one is made, stored and proved, and only then is the
// old one gone. At every moment one that works is stored, and a note tells of any that is not (T-I13).

import { Failure } from "@holdfast/shared/failure";
import type { EngineStorage, EngineTx } from "@holdfast/plugin-sdk/storage";
import type { Proof } from "./proof.ts";
import { ProviderError } from "./provider-error.ts";

// --- made and stored ---

export interface NewCredential<T, S> {
  readonly storage: EngineStorage;
  /** Of what may come to be from now on. Gives the record. */
  readonly note: () => Promise<string>;
  readonly make: () => Promise<T>;
  /** Keeps what was made, and settles the record, in one transaction. */
  readonly store: (tx: EngineTx, made: T, record: string) => S;
  /** There is nothing that the record would lead to. */
  readonly dropNote: (record: string) => Promise<void>;
  /** Whether a failure of `make` has surely made nothing. Default: as the provider says. */
  readonly madeNothing?: (error: unknown) => boolean;
  /** Ends what was made and surely not stored. Default: that is left to the note. */
  readonly discard?: (made: T) => Promise<void>;
  /** What is thrown where it could not be stored. Default: the failure itself. */
  readonly notStored?: (error: unknown) => unknown;
}

export async function makeAndStore<T, S>(
  order: NewCredential<T, S>,
): Promise<{ readonly made: T; readonly stored: S }> {
  const { storage, note, make, store, dropNote, discard } = order;
  const { madeNothing = isCertain, notStored = (error) => error } = order;
  const record = await note();
  let made: T;
  try {
    made = await make();
  } catch (error) {
    // After an uncertain failure there may be one that nobody has: the note stays, and leads to it.
    if (madeNothing(error)) await dropNote(record);
    throw error;
  }
  const outcome = await committed(storage, (tx) => store(tx, made, record));
  if (outcome.kept) return { made, stored: outcome.value };
  // Nobody has it: gone at once where that can be had, else by the note; by the note as well where it may be
  // the stored one after all.
  if (outcome.certain && discard !== undefined) {
    await discard(made)
      .then(() => dropNote(record))
      .catch(() => {});
  }
  throw notStored(outcome.error);
}

function isCertain(error: unknown): boolean {
  return error instanceof ProviderError && error.harmless;
}

type Commit<T> =
  | { readonly kept: true; readonly value: T }
  | { readonly kept: false; readonly error: unknown; readonly certain: boolean };

/** Never rejects. `certain`: `fn` was refused, or never ran to its end, and nothing was kept. A store that
 *  fails while it commits may have it all the same. */
async function committed<T>(storage: EngineStorage, fn: (tx: EngineTx) => T): Promise<Commit<T>> {
  let committing = false;
  try {
    const value = await storage.write((tx) => {
      committing = false; // it may be run again, and what it did before is undone then
      const result = fn(tx);
      committing = true;
      return result;
    });
    return { kept: true, value };
  } catch (error) {
    return { kept: false, error, certain: !committing };
  }
}

// --- proved, and the old one gone ---

export interface OldCredential {
  /** Whether the new one works. Default: it was proved before. */
  readonly proof?: () => Promise<Proof>;
  readonly remove: () => Promise<void>;
  /** It is gone: nobody need look for it any more. */
  readonly forget: () => Promise<void>;
}

export type Retirement =
  | { readonly gone: true }
  | {
      readonly gone: false;
      /** Whether the new one works. */
      readonly proved: boolean;
      /** What the provider said last; null: nothing that was wrong, but there was no more time. */
      readonly why: ProviderError | Failure | null;
    };

/** An old one that stays is left to its note. */
export async function retireOld({ proof, remove, forget }: OldCredential): Promise<Retirement> {
  const found: Proof = proof === undefined ? { proved: true } : await proof();
  if (!found.proved) return { gone: false, proved: false, why: found.why };
  try {
    await remove();
  } catch (error) {
    if (!(error instanceof ProviderError || error instanceof Failure)) throw error;
    return { gone: false, proved: true, why: error };
  }
  await forget();
  return { gone: true };
}
