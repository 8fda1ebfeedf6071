// Reads that come in at a steady pace, whether or not the ones before were answered: their latency counts
// from when they were due, so that a server that stands still is not asked less.

import { setTimeout as pause } from "node:timers/promises";
import { LoadConnection } from "../bench/load-connection.ts";

const EVERY_MS = 5;
const CONNECTIONS = 16;

/** Until `over` resolves; gives the latencies in ms. Any status but 200 is an error. */
export async function pacedReads(
  url: URL,
  request: Buffer,
  over: Promise<unknown>,
): Promise<number[]> {
  const latencies: number[] = [];
  let [ended, next] = [false, 0];
  void over.finally(() => (ended = true)).catch(() => {}); // whoever made it hears of it
  const connect = () => LoadConnection.open(url);
  const connections = await Promise.all(Array.from({ length: CONNECTIONS }, connect));
  const began = performance.now();
  const reader = async (first: LoadConnection) => {
    let connection = first;
    try {
      while (!ended) {
        const due = began + EVERY_MS * next++;
        const wait = due - performance.now();
        if (wait > 0) await pause(wait);
        const { status, closes } = await connection.exchange(request);
        if (status !== 200) throw new Error(`a read was answered ${status}`);
        latencies.push(performance.now() - due);
        if (!closes) continue;
        connection.close();
        connection = await connect();
      }
    } finally {
      connection.close();
    }
  };
  await Promise.all(connections.map(reader));
  return latencies;
}
