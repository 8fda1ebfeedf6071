// Our plugin for PostgreSQL, whose server ends at a call of choice: before the database hears of it, or when it has done it. The
// folder that says which is its argument.

import { type Database, serveDatabase } from "@holdfast/plugin-sdk/serve-database";
import { postgresql } from "../../plugins/postgresql/postgresql.ts";
import { Deaths } from "./deaths.ts";

const [, , folder = ""] = process.argv;
const deaths = new Deaths(folder, "call", process.ppid);

await serveDatabase({
  ...postgresql,
  open: (config, how) => deaths.around(async () => dying(await postgresql.open(config, how))),
});

function dying(database: Database): Database {
  return {
    newUser: (order, signal) => deaths.around(() => database.newUser(order, signal)),
    updateUser: (change, signal) => deaths.around(() => database.updateUser(change, signal)),
    deleteUser: (end, signal) => deaths.around(() => database.deleteUser(end, signal)),
    close: () => database.close(),
  };
}
