// The way itself, see counted-way.ts: apart from whoever is measured, whose memory and time it would be otherwise.

import { once } from "node:events";
import { type AddressInfo, connect, createServer } from "node:net";

const port = Number(process.argv[2]);
let bytes = 0; // since the last look

const server = createServer((socket) => {
  const there = connect(port, "127.0.0.1");
  for (const [from, to] of [
    [socket, there],
    [there, socket],
  ] as const) {
    from.setNoDelay(true);
    from.on("data", (piece) => (bytes += piece.length));
    from.on("error", () => to.destroy());
    from.on("close", () => to.destroy());
    from.pipe(to);
  }
}).listen(0, "127.0.0.1");
await once(server, "listening");
process.on("message", () => {
  process.send?.({ bytes });
  bytes = 0;
});
process.once("disconnect", () => process.exit(0));
process.send?.({ port: (server.address() as AddressInfo).port });
