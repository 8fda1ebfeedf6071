// Takes away the passwords of the mount's own application that rotations have left: the one that was
// replaced, one that came to nothing, and one that is still being proved when the mount goes. Never the
// one that is in use.

import type { EngineNeeds, WriteAheadRecord } from "@holdfast/plugin-sdk/engine";
import type { Connections } from "../provider/connection.ts";
import type { Config } from "./config.ts";
import { removeNamedPassword } from "../roles/named-password.ts";
import { textIn } from "../provider/provider-answer.ts";
import { mayBeInUse } from "./replaced-password.ts";
import { type OldPassword, pendingIn, ROTATION, rotationOf } from "./rotation-state.ts";

export interface CleanupParts {
  readonly needs: EngineNeeds;
  readonly config: Config;
  readonly connections: Connections;
}

export class RotationCleanup {
  readonly #parts: CleanupParts;

  constructor(parts: CleanupParts) {
    this.#parts = parts;
  }

  /** What was replaced, unless somebody has put it back. */
  async removeOld(old: OldPassword, tenant: string, signal: AbortSignal): Promise<void> {
    const { needs, config, connections } = this.#parts;
    const { holder, id, keyId } = old;
    const stored = await config.stored();
    const connection = await connections.in(tenant);
    if (!(await mayBeInUse(connection, stored, old, signal))) {
      return connection.graph.removePassword(holder, id, keyId, signal);
    }
    needs.log.warn("a password that a rotation has replaced seems to be in use again: it stays", {
      keyId,
    });
  }

  /** What a crash or a failure has left: also never a password that is being proved. */
  async undo({ data }: WriteAheadRecord, signal: AbortSignal): Promise<void> {
    const { needs, config, connections } = this.#parts;
    const stored = await config.stored();
    const rotation = await rotationOf(needs.storage);
    const kept = [stored?.keyId, rotation?.state === "pending" ? rotation.keyId : null];
    const { graph } = await connections.in(textIn(data, "tenant"));
    const named = { id: textIn(data, "appObjectId"), displayName: textIn(data, "displayName") };
    await removeNamedPassword(graph, { ...named, kept }, signal);
  }

  /** The mount is going: what is being proved nobody will ever use. */
  async leave(signal: AbortSignal): Promise<void> {
    const { needs, connections } = this.#parts;
    const rotation = await rotationOf(needs.storage);
    if (rotation?.state !== "pending") return;
    const { tenantId, appObjectId: id, displayName, keyId } = rotation;
    const { graph } = await connections.in(tenantId);
    await removeNamedPassword(graph, { id, displayName }, signal);
    await needs.storage.write((tx) => {
      if (pendingIn(tx)?.keyId === keyId) tx.delete(ROTATION);
    });
  }
}
