// A server for tests of the token endpoints: its management secret, requests in short form, refusals
// compared in full, a clock that stands where it is put, and the long timers fired by hand.

import assert from "node:assert/strict";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { SystemClock } from "../../../src/system/clock.ts";
import { SystemTimers } from "../../../src/system/timers.ts";
import type { Instant, Nanos, Timer } from "@holdfast/shared/world";
import { ROOT_NAMESPACE } from "@holdfast/shared/endpoint/request";
import { type Answer, at, type CallOptions } from "../http-client.ts";
import { startServer, type TestServer, type TestServerOptions } from "./test-server.ts";

export const SECOND: Nanos = 1_000_000_000n;
export const MINUTE = 60n * SECOND;
export const HOUR = 60n * MINUTE;

/** No token has it. */
export const UNKNOWN = "11111111-2222-4333-8444-555555555555";
export const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

/** The real time, or the instant where it was stopped. */
export class StoppableClock extends SystemClock {
  stoppedAt: Instant | null = null;

  override now(): Instant {
    return this.stoppedAt ?? super.now();
  }
}

interface Held {
  readonly delay: Nanos;
  readonly call: () => void;
}

/** Real timers, but for the long ones, which a test fires itself. */
export class HeldTimers extends SystemTimers {
  readonly #held = new Set<Held>();

  override after(delay: Nanos, call: () => void): Timer {
    if (delay < 4n * MINUTE) return super.after(delay, call);
    const held = { delay, call };
    this.#held.add(held);
    return { cancel: () => void this.#held.delete(held) };
  }

  /** Everything that would be due after this long. */
  fire(passed: Nanos): void {
    // A copy: whoever is called may arm the next one.
    for (const held of this.#held.values().toArray()) {
      if (held.delay > passed) continue;
      this.#held.delete(held);
      held.call();
    }
  }
}

/** A token as the wire has it. */
export interface WireToken {
  readonly AccessorID: string;
  readonly SecretID: string;
  readonly Name: string;
  readonly Type: string;
  readonly Policies: readonly string[] | null;
  readonly Roles: null;
  readonly Global: boolean;
  readonly Hash: string;
  readonly CreateTime: string;
  readonly ExpirationTime: string | null;
  readonly ExpirationTTL: string;
  readonly CreateIndex: number;
  readonly ModifyIndex: number;
}

export type WireStub = Omit<WireToken, "SecretID" | "ExpirationTTL">;

interface After {
  after(call: () => Promise<void> | void): void;
}

export class AclServer {
  readonly test: TestServer;
  readonly shares: readonly string[];
  /** Secret of a management token; "" while nobody is one. */
  management: string;

  constructor(server: TestServer, shares: readonly string[], management: string) {
    this.test = server;
    this.shares = shares;
    this.management = management;
  }

  /** As nobody, unless a token is given. */
  ask(method: string, path: string, options: CallOptions = {}): Promise<Answer> {
    return this.test.call(method, path, options);
  }

  /** With the management secret. */
  manage(method: string, path: string, options: CallOptions = {}): Promise<Answer> {
    return this.ask(method, path, { token: this.management, ...options });
  }

  bootstrap(body?: unknown): Promise<Answer> {
    return this.ask("POST", "/acl/bootstrap", { body });
  }

  /** A client token with the policy `readonly`, unless told otherwise. */
  async create(body: object = {}): Promise<WireToken> {
    return tokenOf(await this.#create(body));
  }

  async createManagement(body: object = {}): Promise<WireToken> {
    return this.create({ Type: "management", Policies: null, ...body });
  }

  /** A client token with a chosen accessor: what puts it into an order that is known. */
  async upload(accessor: string, body: object = {}): Promise<WireToken> {
    const SecretID = crypto.randomUUID();
    const fields = { AccessorID: accessor, SecretID, Type: "client", Policies: ["readonly"] };
    const path = `/acl/token/${accessor}`;
    return tokenOf(await this.manage("PUT", path, { body: { ...fields, ...body } }));
  }

  async update(token: WireToken, change: object): Promise<Answer> {
    const { AccessorID, Name, Type, Policies } = token;
    const body = { AccessorID, Name, Type, Policies, ...change };
    return this.manage("POST", `/acl/token/${AccessorID}`, { body });
  }

  /** Parameters in the query, escaped. */
  list(query: Readonly<Record<string, string>> = {}, token = this.management): Promise<Answer> {
    const text = new URLSearchParams(query).toString();
    return this.ask("GET", text === "" ? "/acl/tokens" : `/acl/tokens?${text}`, { token });
  }

  async stubs(query: Readonly<Record<string, string>> = {}): Promise<readonly WireStub[]> {
    const answer = await this.list(query);
    succeeded(answer);
    return answer.json as WireStub[];
  }

  self(secret: string): Promise<Answer> {
    return this.ask("GET", "/acl/token/self", { token: secret });
  }

  /** A policy that exists, so that naming it gives no warning. */
  writePolicy(name: string, text: string): Promise<unknown> {
    return this.test.server.policies.write(ROOT_NAMESPACE.id, { name, text });
  }

  /** What an operator does who lost every management token. */
  writeResetFile(text: string): void {
    const folder = join(this.test.directory, "server");
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    writeFileSync(join(folder, "acl-bootstrap-reset"), text, { mode: 0o600 });
  }

  async #create(body: object): Promise<Answer> {
    const fields = { Name: "reader", Type: "client", Policies: ["readonly"], ...body };
    return this.manage("POST", "/acl/token", { body: fields });
  }
}

/** Open, with a management token from init and the policy `readonly`. */
export async function aclServer(t: After, options: TestServerOptions = {}): Promise<AclServer> {
  const test = await startServer(options);
  t.after(() => test.stop());
  const { token, shares } = await test.open();
  const server = new AclServer(test, shares, token);
  await server.writePolicy("readonly", 'path "sys/namespaces/*" { capabilities = ["read"] }');
  return server;
}

/** Open, and its bootstrap too: a fresh store in the words of the conformance cases. */
export async function unclaimedServer(
  t: After,
  options: TestServerOptions = {},
): Promise<AclServer> {
  const test = await startServer(options);
  t.after(() => test.stop());
  const body = { secret_shares: 1, secret_threshold: 1, acl_bootstrap: "open" };
  const made = await test.call("POST", "/v1/sys/init", { body });
  const shares = at(made, "keys") as string[];
  await test.unseal(shares);
  return new AclServer(test, shares, "");
}

/** 200 with an index. */
export function succeeded(answer: Answer): void {
  assert.equal(answer.status, 200, answer.text);
  assert.ok(indexOf(answer) > 0n);
}

export function tokenOf(answer: Answer): WireToken {
  succeeded(answer);
  return answer.json as WireToken;
}

export function indexOf({ headers, text }: Answer): bigint {
  const index = String(headers["x-service-index"]);
  assert.match(index, /^\d+$/, text);
  return BigInt(index);
}

/** A refusal in the one form of all; with its word where that is part of the API. */
export function refused(
  answer: Answer,
  status: number,
  text: string | RegExp,
  word?: string,
): void {
  assert.equal(answer.status, status, answer.text);
  assert.equal(answer.headers["content-type"], "application/json");
  assert.deepEqual(Object.keys(answer.json as object), ["errors"]);
  const errors = at(answer, "errors") as unknown[];
  assert.equal(errors.length, 1, answer.text);
  if (typeof text === "string") assert.equal(errors[0], text);
  else assert.match(String(errors[0]), text);
  const code = answer.headers["x-service-error"];
  if (word === undefined) assert.match(String(code), /^[a-z]+(_[a-z]+)*$/);
  else assert.equal(code, word, answer.text);
}

export function denied(answer: Answer, text = "Permission denied"): void {
  refused(answer, 403, text, text === "ACL token expired" ? "token_expired" : "permission_denied");
}

/** 400 with exactly these problems, in the envelope that clients know. */
export function problems(answer: Answer, ...texts: readonly (string | RegExp)[]): void {
  const count = texts.length === 1 ? "1 error" : `${texts.length} errors`;
  refused(answer, 400, /^token 0 invalid: /, "invalid_token");
  const [head, ...rest] = String(at(answer, "errors", 0)).split("\n");
  assert.equal(head, `token 0 invalid: ${count} occurred:`);
  assert.deepEqual(rest.slice(-2), ["", ""], "two line ends close the list");
  const found = rest.slice(0, -2);
  assert.equal(found.length, texts.length, answer.text);
  for (const [i, text] of texts.entries()) {
    const line = found[i] ?? "";
    if (typeof text === "string") assert.equal(line, `\t* ${text}`);
    else assert.match(line, text);
  }
}

/** Nanoseconds since 1970 of an RFC 3339 time in UTC, without loss. */
export function nanosOf(time: string | null): Instant {
  assert.ok(time !== null);
  const [, seconds, fraction = ""] = /^(.{19})(?:\.(\d{1,9}))?Z$/.exec(time) ?? [];
  assert.ok(seconds !== undefined && !fraction.endsWith("0"), time);
  return BigInt(Date.parse(`${seconds}Z`)) * 1_000_000n + BigInt(fraction.padEnd(9, "0"));
}

/** An instant as RFC 3339, in whole seconds. */
export function timeText(instant: Instant): string {
  return new Date(Number(instant / 1_000_000n)).toISOString().replace(/\.\d+Z$/, "Z");
}

/** Whether a request is still unanswered after others have come and gone. */
export async function staysParked(server: AclServer, answering: Promise<Answer>): Promise<boolean> {
  const waiting = Symbol("waiting");
  for (let i = 0; i < 10; i++) await server.ask("GET", "/v1/sys/health");
  return (await Promise.race([answering, Promise.resolve(waiting)])) === waiting;
}
