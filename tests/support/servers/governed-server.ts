// A whole server under the law of its policies: everything is written, asked and explained through
// HTTP, as an administrator would. What an endpoint answers in full is asked of policy-server.ts.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { type Answer, at, type CallOptions } from "../http-client.ts";
import { startServer, type TestServer, type TestServerOptions } from "./test-server.ts";

export interface After {
  after(call: () => Promise<void> | void): void;
}

export interface Client {
  readonly secret: string;
  readonly accessor: string;
}

export type Level = "advisory" | "soft-mandatory" | "hard-mandatory";

/** `sys/inspect/request`: who, what, where, and the circumstances. */
export interface Described {
  readonly token_accessor?: string;
  readonly policies?: readonly string[];
  readonly operation: string;
  readonly path: string;
  readonly data?: unknown;
  readonly wrap_ttl?: string | number;
  readonly namespace?: string;
  readonly remote_address?: string;
  readonly time?: string;
  readonly policy_override?: boolean;
  /** Tried, and not stored. */
  readonly documents?: readonly object[];
}

export const OVERRIDE = { "X-Service-Policy-Override": "true" };

export class GovernedServer {
  readonly test: TestServer;
  readonly shares: readonly string[];
  /** Of the management token. */
  readonly root: string;

  constructor(server: TestServer, shares: readonly string[], root: string) {
    this.test = server;
    this.shares = shares;
    this.root = root;
  }

  call(method: string, path: string, options: CallOptions = {}): Promise<Answer> {
    return this.test.call(method, path, options);
  }

  /** As management, whatever the answer. */
  manage(method: string, path: string, options: CallOptions = {}): Promise<Answer> {
    return this.call(method, path, { token: this.root, ...options });
  }

  /** As management, and it must succeed. */
  async must(method: string, path: string, options: CallOptions = {}): Promise<Answer> {
    const answer = await this.manage(method, path, options);
    assert.ok(answer.status < 300, `${method} ${path}: ${answer.status} ${answer.text}`);
    return answer;
  }

  acl(name: string, policy: string, namespace?: string): Promise<Answer> {
    return this.must("POST", `/v1/sys/policies/acl/${name}`, { body: { policy }, namespace });
  }

  rgp(name: string, policy: string, level: Level, namespace?: string): Promise<Answer> {
    const body = { policy, enforcement_level: level };
    return this.must("POST", `/v1/sys/policies/rgp/${name}`, { body, namespace });
  }

  egp(
    name: string,
    policy: string,
    level: Level,
    paths: readonly string[],
    namespace?: string,
  ): Promise<Answer> {
    const body = { policy, enforcement_level: level, paths };
    return this.must("POST", `/v1/sys/policies/egp/${name}`, { body, namespace });
  }

  async client(policies: readonly string[], namespace?: string): Promise<Client> {
    const body = { Type: "client", Name: "test", Policies: policies };
    const made = await this.must("POST", "/v1/acl/token", { body, namespace });
    return { secret: String(at(made, "SecretID")), accessor: String(at(made, "AccessorID")) };
  }

  /** A one-time secret of this token: exchanging it is a login. */
  async oneTime({ secret }: Client): Promise<string> {
    const made = await this.call("POST", "/v1/acl/token/onetime", { token: secret });
    assert.equal(made.status, 200, made.text);
    return String(at(made, "OneTimeToken", "OneTimeSecretID"));
  }

  exchange(OneTimeSecretID: string, options: CallOptions = {}): Promise<Answer> {
    const body = { OneTimeSecretID };
    return this.call("POST", "/v1/acl/token/onetime/exchange", { body, ...options });
  }

  /** What would become of a request. */
  async inspect(body: Described): Promise<Answer> {
    const answer = await this.manage("POST", "/v1/sys/inspect/request", { body });
    assert.equal(answer.status, 200, `${JSON.stringify(body)}: ${answer.text}`);
    return answer;
  }

  /** Enables an audit file and gives a reader of its records. */
  async audit(): Promise<() => AuditRecord[]> {
    const file_path = join(this.test.auditDirectory, "file.log");
    const body = { type: "file", options: { file_path } };
    await this.must("POST", "/v1/sys/audit/file", { body });
    return () =>
      readFileSync(file_path, "utf8")
        .split("\n")
        .filter((line) => line !== "")
        .map((line) => JSON.parse(line) as Partial<AuditRecord>)
        .filter((record): record is AuditRecord => record.request !== undefined);
  }
}

export interface AuditRecord {
  readonly type: string;
  readonly auth?: unknown;
  readonly request: {
    readonly path: string;
    readonly operation: string;
    readonly policy_override?: boolean;
  };
}

export async function governedServer(
  t: After,
  options: TestServerOptions = {},
): Promise<GovernedServer> {
  const server = await startServer(options);
  t.after(() => server.stop());
  const { token, shares } = await server.open();
  return new GovernedServer(server, shares, token);
}
