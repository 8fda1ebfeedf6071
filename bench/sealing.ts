// What the barrier's cipher costs for one entry, fresh nonce included.

import { SystemRandom } from "../src/system/random.ts";
import { freshKey, openEntry, sealEntry } from "../src/crypto/aead.ts";
import { microsPerCall, roundMillis, rounds } from "./measure.ts";
import type { Context, Row } from "./row.ts";

const PATH = "shared/records/00000000-0000-4000-8000-000000000000";
const NONCE_BYTES = 12;

async function measure(context: Context, bytes: number, work: "seal" | "open"): Promise<number[]> {
  const random = new SystemRandom();
  const key = freshKey(random);
  const plaintext = Buffer.alloc(bytes, "holdfast ");
  const seal = () => sealEntry(key, 1, PATH, plaintext, random.bytes(NONCE_BYTES));
  const sealed = seal();
  const open = () => {
    if (openEntry(key, PATH, sealed) === null) throw new Error("an entry does not open");
  };
  const call = work === "seal" ? seal : open;
  return await rounds(context, () => microsPerCall(roundMillis(context), call));
}

function row(work: "seal" | "open", detail: string, bytes: number): Row {
  return {
    name: `sealing/${work}-${detail}`,
    what: `${work} one entry of ${bytes} B`,
    unit: "µs",
    run: async (context) => ({ samples: await measure(context, bytes, work) }),
  };
}

export const sealingRows: readonly Row[] = [
  row("seal", "200", 200),
  row("seal", "4k", 4096),
  row("open", "200", 200),
  row("open", "4k", 4096),
];
