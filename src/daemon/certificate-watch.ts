// Listeners with tls_auto_reload: looks at their certificate files from time to time, and asks for a
// reload when one has changed.

import { createHash } from "node:crypto";
import { wipe } from "@holdfast/shared/bytes";
import type { Log } from "@holdfast/shared/log";
import { Recurring } from "../base/recurring.ts";
import { SECOND } from "@holdfast/shared/text/duration";
import type { Nanos, Timers } from "@holdfast/shared/world";
import type { Config } from "../config/config.ts";
import type { Files } from "../config/documents.ts";

const EVERY: Nanos = 30n * SECOND;
const MAX_FILE = 2 ** 20;

export interface CertificateWatchOptions {
  readonly timers: Timers;
  readonly log: Log;
  readonly files: Files;
  /** Called when one has changed. */
  readonly changed: () => void;
}

export class CertificateWatch {
  readonly #files: Files;
  readonly #changed: () => void;
  readonly #looks: Recurring;
  #paths: readonly string[] = [];
  #seen = "";

  constructor({ timers, log, files, changed }: CertificateWatchOptions) {
    this.#files = files;
    this.#changed = changed;
    this.#looks = new Recurring({
      trouble: "could not look at certificate files",
      period: EVERY,
      atOnce: false,
      run: async () => this.#compare(),
      timers,
      log,
    });
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
    this.#paths = paths;
    this.#seen = this.#look(paths);
    this.#looks.open();
  }

  stop(): void {
    void this.#looks.close();
  }

  #compare(): void {
    const now = this.#look(this.#paths);
    const changed = now !== this.#seen;
    this.#seen = now;
    if (changed) this.#changed();
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
