// Listeners with tls_auto_reload: looks at their certificate files from time to time, and asks for a
// reload when one has changed.

import { createHash } from "node:crypto";
import { wipe } from "@holdfast/shared/bytes";
import { SECOND } from "@holdfast/shared/text/duration";
import type { Nanos, Timer, Timers } from "@holdfast/shared/world";
import type { Config } from "../config/config.ts";
import type { Files } from "../config/documents.ts";

const EVERY: Nanos = 30n * SECOND;
const MAX_FILE = 2 ** 20;

export class CertificateWatch {
  readonly #timers: Timers;
  readonly #files: Files;
  readonly #changed: () => void;
  #timer: Timer | null = null;
  #seen = "";

  constructor(timers: Timers, files: Files, changed: () => void) {
    this.#timers = timers;
    this.#files = files;
    this.#changed = changed;
  }

  /** Begins anew with this configuration; also after a reload that somebody else asked for. */
  watch(config: Config): void {
    this.stop();
    const paths = config.listeners.flatMap(({ tls }) =>
      tls?.autoReload === true
        ? [tls.certFile, tls.keyFile, ...(tls.clientCaFile === null ? [] : [tls.clientCaFile])]
        : [],
    );
    if (paths.length === 0) return;
    this.#seen = this.#look(paths);
    this.#wait(paths);
  }

  stop(): void {
    this.#timer?.cancel();
    this.#timer = null;
  }

  #wait(paths: readonly string[]): void {
    this.#timer = this.#timers.after(EVERY, () => {
      const now = this.#look(paths);
      const changed = now !== this.#seen;
      this.#seen = now;
      this.#wait(paths);
      if (changed) this.#changed();
    });
  }

  /** A file that cannot be read right now, in the middle of being replaced say, counts as changed. */
  #look(paths: readonly string[]): string {
    const hash = createHash("sha256");
    for (const path of paths) {
      let bytes: Buffer | null = null;
      try {
        bytes = this.#files.read(path, MAX_FILE);
      } catch {
        // told by the reload that follows
      }
      hash.update(bytes === null ? "absent" : `file ${bytes.length} `);
      if (bytes !== null) hash.update(bytes);
      wipe(bytes);
    }
    return hash.digest("hex");
  }
}
