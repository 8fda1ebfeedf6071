// What the endpoints of this engine share on the wire.

import { wire } from "@holdfast/shared/endpoint/wire";
import { unsupportedPath } from "../failures.ts";

// Letters, digits and _ at both ends; inside also - . and @.
const NAME = /^[A-Za-z0-9_](?:[A-Za-z0-9_.@-]*[A-Za-z0-9_])?$/;
const MAX_NAME = 512;

export const nameField = wire.path("name").string("Name of the role; its case matters.");

/** Refuses what no route has. */
export function checkName(name: string): string {
  if (name.length > MAX_NAME || !NAME.test(name)) throw unsupportedPath();
  return name;
}
