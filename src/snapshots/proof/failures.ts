// Every way that the proof of an archive is refused, beside what is wrong with its form.

import { Failure } from "@holdfast/shared/failure";

/**
 * @code snapshot-keys The keyring in the snapshot does not open with the root key in it.
 * @remedy Take another snapshot: this one cannot be restored.
 */
export function archiveKeysMissing(): Failure {
  const message =
    "the keys in the snapshot do not open: its keyring is missing, or of another root key";
  return new Failure("damaged", "snapshot-keys", message);
}

/**
 * @code snapshot-entry An entry of the snapshot does not open with its keys.
 * @remedy Run `holdfast snapshot drill`, which names them all; take another snapshot.
 */
export function entryNotOpened(key: string): Failure {
  const message = `the entry ${JSON.stringify(key)} of the snapshot does not open with its keys`;
  return new Failure("damaged", "snapshot-entry", message);
}
