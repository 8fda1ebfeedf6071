// A file of tests of commands: each test has a server that answers as the real one does, and a home of its own.

import { after, beforeEach, type TestContext } from "node:test";
import { makeHome, type Ran, run, type RunOptions } from "../harness.ts";
import { FakeServer, ROOT_TOKEN } from "./fake-server.ts";

export type Cli = (args: readonly string[], options?: RunOptions) => Promise<Ran>;

/** Gives what runs a command against it. `began`: told before each test. */
export function eachWithServer(
  began: (server: FakeServer, home: string) => void,
  usual: RunOptions = {},
): Cli {
  const servers: FakeServer[] = [];
  let env: Record<string, string> = {};
  after(() => Promise.all(servers.map((one) => one.stop())));
  beforeEach(async (t) => {
    const server = await FakeServer.start();
    servers.push(server);
    const home = makeHome((call) => (t as TestContext).after(call));
    env = {
      HOLDFAST_ADDR: server.address,
      HOLDFAST_TOKEN: ROOT_TOKEN,
      HOME: home,
      NO_COLOR: "1",
    };
    began(server, home);
  });
  return (args, options = {}) =>
    run(args, { ...usual, ...options, env: { ...env, ...options.env } });
}
