// What a rotation of the root key may leave behind: the old key where it could not be deleted, a new one that
// nobody has stored. To be called by whoever holds the lock of the root configuration.

import { MINUTE } from "@holdfast/shared/text/duration";
import { invariant } from "@holdfast/shared/invariant";
import type { JsonObject } from "@holdfast/shared/json/json";
import type { Nanos } from "@holdfast/shared/world";
import type { EngineNeeds, WriteAheadRecord } from "@holdfast/plugin-sdk/engine";
import { accountIn, checkAccount } from "../provider/account.ts";
import type { Clients } from "../provider/clients.ts";
import { orGone, unlessGone } from "../../cloud/provider-error.ts";
import type { CloudAProvider } from "../provider/provider.ts";
import type { ReplacedKey, RootConfig, StoredRoot } from "./root-config.ts";

/** What the root key is rotated with. */
export interface RootParts {
  readonly needs: EngineNeeds;
  readonly rootConfig: RootConfig;
  readonly clients: Clients;
}

/** A key that was made further from its record than this is somebody else's. */
const OURS_WITHIN: Nanos = 2n * MINUTE;

/** The key that a rotation has not deleted yet; not one that an operator has put back. */
export function leftBehind({ replacedKey, accessKey }: StoredRoot): ReplacedKey | null {
  return replacedKey?.id === accessKey ? null : replacedKey;
}

/** The old key is gone, and its record with it. */
export async function forget(
  { needs, rootConfig }: RootParts,
  accessKey: string,
  record: string,
): Promise<void> {
  await needs.storage.write((tx) => {
    rootConfig.change(tx, accessKey, ({ replacedKey }) =>
      replacedKey?.record === record ? { replacedKey: null } : {},
    );
    tx.settle(record);
  });
}

/** Deletes what a rotation could not. */
export async function finishRotation(parts: RootParts, signal: AbortSignal): Promise<void> {
  const root = await parts.rootConfig.read();
  if (root === null || root.replacedKey === null) return;
  const left = leftBehind(root);
  if (left !== null) {
    const provider = await parts.clients.provider(signal);
    // Of an account that we call no more: its record tells of it until somebody sees to it.
    if (left.account !== undefined && left.account !== (await provider.account())) return;
    await deleteOld(provider, left);
  }
  await forget(parts, root.accessKey, root.replacedKey.record);
}

/** Undoes "rootKey": keys that came to be with the record, and that nobody has stored. */
export async function undoRootKey(
  parts: RootParts,
  record: WriteAheadRecord,
  signal: AbortSignal,
): Promise<void> {
  const username = textIn(record.data, "username");
  const before = record.data["keysBefore"];
  const known = new Set(Array.isArray(before) ? before : []);
  const root = await parts.rootConfig.read();
  const provider = await parts.clients.provider(signal);
  await checkAccount(provider, accountIn(record.data));
  // The user may be gone, and its keys with it.
  for (const { id, created } of (await orGone(provider.accessKeys(username))) ?? []) {
    const apart = created > record.created ? created - record.created : record.created - created;
    if (known.has(id) || id === root?.accessKey || apart > OURS_WITHIN) continue;
    await unlessGone(provider.deleteAccessKey(username, id));
  }
}

/** Undoes "oldRootKey": what rotate-root could not do at once. */
export async function undoOldRootKey(
  parts: RootParts,
  record: WriteAheadRecord,
  signal: AbortSignal,
): Promise<void> {
  const username = textIn(record.data, "username");
  const id = textIn(record.data, "accessKeyId");
  const root = await parts.rootConfig.read();
  if (root?.accessKey === id) return; // an operator has put it back
  const provider = await parts.clients.provider(signal);
  await checkAccount(provider, accountIn(record.data));
  await deleteOld(provider, { username, id });
  if (root !== null) await forget(parts, root.accessKey, record.id);
}

async function deleteOld(
  provider: CloudAProvider,
  { username, id }: { readonly username: string; readonly id: string },
): Promise<void> {
  await provider.callerIdentity(); // the new one works, or the old one stays
  await unlessGone(provider.deleteAccessKey(username, id));
}

function textIn(data: JsonObject, name: string): string {
  const text = data[name];
  invariant(typeof text === "string", `a write-ahead record has ${name}`);
  return text;
}
