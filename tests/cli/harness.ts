// Runs the command line inside the test: captured streams, a terminal that types, a home of its own.

import { EventEmitter } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { SystemClock } from "../../src/system/clock.ts";
import { SystemFs } from "../../src/system/fs.ts";
import { SystemTimers } from "../../src/system/timers.ts";
import type { CliWorld } from "../../src/cli/io.ts";
import { runCli } from "../../src/cli/run.ts";
import { SystemChildCommands } from "../../src/cli/exec/child-command.ts";
import { SystemUserFiles } from "../../src/cli/line/user-file.ts";

export interface RunOptions {
  /** Standard input of a pipe. */
  readonly stdin?: string | Buffer;
  /** Lines that a person at a terminal types, one at each prompt. */
  readonly typed?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** Standard output is a terminal of this width. */
  readonly columns?: number;
  readonly world?: Partial<CliWorld>;
}

export interface Ran {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
  /** Everything that was printed. */
  readonly all: string;
  /** Whether the terminal was ever asked to hide what is typed, and its state at the end. */
  readonly raw: readonly boolean[];
}

export class Screen extends EventEmitter {
  text = "";
  readonly isTTY: boolean;
  readonly columns: number;
  readonly #onWrite: (text: string) => void;

  constructor(isTTY: boolean, columns = 80, onWrite: (text: string) => void = () => {}) {
    super();
    this.isTTY = isTTY;
    this.columns = columns;
    this.#onWrite = onWrite;
  }

  write(text: string): boolean {
    this.text += text;
    this.#onWrite(text);
    return true;
  }
}

export class Keyboard extends PassThrough {
  readonly isTTY: boolean;
  readonly raw: boolean[] = [];

  constructor(isTTY: boolean) {
    super();
    this.isTTY = isTTY;
  }

  setRawMode(on: boolean): this {
    this.raw.push(on);
    return this;
  }
}

/** A directory that goes away with the test. */
export function makeHome(after: (call: () => void) => void): string {
  const home = mkdtempSync(join(tmpdir(), "holdfast-cli-"));
  after(() => rmSync(home, { recursive: true, force: true }));
  return home;
}

export async function run(args: readonly string[], options: RunOptions = {}): Promise<Ran> {
  const { stdin = "", typed, env = {}, columns, world } = options;
  const keyboard = new Keyboard(typed !== undefined);
  const lines = [...(typed ?? [])];
  const stdout = new Screen(columns !== undefined, columns);
  const stderr = new Screen(typed !== undefined, columns, (text) => {
    if (typed === undefined || !/(: |\[y\/N\] )$/.test(text)) return;
    const line = lines.shift();
    if (line === undefined) keyboard.end();
    else keyboard.write(`${line}\r`);
  });
  if (typed === undefined) keyboard.end(stdin);
  const code = await runCli(
    args,
    { env, stdin: keyboard, stdout, stderr },
    {
      clock: new SystemClock(),
      timers: new SystemTimers(),
      fs: new SystemFs(),
      files: new SystemUserFiles(),
      children: new SystemChildCommands(),
      ...world,
    },
  );
  const all = `${stdout.text}\n${stderr.text}`;
  return { code, stdout: stdout.text, stderr: stderr.text, all, raw: keyboard.raw };
}
