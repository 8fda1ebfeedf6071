// How soon a server that is started again serves, with very many leases stored.

import { join } from "node:path";
import type { Caller } from "./api/api-caller.ts";
import { residentBytesOf } from "./api/api-usage.ts";
import { copyOf, type KeptStore } from "./stores/kept-store.ts";
import type { LeasesFillInput } from "./stores/leases-fill-process.ts";
import { rounds } from "./measure.ts";
import { ask } from "./processes.ts";
import type { Context, Figures, Row } from "./row.ts";
import { withTokensNode } from "./stores/tokens-node.ts";

/** Raise it when what is filled in changes, or how it is stored. */
const CONTENT = 3;
const MIB = 2 ** 20;

async function storeWith(context: Context, leases: number, directory: string): Promise<KeptStore> {
  const kind = { name: `bench-leases-${leases}-`, content: CONTENT, holds: `${leases} leases` };
  return await copyOf(context, kind, directory, (place) => {
    const input: LeasesFillInput = { ...place, leases };
    return ask("stores/leases-fill-process.ts", input);
  });
}

async function restart(context: Context): Promise<Figures> {
  const starts = async (leases: number) => {
    const directory = join(context.directory, String(leases));
    const store = await storeWith(context, leases, directory);
    return await rounds(context, () =>
      withTokensNode({ directory, ...store }, async ({ caller, pid, readyMillis }) => {
        const megabytes = residentBytesOf(pid) / MIB;
        const found = await leaseCount(caller);
        if (found !== leases) throw new Error(`the server has ${found} leases, not ${leases}`);
        return { millis: readyMillis, megabytes };
      }),
    );
  };
  const few = await starts(1000);
  const many = await starts(context.quick ? 5000 : 1_000_000);
  return {
    samples: many.map(({ millis }) => millis),
    also: [
      { what: "with 1,000 leases", unit: "ms", samples: few.map(({ millis }) => millis) },
      { what: "RSS", unit: "MiB", samples: many.map(({ megabytes }) => megabytes) },
      { what: "RSS with 1,000", unit: "MiB", samples: few.map(({ megabytes }) => megabytes) },
    ],
  };
}

async function leaseCount({ url, headers }: Caller): Promise<number> {
  const answer = await fetch(`${url}/v1/sys/metrics?format=prometheus`, { headers });
  return Number(/^holdfast_leases\{[^}]*live[^}]*\} (\d+)$/m.exec(await answer.text())?.[1]);
}

export const leaseRows: readonly Row[] = [
  {
    name: "leases/restart-million",
    what: "1,000,000 leases, process start to the first answer",
    unit: "ms",
    budget: { atMost: 5000 },
    run: restart,
  },
];
