// The Go client library of the existing ecosystem as the server sees it: request lines, headers and
// bodies byte for byte as its encoder writes them, and its rules for what it accepts:
// status 200 alone, a body wherever it decodes one, headers read in order up to the first that is
// missing.

import assert from "node:assert/strict";
import { gunzipSync } from "node:zlib";
import type { AclServer } from "../support/servers/acl-server.ts";
import { RawClient, type RawAnswer } from "../support/http-front.ts";

export type Query = Readonly<Record<string, string>>;

/** What the client keeps of the headers of a read. */
export interface QueryMeta {
  readonly lastIndex: bigint;
  readonly lastContact: bigint;
  readonly nextToken: string;
  readonly knownLeader: boolean;
}

export interface GoToken {
  readonly AccessorID: string;
  readonly SecretID: string;
  readonly Name: string;
  readonly Type: string;
  readonly Policies: readonly string[] | null;
  readonly Global: boolean;
  readonly CreateTime: string;
  readonly ExpirationTime?: string | null;
  readonly ExpirationTTL: string;
  readonly CreateIndex: number;
  readonly ModifyIndex: number;
}

const ZERO_TIME = "0001-01-01T00:00:00Z";

/** One connection that is kept, as the library's pool does. */
export class GoClient {
  readonly #connection: RawClient;
  readonly #host: string;
  readonly #defaults: Query;
  readonly #headers: Readonly<Record<string, string>>;
  token = "";

  constructor(
    connection: RawClient,
    host: string,
    {
      query = {},
      headers = {},
    }: { query?: Query; headers?: Readonly<Record<string, string>> } = {},
  ) {
    this.#connection = connection;
    this.#host = host;
    this.#defaults = query;
    this.#headers = headers;
  }

  async query(path: string, query: Query = {}): Promise<{ meta: QueryMeta; body: unknown }> {
    const answer = await this.#send("GET", path, query, null);
    return { meta: queryMeta(answer), body: decode(answer) };
  }

  async put(path: string, body: object | null): Promise<{ index: bigint; body: unknown }> {
    const answer = await this.#send("PUT", path, {}, body);
    return { index: number(answer, "x-nomad-index") ?? 0n, body: decode(answer) };
  }

  /** A write whose answer nobody decodes. */
  async apply(path: string, body: object): Promise<bigint> {
    return number(await this.#send("PUT", path, {}, body), "x-nomad-index") ?? 0n;
  }

  /** Its answer is not decoded: whatever body there is stays unread. */
  async delete(path: string): Promise<bigint> {
    return number(await this.#send("DELETE", path, {}, null), "x-nomad-index") ?? 0n;
  }

  /** The answer whatever its status, as the error says it. */
  async refusal(verb: string, path: string, body: object | null = null): Promise<string> {
    const answer = await this.#ask(verb, path, {}, body);
    assert.notEqual(answer.status, 200);
    return `Unexpected response code: ${answer.status} (${answer.body})`;
  }

  async #send(verb: string, path: string, query: Query, body: object | null): Promise<RawAnswer> {
    const answer = await this.#ask(verb, path, query, body);
    assert.equal(answer.status, 200, answer.body);
    assert.equal(answer.headers.get("x-service-warning"), undefined);
    return answer;
  }

  #ask(verb: string, path: string, query: Query, body: object | null): Promise<RawAnswer> {
    const target = `${path}${queryText({ ...this.#defaults, ...query })}`;
    const text = body === null ? "" : goJson(body);
    const sized = verb === "PUT"; // no length on verbs that may go without a body
    const headers = {
      ...this.#headers,
      "Accept-Encoding": "gzip",
      ...(this.token === "" ? {} : { "X-Nomad-Token": this.token }),
    };
    const lines = [
      `${verb} ${target} HTTP/1.1`,
      `Host: ${this.#host}`,
      "User-Agent: Go-http-client/1.1",
      ...(sized ? [`Content-Length: ${Buffer.byteLength(text)}`] : []),
      ...Object.entries(headers)
        .toSorted(([a], [b]) => (a < b ? -1 : 1))
        .map(([name, value]) => `${name}: ${value}`),
    ];
    return this.#connection.ask(Buffer.from(`${lines.join("\r\n")}\r\n\r\n${text}`));
  }
}

/** By name, blanks as plus signs: the order and escapes of its encoder. */
function queryText(query: Query): string {
  const sorted = Object.entries(query).toSorted(([a], [b]) => (a < b ? -1 : 1));
  const text = new URLSearchParams(sorted).toString();
  return text === "" ? "" : `?${text}`;
}

/** Its encoder escapes what HTML could trip over, and ends with a line. */
function goJson(value: object): string {
  const escaped = JSON.stringify(value).replaceAll(
    /[<>&]/g,
    (sign) => `\\u00${sign.charCodeAt(0).toString(16)}`,
  );
  return `${escaped}\n`;
}

/** A token as the library writes it: every field, the zero ones too, the TTL first and as text. */
export function goToken(token: Partial<GoToken>): object {
  const { ExpirationTime } = token;
  return {
    ExpirationTTL: token.ExpirationTTL ?? "",
    AccessorID: token.AccessorID ?? "",
    SecretID: token.SecretID ?? "",
    Name: token.Name ?? "",
    Type: token.Type ?? "",
    Policies: token.Policies ?? null,
    Roles: null,
    Global: token.Global ?? false,
    CreateTime: token.CreateTime ?? ZERO_TIME,
    ...(ExpirationTime === undefined || ExpirationTime === null ? {} : { ExpirationTime }),
    CreateIndex: token.CreateIndex ?? 0,
    ModifyIndex: token.ModifyIndex ?? 0,
  };
}

function decode({ headers, body }: RawAnswer): unknown {
  assert.notEqual(headers.get("content-length"), "0", "a body of no bytes is an error there");
  const zipped = headers.get("content-encoding") === "gzip";
  return JSON.parse(zipped ? gunzipSync(Buffer.from(body, "latin1")).toString("utf8") : body);
}

/** Stops at the first header that it cannot read; the rest stays zero. */
function queryMeta(answer: RawAnswer): QueryMeta {
  const zero = { lastIndex: 0n, lastContact: 0n, nextToken: "", knownLeader: false };
  const lastIndex = number(answer, "x-nomad-index");
  if (lastIndex === null) return zero;
  const lastContact = number(answer, "x-nomad-lastcontact");
  if (lastContact === null) return { ...zero, lastIndex };
  const nextToken = answer.headers.get("x-nomad-nexttoken") ?? "";
  const knownLeader = answer.headers.get("x-nomad-knownleader") === "true";
  return { lastIndex, lastContact, nextToken, knownLeader };
}

function number({ headers }: RawAnswer, name: string): bigint | null {
  const text = headers.get(name) ?? "";
  return /^\d+$/.test(text) && BigInt(text) < 2n ** 64n ? BigInt(text) : null;
}

/** What its decoder insists on: types, times in RFC 3339, durations as text or a number. */
export function asToken(value: unknown): GoToken {
  const token = value as GoToken;
  for (const name of ["AccessorID", "SecretID", "Name", "Type"] as const) {
    assert.equal(typeof token[name], "string", name);
  }
  for (const name of ["CreateIndex", "ModifyIndex"] as const) {
    assert.ok(Number.isSafeInteger(token[name]) && token[name] > 0, name);
  }
  assert.match(token.CreateTime, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?Z$/);
  assert.match(token.ExpirationTTL, /^(\d+h)?(\d+m)?(\d+(\.\d+)?s)?$/);
  return token;
}

export async function goClient(
  t: { after(call: () => void): void },
  server: AclServer,
  options: { query?: Query; headers?: Readonly<Record<string, string>> } = {},
): Promise<GoClient> {
  const { host, port } = new URL(server.test.url);
  const connection = await RawClient.connect(Number(port));
  t.after(() => connection.destroy());
  const client = new GoClient(connection, host, options);
  client.token = server.management;
  return client;
}
