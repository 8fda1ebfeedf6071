// Sockets to one database that may have several hosts. Each is tried once for a login: the client of the database would begin
// anew for as long as somebody waits, however often it is turned away.

import { connect, type Socket } from "node:net";
import { databaseRefusal } from "@holdfast/plugin-sdk/database";
import type { Settings } from "./settings.ts";

type Places = Pick<Settings, "hosts" | "ports" | "connectsWithin" | "session">;

export class Sockets {
  readonly #places: Places;
  /** Of the one that was reached last. */
  #at = -1;
  #tried = 0;
  #beside = 0;
  #isEnded = false;
  /** Rejects when there is no more to try. */
  readonly failed: Promise<never>;
  readonly #fail: (error: unknown) => void;

  constructor(places: Places) {
    this.#places = places;
    const { promise, reject } = Promise.withResolvers<never>();
    promise.catch(() => {}); // whoever waits is told
    this.failed = promise;
    this.#fail = reject;
  }

  /** Somebody is logged in: the next login is another one. */
  reached(): void {
    this.#tried = 0;
  }

  /** The next one is to where the session is, and no login. */
  beside(): void {
    this.#beside++;
  }

  end(): void {
    this.#isEnded = true;
  }

  /** Connected. */
  async open(): Promise<Socket> {
    if (this.#beside > 0) {
      this.#beside--;
      return await this.#connect(this.#at);
    }
    let last: unknown = null;
    while (this.#tried < this.#places.hosts.length && !this.#isEnded) {
      this.#tried++;
      this.#at = (this.#at + 1) % this.#places.hosts.length;
      try {
        return await this.#connect(this.#at);
      } catch (error) {
        last = error;
      }
    }
    const other = this.#places.session === null ? "" : ", or is not what target_session_attrs says";
    const closed = `the database has closed the connection${other}`;
    const error = last ?? databaseRefusal("unreachable", closed);
    this.#fail(error);
    throw error;
  }

  async #connect(at: number): Promise<Socket> {
    const { hosts, ports, connectsWithin } = this.#places;
    const host = hosts[at] ?? "";
    const port = ports[at] ?? 0;
    const isFile = host.startsWith("/");
    const socket = isFile ? connect(`${host}/.s.PGSQL.${port}`) : connect({ host, port });
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    socket.once("connect", resolve);
    socket.once("error", reject);
    socket.setTimeout(connectsWithin * 1000, () =>
      reject(databaseRefusal("unreachable", "the database gave no answer in time")),
    );
    try {
      await promise;
    } catch (error) {
      socket.destroy();
      throw error;
    } finally {
      socket.setTimeout(0);
      socket.removeAllListeners();
      socket.on("error", () => {}); // until somebody else listens
    }
    if (this.#isEnded) socket.destroy();
    // By this the client knows whose certificate it is to be.
    return Object.assign(socket, { host });
  }
}
