// The fake of cloud A as a process of its own, so that its work is on another core than the server's.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";

const MAIN = join(import.meta.dirname, "..", "tests", "fakes", "clouda", "main.ts");

export interface FakeCloud {
  /** For both endpoints of the engine. */
  readonly url: string;
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  /** Each call is answered so much later. */
  delay(millis: number): Promise<void>;
  /** How many calls of one kind have come and were granted. */
  granted(action: string): Promise<number>;
}

/** It ends with `use`, and with this process. */
export async function withFakeCloud<T>(use: (fake: FakeCloud) => Promise<T>): Promise<T> {
  const env = { PATH: process.env["PATH"] ?? "" };
  const child = spawn(process.execPath, [MAIN], { stdio: ["pipe", "pipe", "inherit"], env });
  const exited = once(child, "exit");
  exited.catch(() => {}); // looked at below
  try {
    const said = once(createInterface(child.stdout), "line");
    const early = exited.then(() => {
      throw new Error("the fake cloud ended before it was ready");
    });
    const [line] = (await Promise.race([said, early])) as [string];
    const keys = JSON.parse(line) as Pick<FakeCloud, "url" | "accessKeyId" | "secretAccessKey">;
    const control = `${keys.url}/_fake`;
    return await use({
      ...keys,
      delay: async (delayMs) => {
        const body = JSON.stringify({ kind: "delay", action: "*", times: null, delayMs });
        await bodyOf(await fetch(`${control}/faults`, { method: "POST", body }));
      },
      granted: async (action) => {
        const calls = (await bodyOf(await fetch(`${control}/calls`))) as readonly {
          readonly action: string;
          readonly outcome: string;
        }[];
        return calls.filter((one) => one.action === action && one.outcome === "ok").length;
      },
    });
  } finally {
    child.stdin.end();
    if (child.exitCode === null && child.signalCode === null) await exited;
  }
}

async function bodyOf(answer: Response): Promise<unknown> {
  if (!answer.ok) throw new Error(`the fake cloud answered ${answer.status}`);
  return await answer.json();
}
