// Every way in which making a plugin refuses.

import { Failure } from "@holdfast/shared/failure";

/**
 * @code plugin-folder-taken The folder for a new plugin is there already and not empty.
 * @remedy Name another folder.
 */
export function folderTaken(path: string): Failure {
  const message = `${path} is there already; a new plugin gets a folder of its own`;
  return new Failure("invalid", "plugin-folder-taken", message);
}
