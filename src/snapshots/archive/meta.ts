// meta.json of an archive: what it is of, in a text of one form and one length, because it stands at the front
// and is known only at the end.

import { equalBytes, text, utf8 } from "@holdfast/shared/bytes";
import { Failure } from "@holdfast/shared/failure";
import { isCount, isObject, type JsonObject, type JsonValue } from "@holdfast/shared/json/json";
import { invariant } from "@holdfast/shared/invariant";
import { parseTime, showTime } from "@holdfast/shared/text/time";
import { isUuid } from "@holdfast/shared/text/uuid";
import type { Instant } from "@holdfast/shared/world";
import { archiveDamaged, archiveTooNew } from "./failures.ts";
import { BLOCK, paddingOf } from "./tar.ts";

/** Of the archive: its members and the form of state.bin. */
const VERSION = 1;
export const META_BYTES = 1024;
/** Of the first gzip member: header and content of meta.json, and the header of state.bin. */
export const FRONT_DATA: number = BLOCK + META_BYTES + paddingOf(META_BYTES) + BLOCK;

export interface ArchiveMeta {
  /** Of this archive. */
  readonly id: string;
  /** The last index that it holds. */
  readonly index: number;
  readonly epoch: number;
  readonly lineage: string;
  readonly clusterId: string;
  readonly created: Instant;
  /** Form of the rows in it: that of the store it was taken from. */
  readonly format: number;
  /** Version of Holdfast. */
  readonly software: string;
  /** Rows in state.bin. */
  readonly entries: number;
  /** Bytes of state.bin. */
  readonly size: number;
}

export function encodeMeta(meta: ArchiveMeta): Buffer {
  // The names that tools know from archives of this layout, then ours.
  const document = JSON.stringify({
    Version: VERSION,
    ID: meta.id,
    Index: meta.index,
    Term: meta.epoch,
    Configuration: { Servers: [] },
    ConfigurationIndex: 0,
    Size: meta.size,
    Entries: meta.entries,
    Cluster: meta.clusterId,
    Lineage: meta.lineage,
    Created: showTime(meta.created),
    Format: meta.format,
    Software: meta.software,
  });
  const bytes = utf8(
    `${document.padEnd(META_BYTES - 1 - (Buffer.byteLength(document) - document.length))}\n`,
  );
  invariant(bytes.length === META_BYTES, "meta.json has another length than planned");
  return bytes;
}

/** `maxFormat`: the newest form of rows that is read here. */
export function decodeMeta(bytes: Buffer, maxFormat: number): ArchiveMeta {
  const document = parsed(bytes);
  const software = typeof document["Software"] === "string" ? document["Software"] : "";
  const { Version: version, Format: format } = document;
  if (isCount(version) && version > VERSION) {
    throw archiveTooNew(`version ${version} of archives, and ${VERSION} is read here`, software);
  }
  if (isCount(format) && format > maxFormat) {
    throw archiveTooNew(`format ${format} of stores, and ${maxFormat} is read here`, software);
  }
  const meta = {
    id: textOf(document["ID"]),
    index: countOf(document["Index"]),
    epoch: countOf(document["Term"]),
    lineage: textOf(document["Lineage"]),
    clusterId: textOf(document["Cluster"]),
    created: timeOf(document["Created"]),
    format: countOf(format),
    software,
    entries: countOf(document["Entries"]),
    size: countOf(document["Size"]),
  };
  // There is one text for each set of facts.
  if (!isUuid(meta.id) || !isUuid(meta.lineage) || !isUuid(meta.clusterId)) refuse();
  if (bytes.length !== META_BYTES || !equalBytes(bytes, encodeMeta(meta))) refuse();
  return meta;
}

function parsed(bytes: Buffer): JsonObject {
  try {
    const value = JSON.parse(text(bytes)) as JsonValue;
    if (isObject(value)) return value;
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
  }
  return refuse(); // without the parser's words: they quote it
}

function timeOf(value: JsonValue | undefined): Instant {
  try {
    return parseTime(value) ?? refuse();
  } catch (error) {
    if (error instanceof Failure) refuse();
    throw error;
  }
}

function refuse(): never {
  throw archiveDamaged("meta.json is not of the form of a snapshot's");
}

function countOf(value: unknown): number {
  return isCount(value) ? value : refuse();
}

function textOf(value: unknown): string {
  return typeof value === "string" && value.length <= 64 ? value : refuse();
}
