// A process of its own that comes to a cluster port as strangers do: it says nothing, half a hello or garbage, or makes
// the port shake hands with somebody who has no certificate. So many in all, a few hundred at a time.

import { connect, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import { setTimeout as pause } from "node:timers/promises";

export interface StrangersOptions {
  readonly port: number;
  readonly host: string; // of the set
  readonly n: number;
}

const AT_ONCE = 300;
const ADDRESSES = 20;
const PATIENCE = 3000; // of a millisecond or more
const HANDSHAKES = 20; // one in so many: each costs the port milliseconds, and others nothing
const HALF_A_HELLO = Buffer.from([0x16, 3, 1, 2, 0, 1, 0, 1, 0xfc, 3, 3]);
const WORDS = [
  Buffer.alloc(0),
  HALF_A_HELLO,
  Buffer.from("GET / HTTP/1.1\r\nHost: x\r\n\r\n"),
  Buffer.alloc(512, 0x16),
  Buffer.alloc(20_000, 0xff),
];

const options = JSON.parse(process.argv[2] ?? "{}") as StrangersOptions;
const open = new Set<Socket>();

function come(i: number): void {
  const from = {
    host: "127.0.0.1",
    port: options.port,
    localAddress: `127.0.9.${10 + (i % ADDRESSES)}`,
  };
  const shakes = i % HANDSHAKES === 0;
  const socket = shakes
    ? connectTls({
        ...from,
        servername: options.host,
        ALPNProtocols: ["h2"],
        rejectUnauthorized: false,
      })
    : connect(from);
  open.add(socket);
  socket.on("error", () => {});
  socket.on("data", () => {});
  socket.on("close", () => open.delete(socket));
  const words = WORDS[i % WORDS.length];
  if (!shakes && words !== undefined && words.length > 0) socket.write(words);
}

for (let i = 0; i < options.n; i++) {
  come(i);
  if (i % 50 === 0) await pause(1);
  // Where the port lets all of them stay there is nothing more to see.
  for (let waits = 0; open.size >= AT_ONCE; waits++) {
    if (waits >= PATIENCE) process.exit();
    await pause(1);
  }
}
for (const socket of open) socket.destroy();
process.disconnect?.();
