// Trying a plugin for databases: there is none behind it, so that what it says of one is all that can be asked.

import { DatabaseError } from "@holdfast/plugin-sdk/database";
import { OwnError } from "@holdfast/shared/failure";
import { ProcessDatabase } from "../databases/process-database.ts";
import type { HeldProcess, Processes, Program } from "../ports.ts";
import { type Finding, tried, Watch } from "./finding.ts";

const NEVER = new AbortController().signal;

export interface DatabaseParts {
  readonly processes: Processes;
  readonly program: Program;
  /** That is left running. */
  readonly first: HeldProcess;
}

export async function* tryDatabase(parts: DatabaseParts): AsyncGenerator<Finding> {
  const { processes, program, first } = parts;
  const open = async (user: string) =>
    new ProcessDatabase(program, await processes.hold(program, user, NEVER));
  const one = await open("one");
  yield await tried("kind of database", async () => {
    const type = await one.type(NEVER);
    return type === "" ? new Watch("does not say what kind it is for") : type;
  });
  yield await tried("empty configuration", async () => {
    try {
      await one.initialize({}, false, NEVER);
      return "taken, without a look at the database";
    } catch (error) {
      if (!(error instanceof DatabaseError)) throw error;
      if (error.fate !== "answered") throw new OwnError(`it has not answered: ${error.words}`);
      return `refused: ${error.words.slice(0, 200)}`;
    }
  });
  yield await tried("second connection", async () => {
    const other = await open("other");
    await other.type(NEVER);
    await other.close();
    await one.type(NEVER);
    return first.isShared ? "beside the first, in one process" : "in a process of its own";
  });
  await one.close();
}
