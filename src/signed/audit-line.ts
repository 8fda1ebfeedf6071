// The lines of an audit file that is chained, as anybody can read them who has no key: their numbers, their MACs,
// and what the lines say that the chain itself writes.

import { isOrdinal } from "./report.ts";

export interface ChainHead {
  readonly number: number;
  readonly mac: string; // hex; empty before the first record
}

/** Why a chain line was written. */
export type ChainEvent =
  | "started" // the device's first
  | "continued" // opened again, after a restart or when told to
  | "rotated" // in a new file
  | "exchanged" // the data was exchanged for that of another server: numbers go on, the key is another one
  | "resumed"; // what stands before it is not whole: a write failed, or the machine did

/** A record, or its beginning, with the MAC cut off. */
export interface SealedLine {
  readonly body: string;
  readonly number: number;
  readonly mac: string;
}

const FORM = /^(.*,"number":([1-9][0-9]{0,11})),"mac":"([0-9a-f]{64})"\}$/s;

export function parseLine(line: string): SealedLine | null {
  const parts = FORM.exec(line);
  if (parts === null) return null;
  const [, body = "", number = "", mac = ""] = parts;
  return { body, number: Number(number), mac };
}

/** Whether the key of a chain may begin there: lines before it are of another one. */
export function isBeginning(event: ChainEvent): boolean {
  return event === "started" || event === "exchanged";
}

export interface ChainLine {
  readonly event: ChainEvent;
  readonly device: string;
  readonly previous: ChainHead;
}

/** What a chain line says, or null for a line of another type. It proves nothing before its MAC does. */
export function parseChainLine(line: string): ChainLine | null {
  const start = line.indexOf("{"); // behind the prefix that the device may have
  if (start < 0 || !line.includes('"type":"chain"')) return null;
  try {
    const { type, event, device, previous } = JSON.parse(line.slice(start));
    if (type !== "chain" || typeof event !== "string" || typeof device !== "string") return null;
    if (previous?.number !== 0 && !isOrdinal(previous?.number)) return null;
    if (typeof previous.mac !== "string") return null;
    const { number, mac } = previous;
    return { event: event as ChainEvent, device, previous: { number, mac } };
  } catch {
    return null;
  }
}
