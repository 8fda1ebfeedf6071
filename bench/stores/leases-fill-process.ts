// Fills the store of a server with leases that end long after every run: their rows as the room of the
// leases writes them, in large transactions, spread over mounts and owners.

import { makeLog } from "@holdfast/shared/log";
import { SystemClock } from "../../src/system/clock.ts";
import { SystemRandom } from "../../src/system/random.ts";
import type { Lease } from "../../src/leases/lease.ts";
import { newLeaseId } from "../../src/leases/rows/lease-id.ts";
import { LeaseRows } from "../../src/leases/rows/lease-rows.ts";
import type { Server } from "../../src/server/server.ts";
import { type Caller, call } from "../api/api-caller.ts";
import { type FillPlace, fillServer } from "./fill-server.ts";
import { answer } from "../processes.ts";

// A transaction may hold 8,192 rows: three for each lease, and the count of each mount.
const MAX_AT_ONCE = 2500;
const IN_FLIGHT = 2; // one is being written while the next is sealed and hashed
const MOUNTS = 20;
const OWNERS = 1000;
const SECOND = 1_000_000_000n;
const EXPIRES = BigInt(Date.UTC(2200, 0)) * 1_000_000n;

export interface LeasesFillInput extends FillPlace {
  readonly leases: number;
}

const random = new SystemRandom();
const clock = new SystemClock();
const log = makeLog({ level: "warn", format: "standard", write: () => {}, clock });

/** The type does not matter: nothing here is ever revoked. */
async function mountsOf(owner: Caller): Promise<string[]> {
  const uuids: string[] = [];
  for (let i = 0; i < MOUNTS; i++) {
    await call(owner, "POST", `sys/mounts/leased-${i}`, { type: "kv" });
    const mount = await call(owner, "GET", `sys/mounts/leased-${i}`);
    uuids.push(/"uuid":"([^"]+)"/.exec(JSON.stringify(mount))?.[1] ?? "");
  }
  return uuids;
}

function leaseOf(n: number, mounts: readonly string[], owners: readonly string[]): Lease {
  const path = `leased-${n % mounts.length}/creds/role-${n % 7}`;
  const expires = EXPIRES + BigInt(n) * SECOND;
  return {
    id: newLeaseId(random, path, "root"),
    namespaceId: "root",
    path,
    mountUuid: mounts[n % mounts.length] ?? "",
    owner: { namespaceId: "root", accessor: owners[n % owners.length] ?? "" },
    secretType: "object",
    internal: { object: `object-${n}`, role: `role-${n % 7}` },
    issued: clock.now(),
    expires,
    renewed: null,
    renewable: true,
    due: expires,
    attempts: 0,
    error: "",
    irrevocable: false,
  };
}

async function fill(server: Server, owner: Caller, count: number): Promise<void> {
  const rows = new LeaseRows(server.tokens.rows.local, log);
  const mounts = await mountsOf(owner);
  const owners = Array.from({ length: OWNERS }, () => random.uuid());
  let next = 0;
  const writer = async () => {
    while (next < count) {
      const first = next;
      const end = (next = Math.min(count, first + MAX_AT_ONCE));
      await rows.local.write((tx) => {
        for (let n = first; n < end; n++) rows.add(tx, leaseOf(n, mounts, owners));
      });
    }
  };
  await Promise.all(Array.from({ length: IN_FLIGHT }, writer));
}

await answer(async ({ leases, ...place }: LeasesFillInput) => {
  await fillServer(place, (server, owner) => fill(server, owner, leases));
  return {};
});
