// What went wrong, in the database's words and without what is secret; and of which kind it is.

import postgres from "postgres";
import { DatabaseError, databaseRefusal, type DatabaseReason } from "@holdfast/plugin-sdk/database";
import { scrubbed } from "@holdfast/shared/text/scrubbed";

const MAX_WORDS = 900;

/** Classes and codes of the database that say that it cannot be used now, whatever is asked. */
const UNREACHABLE = /^(?:08|57P0|53300|58)/;

export async function unlessRefused<T>(secrets: readonly string[], work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    throw errorOf(error, secrets);
  }
}

export function errorOf(error: unknown, secrets: readonly string[]): DatabaseError {
  if (error instanceof DatabaseError) return error;
  if (error instanceof postgres.PostgresError) {
    const { message, code, detail = "", hint = "" } = error;
    const reason: DatabaseReason = UNREACHABLE.test(code) ? "unreachable" : "refused";
    const all = [`${message} (SQLSTATE ${code})`, detail, hint].filter((part) => part !== "");
    return databaseRefusal(reason, scrubbed(all.join("; "), secrets, MAX_WORDS));
  }
  return databaseRefusal("unreachable", scrubbed(networkWords(error), secrets, MAX_WORDS));
}

/** Of the socket, or of the client that uses it. */
function networkWords(error: unknown): string {
  if (!(error instanceof Error)) return "the database gave no answer";
  const code = "code" in error && typeof error.code === "string" ? error.code : error.name;
  const words: Readonly<Record<string, string>> = {
    ABORT_ERR: "there was no time left",
    AbortError: "there was no time left",
    ECONNREFUSED: "the database refuses connections (ECONNREFUSED)",
    ENOENT: "there is no socket of the database (ENOENT)",
    CONNECT_TIMEOUT: "the database gave no answer in time",
    CONNECTION_CLOSED: "the database has closed the connection",
  };
  return words[code] ?? `the database cannot be reached (${code})`;
}
