// Loaded before tests and experiments: they load what the server does, many times.

import { findOwnModules } from "../src/system/own-modules.ts";

findOwnModules();
