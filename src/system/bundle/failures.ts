// Every way in which making a plugin refuses.

import { Failure, type FailureOptions } from "@holdfast/shared/failure";

/**
 * @code plugin-bundle-refused A plugin cannot be made into one file.
 * @remedy The text names the import or the file that is in the way.
 */
export function bundleRefused(why: string, options?: FailureOptions): Failure {
  const message = `no plugin can be made of it: ${why}`;
  return new Failure("invalid", "plugin-bundle-refused", message, options);
}
