import assert from "node:assert/strict";
import test from "node:test";
import { Failure } from "@holdfast/shared/failure";
import type { EngineStorage, EngineTx } from "@holdfast/plugin-sdk/storage";
import { ProviderError, type ProviderErrorKind } from "./provider-error.ts";
import { makeAndStore, type NewCredential, retireOld } from "./rotation.ts";

function failure(kind: ProviderErrorKind): ProviderError {
  const facts = { step: "a step", code: kind, message: "", status: 400, requestId: "" };
  return new ProviderError({ ...facts, kind, secrets: [] });
}

/** What is done about a new credential, in order. */
async function made(
  options: {
    /** Where the store fails, if it does: before or after the transaction was run to its end. */
    readonly store?: "refuses" | "fails";
    readonly make?: unknown;
    readonly discard?: unknown;
  } = {},
  more: Partial<NewCredential<string, string>> = {},
) {
  const seen: string[] = [];
  const write = async <T>(fn: (tx: EngineTx) => T) => {
    const value = fn({} as EngineTx);
    if (options.store === "fails") throw new Error("the disk is gone");
    return value;
  };
  const outcome = makeAndStore<string, string>({
    storage: { write } as unknown as EngineStorage,
    note: async () => (seen.push("noted"), "record"),
    make: async () => {
      seen.push("made");
      if (options.make !== undefined) throw options.make;
      return "key";
    },
    store: (_, key, record) => {
      if (options.store === "refuses") throw new Failure("conflict", "x", "changed meanwhile");
      seen.push(`stored ${key} ${record}`);
      return "kept";
    },
    dropNote: async (record) => void seen.push(`dropped ${record}`),
    discard: async (key) => {
      seen.push(`discarded ${key}`);
      if (options.discard !== undefined) throw options.discard;
    },
    ...more,
  });
  return { seen, result: await outcome.catch((error: unknown) => error) };
}

test("a credential is noted before it is made, and stored after", async () => {
  const { seen, result } = await made();
  assert.deepEqual(seen, ["noted", "made", "stored key record"]);
  assert.deepEqual(result, { made: "key", stored: "kept" });
});

test("a note is dropped only where surely nothing was made", async () => {
  assert.deepEqual((await made({ make: failure("refused") })).seen.at(-1), "dropped record");
  assert.deepEqual((await made({ make: failure("throttled") })).seen.at(-1), "dropped record");
  for (const unsure of [failure("unknown"), failure("refused").doubted(), new Error("ours")]) {
    const { seen, result } = await made({ make: unsure });
    assert.deepEqual([seen, result], [["noted", "made"], unsure]);
  }
  const own = await made({ make: new Error("ours") }, { madeNothing: () => true });
  assert.equal(own.seen.at(-1), "dropped record");
});

test("T-I13: what surely was not stored is ended at once, what may be stored never", async () => {
  const refused = await made({ store: "refuses" });
  assert.deepEqual(refused.seen, ["noted", "made", "discarded key", "dropped record"]);
  assert.ok(refused.result instanceof Failure);
  const unsure = await made({ store: "fails" });
  assert.deepEqual(unsure.seen, ["noted", "made", "stored key record"]);
  const stuck = await made({ store: "refuses", discard: failure("unknown") });
  assert.deepEqual(stuck.seen, ["noted", "made", "discarded key"], "its note leads to it");
  assert.ok(stuck.result instanceof Failure, "and why it was not stored is told");
});

test("T-I13: an old credential goes only when the new one is proved, and is forgotten when it is gone", async () => {
  const run = async (proved: boolean, error: unknown) => {
    const seen: string[] = [];
    const retired = await retireOld({
      proof: async () => (proved ? { proved } : { proved, why: null }),
      remove: async () => {
        seen.push("removed");
        if (error !== null) throw error;
      },
      forget: async () => void seen.push("forgotten"),
    }).catch((thrown: unknown) => thrown);
    return { seen, retired };
  };
  assert.deepEqual(await run(true, null), {
    seen: ["removed", "forgotten"],
    retired: { gone: true },
  });
  const early = await run(false, null);
  assert.deepEqual(early, { seen: [], retired: { gone: false, proved: false, why: null } });
  const lost = failure("unknown");
  const stays = await run(true, lost);
  assert.deepEqual(stays, {
    seen: ["removed"],
    retired: { gone: false, proved: true, why: lost },
  });
  const ours = new Error("ours");
  assert.equal((await run(true, ours)).retired, ours);
});
