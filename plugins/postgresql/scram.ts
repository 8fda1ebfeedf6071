// A password as PostgreSQL keeps it (SCRAM-SHA-256, RFC 5802 and 7677), made here: then the password itself stands in no
// statement, and so in none that the database logs.

import { createHash, createHmac, pbkdf2, randomBytes } from "node:crypto";
import { promisify } from "node:util";

const ROUNDS = 4096; // as the database does itself
const SALT_BYTES = 16;
const KEY_BYTES = 32;

const derive = promisify(pbkdf2);

export async function verifierOf(
  password: string,
  salt: Buffer = randomBytes(SALT_BYTES),
): Promise<string> {
  const salted = await derive(password.normalize("NFKC"), salt, ROUNDS, KEY_BYTES, "sha256");
  const keyed = (text: string) => createHmac("sha256", salted).update(text).digest();
  const stored = createHash("sha256").update(keyed("Client Key")).digest("base64");
  const server = keyed("Server Key").toString("base64");
  return `SCRAM-SHA-256$${ROUNDS}:${salt.toString("base64")}$${stored}:${server}`;
}
