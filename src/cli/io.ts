// What the command line is handed from outside. The streams of a process fit; so do those of a test.

import type { Clock, Fs, Timers } from "@holdfast/shared/world";
import type { ChildCommands, PassedSignal } from "./exec/child-command.ts";
import type { OutputStream } from "./terminal/output.ts";
import type { InputStream } from "./terminal/prompt.ts";
import type { UserFiles } from "./line/user-file.ts";

export interface CliIo {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly stdin: InputStream;
  readonly stdout: OutputStream & Pick<NodeJS.EventEmitter, "on" | "off">;
  readonly stderr: OutputStream & Pick<NodeJS.EventEmitter, "on" | "off">;
  /** Hears of Ctrl-C until what it returns is called; without a listener it ends the process. */
  readonly onInterrupt?: (call: () => void) => () => void;
  /** The same for any signal that is passed on to a command that runs. */
  readonly onSignal?: (name: PassedSignal, call: () => void) => () => void;
}

/** What commands take from the machine they run on, besides its streams. */
export interface CliWorld {
  readonly clock: Clock;
  readonly timers: Timers;
  readonly fs: Fs;
  readonly files: UserFiles;
  readonly children: ChildCommands;
}
