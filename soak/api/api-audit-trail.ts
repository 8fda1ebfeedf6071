// The audit files of a node as the harness reads them: every change that was acknowledged must have its
// request and its response record in one of them. A record counts when the system has it, and a
// killed process loses none of those.

import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

type Kind = "request" | "response";

export class AuditTrail {
  readonly #directory: string;
  readonly #read = new Map<string, number>(); // bytes of each file
  #records = 0;

  constructor(directory: string) {
    this.#directory = directory;
  }

  get records(): number {
    return this.#records;
  }

  /** Looks for changes, by the ids of their requests, in what was added since the last call. */
  missing(changes: ReadonlyMap<string, string>): string[] {
    const found = { request: new Set<string>(), response: new Set<string>() };
    const names = existsSync(this.#directory) ? readdirSync(this.#directory) : [];
    for (const name of names) {
      for (const line of this.#added(name)) {
        const record = readRecord(line);
        if (record === null) continue;
        found[record.kind].add(record.id);
        this.#records++;
      }
    }
    return [...changes].flatMap(([id, change]) =>
      (["request", "response"] as const)
        .filter((kind) => !found[kind].has(id))
        .map((kind) => `"${change}" was acknowledged and has no ${kind} record: ${id}`),
    );
  }

  #added(name: string): string[] {
    const bytes = readFileSync(join(this.#directory, name));
    const end = bytes.lastIndexOf(0x0a) + 1; // a line that was broken off is read when it is ended
    const from = this.#read.get(name) ?? 0;
    this.#read.set(name, end);
    return bytes.toString("utf8", from, end).split("\n").slice(0, -1);
  }
}

/** Null for lines of the chain, tests of a device, and what was broken off. */
function readRecord(line: string): { readonly kind: Kind; readonly id: string } | null {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch {
    return null;
  }
  const { type, request } = Object(value) as { type?: unknown; request?: { id?: unknown } };
  const id = request?.id;
  if ((type !== "request" && type !== "response") || typeof id !== "string") return null;
  return { kind: type, id };
}
