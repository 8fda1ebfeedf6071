// Asking a plugin that was just started what it is. It is set up without anything: nothing that it would store is kept.

import { callUnary, type Channel, serviceTable } from "@holdfast/shared/grpc/method";
import { Status, StatusError } from "@holdfast/shared/grpc/status";
import { SECOND } from "@holdfast/shared/text/duration";
import type { Nanos } from "@holdfast/shared/world";
import { backend, BackendType, version } from "@holdfast/plugin-sdk/wire/backend";
import type { Offered, PluginType, ProbeReport } from "../ports.ts";
import type { StartedProcess } from "./started-process.ts";

const WITHIN: Nanos = 5n * SECOND;

export async function askWhatItIs(
  process: StartedProcess,
  type: PluginType,
  id: string,
): Promise<ProbeReport> {
  const channel = process.calls.of(process.isShared ? id : null);
  if (type === "database") return { version: await versionOf(channel), kind: null };
  if (process.isAttached) {
    // Some say so before anything is set up, and whoever debugs them sees nothing of it.
    const kind = await kindOf(channel);
    if (kind !== null) return { version: await versionOf(channel), kind };
  }
  const offered = await process.offer(serviceTable([]));
  const request = { brokerId: offered.id, config: new Map<string, string>(), backendUuid: id };
  await orUnknown(callUnary(channel, backend.setup, request, { timeout: WITHIN }));
  const report = { version: await versionOf(channel), kind: await kindOf(channel) };
  if (process.isAttached) await leftAsItWas(channel, offered);
  return report;
}

/** Of one that goes on when it was asked. */
async function leftAsItWas(channel: Channel, offered: Offered): Promise<void> {
  await callUnary(channel, backend.cleanup, {}, { timeout: WITHIN }).catch(() => {});
  await offered.close();
}

async function versionOf(channel: Channel): Promise<string> {
  const answer = await orUnknown(callUnary(channel, version.version, {}, { timeout: WITHIN }));
  return answer?.pluginVersion ?? "";
}

async function kindOf(channel: Channel): Promise<ProbeReport["kind"]> {
  const answer = await orUnknown(callUnary(channel, backend.type, {}, { timeout: WITHIN }));
  if (answer?.type === BackendType.secret) return "secret";
  return answer?.type === BackendType.auth ? "auth" : null;
}

/** Null where it does not say: it has no version, or could not be set up without anything. */
async function orUnknown<T>(answer: Promise<T>): Promise<T | null> {
  try {
    return await answer;
  } catch (error) {
    const isSaid = error instanceof StatusError && error.isSaid;
    if (
      isSaid &&
      [Status.unimplemented, Status.unknown, Status.internal].some((one) => one === error.status)
    )
      return null;
    throw error;
  }
}
