// What the tests of this folder have in common: a whole server, open, with clients whose rights are
// written as rules; raw bytes sent to it; and the records of its audit trail.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { ROOT_NAMESPACE } from "@holdfast/shared/endpoint/request";
import { type Answer, at, type CallOptions } from "../support/http-client.ts";
import { until } from "../support/until.ts";
import { RawClient, type RawAnswer, request } from "../support/http-front.ts";
import {
  startServer,
  type TestServer,
  type TestServerOptions,
} from "../support/servers/test-server.ts";

export interface After {
  after(call: () => Promise<void> | void): void;
}

export const EVERYTHING = ["create", "read", "update", "patch", "delete", "list"];

/** A rule of a policy, in text. */
export function rule(path: string, capabilities: readonly string[], more = ""): string {
  return `path "${path}" { capabilities = ${JSON.stringify(capabilities)} ${more} }\n`;
}

export class Scene {
  readonly server: TestServer;
  readonly root: string;
  readonly shares: readonly string[];
  #made = 0;

  constructor(server: TestServer, root: string, shares: readonly string[]) {
    this.server = server;
    this.root = root;
    this.shares = shares;
  }

  /** As root, and it must succeed. */
  async must(method: string, path: string, options: CallOptions = {}): Promise<Answer> {
    const answer = await this.server.call(method, path, { token: this.root, ...options });
    assert.ok(answer.status < 300, `${method} ${path}: ${answer.status} ${answer.text}`);
    return answer;
  }

  /** Makes namespaces, each below those that are there. */
  async namespaces(...paths: readonly string[]): Promise<void> {
    for (const path of paths) await this.must("POST", `/v1/sys/namespaces/${path}`);
  }

  idOf(namespace: string): string {
    const found = this.server.server.namespaces.named(namespace);
    assert.ok(found !== null, `there is no namespace ${namespace}`);
    return found.id;
  }

  writePolicy(name: string, text: string, namespace = ""): Promise<unknown> {
    return this.server.server.policies.write(this.#id(namespace), { name, text });
  }

  /** The secret of a token with these policies. */
  async client(policies: readonly string[], namespace = ""): Promise<string> {
    const { tokens } = this.server.server;
    const namespaceId = this.#id(namespace);
    const token = await tokens.writes.create({
      type: "client",
      policies,
      namespaceId,
      global: true,
    });
    return token.secret.reveal();
  }

  /** The secret of a token that may do what these rules say and nothing else. */
  async clientWith(rules: string, namespace = ""): Promise<string> {
    const name = `rules-${++this.#made}`;
    await this.writePolicy(name, rules, namespace);
    return this.client([name], namespace);
  }

  /** One request in its exact bytes, on a connection of its own. */
  async raw(bytes: string | Uint8Array): Promise<RawAnswer> {
    const client = await this.connect();
    try {
      return await client.ask(bytes);
    } finally {
      client.destroy();
    }
  }

  /** A request target as it stands, which HTTP clients would tidy up. */
  target(verb: string, target: string, ...headers: readonly string[]): Promise<RawAnswer> {
    return this.raw(request(verb, target, ...headers));
  }

  connect(): Promise<RawClient> {
    return RawClient.connect(Number(new URL(this.server.url).port));
  }

  /** Enables an audit file and gives its path. */
  async audit(name = "file", options: object = {}): Promise<string> {
    const file_path = join(this.server.auditDirectory, `${name}.log`);
    const body = { type: "file", options: { file_path, ...options } };
    await this.must("POST", `/v1/sys/audit/${name}`, { body });
    return file_path;
  }

  #id(namespace: string): string {
    return namespace === "" ? ROOT_NAMESPACE.id : this.idOf(namespace);
  }
}

export async function scene(t: After, options: TestServerOptions = {}): Promise<Scene> {
  const server = await startServer(options);
  t.after(() => server.stop());
  const { token, shares } = await server.open();
  return new Scene(server, token, shares);
}

export interface AuditLine {
  readonly type: string;
  readonly error?: string;
  readonly request: {
    readonly id: string;
    readonly operation: string;
    readonly path: string;
    readonly raw_path?: string;
    readonly mount_point?: string;
    readonly data?: unknown;
    readonly headers?: Readonly<Record<string, unknown>>;
    readonly namespace: { readonly id: string; readonly path: string };
  };
}

/** The records of requests and answers. Every line of the file must be JSON. */
export function auditLines(file: string): AuditLine[] {
  const lines = readFileSync(file, "utf8").split("\n");
  assert.equal(lines.pop(), "", "a record ends with its line");
  return lines
    .map((line) => JSON.parse(line) as Partial<AuditLine>)
    .filter((line): line is AuditLine => line.request !== undefined);
}

/** Waits for both records of a request, where another device may have had them first. */
export async function bothRecords(file: string, id: unknown): Promise<void> {
  const text = `"id":${JSON.stringify(id)},`;
  const count = () =>
    readFileSync(file, "utf8")
      .split("\n")
      .slice(0, -1)
      .filter((line) => line.includes(text)).length;
  await until(() => count() >= 2);
}

/** What a caller can see of an answer, without what differs by design: its id and the time. */
export function visible({ status, headers, text }: Answer): unknown {
  const { "x-service-request-id": id, date: _date, ...rest } = headers;
  assert.equal(typeof id, "string");
  return { status, headers: rest, text, length: text.length };
}

/** The number that counts every durable write. */
export async function lastIndex({ server }: Scene): Promise<unknown> {
  return at(await server.call("GET", "/v1/sys/health"), "last_wal");
}
