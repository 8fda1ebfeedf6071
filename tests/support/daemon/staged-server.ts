// The server program, but for what a file says: what time it is there, that it is older than it is, that a page of its trees is
// wrong in memory, or when it is gone. Arguments: that file, then those of the program. It is read at the start, and again whenever it has changed.

import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { SECOND } from "@holdfast/shared/text/duration";
import type { Nanos } from "@holdfast/shared/world";
import { FIND_OWN_MODULES } from "../../../scripts/quick-start.ts";
import { hello } from "../../../src/cluster/hello.ts";
import { runServer } from "../../../src/daemon/server-command.ts";
import type { ServerModule } from "../../../src/daemon/server-part.ts";
import { SystemHost } from "../../../src/daemon/system-host.ts";
import { renewCertificate } from "../../../src/replication/joining/calls.ts";
import * as server from "../../../src/server/server.ts";
import { slotOf } from "../../../src/storage/rows/merkle.ts";
import type { Store } from "../../../src/storage/store.ts";
import { SystemClock } from "../../../src/system/clock.ts";
import { SystemFs } from "../../../src/system/fs.ts";
import { SystemNet } from "../../../src/system/net.ts";
import { SystemRandom } from "../../../src/system/random.ts";
import { SystemTimers } from "../../../src/system/timers.ts";

export interface Stage {
  /** Of its clock before that of the machine. */
  readonly secondsAhead?: number;
  /** It says to others that it knows no format of storage that there is. */
  readonly isOlder?: boolean;
  /** The hash of a page of the shared tree that has a row is changed in memory, once. */
  readonly damagesPage?: boolean;
  /** As a secondary it is killed when its primary has given it another certificate, before it has read or written that. */
  readonly diesRenewing?: boolean;
}

const LOOK_MS = 20;

/** In place of the product's program, on a stage that can be set again while it runs and before it starts again. */
export class StagedProgram {
  readonly #file: string;

  constructor(directory: string, stage: Stage = {}) {
    this.#file = join(directory, "stage.json");
    this.set(stage);
  }

  set(stage: Stage): void {
    writeFileSync(this.#file, JSON.stringify(stage));
  }

  get command(): readonly string[] {
    return [
      process.execPath,
      "--no-warnings",
      ...FIND_OWN_MODULES,
      import.meta.filename,
      this.#file,
    ];
  }
}

let stage: Stage = {};

class StagedClock extends SystemClock {
  get #ahead(): Nanos {
    return BigInt(stage.secondsAhead ?? 0) * SECOND;
  }

  override now() {
    return super.now() + this.#ahead;
  }

  override elapsed() {
    return super.elapsed() + this.#ahead;
  }
}

function sayOlder(): void {
  const { request } = hello;
  const older: typeof request = {
    ...request,
    encode: (said) => request.encode(stage.isOlder === true ? { ...said, storageFormat: 0 } : said),
  };
  Object.assign(hello, { request: older });
}

function dieRenewing(): void {
  const { response } = renewCertificate;
  const fatal: typeof response = {
    ...response,
    decode: (bytes) => {
      if (stage.diesRenewing === true) process.kill(process.pid, "SIGKILL");
      return response.decode(bytes);
    },
  };
  Object.assign(renewCertificate, { response: fatal });
}

function damagePage(store: Store): void {
  const [first] = store.rows("shared/", { limit: 1 });
  const slot = slotOf("shared", first!.key)!;
  store.trees.shared.pageHash((slot >> 8) & 255)[0]! ^= 1;
}

async function perform([file = "", , ...args]: readonly string[]): Promise<number> {
  let last = "";
  let store: Store | null = null;
  const look = () => {
    const text = readFileSync(file, "utf8");
    if (text === last || text === "") return;
    last = text;
    stage = JSON.parse(text) as Stage;
    if (stage.damagesPage === true) damagePage(store!);
  };
  look();
  setInterval(look, LOOK_MS).unref();
  sayOlder();
  dieRenewing();
  const random = new SystemRandom();
  const world = {
    clock: new StagedClock(),
    timers: new SystemTimers(),
    random,
    fs: new SystemFs(random),
    net: new SystemNet(),
  };
  const openServer: ServerModule["openServer"] = async (config, parts) => {
    const opened = await server.openServer(config, parts);
    ({ store } = opened);
    return opened;
  };
  const load = () => Promise.resolve({ ...server, openServer });
  return await runServer(args, { host: new SystemHost(process.env), world, load });
}

if (import.meta.main) process.exit(await perform(process.argv.slice(2)));
