// Clients of the ecosystem that read what they have written: they keep the newest state of each cluster that has answered them, two at most, send them as
// one header each, and try again what is answered 412. Nothing of that knows of Holdfast; so they go through a secondary.

import assert from "node:assert/strict";
import { request } from "node:http";
import test from "node:test";
import { type TwoRegions, twoRegions } from "../support/replication/regions/two-regions.ts";
import type { TestServer } from "../support/servers/test-server.ts";

const LAST_TRY = 40;
const POLICY = "/v1/sys/policies/acl/p";

interface Answered {
  readonly status: number;
  readonly text: string;
  readonly tries: number;
}

class StatefulClient {
  readonly #token: string;
  /** The header that it sends them by. */
  readonly #header: string;
  readonly #states = new Map<string, string>(); // by the server that told it
  /** Called when it is to try again, in the place of waiting. */
  again: () => Promise<void> = async () => {};

  constructor(token: string, header: string) {
    this.#token = token;
    this.#header = header;
  }

  get states(): readonly string[] {
    return [...this.#states.values()].slice(-2);
  }

  async ask(server: TestServer, method: string, path: string, body?: object): Promise<Answered> {
    for (let tries = 1; ; tries++) {
      const { status, text, state, retryAfter } = await this.#once(server, method, path, body);
      if (state !== undefined && status < 300) {
        this.#states.delete(server.url);
        this.#states.set(server.url, state);
      }
      if (status !== 412 || tries === LAST_TRY) return { status, text, tries };
      assert.equal(retryAfter, "1");
      await this.again();
    }
  }

  /** Two lines of one name, as Go writes them. */
  async #once(server: TestServer, method: string, path: string, body?: object) {
    const { hostname, port } = new URL(server.url);
    const { promise, resolve, reject } = Promise.withResolvers<{
      readonly status: number;
      readonly text: string;
      readonly state: string | undefined;
      readonly retryAfter: string | undefined;
    }>();
    const sent = request({ hostname, port, method, path, agent: false }, (response) => {
      let text = "";
      response.setEncoding("utf8").on("data", (piece: string) => (text += piece));
      response.on("error", reject).on("end", () => {
        const { statusCode: status = 0, headers } = response;
        const state = headers["x-service-state"];
        const retryAfter = headers["retry-after"];
        resolve({ status, text, state: state === undefined ? state : String(state), retryAfter });
      });
    });
    sent.on("error", reject);
    sent.setHeader("X-Vault-Token", this.#token);
    if (this.states.length > 0) sent.setHeader(this.#header, this.states);
    sent.end(body === undefined ? undefined : JSON.stringify(body));
    return promise;
  }
}

function policy(n: number): object {
  return { policy: `path "secret/${n}" { capabilities = ["read"] }` };
}

/** Reads at the second what was written at the first, which comes only while the client tries. */
async function readsLate(regions: TwoRegions, client: StatefulClient, n: number): Promise<number> {
  const { a, b } = regions;
  regions.hold();
  assert.ok((await client.ask(a, "POST", POLICY, policy(n))).status < 300);
  let waits = 0;
  client.again = async () => {
    if (++waits === 3) await regions.release();
  };
  const read = await client.ask(b, "GET", POLICY);
  assert.equal(read.status, 200, read.text);
  assert.ok(read.text.includes(`secret/${n}`), "what it has written, and nothing older");
  return read.tries;
}

for (const header of ["X-Service-State", "X-Vault-Index"]) {
  test(`R-86: a client that keeps a state of each cluster and retries 412 reads what it has written, by ${header}`, async (t) => {
    const regions = await twoRegions(t);
    const { a, b, root } = regions;
    const client = new StatefulClient(root, header);
    for (const server of [b, a]) {
      assert.equal((await client.ask(server, "GET", "/v1/sys/mounts")).status, 200);
    }
    assert.equal(new Set(client.states).size, 2, "one of each cluster");
    assert.equal(await readsLate(regions, client, 1), 4);
    // Written by the second, which sends it on: it is there at return, with the states of both.
    const written = await client.ask(b, "POST", POLICY, policy(2));
    assert.ok(written.status < 300 && written.tries === 1, written.text);
    for (const server of [b, a, b]) {
      const read = await client.ask(server, "GET", POLICY);
      assert.equal(read.tries, 1);
      assert.ok(read.text.includes("secret/2"));
    }
    // What is local to the second says nothing to the first, however often it is written.
    const token = { Type: "client", Policies: ["p"], Global: false };
    for (let i = 0; i < 5; i++) {
      assert.equal((await client.ask(b, "POST", "/v1/acl/token", token)).status, 200);
    }
    const other = await client.ask(a, "GET", POLICY);
    assert.deepEqual([other.status, other.tries], [200, 1]);
    assert.equal(await readsLate(regions, client, 3), 4, "and again, with two states of long ago");
  });
}

test("R-86: without its states the same client is answered from before its write", async (t) => {
  const regions = await twoRegions(t);
  const { a, b, root } = regions;
  regions.hold();
  const writes = new StatefulClient(root, "X-Service-State");
  assert.ok((await writes.ask(a, "POST", POLICY, policy(1))).status < 300);
  const reads = await new StatefulClient(root, "X-Service-State").ask(b, "GET", POLICY);
  assert.deepEqual([reads.status, reads.tries], [404, 1]);
  await regions.release();
});
