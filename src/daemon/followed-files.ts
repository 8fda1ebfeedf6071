// Files that the operator names: links are followed, because orchestrators mount configuration and
// certificates as links and turn them to the next version. Nothing that a caller of the API names is
// read through this.

import type { FileInfo, Fs } from "@holdfast/shared/world";
import type { Host } from "./host.ts";

export class FollowedFiles implements Fs {
  readonly #fs: Fs;
  readonly #host: Pick<Host, "realPath">;

  constructor(fs: Fs, host: Pick<Host, "realPath">) {
    this.#fs = fs;
    this.#host = host;
  }

  read(path: string, maxBytes: number): Buffer | null {
    return this.#fs.read(this.#host.realPath(path), maxBytes);
  }

  info(path: string): FileInfo | null {
    return this.#fs.info(this.#host.realPath(path));
  }

  list(path: string): string[] {
    return this.#fs.list(this.#host.realPath(path));
  }

  // Writing stays as it is: a link is replaced, not followed.

  replace(path: string, bytes: Uint8Array): void {
    this.#fs.replace(path, bytes);
  }

  makeDirectory(path: string): void {
    this.#fs.makeDirectory(path);
  }

  remove(path: string): void {
    this.#fs.remove(path);
  }

  removeDirectory(path: string): void {
    this.#fs.removeDirectory(path);
  }

  freeBytes(path: string): number {
    return this.#fs.freeBytes(path);
  }
}
