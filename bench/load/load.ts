// Clients that send one request after the other over connections they keep, as programs with a pool
// do. Requests are bytes made beforehand and every answer's status is checked. Meant for a process of
// its own: beside a server on two cores, what is spent here is missing there.

import { performance } from "node:perf_hooks";
import { LoadConnection } from "./load-connection.ts";

const LONGEST_ANSWER_MS = 10_000;

export interface Load {
  /** One list for each client, who goes through it again and again. */
  readonly clients: readonly (readonly Buffer[])[];
  readonly statuses: readonly number[];
  /** What is sent after each of them, made of its answer's body: both together count as one. */
  readonly follow?: (body: string) => Buffer;
}

export interface Loaded {
  readonly perSecond: number;
  readonly latencies: readonly number[]; // ms
  /** Our own processor time for each request. */
  readonly processorMicros: number;
}

/** Connects all clients, then lets them run for `millis`; every request sent is waited for. */
export async function load(url: URL, load: Load, millis: number): Promise<Loaded> {
  const connections = new Set<LoadConnection>();
  const connected = async () => {
    const connection = await LoadConnection.open(url);
    connections.add(connection);
    return connection;
  };
  const hangs = () => {
    const reason = new Error(`a request was not answered within ${LONGEST_ANSWER_MS} ms`);
    for (const connection of connections) connection.close(reason);
  };
  let limit: NodeJS.Timeout | undefined;
  try {
    const first = await Promise.all(load.clients.map(connected));
    limit = setTimeout(hangs, millis + LONGEST_ANSWER_MS);
    const latencies: number[] = [];
    const processor = process.cpuUsage();
    const began = performance.now();
    const client = async (requests: readonly Buffer[], i: number) => {
      let connection = first[i]!;
      const ask = async (request: Buffer, follow?: Load["follow"]): Promise<void> => {
        const { status, closes } = await connection.exchange(request);
        if (!load.statuses.includes(status)) throw new Error(`the server answered ${status}`);
        const next = follow?.(connection.body());
        if (closes) {
          // Servers bound the requests of one connection. Connecting anew counts as well.
          connections.delete(connection);
          connection.close();
          connection = await connected();
        }
        if (next !== undefined) await ask(next);
      };
      let at = performance.now();
      for (let sent = 0; at - began < millis; sent++) {
        await ask(requests[sent % requests.length]!, load.follow);
        const done = performance.now();
        latencies.push(done - at);
        at = done;
      }
    };
    await Promise.all(load.clients.map(client));
    const perSecond = (latencies.length * 1000) / (performance.now() - began);
    const { user, system } = process.cpuUsage(processor);
    return { perSecond, latencies, processorMicros: (user + system) / latencies.length };
  } finally {
    clearTimeout(limit);
    for (const connection of connections) connection.close();
  }
}
