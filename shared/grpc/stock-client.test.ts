// The client that everybody else has, against our server: what we read of the protocol is what others speak.

import assert from "node:assert/strict";
import { createRequire } from "node:module";
import test, { after, before, describe } from "node:test";
import { Failure } from "../failure.ts";
import { GrpcPair } from "../../tests/support/servers/grpc-pair.ts";
import { until } from "../../tests/support/until.ts";
import { message, text, uint32 } from "./message.ts";
import { LARGEST_MESSAGE, method, serveBidirectional, serveStream, serveUnary } from "./method.ts";
import { Status } from "./status.ts";

const BOUND = { timeout: 300_000 };

const line = message({ text: text(1), count: uint32(2) });
const large = { maxRequest: LARGEST_MESSAGE, maxResponse: LARGEST_MESSAGE };
const ping = method("unary", "/test.Stock/Ping", line, line, large);
const count = method("serverStream", "/test.Stock/Count", line, line);
const echo = method("bidirectional", "/test.Stock/Echo", line, line);
type Line = { readonly text: string; readonly count: number };

/** What of it is used here. */
interface StockStream {
  on(event: "data", call: (answer: Line) => void): void;
  on(event: "end" | "close", call: () => void): void;
  on(event: "error", call: (error: StockError) => void): void;
  write(request: Line): void;
  end(): void;
  cancel(): void;
}
interface StockError extends Error {
  readonly code: number;
  readonly details: string;
}
type Coder = (value: Line) => Buffer;
type Decoder = (bytes: Buffer) => Line;
interface StockClient {
  makeUnaryRequest(
    path: string,
    encode: Coder,
    decode: Decoder,
    request: Line,
    metadata: object,
    options: { deadline?: number },
    done: (error: StockError | null, answer?: Line) => void,
  ): void;
  makeServerStreamRequest(path: string, e: Coder, d: Decoder, request: Line): StockStream;
  makeBidiStreamRequest(path: string, e: Coder, d: Decoder): StockStream;
  close(): void;
}
interface Stock {
  readonly Client: new (address: string, credentials: object, options: object) => StockClient;
  readonly Metadata: new () => object;
  readonly credentials: { createSsl(root: Buffer): object };
  readonly compressionAlgorithms: { readonly gzip: number };
}

const grpc = createRequire(import.meta.url)("@grpc/grpc-js") as Stock;
const encode: Coder = (value) => Buffer.from(line.encode(value));
const decode: Decoder = (bytes) => line.decode(bytes);

describe("a stock client", BOUND, () => {
  let pair: GrpcPair;
  let client: StockClient;

  before(async () => {
    pair = await GrpcPair.start([
      serveUnary(ping, async (request) => {
        if (request.text === "refuse")
          throw new Failure("denied", "denied", "nicht für dich: 100 %");
        if (request.text === "wait") return await new Promise(() => {});
        return { ...request, count: request.count + 1 };
      }),
      serveStream(count, async function* (request) {
        for (let i = 0; i < request.count; i++) yield { text: request.text, count: i };
      }),
      serveBidirectional(echo, async function* (requests) {
        yield* requests;
      }),
    ]);
    client = connect();
  });
  after(async () => {
    client.close();
    pair.sessions.length = 0; // a handler never ends
    await pair.close();
  });

  function connect(options: object = {}): StockClient {
    const root = grpc.credentials.createSsl(Buffer.from(pair.authority.pem));
    const unlimited = {
      "grpc.max_receive_message_length": -1,
      "grpc.max_send_message_length": -1,
      ...options,
    };
    return new grpc.Client(`localhost:${pair.port}`, root, unlimited);
  }

  function unary(request: Line, path = ping.path, deadline?: number, by = client): Promise<Line> {
    return new Promise((resolve, reject) => {
      const options = deadline === undefined ? {} : { deadline };
      by.makeUnaryRequest(
        path,
        encode,
        decode,
        request,
        new grpc.Metadata(),
        options,
        (error, answer) => {
          if (error === null && answer !== undefined) resolve(answer);
          else reject(error ?? new Error("no answer"));
        },
      );
    });
  }

  test("pings", async () => {
    assert.deepEqual(await unary({ text: "hallo", count: 1 }), { text: "hallo", count: 2 });
    const long = "x".repeat(20 * 1024 * 1024);
    assert.equal((await unary({ text: long, count: 1 })).text.length, long.length);
  });

  test("reads our refusals, with their text", async () => {
    await assert.rejects(unary({ text: "refuse", count: 0 }), {
      code: Status.permissionDenied,
      details: "nicht für dich: 100 %",
    });
    const other = unary({ text: "", count: 0 }, "/test.Stock/Other");
    await assert.rejects(other, { code: Status.unimplemented });
  });

  test("has its deadline kept", async () => {
    const call = unary({ text: "wait", count: 0 }, ping.path, Date.now() + 200);
    await assert.rejects(call, { code: Status.deadlineExceeded });
  });

  test("is refused where it compresses", async () => {
    const gzip = grpc.compressionAlgorithms.gzip;
    const compressing = connect({ "grpc.default_compression_algorithm": gzip });
    const call = unary({ text: "", count: 0 }, ping.path, undefined, compressing);
    await assert.rejects(call, { code: Status.unimplemented });
    compressing.close();
  });

  test("takes streams, and both ways at once", async () => {
    const found: number[] = [];
    const stream = client.makeServerStreamRequest(count.path, encode, decode, {
      text: "",
      count: 500,
    });
    stream.on("data", (answer) => found.push(answer.count));
    await new Promise<void>((resolve, reject) => {
      stream.on("end", resolve);
      stream.on("error", reject);
    });
    assert.equal(found.length, 500);

    const both = client.makeBidiStreamRequest(echo.path, encode, decode);
    const echoed: string[] = [];
    both.on("data", (answer) => echoed.push(answer.text));
    const ended = new Promise<void>((resolve) => both.on("end", resolve));
    for (const word of ["a", "b", "c"]) {
      both.write({ text: word, count: 0 });
      await until(() => echoed.at(-1) === word);
    }
    both.end();
    await ended;
  });

  test("cancels, and the call is over here", async () => {
    const both = client.makeBidiStreamRequest(echo.path, encode, decode);
    both.on("error", () => {});
    both.on("data", () => {});
    const calls = () => pair.sessions.reduce((sum, session) => sum + session.calls, 0);
    const before = calls();
    both.write({ text: "a", count: 0 });
    await until(() => calls() === before + 1);
    both.cancel();
    await until(() => calls() === before);
  });
});
