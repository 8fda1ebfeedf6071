// The program of a plugin that the bench measures, before it is made one file.

import { serve } from "@holdfast/plugin-sdk/serve";
import { benchEngine } from "./bench-engine.ts";

await serve(benchEngine);
