// npm run soak -- NAME [options]: the experiments of reliability, each ending by itself with its figure
// and its seed. With --plant an experiment runs with its planted bug and must go red.

import { parseArgs } from "node:util";
import { apiKill9 } from "./api/api-kill9.ts";
import { apiPowerloss } from "./api/api-powerloss.ts";
import { bitflip } from "./disk/bitflip.ts";
import { cloudCrash } from "./clouds/cloud-crash.ts";
import { cloudRate } from "./clouds/cloud-rate.ts";
import { cloudThrottle } from "./clouds/cloud-throttle.ts";
import { engineKill9 } from "./engines/engine-kill9.ts";
import { exchange } from "./exchange/exchange.ts";
import { fsyncfail } from "./disk/fsyncfail.ts";
import { databaseCrash } from "./databases/database-crash.ts";
import { clusterPort } from "./cluster/cluster-port.ts";
import { replicationKills } from "./cluster/replication-kills.ts";
import { replicationPort } from "./cluster/replication-port.ts";
import { compareParsers } from "./hostile/fuzz-http.ts";
import { fuzzServer } from "./hostile/fuzz-server.ts";
import { hostile } from "./hostile/hostile.ts";
import { loginFlood } from "./hostile/login-flood.ts";
import { kill9 } from "./disk/kill9.ts";
import { leaseStorm } from "./lease-storm.ts";
import { oneTime } from "./one-time.ts";
import { powerloss } from "./disk/powerloss.ts";
import { failover, failoverPlant } from "./replication/failover.ts";
import { replicationLines } from "./replication/lines.ts";
import { filterChanges } from "./regions/filter-changes.ts";
import { five } from "./regions/five.ts";
import { setFailover, setFailoverPlant } from "./regions/set-failover.ts";
import { regionClocks } from "./regions/region-clocks.ts";
import { regionCredentials } from "./regions/region-credentials.ts";
import { regions } from "./regions/regions.ts";
import { onSecondary } from "./regions/on-secondary.ts";
import { plugins } from "./plugins/plugins.ts";
import { replication } from "./replication/replication.ts";
import type { Result } from "./result.ts";
import { staticCatchup } from "./clouds/static-catchup.ts";
import { unwraps } from "./unwraps.ts";
import { waiters } from "./waiters.ts";
import { shortRuns } from "./short-runs.ts";
import { properties } from "./properties.ts";
import { slow } from "./hostile/slow.ts";
import { snapshots } from "./snapshots/snapshots.ts";
import { keepCompiledCode } from "../scripts/quick-start.ts";

keepCompiledCode();

const USAGE = `usage: npm run soak -- NAME [options]

  kill9          SIGKILL at random moments          --cycles N (300)  --clients N (16)
  powerloss      images of lost and torn writes     --images N (2000)
  fsyncfail      the n-th call fails, for every n   --stride N (1)
  bitflip        damaged files                      --images N (1000)
  exchange       all of these, while data is exchanged  --images N (200)  --stride N (1)
  snapshots      the same, and a full disk, while they are made  --images N (200)  --stride N (1)
  api-kill9      kill9 on the server, by its API    --cycles N (300)  --clients N (16)
  api-powerloss  powerloss on the server            --images N (300)
  waiters        blocking queries, one write        --n N (10000)
  one-time       one exchange, whatever happens     --rounds N (100)  --cycles N (50)
  engine-kill9   SIGKILL inside issue and revoke    --rounds N (500)
  plugin-kill9   the same, of a plugin and of its server  --rounds N (200)
  lease-storm    leases that end in one second      --n N (100000)
  cloud-crash    SIGKILL at each call to a cloud    --stride N (1)  --only TEXT (all flows)
  database-crash SIGKILL at each step of the engine for databases  --stride N (1)  --only TEXT (all flows)
  cloud-throttle clouds that throttle every other   --n N (500)
  cloud-rate     a cloud that takes 20 in a second  --n N (1000)
  static-catchup overdue keys after a day           --n N (1000)
  unwraps        one unwrap of a token, 64 at once  --rounds N (100)
  hostile        requests that are dear to answer   --quick  --only TEXT (all)
  slow           clients that do not get on         --quick
  login-flood    passwords tried by one address     --n N (1000)  --rounds N (40)
  cluster-port   strangers at the cluster port      --n N (100000)
  replication    walks of clusters: simulated, then on processes  --n N (50)  --rounds N (200)
  failover       histories of clients over failovers  --rounds N (20)  --clients N (16)
  set-failover   the same in a performance set, also in a region  --rounds N (14)  --clients N (16)
  replication-kills  SIGKILL at each commit of a change of roles  --stride N (1)  --only TEXT (all)
  replication-lines  kills, slow and one-way lines between two clusters  --n N (20 kills)  --only TEXT (all)
  replication-port   strangers at the cluster port of a primary   --n N (100000)
  regions        the authoritative region cut off   --rounds N (50)  --n N (20 tokens)
  region-credentials  credentials of two regions, the link up and down  --n N (600 s)
  region-clocks  clocks of two regions set apart    --n N (50)  --rounds N (200 strobes)
  filter-changes  filters changed while clients write and links break, simulated  --n N (1000 changes)
  five           walks of five clusters with filters: simulated, then on processes  --n N (50)  --rounds N (200)
  on-secondary   tests of the API against a performance secondary  --only TEXT (all; parts of paths)
  fuzz           mutated requests to the server     --count N (1000000)
  parsers        the same, beside a plain server    --count N (100000)
  plugins        what runs plugins, killed, swapped and flooded  --n N (100)  --only PART,…
  properties     random cases of tests, more often  --n N (20 times)
  ci             all of them, short, also with the planted bugs that no test tries

  --seed N   repeats a run (default: chosen by the clock)
  --plant    with the planted bug: exit 0 only if it is caught
powerloss, api-powerloss, exchange, snapshots and fsyncfail need a C compiler (apt-get install gcc libc6-dev).
`;

/** Which sizes each experiment takes; one that it does not take is refused, not passed over. */
const TAKES: Readonly<Record<string, readonly string[]>> = {
  kill9: ["cycles", "clients", "seed", "plant"],
  powerloss: ["images", "seed", "plant"],
  fsyncfail: ["stride", "plant"],
  bitflip: ["images", "seed", "plant"],
  exchange: ["images", "stride", "seed", "plant"],
  snapshots: ["images", "stride", "seed", "plant"],
  "api-kill9": ["cycles", "clients", "seed", "plant"],
  "api-powerloss": ["images", "seed", "plant"],
  waiters: ["n", "seed", "plant"],
  "one-time": ["rounds", "cycles", "seed", "plant"],
  "engine-kill9": ["rounds", "seed", "plant"],
  "plugin-kill9": ["rounds", "seed", "plant"],
  "lease-storm": ["n", "plant"],
  "cloud-crash": ["stride", "only", "plant"],
  "database-crash": ["stride", "only", "plant"],
  "cloud-throttle": ["n", "plant"],
  "cloud-rate": ["n", "plant"],
  "static-catchup": ["n", "seed", "plant"],
  unwraps: ["rounds", "plant"],
  hostile: ["quick", "only", "seed", "plant"],
  slow: ["quick", "plant"],
  "login-flood": ["n", "rounds", "plant"],
  "cluster-port": ["n", "plant"],
  replication: ["n", "rounds", "seed", "plant"],
  failover: ["rounds", "clients", "seed", "plant"],
  "set-failover": ["rounds", "clients", "seed", "plant"],
  "replication-kills": ["stride", "only"],
  "replication-lines": ["n", "only", "seed"],
  "replication-port": ["n"],
  regions: ["rounds", "n", "plant"],
  "region-credentials": ["n", "seed", "plant"],
  "region-clocks": ["n", "rounds", "plant"],
  "filter-changes": ["n", "seed", "plant"],
  five: ["n", "rounds", "seed"],
  "on-secondary": ["only", "plant"],
  fuzz: ["count", "seed"],
  parsers: ["count", "seed"],
  plugins: ["n", "only", "plant"],
  properties: ["n"],
  ci: ["seed"],
};

function refuse(message: string): never {
  process.stderr.write(`soak: ${message}\n\n${USAGE}`);
  process.exit(2);
}

function readArguments() {
  try {
    return parseArgs({
      allowPositionals: true,
      options: {
        cycles: { type: "string" },
        clients: { type: "string" },
        images: { type: "string" },
        stride: { type: "string" },
        n: { type: "string" },
        rounds: { type: "string" },
        count: { type: "string" },
        only: { type: "string" },
        quick: { type: "boolean" },
        seed: { type: "string" },
        plant: { type: "boolean" },
        help: { type: "boolean" },
      },
    });
  } catch (error) {
    return refuse(error instanceof Error ? error.message : "bad arguments");
  }
}

const { values, positionals } = readArguments();

const say = (line: string) => void process.stdout.write(`  ${line}\n`);
const number = (name: string, text: string | undefined, otherwise: number): number => {
  const value = text === undefined ? otherwise : Number(text);
  if (Number.isSafeInteger(value) && value > 0) return value;
  return refuse(`--${name} must be a whole number from 1, not ${text}`);
};
const seed = number("seed", values.seed, Date.now() % 1_000_000_007);

interface Size {
  readonly cycles: number | undefined;
  readonly clients: number;
  readonly images: number | undefined;
  readonly stride: number;
  readonly n: number | undefined;
  readonly rounds: number | undefined;
  readonly count: number | undefined;
  readonly only: string | undefined;
  readonly quick: boolean;
}

const experiments: Readonly<Record<string, (size: Size, plant: boolean) => Promise<Result>>> = {
  kill9: ({ cycles, clients }, plant) =>
    kill9({ cycles: cycles ?? 300, clients, seed, say, ...(plant ? { plant: "ack-early" } : {}) }),
  powerloss: ({ images }, plant) =>
    powerloss({ images: images ?? 2000, seed, say, ...(plant ? { plant: "normal-sync" } : {}) }),
  fsyncfail: ({ stride }, plant) =>
    fsyncfail({ stride, say, ...(plant ? { plant: "swallow-errors" } : {}) }),
  bitflip: ({ images }, plant) =>
    bitflip({ images: images ?? 1000, seed, say, ...(plant ? { plant: "no-leaf-check" } : {}) }),
  exchange: ({ images, stride }, plant) =>
    exchange({
      images: images ?? 200,
      stride,
      seed,
      say,
      ...(plant ? { plant: "unsynced-pointer" } : {}),
    }),
  snapshots: ({ images, stride }, plant) =>
    snapshots({
      images: images ?? 200,
      stride,
      seed,
      say,
      ...(plant ? { plant: "one-each" } : {}),
    }),
  "api-kill9": ({ cycles, clients }, plant) =>
    apiKill9({
      cycles: cycles ?? 300,
      clients,
      seed,
      say,
      ...(plant ? { plant: "write-behind" } : {}),
    }),
  "api-powerloss": ({ images }, plant) =>
    apiPowerloss({ images: images ?? 300, seed, say, ...(plant ? { plant: "normal-sync" } : {}) }),
  waiters: ({ n = 10_000 }, plant) =>
    waiters({ n, seed, say, ...(plant ? { plant: "late-watch" } : {}) }),
  "one-time": ({ rounds = 100, cycles = 50 }, plant) =>
    oneTime({ rounds, cycles, seed, say, ...(plant ? { plant: "write-behind" } : {}) }),
  "engine-kill9": ({ rounds = 500 }, plant) =>
    engineKill9({ rounds, seed, say, ...(plant ? { plant: "no-undo" } : {}) }),
  "plugin-kill9": ({ rounds = 200 }, plant) =>
    engineKill9({ rounds, asPlugin: true, seed, say, ...(plant ? { plant: "no-undo" } : {}) }),
  "lease-storm": ({ n = 100_000 }, plant) =>
    leaseStorm({ n, say, ...(plant ? { plant: "blocking" } : {}) }),
  "cloud-crash": ({ stride, only }, plant) =>
    cloudCrash({ stride, only, say, ...(plant ? { plant: "no-rollback" } : {}) }),
  "database-crash": ({ stride, only }, plant) =>
    databaseCrash({ stride, only, say, ...(plant ? { plant: "no-rollback" } : {}) }),
  "cloud-throttle": ({ n = 500 }, plant) =>
    cloudThrottle({ n, say, ...(plant ? { plant: "refusing" } : {}) }),
  "cloud-rate": ({ n = 1000 }, plant) =>
    cloudRate({ n, say, ...(plant ? { plant: "refusing" } : {}) }),
  "static-catchup": ({ n = 1000 }, plant) =>
    staticCatchup({ n, seed, say, ...(plant ? { plant: "lost-key" } : {}) }),
  unwraps: ({ rounds = 100 }, plant) =>
    unwraps({ rounds, say, ...(plant ? { plant: "never-taken" } : {}) }),
  hostile: ({ quick, only }, plant) =>
    hostile({ seed, quick, only, say, ...(plant ? { plant: "no-json-limits" } : {}) }),
  slow: ({ quick }, plant) => slow({ quick, say, ...(plant ? { plant: "patient" } : {}) }),
  "login-flood": ({ n = 1000, rounds = 40 }, plant) =>
    loginFlood({ n, rounds, say, ...(plant ? { plant: "same-address" } : {}) }),
  "cluster-port": ({ n = 100_000 }, plant) =>
    clusterPort({ n, say, ...(plant ? { plant: "patient" } : {}) }),
  replication: ({ n = 50, rounds = 200 }, plant) =>
    replication({ n, rounds, seed, say, ...(plant ? { plant: "one-each" } : {}) }),
  failover: ({ rounds = 20, clients }, plant) =>
    failover({ rounds, clients, seed, say, ...(plant ? { plant: failoverPlant(seed) } : {}) }),
  "set-failover": ({ rounds = 14, clients }, plant) =>
    setFailover({
      rounds,
      clients,
      seed,
      say,
      ...(plant ? { plant: setFailoverPlant(seed) } : {}),
    }),
  "replication-kills": ({ stride, only }) => replicationKills({ stride, only, say }),
  "replication-lines": ({ n = 20, only }) => replicationLines({ kills: n, only, seed, say }),
  "replication-port": ({ n = 100_000 }) => replicationPort({ n, say }),
  regions: ({ rounds = 50, n = 20 }, plant) =>
    regions({ rounds, n, say, ...(plant ? { plant: "late-dialling" } : {}) }),
  "region-credentials": ({ n = 600 }, plant) =>
    regionCredentials({ n, seed, say, ...(plant ? { plant: "forgotten-ends" } : {}) }),
  "region-clocks": ({ n = 50, rounds = 200 }, plant) =>
    regionClocks({ n, rounds, say, ...(plant ? { plant: "by-the-wall" } : {}) }),
  "filter-changes": ({ n = 1000 }, plant) =>
    filterChanges({ n, seed, say, ...(plant ? { plant: "filter-after-waking" } : {}) }),
  five: ({ n = 50, rounds = 200 }) => five({ n, rounds, seed, say }),
  "on-secondary": ({ only }, plant) =>
    onSecondary({ only, say, ...(plant ? { plant: "no-followers" } : {}) }),
  fuzz: ({ count }) => fuzzServer({ count: count ?? 1_000_000, seed, say }),
  parsers: ({ count }) => compareParsers({ count: count ?? 100_000, seed, say }),
  plugins: ({ n = 100, only }, plant) => plugins({ n, only, plant, say }),
  properties: ({ n = 20 }) => properties({ times: n }),
};

async function run(name: string, how: Size, plant: boolean): Promise<boolean> {
  const experiment = experiments[name]!;
  const began = Date.now();
  process.stdout.write(`${name}${plant ? " with its planted bug" : ""}\n`);
  const result = await experiment(how, plant);
  const seconds = ((Date.now() - began) / 1000).toFixed(1);
  const good = plant ? !result.ok : result.ok;
  const verdict = plant ? (good ? "caught" : "NOT CAUGHT") : good ? "ok" : "FAILED";
  if (result.detail !== undefined && (!plant || !good)) process.stdout.write(`${result.detail}\n`);
  process.stdout.write(`${name}: ${verdict}: ${result.figure} (seed ${seed}, ${seconds} s)\n`);
  return good;
}

const [name] = positionals;
if (values.help === true) {
  process.stdout.write(USAGE);
  process.exit(0);
}
if (name === undefined || positionals.length > 1) refuse("name one experiment");
const takes = TAKES[name] ?? refuse(`there is no experiment called ${name}`);
const stranger = Object.keys(values).find((option) => !takes.includes(option));
if (stranger !== undefined) refuse(`${name} takes no --${stranger}`);
let good = true;
if (name === "ci") {
  good = await shortRuns(seed);
} else {
  const requested: Size = {
    cycles: values.cycles === undefined ? undefined : number("cycles", values.cycles, 1),
    clients: number("clients", values.clients, 16),
    images: values.images === undefined ? undefined : number("images", values.images, 1),
    stride: number("stride", values.stride, 1),
    n: values.n === undefined ? undefined : number("n", values.n, 1),
    rounds: values.rounds === undefined ? undefined : number("rounds", values.rounds, 1),
    count: values.count === undefined ? undefined : number("count", values.count, 1),
    only: values.only,
    quick: values.quick ?? false,
  };
  good = await run(name, requested, values.plant ?? false);
}
process.exitCode = good ? 0 : 1;
