// What a plugin prints that is served in test mode, in a debugger say: by name how it is reached, as the ecosystem's library writes
// it down. The whole line is taken too, as it is printed for a shell: TF_REATTACH_PROVIDERS='{…}'.

import { isObject, type JsonObject, type JsonValue } from "@holdfast/shared/json/json";
import type { Attachment } from "../../plugins/ports.ts";
import { flagsInvalid as refused } from "../failures.ts";

const FLAG = "--dev-plugin-reattach";
const FORM =
  '{"NAME":{"Protocol":"grpc","ProtocolVersion":5,"Pid":1234,"Test":true,"Addr":{"Network":"unix","String":"/tmp/plugin1"}}}';

export function readReattach(text: string): ReadonlyMap<string, Attachment> {
  const [, , inQuotes = text] = /^\s*(?:export\s+)?\w+=(["']?)(.*)\1\s*$/s.exec(text) ?? [];
  const all = parsed(inQuotes);
  const entries = isObject(all) ? Object.entries(all) : [];
  if (entries.length === 0) throw refused(`${FLAG} takes what the plugin has printed: ${FORM}`);
  return new Map(entries.map(([name, one]) => [name, attachmentOf(name, one)]));
}

function parsed(text: string): JsonValue {
  try {
    return JSON.parse(text) as JsonValue;
  } catch {
    return null;
  }
}

function attachmentOf(name: string, value: JsonValue | undefined): Attachment {
  const fail = (why: string) => refused(`${FLAG}: ${name} ${why}`);
  if (!isObject(value)) throw fail(`is not described as in ${FORM}`);
  const { Protocol: kind, ProtocolVersion: protocol, Pid: pid, Test: isTest, Addr: at } = value;
  const { Network: network, String: address }: JsonObject = isObject(at) ? at : {};
  if (kind !== "grpc") throw fail("must have grpc as its Protocol");
  if (typeof protocol !== "number" || !Number.isSafeInteger(protocol) || protocol < 1) {
    throw fail("has no ProtocolVersion");
  }
  if (typeof pid !== "number" || !Number.isSafeInteger(pid) || pid < 1) throw fail("has no Pid");
  if (isTest !== true) {
    throw fail("does not say Test true: only a plugin that is served in test mode is attached to");
  }
  if (network !== "unix" || typeof address !== "string" || !address.startsWith("/")) {
    throw fail("must be reached at a Unix socket, by its whole path");
  }
  return { pid, address, protocol };
}
