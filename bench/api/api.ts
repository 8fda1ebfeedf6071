// The API of the running server under load from a process beside it: durable writes, and reads with
// token, policy decision and two audit records each; and how soon a server to try out is ready.

import { setTimeout as pause } from "node:timers/promises";
import { join } from "node:path";
import { figure, loaded } from "./api-measure.ts";
import { pathsFor, reads, writes } from "./api-namespaces.ts";
import { freePort, withServer } from "./api-server.ts";
import { residentBytesOf } from "./api-usage.ts";
import { rounds } from "../measure.ts";
import type { Context, Figures, Row } from "../row.ts";

const IDLE_MS = 2000;

async function ready(context: Context): Promise<Figures> {
  let started = 0;
  const once = async () => {
    const port = await freePort();
    const directory = join(context.directory, String(started++));
    const args = ["--dev", "--dev-listen-address", `127.0.0.1:${port}`];
    return await withServer({ directory, port, args, ready: [200] }, async (server) => {
      await pause(context.quick ? 0 : IDLE_MS);
      return { millis: server.readyMillis, megabytes: residentBytesOf(server.pid) / 1e6 };
    });
  };
  const found = await rounds(context, once);
  return {
    samples: found.map(({ millis }) => millis),
    also: [
      {
        ...figure(
          "RSS 2 s later",
          "MB",
          found.map(({ megabytes }) => megabytes),
        ),
        budget: { atMost: 150 },
      },
    ],
  };
}

export const apiRows: readonly Row[] = [
  {
    name: "api/ready",
    what: "dev server, process start to the first 200 of sys/health",
    unit: "ms",
    budget: { atMost: 1000 },
    run: ready,
  },
  {
    name: "api/writes",
    what: "durable audited writes of a namespace, 64 clients",
    unit: "/s",
    budget: { atLeast: 4000 },
    ...loaded({ clients: 64, prepare: writes, made: pathsFor }),
  },
  {
    name: "api/reads",
    what: "authorised audited reads of a namespace, 32 clients",
    unit: "/s",
    budget: { atLeast: 12_000 },
    ...loaded({ clients: 32, prepare: reads, made: pathsFor }),
  },
];
