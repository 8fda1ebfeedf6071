// One-time passwords of the key ceremonies: a pad as long as the token it covers, so that the answer
// that carries the token is worthless to whoever did not start the ceremony.

import { alloc, wipe } from "@holdfast/shared/bytes";
import { otpLengthMismatch } from "./failures.ts";
import { invariant } from "@holdfast/shared/invariant";
import type { Random } from "@holdfast/shared/world";
import { drawBelow } from "./uniform.ts";

const BASE62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/** A pad of base62 characters, each equally likely: about 5.95 bits for each. */
export function makeOtp(random: Random, length: number): string {
  invariant(Number.isInteger(length) && length > 0, "a one-time password needs a length");
  let otp = "";
  while (otp.length < length) otp += BASE62.charAt(drawBelow(random, BASE62.length));
  return otp;
}

/** Bytes of the token XOR bytes of the pad, base64 without padding. */
export function encodeWithOtp(token: string, otp: string): string {
  const covered = ownBytes(token);
  try {
    applyPad(covered, otp);
    return covered.toString("base64").replace(/=+$/, "");
  } finally {
    wipe(covered);
  }
}

function applyPad(bytes: Buffer, otp: string): void {
  const pad = ownBytes(otp);
  try {
    if (pad.length !== bytes.length) {
      // A shorter pad would leave part of the token in clear, and repeating it is no pad.
      const message = `the one-time password has ${pad.length} bytes; it must have ${bytes.length}`;
      throw otpLengthMismatch(message);
    }
    for (let i = 0; i < bytes.length; i++) bytes[i] = bytes[i]! ^ pad[i]!;
  } finally {
    wipe(pad);
  }
}

/** UTF-8 outside the shared pool, since both token and pad are secrets. */
function ownBytes(text: string): Buffer {
  const out = alloc(Buffer.byteLength(text, "utf8"));
  out.write(text, "utf8");
  return out;
}
