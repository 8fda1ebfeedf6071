// The secret that lets in who restores into a server that nobody has initialised yet, and is not on its machine: whoever can
// read the server's own files. It is there until the server has data.

import { hex, text, utf8 } from "@holdfast/shared/bytes";
import { describe } from "@holdfast/shared/failure";
import type { Log } from "@holdfast/shared/log";
import type { Fs, Random } from "@holdfast/shared/world";
import { sameBytes } from "../../base/same-bytes.ts";

const MAX_BYTES = 256;

export interface RestoreSecretOptions {
  readonly fs: Pick<Fs, "read" | "replace" | "remove">;
  readonly path: string;
  readonly random: Random;
  readonly log: Log;
}

export class RestoreSecret {
  readonly #options: RestoreSecretOptions;

  constructor(options: RestoreSecretOptions) {
    this.#options = options;
  }

  /** A fresh one; a server that cannot keep one does without. */
  make(): void {
    const { fs, path, random } = this.#options;
    this.#try("could not write the secret for restores", () => {
      fs.replace(path, utf8(`${hex(random.bytes(32))}\n`));
    });
  }

  remove(): void {
    const { fs, path } = this.#options;
    this.#try("could not remove the secret for restores", () => fs.remove(path));
  }

  matches(secret: string): boolean {
    const { fs, path } = this.#options;
    const kept = text(fs.read(path, MAX_BYTES) ?? utf8("")).trim();
    return kept !== "" && sameBytes(utf8(secret), utf8(kept));
  }

  #try(trouble: string, work: () => void): void {
    try {
      work();
    } catch (error) {
      this.#options.log.warn(trouble, { cause: describe(error) });
    }
  }
}
