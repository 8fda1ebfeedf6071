import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { Failure } from "@holdfast/shared/failure";
import { ROOT_NAMESPACE } from "@holdfast/shared/endpoint/request";
import { ThrottledFailure } from "@holdfast/plugin-sdk/failure";
import {
  isThere,
  issue,
  madeLeases,
  type MadeLeases,
  MINUTE,
  now as atOnce,
  pass,
  providerMount,
  queue,
  restarted,
  SECOND,
} from "../../tests/support/made/made-leases.ts";
import { until } from "../../tests/support/until.ts";
import { closeRoom } from "../../tests/support/jobs.ts";

// What happens to a server with leases, in any order. Numbers choose among what is there.
const step = fc.oneof(
  { weight: 4, arbitrary: fc.record({ kind: fc.constant("issue"), at: fc.nat(600) }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("renew"), at: fc.nat() }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("revoke"), at: fc.nat() }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("revoke at once"), at: fc.nat() }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("end an owner"), at: fc.nat(3) }) },
  { weight: 4, arbitrary: fc.record({ kind: fc.constant("pass"), at: fc.nat(120) }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("trouble"), at: fc.nat(2) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("crash"), at: fc.nat(300) }) },
);

interface Known {
  readonly id: string;
  readonly name: string;
}

class Run {
  made: MadeLeases;
  readonly known: Known[] = [];
  readonly ended = new Set<number>();

  constructor(made: MadeLeases) {
    this.made = made;
    made.mounts.set("m2", providerMount(made.provider, "m2"));
  }

  async do({ kind, at }: { readonly kind: string; readonly at: number }): Promise<void> {
    const { made, known } = this;
    const one = known[at % Math.max(1, known.length)];
    const { revoking, renewing } = made.leases;
    if (kind === "issue") await this.#issue(at);
    else if (kind === "pass") await pass(made, BigInt(at) * SECOND, 10n * SECOND);
    else if (kind === "trouble") this.#trouble(at);
    else if (kind === "crash") this.made = await restarted(made, { later: BigInt(at) * SECOND });
    else if (kind === "end an owner") await this.#end(at);
    else if (one !== undefined && kind === "renew") {
      await renewing.renew(ROOT_NAMESPACE, one.id, 90n * SECOND).catch(isFailure);
    } else if (one !== undefined) {
      const how = kind === "revoke" ? queue : atOnce;
      await revoking.revoke(ROOT_NAMESPACE, one.id, how).catch(isFailure);
    }
  }

  async #issue(at: number): Promise<void> {
    const owner = at % 4;
    if (this.ended.has(owner)) return;
    const mount = at % 2 === 0 ? "m1" : "m2";
    const ttl = BigInt(1 + at) * SECOND;
    this.known.push(await issue(this.made, { mount, ttl, accessor: accessorOf(owner) }));
  }

  async #end(owner: number): Promise<void> {
    const { made } = this;
    this.ended.add(owner);
    made.goneOwners.add(accessorOf(owner));
    const token = { namespaceId: "root", accessor: accessorOf(owner) };
    await made.barrier.view("local/").write((tx) => made.leases.ends(tx, token));
  }

  #trouble(kind: number): void {
    let calls = 0;
    this.made.provider.trouble = () => {
      if (kind === 0 || calls++ % 2 === 0) return;
      if (kind === 1) throw new Failure("upstream", "down", "the provider is down");
      throw new ThrottledFailure("slow down", 3);
    };
  }

  /** Nothing outside without its lease, no lease that is over and alive for long, counts that add up. */
  check(): void {
    const { made, known } = this;
    const { alive } = made.provider;
    const there = known.filter(({ id }) => isThere(made, id));
    for (const { id, name } of known) {
      assert.ok(!alive.has(name) || isThere(made, id), `${id} is alive without a lease`);
    }
    assert.equal(made.leases.total.leases, there.length);
    const local = made.barrier.view("local/");
    const keys = (folder: string) => local.keys(`leases/${folder}/`, { limit: 10_000 }).length;
    assert.deepEqual(
      [keys("records"), keys("by-time"), keys("by-owner")],
      Array(3).fill(there.length),
    );
    assert.equal(keys("irrevocable"), made.leases.total.irrevocable);
  }
}

test("whatever happens, every secret outside has its lease, and in the end none is left", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 30 }), async (steps) => {
      const run = new Run(await madeLeases());
      for (const one of steps) {
        await run.do(one);
        run.check();
      }
      run.made.provider.trouble = () => {};
      // Everything is over by now, and the longest pause after five failures is 400 s.
      await pass(run.made, 30n * MINUTE, 20n * SECOND);
      await until(() => run.made.leases.total.leases === run.made.leases.total.irrevocable);
      run.check();
      await closeRoom(run.made.leases);
    }),
    { numRuns: 60 },
  );
});

function accessorOf(owner: number): string {
  return `a0000000-0000-4000-8000-00000000000${owner}`;
}

function isFailure(error: unknown): void {
  assert.ok(error instanceof Failure, String(error));
}
