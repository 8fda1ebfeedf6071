// What somebody outside says, as we pass it on: without the secrets that went with the call, in whatever form
// they come back.

const MIN_SECRET = 6; // what is shorter would blank out ordinary words
const MAX_READ = 16_000;
const BLANK = "[secret]";

/** Nor anything that could steer a terminal. */
export function scrubbed(text: string, secrets: readonly string[], max: number): string {
  let clean = text.slice(0, MAX_READ); // before the work below, which is done for each secret
  for (const form of secrets.flatMap(formsOf)) clean = clean.replaceAll(form, BLANK);
  // A cut could have left the beginning of a secret at the end: the rest is far beyond what is shown.
  clean = clean.replace(/[\p{Cc}\p{Cf}\u2028\u2029]+/gu, " ").trim();
  return clean.length > max ? `${clean.slice(0, max)}…` : clean;
}

function formsOf(secret: string): string[] {
  if (secret.length < MIN_SECRET) return [];
  const bytes = Buffer.from(secret, "utf8");
  const forms = new Set([
    secret,
    encodeURIComponent(secret),
    encodeURIComponent(secret).replace(/%[0-9A-F]{2}/g, (code) => code.toLowerCase()),
    new URLSearchParams({ "": secret }).toString().slice(1),
    JSON.stringify(secret).slice(1, -1),
    secret.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;"),
    secret.replaceAll("/", "\\/"),
    bytes.toString("base64"),
    bytes.toString("base64url"),
    bytes.toString("hex"),
  ]);
  return [...forms].sort((a, b) => b.length - a.length);
}
