// Requests that are sent at a steady pace, whether or not the ones before were answered: their latency
// counts from when they were due, so that a server that stands still is not asked less.

import { setTimeout as pause } from "node:timers/promises";
import { LoadConnection } from "./load-connection.ts";

const EVERY_MS = 5; // 200 in a second
const CONNECTIONS = 16;

export interface PacedOptions {
  /** Default 16; more where the server itself waits for others. */
  readonly connections?: number;
}

/** Until `over` resolves; gives the latencies in ms. Any status but 200 is an error. */
export async function pacedLoad(
  url: URL,
  request: Buffer,
  over: Promise<unknown>,
  { connections = CONNECTIONS }: PacedOptions = {},
): Promise<number[]> {
  const latencies: number[] = [];
  let [ended, next] = [false, 0];
  void over.finally(() => (ended = true)).catch(() => {}); // whoever made it hears of it
  const connect = () => LoadConnection.open(url);
  const opened = await Promise.all(Array.from({ length: connections }, connect));
  const began = performance.now();
  const client = async (first: LoadConnection) => {
    let connection = first;
    try {
      while (!ended) {
        const due = began + EVERY_MS * next++;
        const wait = due - performance.now();
        if (wait > 0) await pause(wait);
        const { status, closes } = await connection.exchange(request);
        if (status !== 200) throw new Error(`a request was answered ${status}`);
        latencies.push(performance.now() - due);
        if (!closes) continue;
        connection.close();
        connection = await connect();
      }
    } finally {
      connection.close();
    }
  };
  await Promise.all(opened.map(client));
  return latencies;
}
