// A server's processes of plugins alone, for tests that kill it: what it holds is told in one line.

import type { Program } from "../../../src/plugins/ports.ts";
import { hold, PluginPlace, say } from "./plugin-place.ts";

const [base = "", ...rest] = process.argv.slice(2);
const programs = rest.filter((word) => word !== "--sandbox");
const isolation = rest.length > programs.length ? "bwrap" : "none";
const place = new PluginPlace(base);
const processes = await place.open({ isolation }, { containers: place.containers() });
const held = await Promise.all(
  programs.map(async (text, i) => {
    const program = JSON.parse(text) as Program;
    const one = await hold(processes, program, String(i));
    await say(one, "echo");
    return one.pid;
  }),
);
console.log(JSON.stringify(held));
