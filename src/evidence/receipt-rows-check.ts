// Whether rows of receipts that lay in clear are such as this room would have written: leases that end from here on meet them.

import { isObject, type JsonObject, type JsonValue } from "@holdfast/shared/json/json";
import { unprovenJson } from "../signed/unproven-json.ts";

const TIMED = /^by-time\/([0-9]{20})\/([^/]+)\/(.+)$/s;
const BY_ID = /^ids\/([^/]+)\/(.+)$/s;
const TEXTS = ["path", "secret_type", "role", "accessor", "issued", "ended", "error"];
const LISTS = ["objects", "request_ids"];
const CAUSES: readonly unknown[] = ["expiry", "revoke", "token", "unmount"];
const ENDS: readonly unknown[] = ["ended", "expires", "given-up"];

export class ReceiptRowsCheck {
  #bytes = 0;
  #total = 0;

  add(key: string, value: Uint8Array): boolean {
    const found = unprovenJson(value);
    const [, , namespaceId, id] = TIMED.exec(key) ?? [];
    if (namespaceId !== undefined) {
      this.#bytes += value.length;
      return isReceipt(found) && found["namespace_id"] === namespaceId && found["lease_id"] === id;
    }
    const byId = BY_ID.exec(key);
    if (byId !== null) return isTimedKey(found, `/${byId[1]}/${byId[2]}`);
    if (key !== "totals" || !isObject(found) || !isText(found["reported"])) return false;
    const { bytes } = found;
    if (!Number.isSafeInteger(bytes)) return false;
    this.#total = Number(bytes);
    return true;
  }

  /** Once all were added. */
  get isGood(): boolean {
    return this.#total === this.#bytes;
  }
}

function isReceipt(value: JsonValue | undefined): value is JsonObject {
  if (!isObject(value)) return false;
  const { why, result, origin, tries, good_until: until } = value;
  return (
    TEXTS.every((name) => isText(value[name])) &&
    LISTS.every((name) => isTexts(value[name])) &&
    CAUSES.includes(why) &&
    ENDS.includes(result) &&
    (origin === null || isObject(origin)) &&
    Number.isSafeInteger(tries) &&
    (until === null || isText(until))
  );
}

function isTimedKey(value: JsonValue | undefined, end: string): boolean {
  return (
    typeof value === "string" && TIMED.test(value) && value.slice("by-time/".length + 20) === end
  );
}

function isText(value: JsonValue | undefined): value is string {
  return typeof value === "string";
}

function isTexts(value: JsonValue | undefined): boolean {
  return Array.isArray(value) && value.every(isText);
}
