// Arguments in, exit code out. Exit codes: 0 normal, 1 failure at run time, 2 bad arguments, 3 the
// storage is in use by another process.

import { parseArgs } from "node:util";
import { SystemClock } from "./base/clock.ts";
import { describe } from "./base/failure.ts";
import { SystemFs } from "./base/fs.ts";
import { makeLog } from "./base/log.ts";
import { SystemNet } from "./base/net.ts";
import { SystemRandom } from "./base/random.ts";
import { SystemTimers } from "./base/timers.ts";
import { DAY } from "./base/duration.ts";
import type { Timers } from "./base/world.ts";
import { exitCodeOf, openServer, type Server } from "./server.ts";

const VERSION = "0.1.0";
const CENTURY = 36_525n * DAY;
const USAGE = `usage: holdfast server --dev [--dev-persist DIR]

  Opens a node, initialises it with one key share, unseals it and keeps it open until it is told to
  stop. Data is in memory, or in DIR with --dev-persist.
`;

async function main(args: readonly string[]): Promise<number> {
  let options: { dev?: boolean; "dev-persist"?: string; help?: boolean };
  try {
    const { values, positionals } = parseArgs({
      args: [...args],
      allowPositionals: true,
      options: {
        dev: { type: "boolean" },
        "dev-persist": { type: "string" },
        help: { type: "boolean" },
      },
    });
    options = values;
    if (values.help === true) return say(USAGE, 0);
    if (positionals.length !== 1 || positionals[0] !== "server" || values.dev !== true) {
      return complain(USAGE, 2);
    }
  } catch (error) {
    return complain(`holdfast: ${describe(error)}\n\n${USAGE}`, 2);
  }
  const clock = new SystemClock();
  const write = (line: string) => void process.stderr.write(line);
  const log = makeLog({ level: "info", format: "standard", write, clock });
  const world = {
    clock,
    timers: new SystemTimers(),
    random: new SystemRandom(),
    fs: new SystemFs(),
    net: new SystemNet(),
  };
  let server: Server;
  try {
    const settings = { directory: options["dev-persist"] ?? null, version: VERSION, buildDate: "" };
    server = await openServer(settings, world, log);
  } catch (error) {
    return complain(`holdfast: ${describe(error)}\n`, exitCodeOf(error));
  }
  return serve(server, world.timers);
}

async function serve(server: Server, timers: Timers): Promise<number> {
  const stopped = new Promise<null>((resolve) => {
    process.once("SIGINT", () => resolve(null));
    process.once("SIGTERM", () => resolve(null));
  });
  const { keeper, store } = server;
  if (!keeper.status().initialized) await initialise(server);
  const { sealed, type, storageType, clusterName } = keeper.status();
  const state = sealed ? "sealed" : "unsealed";
  say(`Holdfast ${VERSION}: ${state}, seal ${type}, storage ${storageType}`, 0);
  say(clusterName === undefined ? "\n" : `, cluster ${clusterName}\n`, 0);
  say("There is no HTTP API yet. Stop with Ctrl-C.\n", 0);
  const alive = timers.after(CENTURY, () => {}); // nothing else keeps an idle process up
  const failure = await Promise.race([stopped, store.failed.then((cause) => ({ cause }))]);
  alive.cancel();
  await server.stop().catch(() => {});
  return failure === null ? 0 : complain(`holdfast: ${describe(failure.cause)}\n`, 1);
}

async function initialise({ keeper }: Server): Promise<void> {
  const made = await keeper.init({ secretShares: 1, secretThreshold: 1, aclBootstrap: "open" });
  const [share] = made.keysBase64.reveal();
  if (share === undefined) return;
  await keeper.unseal({ key: share });
  say(`Unseal key: ${share}\n`, 0);
}

function say(text: string, code: number): number {
  process.stdout.write(text);
  return code;
}

function complain(text: string, code: number): number {
  process.stderr.write(text);
  return code;
}

process.exitCode = await main(process.argv.slice(2));
