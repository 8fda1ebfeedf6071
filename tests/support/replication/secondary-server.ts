// A whole server whose cluster can be made a disaster-recovery secondary, with operation tokens and tickets, and two
// operations that change nothing but what is stored of those.

import assert from "node:assert/strict";
import type { TestContext } from "node:test";
import { access } from "@holdfast/shared/endpoint/access";
import { endpointsOf, serve } from "@holdfast/shared/endpoint/endpoint";
import { out } from "@holdfast/shared/endpoint/output";
import { invariant } from "@holdfast/shared/invariant";
import type { Room } from "../../../src/house/room.ts";
import { uncovered } from "../covered-token.ts";
import { type Answer, at } from "../http-client.ts";
import { PassingClock } from "../servers/sealed-node.ts";
import { startServer, type TestServer } from "../servers/test-server.ts";

const SECONDARY = "/v1/sys/replication/dr/secondary";
const ATTEMPT = `${SECONDARY}/generate-operation-token/attempt`;
const UPDATE = `${SECONDARY}/generate-operation-token/update`;

/** What the cluster is: changed by tests. */
export interface TestRole {
  /** Taken for what it is by whatever answers; null: it is what it is. */
  mode: "secondary" | null;
}

const endpoint = endpointsOf<() => TestServer>();

/** They stand for those that change the role. */
const changes = (["promote", "disable"] as const).map((operation) =>
  endpoint({
    name: `test-${operation}`,
    method: "POST",
    path: `/sys/test/${operation}`,
    summary: "Change the role",
    access: access.drOperation(operation),
    belongs: "local",
    rootOnly: true,
    input: {},
    output: out.object({ by: out.string("Who has done it") }),
    handler: async (server, _, { caller }) => {
      invariant(caller !== null, "an operation has a caller");
      const { operations, barrier } = server().server;
      await barrier.view("core/").write((tx) => {
        operations.spend(tx, caller);
        if (operation === "disable") operations.revokeAll(tx);
      });
      return { by: caller.name };
    },
  }),
);

export interface SecondaryOptions {
  readonly shares?: number;
  readonly threshold?: number;
  readonly clock?: PassingClock;
  /** Whether it is in a set before it is taken for a secondary. Default true. */
  readonly inSet?: boolean;
  readonly settings?: object;
}

export class SecondaryServer {
  readonly server: TestServer;
  readonly role: TestRole;
  readonly shares: readonly string[];
  /** Of the time when it was none. */
  readonly root: string;

  constructor(server: TestServer, role: TestRole, shares: readonly string[], root: string) {
    this.server = server;
    this.role = role;
    this.shares = shares;
    this.root = root;
  }

  get(): Promise<Answer> {
    return this.server.call("GET", ATTEMPT);
  }

  start(body: object = {}): Promise<Answer> {
    return this.server.call("POST", ATTEMPT, { body });
  }

  give(key: string | undefined, nonce: string | undefined): Promise<Answer> {
    return this.server.call("POST", UPDATE, { body: { key, nonce } });
  }

  cancel(query = ""): Promise<Answer> {
    return this.server.call("DELETE", `${ATTEMPT}${query}`);
  }

  operate(operation: string, token?: string, body: object = {}): Promise<Answer> {
    const isTest = operation === "promote" || operation === "disable";
    const path = isTest ? `/v1/sys/test/${operation}` : `${SECONDARY}/${operation}`;
    return this.server.call("POST", path, { token, body });
  }

  /** A token, by the whole ceremony. */
  async token(): Promise<string> {
    const begun = await this.start();
    assert.equal(begun.status, 200, begun.text);
    const nonce = String(at(begun, "nonce"));
    let last = begun;
    for (const key of this.shares) {
      last = await this.give(key, nonce);
      assert.equal(last.status, 200, last.text);
      if (at(last, "complete") === true) break;
    }
    assert.equal(at(last, "complete"), true);
    return uncovered(String(at(last, "encoded_token")), String(at(begun, "otp")));
  }

  /** A ticket of the primary of the same set. */
  async ticket(operations: readonly string[], more: object = {}): Promise<string> {
    const { mode } = this.role;
    this.role.mode = null;
    const path = "/v1/sys/replication/dr/primary/operator-ticket";
    const body = { operations, ...more };
    const answer = await this.server.call("POST", path, { token: this.root, body });
    this.role.mode = mode;
    assert.equal(answer.status, 200, answer.text);
    return String(at(answer, "data", "ticket"));
  }
}

/** Unsealed, in a set, and taken for a secondary: what is stored says that it is the primary. */
export async function startSecondary(
  t: TestContext,
  {
    shares = 3,
    threshold = 2,
    clock = new PassingClock(),
    inSet = true,
    settings = {},
  }: SecondaryOptions = {},
): Promise<SecondaryServer> {
  const role: TestRole = { mode: null };
  const room = (): Room => ({
    name: "test",
    endpoints: serve(() => server, changes),
  });
  const standing = {
    role: "active",
    get drMode() {
      return role.mode ?? "disabled";
    },
  } as const;
  const server: TestServer = await startServer({
    world: { clock },
    standing,
    settings,
    rooms: [room],
    config: (config) => ({ ...config, clusterPort: { host: "127.0.0.1", port: 0 } }),
  });
  t.after(() => server.stop());
  const { shares: keys, token } = await server.open(shares, threshold);
  if (inSet) {
    const enabled = await server.call("POST", "/v1/sys/replication/dr/primary/enable", { token });
    assert.equal(enabled.status, 200, enabled.text);
  }
  role.mode = "secondary";
  return new SecondaryServer(server, role, keys, token);
}
