// Calls of clients that nobody here wrote, as they were recorded between the real client and a server, and
// how they are sent again. A recording is a text file:
//
//   # a remark                        before the first call only
//   User-Agent: python-requests/2.34  headers that every request of the client has
//
//   == name of the call, as its user writes it
//   refused: why                      where the call is for something that is not there (docs/clients.md)
//   PUT /v1/sys/unseal                one request, or several in a row
//   Content-Type: application/json    headers of this one
//   > {"key": "{{keys_0}}"}           its body; alone: a body of no bytes, with its length
//   < 200 application/json            status, and content type where there is a body
//     is {"sealed": false}            what members of the answer are, by their path
//     has data.keys                   members that are there, whatever they are
//     keep nonce = nonce              a text of the answer that later requests have as {{nonce}}
//
// A body that ends with \n, the two characters, ends with a line break: the Go client's encoder writes one.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import type { RawAnswer, RawClient } from "../support/http-front.ts";

type Header = readonly [name: string, value: string];

export interface Exchange {
  readonly verb: string;
  readonly target: string;
  readonly headers: Header[];
  /** Null: none, and no length. */
  body: string | null;
  status: number;
  contentType: string;
  readonly is: [path: string, value: unknown][];
  readonly has: string[];
  readonly keep: [name: string, path: string][];
}

export interface Call {
  readonly name: string;
  /** Why the server refuses it; null: it does not. */
  refused: string | null;
  readonly exchanges: Exchange[];
}

export interface Recording {
  readonly headers: readonly Header[];
  readonly calls: readonly Call[];
}

export function readRecording(name: string): Recording {
  const text = readFileSync(new URL(name, import.meta.url), "utf8");
  const headers: Header[] = [];
  const calls: Call[] = [];
  for (const line of text.split("\n")) {
    const call = calls.at(-1);
    if (line === "") continue;
    if (line.startsWith("== ")) calls.push({ name: line.slice(3), refused: null, exchanges: [] });
    else if (call !== undefined) readLine(line, call);
    else if (!line.startsWith("#")) headers.push(header(line));
  }
  return { headers, calls };
}

function readLine(line: string, call: Call): void {
  const begun = /^([A-Z]+) (\/\S*)$/.exec(line);
  if (begun !== null) {
    const [, verb = "", target = ""] = begun;
    const empty = {
      body: null,
      status: 0,
      contentType: "",
      headers: [],
      is: [],
      has: [],
      keep: [],
    };
    call.exchanges.push({ verb, target, ...empty });
    return;
  }
  if (line.startsWith("refused: ")) {
    call.refused = line.slice("refused: ".length);
    return;
  }
  const exchange = call.exchanges.at(-1);
  assert.ok(exchange !== undefined, `${call.name}: no request before ${line}`);
  const [sign, rest] = [line.slice(0, 2), line.slice(2)];
  if (sign === "  ") readExpected(rest, exchange);
  else if (sign === "< ") {
    const [status = "", contentType = ""] = rest.split(" ");
    [exchange.status, exchange.contentType] = [Number(status), contentType];
  } else if (line.startsWith(">")) exchange.body = rest.replace(/\\n$/, "\n");
  else exchange.headers.push(header(line));
}

function readExpected(line: string, { is, has, keep }: Exchange): void {
  const [word = "", ...paths] = line.split(" ");
  if (word === "has") has.push(...paths);
  else if (word === "is") is.push(...Object.entries(JSON.parse(line.slice(3)) as object));
  else {
    const [name, sign, path] = paths;
    assert.ok(word === "keep" && name !== undefined && sign === "=" && path !== undefined, line);
    keep.push([name, path]);
  }
}

function header(line: string): Header {
  const colon = line.indexOf(": ");
  assert.ok(colon > 0, `no header: ${line}`);
  return [line.slice(0, colon), line.slice(colon + 2)];
}

/** One client at its work: what it was told stays with it. */
export class Replay {
  readonly #connection: RawClient;
  readonly #host: string;
  readonly #headers: readonly Header[];
  readonly #kept: Map<string, string>;

  constructor(
    connection: RawClient,
    host: string,
    headers: readonly Header[],
    values: Readonly<Record<string, string>>,
  ) {
    this.#connection = connection;
    this.#host = host;
    this.#headers = headers;
    this.#kept = new Map(Object.entries(values));
  }

  async play({ exchanges }: Call): Promise<void> {
    for (const exchange of exchanges) await this.#exchange(exchange);
  }

  async #exchange(exchange: Exchange): Promise<void> {
    const answer = await this.#send(exchange);
    const what = `${exchange.verb} ${exchange.target}: ${answer.body}`;
    assert.equal(answer.status, exchange.status, what);
    assert.equal(answer.headers.get("content-type") ?? "", exchange.contentType, what);
    const { is, has, keep } = exchange;
    if (is.length + has.length + keep.length === 0) return;
    const body: unknown = JSON.parse(answer.body);
    for (const [path, value] of is) {
      assert.deepEqual(member(body, path), this.#filledIn(value), `${path} of ${what}`);
    }
    for (const path of has) assert.notEqual(member(body, path), undefined, `${path} of ${what}`);
    for (const [name, path] of keep) {
      const value = member(body, path);
      assert.ok(typeof value === "string" && value !== "", `${path} of ${what}`);
      this.#kept.set(name, value);
    }
  }

  async #send({ verb, target, headers, body }: Exchange): Promise<RawAnswer> {
    const bytes = Buffer.from(body === null ? "" : this.#fill(body));
    const lines = [
      `${verb} ${this.#fill(target)} HTTP/1.1`,
      `Host: ${this.#host}`,
      ...this.#headers.map(([name, value]) => `${name}: ${value}`),
      ...headers.map(([name, value]) => `${name}: ${this.#fill(value)}`),
      ...(body === null ? [] : [`Content-Length: ${bytes.length}`]),
    ];
    const head = Buffer.from(`${lines.join("\r\n")}\r\n\r\n`);
    await this.#connection.send(Buffer.concat([head, bytes]));
    return this.#connection.answer(verb === "HEAD");
  }

  #fill(text: string): string {
    return text.replaceAll(/\{\{(\w+)\}\}/g, (_, name: string) => {
      const value = this.#kept.get(name);
      assert.ok(value !== undefined, `no answer has given ${name}`);
      return value;
    });
  }

  #filledIn(value: unknown): unknown {
    return JSON.parse(this.#fill(JSON.stringify(value)));
  }
}

function member(value: unknown, path: string): unknown {
  let found = value;
  for (const name of path.split(".")) {
    if (typeof found !== "object" || found === null) return undefined;
    found = Object.getOwnPropertyDescriptor(found, name)?.value;
  }
  return found;
}
