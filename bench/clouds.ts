// Credentials of a cloud through the API of a running server, at a pace that does not depend on the
// answers: each is a signed call to a provider that takes its time, a lease, and two audit records.

import { performance } from "node:perf_hooks";
import { setTimeout as pause } from "node:timers/promises";
import { type Caller, call, requestBytes } from "./api/api-caller.ts";
import { figure } from "./api/api-measure.ts";
import { type ReadyNode, withNode } from "./api/api-node.ts";
import { processorMicrosOf } from "./api/api-usage.ts";
import { type FakeCloud, withFakeCloud } from "./fake-cloud.ts";
import { LONGEST_BLOCK_MS, quantile, rounds } from "./measure.ts";
import { pacedLoad } from "./load/paced-load.ts";
import type { Context, Figures, Row } from "./row.ts";

const MOUNT = "clouda"; // there from the start
const ROLE_ARN = "arn:aws:iam::123456789012:role/deploy"; // the fake has it
const SESSION = `${MOUNT}/sts/session`;
const PROVIDER_MS = 10;
const CONNECTIONS = 64; // 200 in a second need 50 where each takes 250 ms
const RECORDS_EACH = 2; // of the request, and of the answer

interface Round {
  readonly latencies: readonly number[];
  readonly perSecond: number;
  /** Of the server's event loop, 99th percentile. */
  readonly loopMillis: number;
  /** The server's processor time for each; null where it is not known. */
  readonly serverMicros: number | null;
}

async function sessions(context: Context): Promise<Figures> {
  const settings = 'outbound_allow = ["127.0.0.1"]\n';
  return await withFakeCloud((fake) =>
    withNode(context.directory, (node) => measured(context, node, fake), settings),
  );
}

async function measured(context: Context, node: ReadyNode, fake: FakeCloud): Promise<Figures> {
  const { caller, records } = node;
  await configure(caller, fake);
  await fake.delay(PROVIDER_MS);
  const before = await records();
  const began = performance.now();
  await call(caller, "GET", SESSION);
  const first = performance.now() - began;
  let answers = 1;
  const found = await rounds(context, async () => {
    const round = await runRound(context, node);
    answers += round.latencies.length;
    return round;
  });
  const granted = await fake.granted("AssumeRole");
  if (granted < answers) throw new Error(`${answers} sessions cost only ${granted} calls`);
  const written = (await records()) - before;
  if (written < answers * RECORDS_EACH) {
    throw new Error(`${answers} requests left only ${written} audit records`);
  }
  const latency = (rank: number) => found.map(({ latencies }) => quantile(latencies, rank));
  const loop = found.map(({ loopMillis }) => loopMillis);
  const micros = found.map(({ serverMicros }) => serverMicros).filter((value) => value !== null);
  return {
    samples: latency(0.99),
    also: [
      figure("latency p50", "ms", latency(0.5)),
      {
        ...figure("delay of the event loop, p99", "ms", loop),
        budget: { atMost: LONGEST_BLOCK_MS },
      },
      figure(
        "answered",
        "/s",
        found.map(({ perSecond }) => perSecond),
      ),
      figure("server's processor time each, all threads", "µs", micros),
      figure("the very first, which loads what speaks to the provider", "ms", [first]),
    ].filter(({ samples }) => samples.length > 0),
  };
}

async function configure(caller: Caller, fake: FakeCloud): Promise<void> {
  await call(caller, "POST", `${MOUNT}/config/root`, {
    access_key: fake.accessKeyId,
    secret_key: fake.secretAccessKey,
    iam_endpoint: fake.url,
    sts_endpoint: fake.url,
  });
  const role = { credential_type: "assumed_role", role_arns: [ROLE_ARN] };
  await call(caller, "POST", `${MOUNT}/roles/session`, role);
}

async function runRound(context: Context, { caller, server }: ReadyNode): Promise<Round> {
  const millis = context.quick ? 200 : 5000; // the loop is looked at every 20 ms
  const request = requestBytes(caller, "GET", SESSION);
  await loopDelay(caller); // what was before does not count
  const used = processorMicrosOf(server.pid);
  const began = performance.now();
  const options = { connections: CONNECTIONS };
  const latencies = await pacedLoad(new URL(caller.url), request, pause(millis), options);
  const perSecond = (latencies.length * 1000) / (performance.now() - began);
  const usedAfter = processorMicrosOf(server.pid);
  const loopMillis = await loopDelay(caller);
  if (loopMillis === null) throw new Error("the server does not tell how late its loop is");
  const serverMicros =
    used === null || usedAfter === null ? null : (usedAfter - used) / latencies.length;
  return { latencies, perSecond, loopMillis, serverMicros };
}

/** In ms, since it was last asked: the server's own figure. Null when it has not looked since. */
async function loopDelay({ url, headers }: Caller): Promise<number | null> {
  const answer = await fetch(`${url}/v1/sys/metrics?format=prometheus`, { headers });
  const found = /^nodejs_eventloop_lag_p99_seconds (\S+)$/m.exec(await answer.text())?.[1];
  return found === undefined ? null : Number(found) * 1000;
}

export const cloudRows: readonly Row[] = [
  {
    name: "clouds/sessions",
    what: "200 sessions of a cloud's role in a second, 10 ms each there: latency p99",
    unit: "ms",
    budget: { atMost: 250 },
    run: sessions,
  },
];
