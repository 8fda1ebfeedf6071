// Real ways out for records: TCP, UDP, local stream sockets, and Debian's logger for the local
// datagram socket of a system log, which the runtime cannot write to by itself.

import { OwnError } from "@holdfast/shared/failure";
import { spawn } from "node:child_process";
import { createSocket, type SocketOptions } from "node:dgram";
import { lookup as resolve } from "node:dns";
import { connect, isIP, isIPv6, type LookupFunction, type NetConnectOpts } from "node:net";
import type { Writable } from "node:stream";
import type { Address } from "@holdfast/shared/world";
import { type Connector, type Outlet, WrongSocketKind } from "./sink.ts";

const LOGGER = "/usr/bin/logger";

export class SystemConnector implements Connector {
  readonly #allows: (address: string) => boolean;
  readonly #lookup: LookupFunction;

  /** `allows`: whether records may go to an IP address, by whichever name it was found. */
  constructor(allows: (address: string) => boolean) {
    this.#allows = allows;
    this.#lookup = (host, options, callback) =>
      resolve(host, options, (error, found: string | { readonly address: string }[], family) => {
        const all = typeof found === "string" ? [found] : found.map(({ address }) => address);
        const refused = error === null && !all.every((address) => allows(address));
        callback(refused ? new ForbiddenAddress() : error, found as string, family);
      });
  }

  async tcp({ host, port }: Address): Promise<Outlet> {
    this.#check(host);
    return connected({ host, port, lookup: this.#lookup });
  }

  /** A name is judged when it is resolved. */
  #check(host: string): void {
    if (isIP(host) !== 0 && !this.#allows(host)) throw new ForbiddenAddress();
  }

  unix(path: string): Promise<Outlet> {
    return connected({ path });
  }

  async udp({ host, port }: Address): Promise<Outlet> {
    this.#check(host);
    const { promise, resolve: done, reject } = Promise.withResolvers<Outlet>();
    const type = isIPv6(host) ? "udp6" : "udp4";
    const lookup: NonNullable<SocketOptions["lookup"]> = (name, options, callback) =>
      this.#lookup(name, { ...options, family: type === "udp6" ? 6 : 4, all: false }, (...found) =>
        callback(...(found as [NodeJS.ErrnoException | null, string, number])),
      );
    const socket = createSocket({ type, lookup });
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
      done({
        get broken() {
          return broken;
        },
        write: (bytes) =>
          new Promise((sent, failed) => {
            if (broken) failed(new OwnError("the socket is closed"));
            else socket.send(bytes, (error) => (error === null ? sent() : failed(error)));
          }),
        destroy: close,
        close: async () => close(),
      }),
    );
    socket.unref();
    return promise;
  }

  logger(args: readonly string[]): Promise<Outlet> {
    const { promise, resolve: ready, reject } = Promise.withResolvers<Outlet>();
    // Nothing of our environment: it may hold what a child must not see.
    const child = spawn(LOGGER, args, { env: {}, stdio: ["pipe", "ignore", "ignore"] });
    child.once("error", reject);
    child.once("spawn", () => {
      const outlet = streamOutlet(child.stdin);
      child.once("exit", () => outlet.destroy());
      ready(outlet);
    });
    return promise;
  }
}

/** Where machines of a cloud are told who they are, and what is no single host. */
class ForbiddenAddress extends OwnError {
  constructor() {
    super(
      "records may not go to this address: it is no host, or where a cloud talks to its machines",
    );
  }
}

function connected(to: NetConnectOpts): Promise<Outlet> {
  const { promise, resolve: ready, reject } = Promise.withResolvers<Outlet>();
  const socket = connect(to);
  socket.once("error", (error: NodeJS.ErrnoException) =>
    reject(error.code === "EPROTOTYPE" ? new WrongSocketKind() : error),
  );
  socket.once("connect", () => {
    socket.setNoDelay(true);
    socket.resume(); // whatever it answers is not for us, and must not fill its buffer
    ready(streamOutlet(socket));
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
