// How a room turns its records into stored bytes and back.

import { text, utf8 } from "./bytes.ts";

export interface Codec<T> {
  encode(value: T): Uint8Array;
  decode(bytes: Uint8Array): T;
}

/** Bytes as they are. What decode returns may be shared with a cache: read it, do not change it. */
export const bytesCodec: Codec<Uint8Array> = {
  encode: (value) => value,
  decode: (bytes) => bytes,
};

/** JSON without a schema of its own: for records that only our own code writes. */
export function jsonCodec<T>(): Codec<T> {
  return {
    encode: (value) => utf8(JSON.stringify(value)),
    decode: (bytes) => JSON.parse(text(bytes)) as T,
  };
}
