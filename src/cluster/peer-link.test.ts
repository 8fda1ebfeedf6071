// One link, whatever carries it: every test runs over TLS and in memory.

import assert from "node:assert/strict";
import { once } from "node:events";
import { type AddressInfo, createServer, type Socket } from "node:net";
import test, { afterEach, describe } from "node:test";
import { Failure } from "@holdfast/shared/failure";
import { MILLISECOND, SECOND } from "@holdfast/shared/text/duration";
import { ClusterStage, SELF, SET, stageWorld } from "../../tests/support/servers/cluster-stage.ts";
import { until } from "../../tests/support/until.ts";
import { message, uint32 } from "@holdfast/shared/grpc/message";
import {
  type Call,
  method,
  type Served,
  serveBidirectional,
  serveStream,
  serveUnary,
  serviceTable,
} from "@holdfast/shared/grpc/method";
import { Status, StatusError } from "@holdfast/shared/grpc/status";
import type { Greeting, Hello, ServedSet } from "./hello.ts";
import { MemoryCarrier, STRAIGHT, type Way } from "./memory-carrier.ts";
import { CarriedLink, type PeerLink } from "./peer-link.ts";
import type { Peer } from "./verify.ts";

const BOUND = { timeout: 300_000 };
const number = message({ value: uint32(1) });
const double = method("unary", "/test.Link/Double", number, number, { maxRequest: 20 });
const wait = method("unary", "/test.Link/Wait", number, number);
const upTo = method("serverStream", "/test.Link/UpTo", number, number);
const sums = method("bidirectional", "/test.Link/Sums", number, number);
const absent = method("unary", "/test.Link/Absent", number, number);

/** Both ends, and what a test does to them. */
interface Ends {
  readonly link: PeerLink;
  greet: (hello: Hello, peer: Peer) => Promise<Greeting>;
  advance(length: bigint): Promise<void>;
  /** Timers that are armed. */
  armed(): number;
  /** The server ends all sessions of the member, for it is revoked. */
  revoke(): void;
  /** As if cutting took its time. */
  revokeWithoutCut?(): void;
  close(): Promise<void>;
}

const calls: Call<Peer>[] = [];
const served: readonly Served<Peer>[] = [
  serveUnary(double, async ({ value }) => {
    if (value === 13) throw new Failure("conflict", "conflict", "not thirteen");
    return { value: 2 * value };
  }),
  serveUnary(wait, (_request, call) => {
    calls.push(call);
    return new Promise<never>((_resolve, reject) =>
      call.signal.addEventListener("abort", () => reject(new Error("over"))),
    );
  }),
  serveStream(upTo, async function* ({ value }, { signal }) {
    for (let i = 1; i <= value; i++) {
      yield { value: i };
      signal.throwIfAborted();
    }
  }),
  serveBidirectional(sums, async function* (requests) {
    let sum = 0;
    for await (const { value } of requests) yield { value: (sum += value) };
  }),
];

const ANSWER = { clusterId: "cluster-a", protocol: 1, version: "0.1.0" };

async function overTls(): Promise<Ends> {
  const stage = await ClusterStage.start({ served });
  const member = await stage.member("paris");
  return {
    link: stage.link("paris", member),
    set greet(greet: Ends["greet"]) {
      stage.greet = greet;
    },
    advance: (length) => stage.world.timers.advance(length),
    armed: () => stage.world.timers.armed,
    revoke: () => void stage.port.revoke(SET, member.serial),
    close: () => stage.close(),
  };
}

async function inMemory(way: Way = STRAIGHT): Promise<Ends> {
  const world = stageWorld();
  const revoked = new Set<string>();
  const ends = { greet: async () => ANSWER } as unknown as Ends;
  const set: ServedSet = {
    table: serviceTable(served),
    greet: (hello, peer) => ends.greet(hello, peer),
    isRevoked: (serial) => revoked.has(serial),
  };
  const peer = { ...SET, id: "paris", serial: "4a", expires: world.clock.now() + 3600n * SECOND };
  const carrier = new MemoryCarrier(set, peer, world, way);
  const link = new CarriedLink(carrier, peer);
  return Object.assign(ends, {
    link,
    advance: (length: bigint) => world.timers.advance(length),
    armed: () => world.timers.armed,
    revoke: () => {
      revoked.add(peer.serial);
      carrier.cut();
    },
    revokeWithoutCut: () => void revoked.add(peer.serial),
    close: () => link.close(),
  });
}

for (const [name, start] of [
  ["over TLS", overTls],
  ["in memory", () => inMemory()],
] as const) {
  describe(`a link ${name}`, BOUND, () => {
    let ends: Ends;
    afterEach(async () => {
      calls.length = 0;
      await ends.close();
    });

    const says = (status: number) => (error: unknown) =>
      error instanceof StatusError && error.status === status;

    test("is opened by a hello, and then carries calls and streams", async () => {
      ends = await start();
      const { link } = ends;
      await assert.rejects(link.call(double, { value: 1 }), says(Status.unavailable));
      let said: Hello | null = null;
      ends.greet = async (hello) => {
        said = hello;
        return ANSWER;
      };
      assert.partialDeepStrictEqual(await link.open(SELF), ANSWER);
      assert.partialDeepStrictEqual(said, { ...SET, secondaryId: "paris", protocol: 1, ...SELF });
      assert.equal((await link.call(double, { value: 21 })).value, 42);
      const found: number[] = [];
      for await (const { value } of link.stream(upTo, { value: 5 })) found.push(value);
      assert.deepEqual(found, [1, 2, 3, 4, 5]);
      async function* requests() {
        for (const value of [1, 2, 3]) yield { value };
      }
      found.length = 0;
      for await (const { value } of link.stream(sums, requests())) found.push(value);
      assert.deepEqual(found, [1, 3, 6]);
    });

    test("is for nothing else where it was only tried", async () => {
      ends = await start();
      await ends.link.open({ ...SELF, isTrial: true });
      await assert.rejects(
        ends.link.call(double, { value: 1 }),
        (error) => error instanceof StatusError && error.status === Status.failedPrecondition,
      );
      await ends.link.open(SELF);
      assert.equal((await ends.link.call(double, { value: 1 })).value, 2);
    });

    test("is not open where the hello is refused, whatever the handshake said", async () => {
      ends = await start();
      ends.greet = async () => {
        throw new Failure("denied", "denied", "not you");
      };
      // More often than there may be sessions: none is left behind.
      for (let i = 0; i < 6; i++) {
        await assert.rejects(ends.link.open(SELF), says(Status.permissionDenied));
      }
      await assert.rejects(ends.link.call(double, { value: 1 }), says(Status.unavailable));
      ends.greet = async () => ({ ...ANSWER, protocol: 2 });
      await assert.rejects(ends.link.open(SELF), /another protocol/);
      assert.equal(ends.link.closed, null);
    });

    test("is refused by a peer that does not know the method, or has another bound", async () => {
      ends = await start();
      await ends.link.open(SELF);
      await assert.rejects(ends.link.call(absent, { value: 1 }), says(Status.unimplemented));
      const wide = method(
        "unary",
        double.path,
        message({ value: uint32(1), more: uint32(2) }),
        number,
      );
      const long = { ...wide, request: { ...wide.request, encode: () => new Uint8Array(100) } };
      const call = ends.link.call(long, { value: 1, more: 2 });
      await assert.rejects(call, says(Status.resourceExhausted));
      await assert.rejects(ends.link.call(double, { value: 13 }), says(Status.aborted));
    });

    test("tells what the peer has said from what was found of its answer here", async () => {
      ends = await start();
      await ends.link.open(SELF);
      const found = async (call: Promise<unknown>) => {
        const error: unknown = await call.then(
          () => null,
          (error: unknown) => error,
        );
        assert.ok(error instanceof StatusError);
        return [error.status, error.isSaid];
      };
      const narrow = { ...double, maxResponse: 1 };
      assert.deepEqual(
        [
          await found(ends.link.call(absent, { value: 1 })),
          await found(ends.link.call(double, { value: 13 })),
          await found(ends.link.call(narrow, { value: 1 })),
        ],
        [
          [Status.unimplemented, true],
          [Status.aborted, true],
          [Status.resourceExhausted, false],
        ],
      );
    });

    test("hands on a deadline, and a signal", async () => {
      ends = await start();
      await ends.link.open(SELF);
      const late = ends.link.call(wait, { value: 1 }, { timeout: 5n * SECOND });
      const isLate = assert.rejects(late, says(Status.deadlineExceeded));
      await until(() => calls.length === 1);
      await ends.advance(6n * SECOND);
      await isLate;
      await until(() => calls[0]?.signal.aborted === true);
      const stop = new AbortController();
      const stopped = ends.link.call(wait, { value: 1 }, { signal: stop.signal });
      const isStopped = assert.rejects(stopped, says(Status.cancelled));
      await until(() => calls.length === 2);
      stop.abort();
      await isStopped;
      await until(() => calls[1]?.signal.aborted === true);
    });

    test("that is revoked is lost at once, and cannot be opened again", async () => {
      ends = await start();
      await ends.link.open(SELF);
      const call = ends.link.call(wait, { value: 1 });
      const isLost = assert.rejects(call, says(Status.unavailable));
      await until(() => calls.length === 1);
      ends.revoke();
      await until(() => calls[0]?.signal.aborted === true);
      await isLost;
      await ends.link.closed;
      await assert.rejects(ends.link.open(SELF));
      await assert.rejects(ends.link.call(double, { value: 1 }), says(Status.unavailable));
    });

    test("may be opened again when it was closed", async () => {
      ends = await start();
      await ends.link.open(SELF);
      await ends.link.close();
      await assert.rejects(ends.link.call(double, { value: 1 }), says(Status.unavailable));
      await ends.link.open(SELF);
      assert.equal((await ends.link.call(double, { value: 4 })).value, 8);
    });

    test("ends a stream that was cut between two of its messages, whatever the peer makes of that", async () => {
      ends = await start();
      await ends.link.open(SELF);
      const stream = ends.link.stream(upTo, { value: 1_000_000 });
      await stream.next();
      ends.revoke();
      await assert.rejects(async () => {
        for await (const _ of stream);
      }, StatusError);
    });

    test("ends a call with the error of its requests", async () => {
      ends = await start();
      await ends.link.open(SELF);
      async function* requests() {
        yield { value: 1 };
        throw new Failure("unavailable", "full", "the disk is full");
      }
      await assert.rejects(async () => {
        for await (const _ of ends.link.stream(sums, requests()));
      }, /the disk is full/);
    });
  });
}

test(
  "a call on a session that stands is refused from the moment its certificate is revoked",
  BOUND,
  async () => {
    const ends = await inMemory();
    await ends.link.open(SELF);
    ends.revokeWithoutCut?.();
    await assert.rejects(
      ends.link.call(double, { value: 1 }),
      (error) => error instanceof StatusError && error.status === Status.permissionDenied,
    );
    await ends.close();
  },
);

test(
  "somebody is reached who has said a word, and not who only takes the connection",
  BOUND,
  async (t) => {
    const stage = await ClusterStage.start({ served });
    t.after(() => stage.close());
    const member = await stage.member("paris");
    const taken: Socket[] = [];
    const mute = createServer((socket) => {
      taken.push(socket);
      socket.on("error", () => {});
      socket.resume();
    });
    mute.listen(0, "127.0.0.1");
    await once(mute, "listening");
    const port = stage.address;
    stage.address = { host: "127.0.0.1", port: (mute.address() as AddressInfo).port };
    t.after(() => mute.close());
    const nearby = stage.link("paris", member);
    const opened = assert.rejects(nearby.open(SELF), { code: "peer-other" });
    await until(() => taken.length === 1);
    await until(() => taken[0]!.bytesRead > 0); // its hello
    assert.equal(nearby.isReached, false);
    taken[0]!.write("no such thing\n");
    await opened;
    assert.equal(nearby.isReached, true);

    const over = new AbortController();
    const far = stage.link("paris", member);
    const { net } = stage.world;
    const connect = net.connect.bind(net);
    net.connect = async (to, signal) => {
      const socket = await connect(to, signal);
      await stage.world.timers.advance(400n * MILLISECOND);
      return socket;
    };
    const late = assert.rejects(far.open(SELF, over.signal));
    assert.equal(far.isReached, false);
    await until(() => taken.length === 2 && taken[1]!.bytesRead > 0);
    assert.equal(far.isReached, true, "its first word takes as long again");
    over.abort();
    await late;
    stage.address = port;
  },
);

describe("the way of a link in memory", BOUND, () => {
  test("decides when messages arrive, and whether", async () => {
    const held: { readonly to: string; readonly release: () => void }[] = [];
    const way: Way = {
      connect: async () => {},
      pass: (to) => new Promise((resolve) => held.push({ to, release: resolve })),
    };
    const ends = await inMemory(way);
    const opened = ends.link.open(SELF);
    for (const to of ["server", "client"]) {
      await until(() => held.length === 1);
      const [next] = held.splice(0);
      assert.equal(next?.to, to);
      next?.release();
    }
    await opened;
    // Two calls under way: the second overtakes the first.
    const first = ends.link.call(double, { value: 1 });
    const second = ends.link.call(double, { value: 2 });
    await until(() => held.length === 2);
    held.pop()?.release();
    await until(() => held.length === 2);
    held.pop()?.release();
    assert.equal((await second).value, 4);
    const lost = assert.rejects(first);
    ends.revoke();
    await lost;
    await ends.close();
  });

  test("may lead nowhere: connecting and the hello have their time", async () => {
    let passed = 0;
    const nowhere = await inMemory({ connect: () => new Promise(() => {}), pass: async () => {} });
    const connecting = assert.rejects(nowhere.link.open(SELF), /in time/);
    await until(() => nowhere.armed() === 1);
    await nowhere.advance(6n * SECOND);
    await connecting;
    const mute = await inMemory({
      connect: async () => {},
      pass: () => {
        passed++;
        return new Promise(() => {});
      },
    });
    const greeting = assert.rejects(mute.link.open(SELF), /time of the call/);
    await until(() => passed === 1);
    await mute.advance(11n * SECOND);
    await greeting;
    assert.equal(mute.armed(), 0);
  });
});
