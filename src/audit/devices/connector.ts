// Real ways out for records: TCP, UDP, local stream sockets, and Debian's logger for the local
// datagram socket of a system log, which the runtime cannot write to by itself.

import { OwnError } from "../../base/failure.ts";
import { spawn } from "node:child_process";
import { createSocket } from "node:dgram";
import { connect, isIPv6, type NetConnectOpts } from "node:net";
import type { Writable } from "node:stream";
import type { Address } from "../../base/world.ts";
import { type Connector, type Outlet, WrongSocketKind } from "./sink.ts";

const LOGGER = "/usr/bin/logger";

export class SystemConnector implements Connector {
  tcp({ host, port }: Address): Promise<Outlet> {
    return connected({ host, port });
  }

  unix(path: string): Promise<Outlet> {
    return connected({ path });
  }

  udp({ host, port }: Address): Promise<Outlet> {
    const { promise, resolve, reject } = Promise.withResolvers<Outlet>();
    const socket = createSocket({ type: isIPv6(host) ? "udp6" : "udp4" });
    let broken = false;
    // Errors arrive for an earlier datagram: nobody listens there, or the network is gone.
    socket.on("error", (error) => {
      broken = true;
      reject(error);
    });
    const close = () => {
      broken = true;
      socket.close();
    };
    socket.connect(port, host, () =>
      resolve({
        get broken() {
          return broken;
        },
        write: (bytes) =>
          new Promise((done, failed) => {
            if (broken) failed(new OwnError("the socket is closed"));
            else socket.send(bytes, (error) => (error === null ? done() : failed(error)));
          }),
        destroy: close,
        close: async () => close(),
      }),
    );
    socket.unref();
    return promise;
  }

  logger(args: readonly string[]): Promise<Outlet> {
    const { promise, resolve, reject } = Promise.withResolvers<Outlet>();
    // Nothing of our environment: it may hold what a child must not see.
    const child = spawn(LOGGER, args, { env: {}, stdio: ["pipe", "ignore", "ignore"] });
    child.once("error", reject);
    child.once("spawn", () => {
      const outlet = streamOutlet(child.stdin);
      child.once("exit", () => outlet.destroy());
      resolve(outlet);
    });
    return promise;
  }
}

function connected(to: NetConnectOpts): Promise<Outlet> {
  const { promise, resolve, reject } = Promise.withResolvers<Outlet>();
  const socket = connect(to);
  socket.once("error", (error: NodeJS.ErrnoException) =>
    reject(error.code === "EPROTOTYPE" ? new WrongSocketKind() : error),
  );
  socket.once("connect", () => {
    socket.setNoDelay(true);
    socket.resume(); // whatever it answers is not for us, and must not fill its buffer
    resolve(streamOutlet(socket));
  });
  return promise;
}

/** The callback of a write comes when the kernel has it: a peer that does not read holds it up. */
function streamOutlet(stream: Writable): Outlet {
  let broken = false;
  stream.on("error", () => (broken = true));
  stream.on("close", () => (broken = true));
  stream.on("end", () => (broken = true));
  return {
    get broken() {
      return broken;
    },
    write: (bytes) =>
      new Promise((resolve, reject) => {
        stream.write(bytes, (error) =>
          error === null || error === undefined ? resolve() : reject(error),
        );
      }),
    destroy: () => {
      broken = true;
      stream.destroy();
    },
    close: () =>
      new Promise((resolve) => {
        if (stream.closed) resolve();
        else {
          stream.once("close", () => resolve());
          stream.end(() => stream.destroy());
        }
      }),
  };
}
