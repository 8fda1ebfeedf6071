// rotate-root: a new password for the user that the connection is made with. The new one is stored beside the old one before
// the database hears of it, and takes its place when it has been seen to log in: at every moment one that works is stored.

import type { EngineNeeds } from "@holdfast/plugin-sdk/engine";
import { SECOND } from "@holdfast/shared/text/duration";
import type { Waiting } from "@holdfast/shared/waiting";
import type { KeyedMutex } from "../../cloud/keyed-mutex.ts";
import { withDeadline } from "../../cloud/deadline.ts";
import * as failures from "../failures.ts";
import { newPassword } from "../roles/passwords.ts";
import {
  type Connection,
  connectionCodec,
  connectionKey,
  secretsOf,
  usernameOf,
} from "./connection.ts";
import type { Connections } from "./connections.ts";

const DEADLINE = 75n * SECOND;

export const connectionLock = (name: string) => `config/${name}`;

export interface RootRotationParts {
  readonly needs: EngineNeeds;
  readonly locks: KeyedMutex;
  readonly connections: Connections;
}

export class RootRotation {
  readonly #parts: RootRotationParts;

  constructor(parts: RootRotationParts) {
    this.#parts = parts;
  }

  async rotate(name: string, request: Waiting): Promise<void> {
    const { locks, connections } = this.#parts;
    await connections.read(name);
    await locks.run(connectionLock(name), request, async () => {
      const connection = await this.#settled(name);
      if (usernameOf(connection) === "" || connection.password === "") throw failures.noRoot();
      const password = newPassword(this.#parts.needs.random);
      await connections.alone(name, () => this.#replace(name, connection, password));
    });
  }

  /** By whoever holds the lock: which of two passwords works is found out, and the other forgotten. */
  async settle(name: string): Promise<void> {
    await this.#settled(name);
  }

  async #settled(name: string): Promise<Connection> {
    const { connections } = this.#parts;
    const stored = await connections.read(name);
    if (stored.nextPassword === null) return stored;
    const secrets = secretsOf(stored);
    try {
      const opening = await connections.open(stored, { verify: true });
      const settled = await this.#store(name, opening.password, stored.nextPassword);
      connections.put(name, opening);
      return settled;
    } catch (error) {
      throw failures.errorForCaller(error, "logging in with either password", secrets);
    }
  }

  async #replace(name: string, connection: Connection, password: string): Promise<void> {
    const { needs, connections } = this.#parts;
    const secrets = [...secretsOf(connection), password];
    await this.#note(name, password);
    try {
      const change = {
        username: usernameOf(connection),
        credential: { kind: "password", password } as const,
        statements: connection.rootRotationStatements,
      };
      await withDeadline(needs.timers, DEADLINE, (signal) =>
        connections.useAlone(name, "UpdateUser", (instance) => instance.updateUser(change, signal)),
      );
    } catch (error) {
      if (failures.isHarmless(error)) await this.#note(name, null);
      else connections.drop(name); // opened anew with the one of the two that works
      throw failures.errorForCaller(error, "setting the new password", secrets);
    }
    try {
      const opening = await connections.open(connection, { verify: true, passwords: [password] });
      await this.#store(name, password, password);
      connections.put(name, opening);
    } catch (error) {
      connections.drop(name);
      const step =
        "logging in with the new password; both are kept, and the one that works is used";
      throw failures.errorForCaller(error, step, secrets);
    }
  }

  #note(name: string, password: string | null): Promise<void> {
    return this.#parts.needs.storage.write((tx) => {
      const stored = tx.get(connectionKey(name), connectionCodec);
      if (stored === null) throw failures.noConnection(name);
      tx.put(connectionKey(name), { ...stored, nextPassword: password }, connectionCodec);
    });
  }

  /** `made`: that the rotation has brought. */
  #store(name: string, working: string, made: string): Promise<Connection> {
    return this.#parts.needs.storage.write((tx) => {
      const stored = tx.get(connectionKey(name), connectionCodec);
      if (stored === null) throw failures.noConnection(name);
      const rotatedAt = working === made ? Number(tx.time / SECOND) : stored.rotatedAt;
      const after = { ...stored, password: working, nextPassword: null, rotatedAt };
      tx.put(connectionKey(name), after, connectionCodec);
      return after;
    });
  }
}
