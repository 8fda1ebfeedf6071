// A server for tests of the policy endpoints: requests in short form, refusals compared in full, client
// tokens with given policies, and a clock that stands where it is put.

import assert from "node:assert/strict";
import { StoppableClock } from "./acl-server.ts";
import { type Answer, at, type CallOptions, errorsOf } from "../http-client.ts";
import { startServer, type TestServer, type TestServerOptions } from "./test-server.ts";

interface After {
  after(call: () => Promise<void> | void): void;
}

export class PolicyServer {
  readonly test: TestServer;
  readonly clock: StoppableClock;
  /** Secret of a management token. */
  readonly root: string;

  constructor(test: TestServer, clock: StoppableClock, root: string) {
    this.test = test;
    this.clock = clock;
    this.root = root;
  }

  /** Below /v1/sys/, as management unless told otherwise. */
  sys(method: string, path: string, body?: object, options: CallOptions = {}): Promise<Answer> {
    const sent = body === undefined ? {} : { body };
    return this.test.call(method, `/v1/sys/${path}`, { token: this.root, ...sent, ...options });
  }

  /** Writes a policy and expects no warning. */
  async write(path: string, body: object, options: CallOptions = {}): Promise<void> {
    done(await this.sys("POST", `policies/${path}`, body, options));
  }

  /** Secret and accessor of a new client token. */
  async client(...policies: readonly string[]): Promise<{ secret: string; accessor: string }> {
    const body = { Name: "c", Type: "client", Policies: policies };
    const made = await this.test.call("POST", "/acl/token", { token: this.root, body });
    assert.equal(made.status, 200, made.text);
    return { secret: String(at(made, "SecretID")), accessor: String(at(made, "AccessorID")) };
  }

  async namespace(path: string): Promise<void> {
    const made = await this.sys("POST", `namespaces/${path}`, {});
    assert.equal(made.status, 200, made.text);
    await this.kv(path);
  }

  /** What most rules of tests are about: without it each of them would be warned of. */
  async kv(namespace = ""): Promise<void> {
    const body = { type: "kv", options: { version: "1" } };
    done(await this.sys("POST", "mounts/kv", body, { namespace }));
  }
}

export async function policyServer(
  t: After,
  options: TestServerOptions = {},
): Promise<PolicyServer> {
  const clock = new StoppableClock();
  const test = await startServer({ ...options, world: { clock, ...options.world } });
  t.after(() => test.stop());
  const { token } = await test.open();
  const server = new PolicyServer(test, clock, token);
  await server.kv();
  return server;
}

/** An ACL document: `grants("kv/*", "read")`. */
export function grants(label: string, ...capabilities: readonly string[]): string {
  return `path ${JSON.stringify(label)} { capabilities = ${JSON.stringify(capabilities)} }\n`;
}

/** 204 without a body. */
export function done(answer: Answer): void {
  assert.equal(answer.status, 204, answer.text);
  assert.equal(answer.text, "");
}

/** The data of a 200 with an envelope. */
export function dataOf(answer: Answer): Readonly<Record<string, unknown>> {
  assert.equal(answer.status, 200, answer.text);
  return at(answer, "data") as Readonly<Record<string, unknown>>;
}

export function warningsOf(answer: Answer): unknown {
  assert.equal(answer.status, 200, answer.text);
  return at(answer, "warnings");
}

/** Exactly these texts. */
export function refused(answer: Answer, status: number, ...texts: readonly string[]): void {
  assert.equal(answer.status, status, answer.text);
  assert.deepEqual(errorsOf(answer), texts);
}
