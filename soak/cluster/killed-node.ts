// A node of the replication-kills experiment: a whole server on files, which kills itself (SIGKILL) at the commit that it is
// told. Argument: `NodeOptions`. Prints its address in one line; a number on standard input arms it: so many commits are
// left from then on. That other data is taken into use counts as one.

import { createInterface } from "node:readline";
import type { Batch, StorageEngine } from "../../src/storage/engines/engine.ts";
import type { Generations, NextGeneration } from "../../src/storage/generations/generations.ts";
import { SqliteGenerations } from "../../src/storage/generations/sqlite-generations.ts";
import { SystemFs } from "../../src/system/fs.ts";
import { startServer } from "../../tests/support/servers/test-server.ts";
import { WatchedEngine } from "../../tests/support/stores/watched-engine.ts";

export interface NodeOptions {
  readonly directory: string;
  readonly clusterPort: number;
}

const options = JSON.parse(process.argv[2] ?? "{}") as NodeOptions;
let left = Infinity;

function count(): void {
  if (left-- <= 0) process.kill(process.pid, "SIGKILL");
}

class KilledEngine extends WatchedEngine {
  override async commit(batch: Batch): Promise<void> {
    count();
    await this.inner.commit(batch);
  }
}

class KilledGenerations implements Generations {
  readonly #real: Generations;

  constructor(real: Generations) {
    this.#real = real;
  }

  async open(): Promise<StorageEngine> {
    return new KilledEngine(await this.#real.open());
  }

  async begin(): Promise<NextGeneration> {
    const next = await this.#real.begin();
    return {
      engine: new KilledEngine(next.engine),
      takeIntoUse: async () => {
        count();
        await next.takeIntoUse();
      },
      discard: () => next.discard(),
    };
  }

  removeReplaced(): Promise<void> {
    return this.#real.removeReplaced();
  }

  close(): Promise<void> {
    return this.#real.close();
  }
}

const { directory, clusterPort: port } = options;
const real = await SqliteGenerations.claim({ directory, fs: new SystemFs() });
const node = await startServer({
  generations: new KilledGenerations(real),
  config: (config) => ({ ...config, clusterPort: { host: "127.0.0.1", port } }),
});
createInterface({ input: process.stdin }).on("line", (line) => {
  left = Number(line);
  process.stdout.write("armed\n");
});
process.stdout.write(`${node.url}\n`);
