// A way to a port of loopback that counts the bytes which go through it, both ways.

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";

const PROGRAM = join(import.meta.dirname, "counted-way-process.ts");

export class CountedWay {
  readonly port: number;
  readonly #child: ChildProcess;

  private constructor(child: ChildProcess, port: number) {
    this.#child = child;
    this.port = port;
  }

  static async to(port: number): Promise<CountedWay> {
    const child = spawn(process.execPath, [...process.execArgv, PROGRAM, String(port)], {
      stdio: ["ignore", 2, 2, "ipc"],
    });
    const [said] = (await once(child, "message")) as [{ port: number }];
    return new CountedWay(child, said.port);
  }

  /** How many since the last look. */
  async take(): Promise<number> {
    const answered = once(this.#child, "message");
    this.#child.send({});
    const [{ bytes }] = (await answered) as [{ bytes: number }];
    return bytes;
  }

  async close(): Promise<void> {
    const exit = once(this.#child, "exit");
    this.#child.disconnect();
    await exit;
  }
}
