// The fake of cloud B as a process of its own. Says where it listens and what it accepts in one line of
// JSON, and ends when its standard input does, so that it never outlives whoever has started it.

import { startFakeCloudB } from "./fake.ts";

const fake = await startFakeCloudB({ port: Number(process.argv[2] ?? 0) });
process.stdout.write(`${JSON.stringify({ ...fake, control: undefined })}\n`);
const stop = () => void fake.close().then(() => process.exit(0));
process.once("SIGTERM", stop);
process.once("SIGINT", stop);
process.stdin.on("end", stop).on("error", stop).resume();
