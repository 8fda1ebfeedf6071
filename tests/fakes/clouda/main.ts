// The fake as a process of its own. Says where it listens and which keys it accepts in one line of
// JSON. Where its standard input is a pipe it ends with it, so that it never outlives whoever has
// started it.

import { fstatSync } from "node:fs";
import { startFakeCloudA } from "./fake.ts";

const fake = await startFakeCloudA({ port: Number(process.argv[2] ?? 0) });
const { url, accessKeyId, secretAccessKey } = fake;
process.stdout.write(`${JSON.stringify({ url, accessKeyId, secretAccessKey })}\n`);
const stop = () => void fake.close().then(() => process.exit(0));
process.once("SIGTERM", stop);
process.once("SIGINT", stop);
const input = fstatSync(0);
if (input.isFIFO() || input.isSocket()) process.stdin.on("end", stop).on("error", stop).resume();
