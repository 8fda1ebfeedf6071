// A change of a policy counts for the next request, also while many connections ask for
// the path it is about, and while the rights of a token with many policies are being worked out.

import assert from "node:assert/strict";
import { Agent } from "node:http";
import test, { type TestContext } from "node:test";
import { type PolicyServer, policyServer } from "../../support/servers/policy-server.ts";

const CONNECTIONS = 32;
const PATH = "sys/policies/acl/probe";
const GRANTING = `path "${PATH}" { capabilities = ["read"] }`;
const SILENT = `path "${PATH}" { capabilities = ["list"] }`;

/** Which of the changes to a policy counted for a request: those between two numbers are possible. */
interface Answered {
  readonly status: number;
  /** The last change that was acknowledged when the request was sent. */
  readonly min: number;
  /** The last one that was begun when the answer came. */
  readonly max: number;
}

class Hammering {
  readonly answered: Answered[] = [];
  #acknowledged = 0;
  #begun = 0;
  #done = false;
  #since = 0; // answers to requests that were sent after the last acknowledgement

  /** One connection: a request after the other. */
  async ask(server: PolicyServer, token: string, t: TestContext): Promise<void> {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    t.after(() => agent.destroy());
    while (!this.#done) {
      const min = this.#acknowledged;
      const { status } = await server.test.call("GET", `/v1/${PATH}`, { token, agent });
      this.answered.push({ status, min, max: this.#begun });
      if (min === this.#acknowledged) this.#since += 1;
    }
  }

  /** Makes the changes in turn, each when enough requests were sent after the one before. */
  async change(changes: readonly (() => Promise<void>)[]): Promise<void> {
    try {
      for (const make of changes) {
        await this.#request();
        this.#begun += 1;
        await make();
        this.#acknowledged = this.#begun;
        this.#since = 0;
      }
      await this.#request();
    } finally {
      this.#done = true;
    }
  }

  async #request(): Promise<void> {
    while (this.#since < 2 * CONNECTIONS) await new Promise((resolve) => setImmediate(resolve));
  }
}

/** Even changes grant, odd ones do not. */
function check({ answered }: Hammering, changes: number): void {
  const known = new Set<number>();
  for (const { status, min, max } of answered) {
    // One that was let in may find it gone by then.
    const granted = status === 200 || status === 404;
    assert.ok(granted || status === 403, `status ${status}`);
    const possible = Array.from({ length: max - min + 1 }, (_, i) => (min + i) % 2 === 0);
    assert.ok(possible.includes(granted), `${status} between changes ${min} and ${max}`);
    if (min === max) known.add(min);
  }
  // After every change there were requests that only its text could answer.
  assert.equal(known.size, changes + 1);
}

async function hammer(
  t: TestContext,
  server: PolicyServer,
  tokens: readonly string[],
  changes: readonly (() => Promise<void>)[],
): Promise<void> {
  const hammering = new Hammering();
  const asking = Array.from({ length: CONNECTIONS }, (_, i) =>
    hammering.ask(server, tokens[i % tokens.length] ?? "", t),
  );
  await hammering.change(changes);
  await Promise.all(asking);
  check(hammering, changes.length);
}

test("90: while 32 connections ask, no request after an update is decided by the old text", async (t) => {
  const server = await policyServer(t);
  await server.write("acl/probe", { policy: GRANTING });
  const { secret } = await server.client("probe");
  const write = (policy: string) => () => server.write("acl/probe", { policy });
  const changes = Array.from({ length: 20 }, (_, i) => write(i % 2 === 0 ? SILENT : GRANTING));
  await hammer(t, server, [secret], changes);
});

test("90, 91: the same for a token with so many policies that they are compiled in turns", async (t) => {
  const server = await policyServer(t);
  const rules = Array.from({ length: 50 }, (_, i) => `path "kv/N/${i}/*" { policy = "write" }`);
  const names = Array.from({ length: 120 }, (_, i) => `p${i}`);
  for (const name of names) {
    await server.write(`acl/${name}`, { policy: rules.join("\n").replaceAll("N", name) });
  }
  await server.write("acl/probe", { policy: GRANTING });
  const [many, few] = [await server.client(...names, "probe"), await server.client("probe")];
  const write = () => server.write("acl/probe", { policy: GRANTING });
  const remove = async () => {
    const { status } = await server.sys("DELETE", "policies/acl/probe");
    assert.equal(status, 204);
  };
  const changes = Array.from({ length: 12 }, (_, i) => (i % 2 === 0 ? remove : write));
  await hammer(t, server, [many.secret, few.secret], changes);
});
