// The log of the process: where its lines go, how it changes on a reload.

import { type Log, type LogDial, makeLog } from "@holdfast/shared/log";
import { LogFile } from "../system/log-file.ts";
import type { Clock } from "@holdfast/shared/world";
import type { LogConfig } from "../config/config.ts";
import type { Host } from "./host.ts";

export class ProcessLog {
  readonly log: Log;
  /** Turned by a reload, and by those who change levels over the API. */
  readonly dial: LogDial;
  readonly #file: LogFile | null;

  /** Throws a Failure when the log's file cannot be opened. */
  constructor(config: LogConfig, host: Pick<Host, "err">, clock: Clock) {
    const fallback = (line: string) => host.err(line);
    const { level, format, file: path, rotateBytes, rotateAfter, rotateKeep } = config;
    const file =
      path === null
        ? null
        : new LogFile({ path, rotateBytes, rotateAfter, rotateKeep, clock, fallback });
    this.dial = { level, components: new Map() };
    this.#file = file;
    const write = file === null ? fallback : (line: string) => file.write(line);
    this.log = makeLog({ level: this.dial, format, write, clock });
  }

  /** Level and file are taken over; form and place of the log wait for the next start. */
  reload({ level }: LogConfig): void {
    this.dial.level = level;
    this.#file?.reopen();
  }

  close(): void {
    this.#file?.close();
  }
}
