// Reads damaged stores, one directory per line of standard input, and says of each what it found:
// the truth, damage that was told as damage, damage that only the check found, or something bad.

import { createInterface } from "node:readline";
import { bytesCodec } from "@holdfast/shared/codec";
import { Failure } from "@holdfast/shared/failure";
import { EngineError } from "../../src/storage/engines/engine.ts";
import { contentOf, WINDOW } from "../ledger.ts";
import { openStore } from "../opened.ts";
import { noLeafCheck } from "../plants.ts";
import { errorText } from "../../tests/support/error-text.ts";

export interface Finding {
  readonly verdict: "same" | "refused" | "damage" | "found" | "bad";
  readonly detail: string;
}

interface Settings {
  readonly clients: number;
  readonly largest: number;
  readonly plant?: string;
}

/** What the filled store holds: each client has written WINDOW + 10 objects and kept WINDOW. */
const LAST = WINDOW + 10;
const KEPT = WINDOW;

async function look(directory: string, settings: Settings): Promise<Finding> {
  const decorate = settings.plant === "no-leaf-check" ? { decorate: noLeafCheck } : {};
  let opened: Awaited<ReturnType<typeof openStore>>;
  try {
    opened = await openStore({ directory, ...decorate });
  } catch (error) {
    return named(error) ? { verdict: "refused", detail: errorText(error) } : unnamed(error);
  }
  try {
    return await compare(opened, settings);
  } catch (error) {
    return named(error) ? { verdict: "damage", detail: errorText(error) } : unnamed(error);
  } finally {
    await opened.close().catch(() => {});
  }
}

async function compare(
  { store, barrier }: Awaited<ReturnType<typeof openStore>>,
  { clients, largest }: Settings,
): Promise<Finding> {
  const view = barrier.view("shared/soak/");
  let line = "";
  let unlisted = "";
  for (let client = 0; client < clients; client++) {
    for (let n = 1; n <= LAST; n++) {
      const name = `client ${client}, object ${n}`;
      let content: Uint8Array | null;
      try {
        content = view.get(`object/${client}/${n}`, bytesCodec);
      } catch (error) {
        if (!named(error)) return unnamed(error);
        line ||= `${name}: ${errorText(error)}`;
        continue;
      }
      const kept = n > LAST - KEPT;
      if (kept && content === null)
        return { verdict: "bad", detail: `${name} has silently vanished` };
      if (!kept && content !== null) return { verdict: "bad", detail: `${name} has come back` };
      if (kept && !contentOf(client, n, largest).equals(content!)) {
        return { verdict: "bad", detail: `${name} is altered` };
      }
    }
    const listed = view.keys(`object/${client}/`, { limit: 1000 });
    if (listed.length !== KEPT) unlisted ||= `${listed.length} objects of client ${client} listed`;
  }
  const report = await store.check();
  if (unlisted !== "" && report.ok) {
    return { verdict: "bad", detail: `${unlisted}, and the check is clean` };
  }
  if (line !== "") return { verdict: "damage", detail: line };
  if (!report.ok) return { verdict: "found", detail: "by the check" };
  return { verdict: "same", detail: "" };
}

/** Refusals that an operator can act on; anything else is a crash in other clothes. */
function named(error: unknown): boolean {
  return error instanceof Failure || error instanceof EngineError;
}

function unnamed(error: unknown): Finding {
  const name = error instanceof Error ? (error.stack ?? error.name) : "something";
  return { verdict: "bad", detail: `threw ${name.slice(0, 600)}` };
}

const settings = JSON.parse(process.argv[2] ?? "{}") as Settings;
for await (const directory of createInterface({ input: process.stdin })) {
  const finding = await look(directory, settings);
  process.stdout.write(`${JSON.stringify(finding)}\n`);
}
