// The background work of a room that a test has built without the house around it.

import type { Job } from "../../src/house/room.ts";

interface Working {
  readonly jobs: readonly Job[];
}

export function startJobs(...rooms: readonly Working[]): void {
  for (const { jobs } of rooms) for (const { work } of jobs) work.open();
}

/** In the opposite order; waits for what has begun. */
export async function stopJobs(...rooms: readonly Working[]): Promise<void> {
  for (const { jobs } of rooms) for (const { work } of jobs.toReversed()) await work.close();
}

/** Opens it, and has it work as on the active node. */
export function openRoom(room: Working & { open(): void }): void {
  room.open();
  startJobs(room);
}

export async function closeRoom(room: Working & { close(): void }): Promise<void> {
  await stopJobs(room);
  room.close();
}
