// What runs images here, as the configuration says.

import type { ChildProcesses, ProgramFiles, TreeFiles } from "@holdfast/shared/world";
import { Images } from "../images/images.ts";
import { DockerRunner } from "./docker.ts";
import { OciRunner } from "./oci.ts";
import type { ContainerRunner } from "./runner.ts";

export interface ContainerParts {
  readonly files: ProgramFiles & TreeFiles;
  readonly children: ChildProcesses;
  /** plugin_directory; null: none. */
  readonly directory: string | null;
  /** Where images are unpacked: a folder of the server's own, for this alone, which others may pass through. */
  readonly folder: string;
  /** plugin_oci_runtimes. */
  readonly runtimes: readonly string[];
  /** container_socket; null: we run them ourselves. */
  readonly socket: string | null;
  readonly arch: string;
}

export function containersOf(parts: ContainerParts): ContainerRunner {
  const { files, children, directory, folder, runtimes, socket, arch } = parts;
  if (socket !== null) return new DockerRunner({ files, children, socket, runtimes });
  const images = new Images({ files, directory, folder, arch });
  return new OciRunner({ files, children, images, runtimes, arch });
}
