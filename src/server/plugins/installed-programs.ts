// Programs on this machine, by a name on the system path or by their whole path.

import { join } from "node:path";
import type { Fs } from "@holdfast/shared/world";

const USUAL_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

export function isProgram(program: string, path: string | null, files: Pick<Fs, "info">): boolean {
  if (program.includes("/")) return files.info(program) !== null;
  const folders = (path ?? USUAL_PATH).split(":").filter((folder) => folder.startsWith("/"));
  return folders.some((folder) => files.info(join(folder, program)) !== null);
}
