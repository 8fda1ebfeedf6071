// A primary in this process, so that a row can write without a request, and its secondary in a process of its own, as an
// operator starts it: real files, and real TLS between them.

import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { performance } from "node:perf_hooks";
import { setTimeout as pause } from "node:timers/promises";
import { bytesCodec } from "@holdfast/shared/codec";
import type { Server } from "../../src/server/server.ts";
import { uncovered } from "../../tests/support/covered-token.ts";
import { type Caller, call } from "../api/api-caller.ts";
import { freePort, type RunningServer, startServer } from "../api/api-server.ts";
import { openedServer } from "../stores/fill-server.ts";
import type { KeptStore } from "../stores/kept-store.ts";
import { keysFrom, type NodeKeys } from "../stores/tokens-node.ts";
import { type Applied, appliedAfter, noting } from "./applied.ts";
import { BareLink } from "./bare-link.ts";
import { CountedWay } from "./counted-way.ts";
import { Neighbour } from "./neighbour.ts";

const DR = "sys/replication/dr";
const VALUE_BYTES = 300;
/** So many names are written over and over: the store does not grow with the rounds. */
const NAMES = 20_000;
const MEMORY = "/dev/shm";
const POLL_MS = 1;
/** Whoever asks a server does so in the process of the primary, and leaves garbage there. */
const ASKED_MS = 20;
const MAX_UNDER_WAY = 4096; // writes
const LONGEST_WAIT_MS = 15 * 60_000;

export interface PairOptions {
  readonly store?: KeptStore;
  readonly counted?: boolean;
  /** Each process has a core of its own and the secondary a disk in memory, where the system can do that: what one takes the
   *  other does not lack. */
  readonly apart?: boolean;
}

export class Pair {
  readonly server: Server;
  readonly keys: NodeKeys;
  /** Null where what goes between the two is not counted: counting takes this process's time. */
  readonly way: CountedWay | null;
  readonly #directory: string;
  readonly #port: number; // of the secondary's API
  readonly #isApart: boolean;
  readonly #data: string; // of the secondary
  readonly #value = Buffer.alloc(VALUE_BYTES, 7);
  #other: RunningServer | null = null;
  #ids = 0;
  #written = 0;
  #taken = 0; // of what was applied

  private constructor(
    server: Server,
    keys: NodeKeys,
    way: CountedWay | null,
    place: { directory: string; port: number; apart: boolean },
  ) {
    this.server = server;
    this.keys = keys;
    this.way = way;
    this.#directory = place.directory;
    this.#port = place.port;
    this.#isApart = place.apart;
    const isInMemory = place.apart && existsSync(MEMORY);
    const own = join(place.directory, "secondary");
    this.#data = isInMemory ? mkdtempSync(join(MEMORY, "holdfast-bench-")) : own;
  }

  /** Nobody has joined yet. `store`: data that is there already; otherwise there is none. */
  static async open(
    directory: string,
    { store, counted = false, apart = false }: PairOptions = {},
  ): Promise<Pair> {
    mkdirSync(directory, { recursive: true, mode: 0o700 });
    const data = store?.data ?? join(directory, "primary");
    mkdirSync(data, { recursive: true, mode: 0o700 });
    const port = await freePort();
    const way = counted ? await CountedWay.to(port) : null;
    const server = await openedServer(data, { port, advertised: way?.port ?? port });
    const stranger = { url: server.addresses[0] ?? "", headers: {} };
    const shares = { secret_shares: 1, secret_threshold: 1 };
    const keys = store?.keys ?? keysFrom(await call(stranger, "PUT", "sys/init", shares));
    await call(stranger, "PUT", "sys/unseal", { key: keys.keys[0] });
    const pair = new Pair(server, keys, way, { directory, port: await freePort(), apart });
    if (apart) runOn(0, process.pid);
    await call(pair.primary, "POST", `${DR}/primary/enable`, {});
    return pair;
  }

  async close(): Promise<void> {
    await this.#other?.stop();
    await this.server.stop();
    await this.way?.close();
    for (const one of [this.#data, `${this.#data}-neighbour`]) {
      rmSync(one, { recursive: true, force: true });
    }
  }

  get primary(): Caller {
    return {
      url: this.server.addresses[0] ?? "",
      headers: { "X-Service-Token": this.keys.root_token },
    };
  }

  get secondary(): Caller {
    return {
      url: `http://127.0.0.1:${this.#port}`,
      headers: { "X-Service-Token": this.keys.root_token },
    };
  }

  get secondaryPid(): number {
    if (this.#other === null) throw new Error("the secondary does not run");
    return this.#other.pid;
  }

  /** A new cluster becomes the secondary; gives the moment from which on it may copy. */
  async join(): Promise<number> {
    const config = join(this.#directory, "secondary.hcl");
    writeFileSync(config, configuration(this.#data, this.#port, await freePort()), {
      mode: 0o600,
    });
    await this.#start();
    const stranger = { url: this.secondary.url, headers: {} };
    const own = keysFrom(
      await call(stranger, "PUT", "sys/init", { secret_shares: 1, secret_threshold: 1 }),
    );
    await call(stranger, "PUT", "sys/unseal", { key: own.keys[0] });
    const owner = { ...stranger, headers: { "X-Service-Token": own.root_token } };
    const token = await this.#activation(this.primary, owner);
    const began = performance.now();
    await call(owner, "POST", `${DR}/secondary/enable`, { token });
    return began;
  }

  /** Its process ends in good order; what is written meanwhile it does not have. */
  async away(): Promise<void> {
    await this.#other?.stop();
    this.#other = null;
  }

  /** Gives the moment in which it had its keys again. */
  async back(): Promise<number> {
    await this.#start();
    const began = performance.now();
    await call({ url: this.secondary.url, headers: {} }, "PUT", "sys/unseal", {
      key: this.keys.keys[0],
    });
    return began;
  }

  /** Somebody who has the secondary's core while it is away. It is ended by the caller. */
  async neighbour(everyMillis: number): Promise<Neighbour> {
    const directory = `${this.#data}-neighbour`;
    mkdirSync(directory, { recursive: true, mode: 0o700 });
    const neighbour = await Neighbour.start({ directory, everyMillis });
    if (this.#isApart) runOn(1, neighbour.pid);
    return neighbour;
  }

  /** To somebody on the secondary's core. It is closed by the caller. */
  async bareLink(): Promise<BareLink> {
    const link = await BareLink.open();
    if (this.#isApart) runOn(1, link.pid);
    return link;
  }

  async #start(): Promise<void> {
    const directory = join(this.#directory, "process");
    const args = ["--config", join(this.#directory, "secondary.hcl")];
    const flags = noting(this.#applied);
    this.#other = await startServer({ directory, port: this.#port, args, flags, ready: [] });
    if (this.#isApart) runOn(1, this.#other.pid);
  }

  /** Of which every known secondary has said that it is durable there. */
  get acknowledged(): bigint {
    return this.server.replication.retention?.acknowledged ?? 0n;
  }

  /** Since the last time: what the secondary made durable, and when. Up to `index`, which it has; the last of it is written with the next tick. */
  async applied(index: bigint): Promise<Applied[]> {
    const found: Applied[] = [];
    await until(() => {
      const more = appliedAfter(this.#applied, this.#taken);
      this.#taken += more.length;
      found.push(...more);
      return (found.at(-1)?.index ?? 0n) >= index;
    });
    return found;
  }

  get #applied(): string {
    return join(this.#directory, "applied");
  }

  /** Everything up to `index` is durable on the secondary; gives that moment. */
  async durable(index = this.server.store.index): Promise<number> {
    await until(() => this.acknowledged >= index);
    return performance.now();
  }

  /** The secondary follows the log again and has everything, however it came by it; gives that moment. */
  async equal(): Promise<number> {
    const { index } = this.server.store;
    await until(async () => {
      const status = await statusOf(this.secondary);
      return (
        status["state"] === "stream-wals" && BigInt(Number(status["last_remote_wal"])) >= index
      );
    }, ASKED_MS);
    return performance.now();
  }

  async streams(caller: Caller = this.secondary): Promise<number> {
    await until(async () => {
      const status = await statusOf(caller).catch(() => null); // while its data is replaced
      return status?.["state"] === "stream-wals";
    }, ASKED_MS);
    return performance.now();
  }

  /** One write of 300 bytes; gives its index. */
  write(): Promise<bigint> {
    const key = `bench/${this.#written++ % NAMES}`;
    const view = this.server.barrier.view("shared/");
    return view.write((tx) => {
      tx.put(key, this.#value, bytesCodec);
      return tx.index;
    });
  }

  /** So many, as fast as they are taken. */
  async writes(count: number): Promise<void> {
    let left = count;
    const writer = async () => {
      while (left-- > 0) await this.write();
    };
    await Promise.all(Array.from({ length: 512 }, writer));
  }

  /** At a steady pace until told to stop, whether or not those before are durable. */
  async paced(
    perSecond: number,
    goesOn: () => boolean,
    written: (index: bigint, took: number) => void,
  ) {
    const began = performance.now();
    let [issued, underWay] = [0, 0];
    let failed: unknown = null;
    while (goesOn() && failed === null) {
      const due = ((performance.now() - began) * perSecond) / 1000;
      for (; issued < due && underWay < MAX_UNDER_WAY; issued++, underWay++) {
        const at = performance.now();
        this.write()
          .then((index) => written(index, performance.now() - at))
          .catch((error: unknown) => (failed = error))
          .finally(() => underWay--);
      }
      await pause(POLL_MS);
    }
    await until(() => underWay === 0);
    if (failed !== null) throw failed;
    return issued;
  }

  /** So many at once, again and again, so that commits have as many entries whoever else is busy. `burst` is called behind each. */
  async inBursts(
    { count, everyMillis }: { readonly count: number; readonly everyMillis: number },
    goesOn: () => boolean,
    written: (took: number) => void,
    burst: () => void = () => {},
  ): Promise<void> {
    let due = performance.now();
    while (goesOn()) {
      const at = performance.now();
      const one = () => this.write().then(() => written(performance.now() - at));
      await Promise.all(Array.from({ length: count }, one));
      burst();
      due = Math.max(due + everyMillis, performance.now() - everyMillis);
      while (performance.now() < due) await pause(POLL_MS);
    }
  }

  /** A planned failover. Milliseconds from the request to its answer, and to the first write that the new primary took. */
  async failover(from: Caller, to: Caller): Promise<{ answered: number; wrote: number }> {
    await call(from, "POST", `${DR}/primary/demote`, {});
    const operation = await this.#operation(to);
    const began = performance.now();
    await call(operation, "POST", `${DR}/secondary/promote`, {});
    const answered = performance.now() - began;
    const body = { Name: "first", Type: "client", Policies: ["default"], ExpirationTTL: "12h" };
    await until(() =>
      call(to, "POST", "acl/token", body).then(
        () => true,
        () => false,
      ),
    );
    const wrote = performance.now() - began;
    const follower = await this.#operation(from);
    const token = await this.#activation(to, follower);
    await call(follower, "POST", `${DR}/secondary/update-primary`, { token });
    await this.streams(from);
    return { answered, wrote };
  }

  /** With a fresh operation token. */
  async #operation({ url }: Caller): Promise<Caller> {
    const stranger = { url, headers: {} };
    const attempt = `${DR}/secondary/generate-operation-token`;
    const begun = fields(await call(stranger, "POST", `${attempt}/attempt`, {}));
    const body = { key: this.keys.keys[0], nonce: begun["nonce"] };
    const done = fields(await call(stranger, "POST", `${attempt}/update`, body));
    const token = uncovered(done["encoded_token"] ?? "", begun["otp"] ?? "");
    return { url, headers: { "X-Service-Token": token } };
  }

  async #activation(primary: Caller, joiner: Caller): Promise<string> {
    const key = inside(await call(joiner, "POST", `${DR}/secondary/generate-public-key`, {}));
    const made = await call(primary, "POST", `${DR}/primary/secondary-token`, {
      id: `site-${this.#ids++}`,
      secondary_public_key: key["secondary_public_key"],
    });
    return inside(made)["token"] ?? "";
  }
}

export async function withPair<T>(
  directory: string,
  use: (pair: Pair) => Promise<T>,
  options: PairOptions = {},
): Promise<T> {
  const pair = await Pair.open(directory, options);
  try {
    return await use(pair);
  } finally {
    await pair.close();
  }
}

export async function statusOf(caller: Caller): Promise<Readonly<Record<string, unknown>>> {
  return inside(await call({ url: caller.url, headers: {} }, "GET", `${DR}/status`));
}

/** All threads of a process, on this core alone. */
function runOn(core: number, pid: number): void {
  spawnSync("taskset", ["--all-tasks", "--cpu-list", "--pid", String(core), String(pid)]);
}

async function until(
  holds: () => boolean | Promise<boolean>,
  everyMillis = POLL_MS,
): Promise<void> {
  const end = performance.now() + LONGEST_WAIT_MS;
  while (!(await holds())) {
    if (performance.now() > end) throw new Error("it did not come about within 15 minutes");
    await pause(everyMillis);
  }
}

function fields(answer: unknown): Readonly<Record<string, string>> {
  return answer as Record<string, string>; // as the API answers
}

function inside(answer: unknown): Readonly<Record<string, string>> {
  return (answer as { data: Record<string, string> }).data; // as the API answers
}

function configuration(data: string, port: number, cluster: number): string {
  return `data_dir = ${JSON.stringify(data)}
ui       = false

storage "sqlite" {}

listener "tcp" {
  address         = "127.0.0.1:${port}"
  tls_disable     = true
  cluster_address = "127.0.0.1:${cluster}"
}
`;
}
