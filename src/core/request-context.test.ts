// T-A17: a query that waited is looked at again when it wakes, and again after it was judged: judging
// takes turns of the loop, in which its token may end or change.

import assert from "node:assert/strict";
import test from "node:test";
import { Failure } from "@holdfast/shared/failure";
import { type Caller, type NamespaceRef, ROOT_NAMESPACE } from "@holdfast/shared/endpoint/request";
import { Found } from "./found.ts";
import { HandlerContext } from "./request-context.ts";
import type { Incoming } from "./incoming.ts";
import { RequestState } from "./request-state.ts";

type Parts = ConstructorParameters<typeof HandlerContext>[1];
type Entry = ConstructorParameters<typeof HandlerContext>[2];

const TEAM: NamespaceRef = { id: "t1", path: "team", created: 1n };

function caller(policies: readonly string[], namespace = ROOT_NAMESPACE): Caller {
  const times = { created: 0n, expires: null };
  return { accessor: "a", type: "client", name: "", policies, namespace, global: false, ...times };
}

/** A question whose judgements are ended by hand. */
class Waiting {
  token: Caller | null = caller(["one"]);
  sealed = false;
  governed = true;
  /** Who was judged, and how each judgement ends. */
  readonly judged: { readonly who: Caller | null; end(problem?: Failure): void }[] = [];
  readonly state = new RequestState({ credential: "secret" } as Partial<Incoming> as Incoming, 0n);
  readonly #context: HandlerContext;

  constructor() {
    const sealed = () => this.sealed;
    const parts = {
      tokens: { find: () => this.token },
      running: { wait: <T>(_: unknown, turn: Promise<T>) => turn },
      node: {
        get sealed() {
          return sealed();
        },
      },
    };
    this.state.found = Object.assign(new Found(), { namespace: TEAM });
    this.#context = new HandlerContext(
      this.state,
      parts as Partial<Record<keyof Parts, unknown>> as Parts,
      {} as Partial<Entry> as Entry,
      {
        again: () => null,
        whole: () => null,
        admitLease: () => {},
        govern: (state) => {
          if (!this.governed) return null;
          const { promise, resolve, reject } = Promise.withResolvers<void>();
          const end = (problem?: Failure) => (problem === undefined ? resolve() : reject(problem));
          this.judged.push({ who: state.caller, end });
          return promise;
        },
      },
    );
  }

  waitFor<T>(turn: Promise<T>): Promise<T> {
    return this.#context.waitFor(turn);
  }

  recheck(): Promise<Caller | null> {
    return Promise.resolve(this.#context.recheck());
  }
}

test("T-A17: a token that ends while its query is judged gets no answer", async () => {
  for (const change of [
    (one: Waiting) => void (one.token = null),
    (one: Waiting) => void (one.sealed = true),
    (one: Waiting) => void (one.token = caller(["one"], { id: "b", path: "beside", created: 2n })),
  ]) {
    const one = new Waiting();
    const found = one.recheck();
    assert.equal(one.judged.length, 1);
    change(one);
    one.judged[0]?.end();
    assert.equal(await found, null);
  }
});

test("T-A17: a token that changes while its query is judged is judged as it is now", async () => {
  const one = new Waiting();
  const before = one.token;
  const found = one.recheck();
  const after = caller(["one", "another"]);
  one.token = after;
  one.judged[0]?.end();
  for (let i = 0; i < 10; i++) await Promise.resolve();
  assert.deepEqual(
    one.judged.map(({ who }) => who),
    [before, after],
  );
  // The new policies say no, and that is the answer.
  const no = new Failure("denied", "policy-denied", "permission denied");
  one.judged[1]?.end(no);
  await assert.rejects(found, no);
  assert.equal(one.state.caller, after);
});

test("what did not change is judged once, and where nothing governs nobody waits", async () => {
  const one = new Waiting();
  const found = one.recheck();
  one.judged[0]?.end();
  assert.equal(await found, one.token);
  assert.equal(one.judged.length, 1);
  one.governed = false;
  assert.equal(await one.recheck(), one.token);
  one.token = null;
  assert.equal(await one.recheck(), null);
});

test("nobody begins to wait while the node seals, but what a sealed node serves waits there", async () => {
  const one = new Waiting();
  one.state.asOf = 7n;
  assert.equal(await one.waitFor(Promise.resolve(1)), 1);
  one.sealed = true;
  await assert.rejects(
    one.waitFor(Promise.resolve(1)),
    (error) => error instanceof Failure && error.kind === "sealed",
  );
  one.state.asOf = 0n; // it came to a sealed node
  assert.equal(await one.waitFor(Promise.resolve(1)), 1);
});
