// The parser of policies on damaged documents: the longest that any one of them takes.

import { performance } from "node:perf_hooks";
import fc from "fast-check";
import { Failure } from "@holdfast/shared/failure";
import { parseAclDocument } from "../../src/acl/document.ts";
import { damagedDocuments } from "../../tests/support/damaged-documents.ts";
import { LONGEST_BLOCK_MS } from "../measure.ts";
import type { Context, Figures, Row } from "../row.ts";

const DOCUMENTS = 100_000;
const BATCH = 10_000; // kept at a time
const QUICK = 500;
/** Looked at again: a collection may fall into one run, but not into each of these. */
const SLOW_MS = 2;
const AGAIN = 5;

async function worst({ quick }: Context): Promise<Figures> {
  let slowest = 0;
  let total = 0;
  const count = quick ? QUICK : DOCUMENTS;
  for (let done = 0, seed = 1; done < count; done += BATCH, seed++) {
    const texts = fc.sample(damagedDocuments, { numRuns: Math.min(BATCH, count - done), seed });
    for (const text of texts) {
      let took = millisOf(text);
      for (let i = 0; i < AGAIN && took > SLOW_MS; i++) took = Math.min(took, millisOf(text));
      slowest = Math.max(slowest, took);
      total += took;
    }
  }
  const mean = (total * 1000) / count;
  return { samples: [slowest], also: [{ what: "on average", unit: "µs", samples: [mean] }] };
}

function millisOf(text: string): number {
  const began = performance.now();
  try {
    parseAclDocument(text);
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
  }
  return performance.now() - began;
}

export const policyParserRows: readonly Row[] = [
  {
    name: "policies/parser-mutations",
    what: "the slowest of 100,000 damaged documents, read or refused",
    unit: "ms",
    budget: { atMost: LONGEST_BLOCK_MS },
    run: worst,
  },
];
