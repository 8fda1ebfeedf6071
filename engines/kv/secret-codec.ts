// The bytes of a secret's record. A read of the newest version is one look at one row, so this is on the
// way of every request: numbers at fixed places instead of text, documents as slices that are parsed
// only when somebody wants them.
//
//   format 1 | flags 1 | id 12 | created 8 | updated 8 | most versions 4 | delete after 8 | oldest 4 |
//   count 4 | length of the custom metadata 4, and its JSON |
//   for each version: flags 1 | created 8 | deletion 8 | length of its document 4 | the documents

import { asBuffer, hex, readInt64, text, utf8, writeInt64 } from "@holdfast/shared/bytes";
import type { Codec } from "@holdfast/shared/codec";
import { invariant, InvariantError } from "@holdfast/shared/invariant";
import {
  type CustomMetadata,
  ID_BYTES,
  type Numbered,
  type Secret,
  type Version,
} from "./secret.ts";

const FORMAT = 1;
const ID = 2;
const CREATED = ID + ID_BYTES;
const UPDATED = CREATED + 8;
const MAX_VERSIONS = UPDATED + 8;
const DELETE_AFTER = MAX_VERSIONS + 4;
const OLDEST = DELETE_AFTER + 8;
const COUNT = OLDEST + 4;
const CUSTOM = COUNT + 4;
const HEADER = CUSTOM + 4;
const VERSION = 21;
const LENGTH = 17; // in a version: the length of its document

const CAS_REQUIRED = 1;
const RECYCLED = 2;

const DESTROYED = 1;
const HAS_DELETION = 2;
const EXACT = 4;
const INLINE = 8;

export const secretCodec: Codec<Secret> = { encode, decode };

/** Only whether it has ever had a version: asked before every write. */
export const hasVersionsCodec = glance((bytes) => bytes.readUInt32BE(COUNT) > 0);

/** One version and what a read tells beside it: the way of nearly every request. */
export interface FoundVersion extends Numbered {
  readonly id: string;
  readonly customMetadata: CustomMetadata | null;
}

/** 0 is the newest. Null where there is none of that number. */
export function versionCodec(number: number): Codec<FoundVersion | null> {
  return glance((bytes) => versionIn(bytes, number));
}

/** Only what a search looks at. */
export const customMetadataCodec = glance(customIn);

/** One part of a record; nothing is ever written from it. */
function glance<T>(look: (bytes: Buffer) => T): Codec<T> {
  return {
    encode: () => {
      throw new InvariantError("a glance at a record is not written");
    },
    decode: (bytes) => look(known(bytes)),
  };
}

function encode(secret: Secret): Uint8Array {
  const { versions, customMetadata } = secret;
  const custom = customMetadata === null ? utf8("") : utf8(JSON.stringify(customMetadata));
  const documents = versions.reduce((sum, { inline }) => sum + (inline?.length ?? 0), 0);
  const bytes = Buffer.alloc(HEADER + custom.length + VERSION * versions.length + documents);
  bytes[0] = FORMAT;
  bytes[1] = (secret.casRequired ? CAS_REQUIRED : 0) | (secret.recycled ? RECYCLED : 0);
  invariant(bytes.write(secret.id, ID, "hex") === ID_BYTES, "the id of a secret has 12 bytes");
  writeInt64(bytes, secret.created, CREATED);
  writeInt64(bytes, secret.updated, UPDATED);
  bytes.writeUInt32BE(secret.maxVersions, MAX_VERSIONS);
  writeInt64(bytes, secret.deleteVersionAfter, DELETE_AFTER);
  bytes.writeUInt32BE(secret.oldest, OLDEST);
  bytes.writeUInt32BE(versions.length, COUNT);
  bytes.writeUInt32BE(custom.length, CUSTOM);
  bytes.set(custom, HEADER);
  let at = HEADER + custom.length;
  let document = at + VERSION * versions.length;
  for (const version of versions) {
    const { inline } = version;
    bytes[at] = flagsOf(version);
    writeInt64(bytes, version.created, at + 1);
    writeInt64(bytes, version.deletion ?? 0n, at + 9);
    bytes.writeUInt32BE(inline?.length ?? 0, at + LENGTH);
    if (inline !== null) bytes.set(inline, document);
    document += inline?.length ?? 0;
    at += VERSION;
  }
  return bytes;
}

function flagsOf({ destroyed, deletion, exact, inline }: Version): number {
  return (
    (destroyed ? DESTROYED : 0) |
    (deletion === null ? 0 : HAS_DELETION) |
    (exact ? EXACT : 0) |
    (inline === null ? 0 : INLINE)
  );
}

function decode(encoded: Uint8Array): Secret {
  const bytes = known(encoded);
  const flags = bytes[1] ?? 0;
  const count = bytes.readUInt32BE(COUNT);
  let at = HEADER + bytes.readUInt32BE(CUSTOM);
  let document = at + VERSION * count;
  const versions: Version[] = [];
  for (; versions.length < count; at += VERSION) {
    versions.push(versionAt(bytes, at, document));
    document += bytes.readUInt32BE(at + LENGTH);
  }
  return {
    id: idIn(bytes),
    created: readInt64(bytes, CREATED),
    updated: readInt64(bytes, UPDATED),
    maxVersions: bytes.readUInt32BE(MAX_VERSIONS),
    casRequired: (flags & CAS_REQUIRED) !== 0,
    deleteVersionAfter: readInt64(bytes, DELETE_AFTER),
    customMetadata: customIn(bytes),
    recycled: (flags & RECYCLED) !== 0,
    oldest: bytes.readUInt32BE(OLDEST),
    versions,
  };
}

function versionIn(bytes: Buffer, requested: number): FoundVersion | null {
  const count = bytes.readUInt32BE(COUNT);
  const oldest = bytes.readUInt32BE(OLDEST);
  const number = requested === 0 ? oldest + count - 1 : requested;
  if (count === 0 || number < oldest || number >= oldest + count) return null;
  const first = HEADER + bytes.readUInt32BE(CUSTOM);
  const wanted = first + VERSION * (number - oldest);
  let document = first + VERSION * count;
  for (let at = first; at < wanted; at += VERSION) document += bytes.readUInt32BE(at + LENGTH);
  const version = versionAt(bytes, wanted, document);
  return { id: idIn(bytes), customMetadata: customIn(bytes), number, version };
}

function versionAt(bytes: Buffer, at: number, document: number): Version {
  const flags = bytes[at] ?? 0;
  const length = bytes.readUInt32BE(at + LENGTH);
  return {
    created: readInt64(bytes, at + 1),
    deletion: (flags & HAS_DELETION) === 0 ? null : readInt64(bytes, at + 9),
    destroyed: (flags & DESTROYED) !== 0,
    exact: (flags & EXACT) !== 0,
    inline: (flags & INLINE) === 0 ? null : bytes.subarray(document, document + length),
  };
}

function idIn(bytes: Buffer): string {
  return hex(bytes.subarray(ID, ID + ID_BYTES));
}

function customIn(bytes: Buffer): CustomMetadata | null {
  const length = bytes.readUInt32BE(CUSTOM);
  if (length === 0) return null;
  // By our own code, from checked texts.
  return JSON.parse(text(bytes.subarray(HEADER, HEADER + length))) as CustomMetadata;
}

function known(bytes: Uint8Array): Buffer {
  invariant(bytes[0] === FORMAT, "the record of a secret has format 1");
  return asBuffer(bytes);
}
