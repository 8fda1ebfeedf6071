// Every way this room refuses.

import { Failure, type FailureOptions } from "@holdfast/shared/failure";

/**
 * @code reload-failed A part of the configuration could not be loaded again; what was in effect
 *   stays.
 * @remedy Correct what the text names, then reload.
 */
export function reloadFailed(message: string, options?: FailureOptions): Failure {
  return new Failure("invalid", "reload-failed", message, options);
}

/**
 * @code dev-keys-damaged The file of keys of a development store is not what was written.
 * @remedy Remove the directory and start anew.
 */
export function devKeysDamaged(message: string): Failure {
  return new Failure("damaged", "dev-keys-damaged", message);
}

/**
 * @code dev-keys-missing A development directory holds a store without the keys that open it.
 * @remedy Use another directory, or remove this one.
 */
export function devKeysMissing(message: string): Failure {
  return new Failure("invalid", "dev-keys-missing", message);
}

/**
 * @code flags-invalid The flags of `holdfast server` are wrong.
 * @remedy Correct the flag that the text names.
 */
export function flagsInvalid(message: string): Failure {
  return new Failure("invalid", "flags-invalid", message);
}

/**
 * @code dev-token-differs The development store was made with another root token.
 * @remedy Leave --dev-root-token-id out.
 */
export function devTokenDiffers(message: string): Failure {
  return new Failure("invalid", "dev-token-differs", message);
}

/**
 * @code dev-clouds-tokenless The stand-ins for the clouds need a root token, and the store has
 *   none.
 * @remedy Use another directory.
 */
export function devCloudsTokenless(message: string): Failure {
  return new Failure("invalid", "dev-clouds-tokenless", message);
}

/**
 * @code dev-replica-tokenless A paired cluster is made with a root token, and the store has none.
 * @remedy Use --dev-replica without --dev-persist.
 */
export function devReplicaTokenless(): Failure {
  const message = "--dev-replica needs a root token, and this store was left without one";
  return new Failure("invalid", "dev-replica-tokenless", message);
}

/**
 * @code dev-replica-failed A further cluster of --dev-replica has not caught up with the one that it follows.
 * @remedy Look at the lines above; try again.
 */
export function devReplicaFailed(): Failure {
  const message = "--dev-replica: a cluster does not follow the one that it was joined to";
  return new Failure("unavailable", "dev-replica-failed", message);
}

/**
 * @code dev-clouds-absent The stand-ins for the clouds are not part of this installation.
 * @remedy Use --dev-clouds in a checkout of the source.
 */
export function devCloudsAbsent(message: string): Failure {
  return new Failure("invalid", "dev-clouds-absent", message);
}

/**
 * @code dev-clouds-failed The stand-ins for the clouds did not start.
 * @remedy Try again; look whether their ports are free.
 */
export function devCloudsFailed(message: string): Failure {
  return new Failure("unavailable", "dev-clouds-failed", message);
}

/**
 * @code dev-plugin-folder-missing The folder of --dev-plugin-dir is not there.
 * @remedy Name a folder with programs in it; it may be empty at first.
 */
export function devPluginFolderMissing(folder: string): Failure {
  const message = `--dev-plugin-dir: there is no folder ${folder}`;
  return new Failure("invalid", "dev-plugin-folder-missing", message);
}
