import assert from "node:assert/strict";
import test from "node:test";
import { FakeClock } from "../../../tests/support/fake-world.ts";
import { type Connector, type Outlet, WrongSocketKind } from "./sink.ts";
import { SyslogSource, type SyslogTarget } from "./syslog.ts";

function fake(unix: () => Outlet) {
  const sent: string[] = [];
  const requests: string[] = [];
  const outlet: Outlet = {
    broken: false,
    write: async (bytes) => void sent.push(Buffer.from(bytes).toString()),
    destroy: () => {},
    close: async () => {},
  };
  const connector: Connector = {
    tcp: async () => outlet,
    unix: async (path) => {
      requests.push(`unix ${path}`);
      return unix === null ? outlet : unix();
    },
    udp: async ({ host, port }) => {
      requests.push(`udp ${host}:${port}`);
      return outlet;
    },
    logger: async (args) => {
      requests.push(`logger ${args.join(" ")}`);
      return outlet;
    },
  };
  return { sent, requests, connector, outlet };
}

const target: SyslogTarget = { facility: "AUTH", tag: "holdfast", address: null };

async function write(connector: Connector, change: Partial<SyslogTarget> = {}): Promise<void> {
  const source = new SyslogSource(connector, { ...target, ...change }, new FakeClock());
  const sink = await source.open();
  await sink.write(['{"a":1}', '{"b":2}']);
}

test("a local stream socket gets lines with priority and tag", async () => {
  const made = fake(() => made.outlet);
  await write(made.connector);
  assert.deepEqual(made.requests, ["unix /dev/log"]);
  assert.deepEqual(made.sent, ['<38>holdfast: {"a":1}\n<38>holdfast: {"b":2}\n']);
});

test("a local datagram socket is reached through logger, which must tell of errors", async () => {
  const made = fake(() => {
    throw new WrongSocketKind();
  });
  await write(made.connector, { facility: "LOCAL3", tag: "trail" });
  const args =
    "--socket /dev/log --socket-errors=on --tag trail --priority local3.info --size 66024";
  assert.deepEqual(made.requests, ["unix /dev/log", `logger ${args}`]);
  assert.deepEqual(made.sent, ['{"a":1}\n{"b":2}\n']);
});

test("without a system log the device does not open", async () => {
  const made = fake(() => {
    throw new Error("ENOENT");
  });
  await assert.rejects(write(made.connector), /ENOENT/);
  assert.deepEqual(made.requests, ["unix /dev/log"]);
});

test("a remote log gets a datagram for each record, in the form of RFC 5424", async () => {
  const made = fake(() => made.outlet);
  await write(made.connector, { address: { host: "log", port: 514 } });
  assert.deepEqual(made.requests, ["udp log:514"]);
  const head = "<38>1 2026-01-01T00:00:00Z - holdfast - - -";
  assert.deepEqual(made.sent, [`${head} {"a":1}`, `${head} {"b":2}`]);
});
