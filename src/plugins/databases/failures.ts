// Every way in which finding a database plugin refuses.

import { Failure } from "@holdfast/shared/failure";

/**
 * @code database-plugin-unknown The catalog has no database plugin of that name, or none of that version.
 * @remedy Register it at sys/plugins/catalog/database/NAME, or write the connection with one that is there.
 */
export function unknownDatabase(name: string, version: string): Failure {
  const which = version === "" ? name : `${name} of version ${version}`;
  return new Failure(
    "upstream",
    "database-plugin-unknown",
    `plugin not found in the catalog: database plugin ${which}`,
  );
}
