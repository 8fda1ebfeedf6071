// PostgreSQL as a plugin.

import { serveDatabase } from "@holdfast/plugin-sdk/serve-database";
import { postgresql } from "./postgresql.ts";

await serveDatabase(postgresql);
