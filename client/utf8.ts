// Text as UTF-8 and back, as every runtime has it. Bytes are in memory of their own, which can be wiped:
// bodies and files here hold secrets.

const encoder = new TextEncoder();
// A mark at the beginning is part of the text.
const decoder = new TextDecoder("utf-8", { ignoreBOM: true });

export function ownBytes(text: string): Uint8Array<ArrayBuffer> {
  return encoder.encode(text);
}

export function textOf(bytes: Uint8Array): string {
  return decoder.decode(bytes);
}
