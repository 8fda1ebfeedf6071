// Where credentials are looked for that a configuration leaves out: variables and files of the server's user, as
// the provider's own library would. What a machine or a container is by itself is not asked for.

import { join } from "node:path";
import type { EnvironmentVariables } from "@holdfast/plugin-sdk/engine-services";
import { text } from "@holdfast/shared/bytes";
import type { Fs } from "@holdfast/shared/world";

export interface Surroundings {
  readonly environment: EnvironmentVariables;
  /** Files that operators put there; links are followed. */
  readonly files: Pick<Fs, "read">;
}

const MAX_BYTES = 256 * 1024;

/** The file that a variable names, or the usual one below the user's home; null where there is none. */
export function userFile(
  { environment, files }: Surroundings,
  variable: string | null,
  ...usual: readonly string[]
): { readonly path: string; readonly text: string } | null {
  const named = variable === null ? null : environment(variable);
  const home = environment("HOME");
  const path = named ?? (home === null ? null : join(home, ...usual));
  if (path === null) return null;
  const bytes = files.read(path, MAX_BYTES);
  return bytes === null ? null : { path, text: text(bytes) };
}
