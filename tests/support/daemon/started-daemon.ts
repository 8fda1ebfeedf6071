// The process around a server with a host and a server that are made up, as far as it has come.

import assert from "node:assert/strict";
import { CONFIG_FILE, fakeDaemon, type FakeDaemon, LISTENER } from "../fake-daemon.ts";
import { nextTurn } from "../fake-world.ts";
import { runServer } from "../../../src/daemon/server-command.ts";

export function started(daemon: FakeDaemon, ...args: string[]) {
  const ended = runServer(args, daemon);
  const code = { value: null as number | null };
  void ended.then((value) => (code.value = value));
  return { ended, code };
}

/** Until a condition holds; a turn of the loop at a time. */
export async function until(condition: () => boolean): Promise<void> {
  for (let turns = 0; !condition(); turns++) {
    assert.ok(turns < 1000, "it never came to that");
    await nextTurn();
  }
}

export async function up(config = LISTENER, ...args: string[]) {
  const daemon = fakeDaemon({ [CONFIG_FILE]: config });
  const run = started(daemon, "--config", CONFIG_FILE, ...args);
  await until(() => daemon.host.starts === 1 || run.code.value !== null);
  return { ...run, ...daemon, log: () => daemon.host.errors.join("") };
}

export async function ends(daemon: FakeDaemon, ...args: string[]): Promise<number> {
  return runServer(args, daemon);
}

export async function dev(daemon: FakeDaemon, ...args: string[]) {
  const run = started(daemon, "--dev", ...args);
  await until(() => daemon.host.starts === 1 || run.code.value !== null);
  return { ...run, banner: daemon.host.printed.join("") };
}
